//! The job that writes an export.
//!
//! CDRs are read in pages along the index of the account, or of all accounts, and then filtered; each page in its own statement, so that no long read keeps
//! the database from vacuuming. While one page is formatted on a blocking thread, the next is read; at most
//! [`MAX_BUFFERED_PAGES`] are in memory. CDRs that arrive meanwhile and began before the page being read are not in the
//! file.

use std::io::{self, Write};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use flate2::Compression as Level;
use flate2::write::GzEncoder;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use serde::Deserialize;
use serde_json::Value;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::DAY;
use super::lines::{self, Lines, Style};
use super::store::{self, ExportRow};
use super::types::filter_of;
use super::types::{CdrExport, CdrExportId, Compression};
use crate::cdrs::search::{CdrCursor, CdrFilter, list_all_ascending, list_ascending};
use db::{Conn, Db, DbError};
use identity::events::{self, EventType};
use identity::names::Names;
use identity::notifications::{ExportReady, notify};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use platform::outside::files::{FilesError, StoredFile};
use values::{CallId, Rfc3339};

pub const WRITE_EXPORT: Kind = Kind::new("cdrs.export").attempts(MAX_ATTEMPTS);

/// The last attempt is about ten minutes after the first.
const MAX_ATTEMPTS: u16 = 8;
const RETENTION_DAYS: u32 = 7;
const PAGE_SIZE: i64 = 5000;
const MAX_BUFFERED_PAGES: usize = 2;
/// Pages between two updates of `rows_count`.
const PROGRESS_PAGES: i64 = 20;
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;

pub const WRITE_FAILED: &str = "the file could not be written; create another export";
const TOO_LARGE: &str = "the file would be larger than 4 GiB; choose a shorter range or gzip";

/// The bytes of a file.
type ByteStream = BoxStream<'static, io::Result<Bytes>>;

#[derive(Deserialize)]
struct Payload {
    export_id: CdrExportId,
}

pub async fn write_export_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let Payload { export_id } =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let started = context.db.tx(export_id, |conn, id| Box::pin(store::start(conn, *id)));
    let Some(export) = started.await? else { return Ok(()) };
    let filter = filter_of(&export).map_err(|error| JobError::Permanent(error.to_string()))?;
    let count = Arc::new(AtomicI64::new(0));
    let written = context.app.files.put(file_bytes(&context.db, &export, filter, &count), MAX_FILE_BYTES).await;
    let outcome = match written {
        Ok(file) => Outcome::Ready(file, count.load(Ordering::Relaxed)),
        Err(FilesError::TooLarge { .. }) => Outcome::Failed(TOO_LARGE),
        Err(error) if context.job.attempts >= context.job.max_attempts => {
            tracing::error!(export = %export.id, %error, "export failed");
            Outcome::Failed(WRITE_FAILED)
        }
        Err(error) => return Err(JobError::Failed(error.to_string())),
    };
    let input = (context.clone(), export, outcome);
    context.db.tx(input, |conn, (context, export, outcome)| Box::pin(finish(conn, context, export, outcome))).await
}

