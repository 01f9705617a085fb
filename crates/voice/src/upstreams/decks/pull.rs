//! Pulls rate decks from the URLs of upstreams, on request or by schedule.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use serde_json::Value;

use super::store::{self, ImportRow};
use super::types::{DeckImportId, ImportMode};
use super::{estimated_rows, queue};
use crate::upstreams::{self, UpstreamRow};
use api::csv::{Lines, MAX_TABLE_BYTES};
use db::{Conn, DbError, Entropy};
use platform::app::App;
use platform::jobs::{Class, JobContext, JobError, Kind};
use platform::outside::fetch::Fetched;
use platform::outside::files::{ContentHash, Files, FilesError, Received};
use values::UpstreamId;

pub const PULL_DUE: Kind = Kind::new("decks.pull_due").class(Class::Outside);

const BATCH: i64 = 100;
/// Limit for the whole file, longer than the fetcher allows a slow server.
const PULL_TIMEOUT: Duration = Duration::from_secs(660);

/// Result of a pull.
pub enum Pulled {
    /// The file is the one in force.
    Unchanged,
    File {
        hash: ContentHash,
        etag: Option<String>,
    },
}

/// Pulls an upstream's deck into the file store.
pub async fn pull(app: &App, import: DeckImportId, upstream: &UpstreamRow) -> Result<Pulled, String> {
    let url = upstream.rate_import_url.as_ref().ok_or("the upstream has no rate_import_url")?;
    let known = upstream.pulled_etag.as_deref();
    let fetched = app.fetcher.fetch(url, known).await.map_err(|error| error.to_string())?;
    let Fetched::File { etag, body } = fetched else { return Ok(Pulled::Unchanged) };
    let received = tokio::time::timeout(PULL_TIMEOUT, receive_file(&app.files, body)).await;
    let (received, lines) =
        received.map_err(|_| "the file did not arrive in time")?.map_err(|error| error.to_string())?;
    if upstream.pulled_hash == Some(received.stored_as().hash) {
        return Ok(Pulled::Unchanged);
    }
    let rows = estimated_rows(&received, lines).await.map_err(|error| error.to_string())?;
    let hash = received.store().await.map_err(|error| error.to_string())?.hash;
    let file = (import, hash, etag.clone(), rows);
    let updated = app.db.tx(file, |conn, (import, hash, etag, rows)| {
        Box::pin(store::set_file(conn, *import, *hash, etag.as_deref(), *rows))
    });
    updated.await.map_err(|error| error.to_string())?;
    Ok(Pulled::File { hash, etag })
}

/// Stores a file and counts its lines.
pub async fn receive_file<S, E>(files: &Files, body: S) -> Result<(Received, u64), FilesError>
where
    S: Stream<Item = Result<Bytes, E>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let lines = Lines::default();
    let received = files.receive(body.inspect_ok(|piece| lines.count(piece)), MAX_TABLE_BYTES).await?;
    Ok((received, lines.total()))
}

/// Queues the scheduled pulls that are due.
pub async fn pull_due_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    loop {
        let due = upstreams::list_due(&mut *context.db.read().await?, BATCH).await?;
        for upstream in &due {
            let input = upstream.id;
            let queued = context.db.tx(input, |conn, upstream| Box::pin(queue_pull(conn, *upstream)));
            queued.await?;
        }
        if (due.len() as i64) < BATCH {
            return Ok(());
        }
    }
}

/// Queues a pull and sets the next time of the schedule. No pull is queued while an import is queued or running.
async fn queue_pull(conn: &mut Conn, id: UpstreamId) -> Result<(), DbError> {
    let now = conn.now();
    let Some(mut upstream) = upstreams::lock(conn, id).await? else { return Ok(()) };
    if upstream.next_import_at.is_none_or(|at| at > now) {
        return Ok(());
    }
    upstream.next_import_at = upstream.rate_import_schedule.as_ref().and_then(|cron| cron.after(now));
    upstreams::save(conn, &upstream).await?;
    if store::count_pending(conn, id).await? == 0 {
        let import = DeckImportId::new(Entropy.uuid(now));
        queue(conn, &ImportRow::queued(import, id, ImportMode::Replace, false, now)).await?;
    }
    Ok(())
}
