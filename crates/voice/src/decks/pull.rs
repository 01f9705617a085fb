//! Files that come from an upstream's own address, on request or by its schedule.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use serde_json::Value;

use super::queue;
use super::store::{self, ImportRow};
use super::types::{DeckImportId, ImportMode};
use crate::upstreams::{self, UpstreamRow};
use api::csv::{Lines, MAX_TABLE_BYTES};
use db::{Conn, DbError};
use identity::imports::rows_of;
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use platform::outside::fetch::Fetched;
use platform::outside::files::{ContentHash, Files, FilesError, Received};
use values::{Time, UpstreamId};

pub const PULL_DUE: Kind = Kind::new("decks.pull_due");

const BATCH: i64 = 100;
/// Longer than the slowest server may take.
const PULL_TIMEOUT: Duration = Duration::from_secs(660);

/// What an address had to offer.
pub enum Pulled {
    /// What is in force already.
    Unchanged,
    File {
        hash: ContentHash,
        etag: Option<String>,
    },
}

/// Pulls an upstream's deck into the file store.
pub async fn pull(app: &App, import: DeckImportId, upstream: &UpstreamRow) -> Result<Pulled, String> {
    let url = upstream.rate_import_url.as_ref().ok_or("the upstream has no rate_import_url any more")?;
    let known = upstream.pulled_etag.as_deref();
    let fetched = app.fetcher.fetch(url, known).await.map_err(|error| error.to_string())?;
    let Fetched::File { etag, body } = fetched else { return Ok(Pulled::Unchanged) };
    let taken = tokio::time::timeout(PULL_TIMEOUT, take_in(&app.files, body)).await;
    let (received, lines) = taken.map_err(|_| "the file did not arrive in time")?.map_err(|error| error.to_string())?;
    if upstream.pulled_hash == Some(received.stored_as().hash) {
        return Ok(Pulled::Unchanged);
    }
    let hash = received.store().await.map_err(|error| error.to_string())?.hash;
    let found = (import, hash, etag.clone(), rows_of(lines));
    let noted = app.db.tx(found, |conn, (import, hash, etag, rows)| {
        Box::pin(store::set_file(conn, *import, *hash, etag.as_deref(), *rows))
    });
    noted.await.map_err(|error| error.to_string())?;
    Ok(Pulled::File { hash, etag })
}

/// Takes a file in and counts its lines on the way.
pub async fn take_in<S, E>(files: &Files, body: S) -> Result<(Received, u64), FilesError>
where
    S: Stream<Item = Result<Bytes, E>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let lines = Lines::default();
    let received = files.receive(body.inspect_ok(|piece| lines.count(piece)), MAX_TABLE_BYTES).await?;
    Ok((received, lines.total()))
}

/// Orders the pulls whose time has come.
pub async fn pull_due_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let now = context.clock.now();
    loop {
        let due = upstreams::due(&mut *context.db.read().await?, now, BATCH).await?;
        for upstream in &due {
            let input = (context.app.clone(), upstream.id, now);
            let ordered = context.db.tx(input, |conn, (app, upstream, now)| Box::pin(tick(conn, app, *upstream, *now)));
            ordered.await?;
        }
        context.app.jobs_waker.notify_one();
        if (due.len() as i64) < BATCH {
            return Ok(());
        }
    }
}

/// Moves an upstream's schedule on, and lets an import wait unless one does already.
async fn tick(conn: &mut Conn, app: &App, id: UpstreamId, now: Time) -> Result<(), DbError> {
    let Some(mut upstream) = upstreams::lock(conn, id).await? else { return Ok(()) };
    if upstream.next_import_at.is_none_or(|at| at > now) {
        return Ok(());
    }
    upstream.next_import_at = upstream.rate_import_schedule.as_ref().and_then(|cron| cron.after(now));
    upstreams::update(conn, &upstream, now).await?;
    if store::under_way(conn, id).await? == 0 {
        let import = DeckImportId::new(app.entropy.uuid(now));
        queue(conn, app, &ImportRow::queued(import, id, ImportMode::Replace, false, now), now).await?;
    }
    Ok(())
}