/// Result of an attempt.
enum Outcome {
    Ready(StoredFile, i64),
    Failed(&'static str),
}

async fn finish(
    conn: &mut Conn,
    context: &JobContext<App>,
    export: &ExportRow,
    outcome: &Outcome,
) -> Result<(), JobError> {
    let now = context.clock.now();
    match outcome {
        Outcome::Ready(file, rows) => {
            let expires_at = now.plus(DAY.saturating_mul(RETENTION_DAYS));
            if store::complete(conn, export.id, *rows, *file, (now, expires_at)).await? {
                let notification = ExportReady {
                    export_id: export.id.uuid(),
                    rows_count: *rows,
                    size_bytes: i64::try_from(file.size_bytes).unwrap_or(i64::MAX),
                    expires_at: Rfc3339(expires_at),
                };
                // The team has no notifications; it polls.
                if !export.is_team {
                    notify(conn, export.account_id, &notification).await?;
                }
                let ready = store::find(conn, export.account_id, export.id).await?;
                if let Some(ready) = ready.filter(|_| !export.is_team) {
                    let shown = CdrExport::new(&context.app, ready, now);
                    events::record(conn, export.account_id, EventType::ExportReady, &shown).await?;
                }
            }
        }
        Outcome::Failed(reason) => store::fail(conn, export.id, reason).await?,
    }
    context.finish_in(conn).await
}

fn file_bytes(db: &Db, export: &ExportRow, filter: CdrFilter, count: &Arc<AtomicI64>) -> ByteStream {
    let style = Arc::new(Style { format: export.format, is_team: export.is_team, time_zone: export.time_zone.clone() });
    let header = stream::iter([Ok(Bytes::from_static(lines::header(&style).as_bytes()))]);
    let lines = pages(db.clone(), export.clone(), filter, count.clone())
        .map_err(io::Error::other)
        .map_ok(move |page| {
            let style = Arc::clone(&style);
            async move {
                let lines = spawn_blocking(move || lines::write(&style, page)).await;
                lines.map_err(io::Error::other)?.map(Bytes::from)
            }
        })
        .try_buffered(MAX_BUFFERED_PAGES);
    let plain = header.chain(lines).boxed();
    match export.compression {
        Compression::None => plain,
        Compression::Gzip => compressed(plain),
    }
}

/// Reads the CDRs of an export page by page.
struct PageReader {
    db: Db,
    export: ExportRow,
    filter: CdrFilter,
    after: CdrCursor,
    pages: i64,
    count: Arc<AtomicI64>,
}

fn pages(
    db: Db,
    export: ExportRow,
    filter: CdrFilter,
    count: Arc<AtomicI64>,
) -> impl futures_util::Stream<Item = Result<Lines, DbError>> + Send + 'static {
    let after = (export.range_from, CallId::new(Uuid::nil()));
    let reader = PageReader { db, export, filter, after, pages: 0, count };
    stream::try_unfold(Some(reader), async |reader| {
        let Some(mut reader) = reader else { return Ok(None) };
        let (page, is_last) = reader.next_page().await?;
        Ok(Some((page, (!is_last).then_some(reader))))
    })
}

/// The CDRs of a page that match, with their names, and whether it is the last one.
async fn read_page(
    conn: &mut Conn,
    filter: &CdrFilter,
    after: &mut CdrCursor,
    is_team: bool,
) -> Result<(Lines, bool), DbError> {
    let mut rows = match filter.account {
        Some(account) => list_ascending(conn, account, *after, filter.to, PAGE_SIZE).await?,
        None => list_all_ascending(conn, *after, filter.to, PAGE_SIZE).await?,
    };
    let is_last = (rows.len() as i64) < PAGE_SIZE;
    if let Some(last) = rows.last() {
        *after = (last.started_at, last.id);
    }
    rows.retain(|row| filter.matches(row));
    let mut names = Names::of_trunks(conn, rows.iter().map(|row| row.trunk_id)).await?;
    if is_team {
        names.add_customers(conn, rows.iter().map(|row| row.account_id)).await?;
        names.add_upstreams(conn, rows.iter().filter_map(|row| row.upstream_id)).await?;
    }
    Ok((Lines { rows, names }, is_last))
}

impl PageReader {
    async fn next_page(&mut self) -> Result<(Lines, bool), DbError> {
        let range = (self.filter.clone(), self.after, self.export.is_team);
        let read = self.db.report(range, |conn, (filter, after, is_team)| {
            Box::pin(async move {
                let mut cursor = *after;
                let page = read_page(conn, filter, &mut cursor, *is_team).await?;
                Ok::<_, DbError>((page, cursor))
            })
        });
        let ((page, is_last), after) = read.await?;
        self.after = after;
        let written = page.rows.len() as i64;
        let so_far = self.count.fetch_add(written, Ordering::Relaxed) + written;
        self.pages += 1;
        if self.pages % PROGRESS_PAGES == 0 {
            let progress = (self.export.id, so_far);
            self.db.tx(progress, |conn, (id, rows)| Box::pin(store::set_progress(conn, *id, *rows))).await?;
        }
        Ok((page, is_last))
    }
}

/// Compresses the bytes into one gzip member.
fn compressed(plain: ByteStream) -> ByteStream {
    let encoder = GzEncoder::new(Vec::new(), Level::fast());
    let compressed_bytes = stream::try_unfold(Some((plain, encoder)), async |state| {
        let Some((mut plain, mut encoder)) = state else { return Ok(None) };
        let chunk = pin!(plain.next()).await.transpose()?;
        let compress = move || {
            let Some(chunk) = chunk else { return Ok((encoder.finish()?, None)) };
            encoder.write_all(&chunk)?;
            Ok::<_, io::Error>((std::mem::take(encoder.get_mut()), Some(encoder)))
        };
        let (compressed_bytes, encoder) = spawn_blocking(compress).await.map_err(io::Error::other)??;
        Ok(Some((Bytes::from(compressed_bytes), encoder.map(|encoder| (plain, encoder)))))
    });
    compressed_bytes.boxed()
}
