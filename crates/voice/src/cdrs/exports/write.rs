//! The job that writes an export.
//!
//! Calls are read in pages along the index of the account, each page a statement of its own, so that no long read
//! keeps the database from tidying up behind itself. While one page is put into lines on a thread that may be busy,
//! the next is being read; there are never more than [`PAGES_AT_ONCE`] in memory. Calls that arrive meanwhile and began
//! before the page that is being read are not in the file.

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
use super::rows;
use super::store::{self, ExportRow};
use super::types::{CdrExportId, Compression};
use crate::cdrs::search::{CdrRow, onwards};
use db::{Conn, Db, DbError};
use identity::notifications::{ExportReady, notify};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use platform::outside::files::{FilesError, StoredFile};
use values::{CallId, Rfc3339, Time};

pub const EXPORT: Kind = Kind::new("cdrs.export").attempts(ATTEMPTS);

/// The last of them is made after ten minutes.
const ATTEMPTS: u16 = 8;
const KEPT_DAYS: u32 = 7;
const PAGE: i64 = 5000;
const PAGES_AT_ONCE: usize = 2;
/// How often whoever looks sees how far the export is.
const PROGRESS_PAGES: i64 = 20;
const SIZE_AT_MOST: u64 = 4 * 1024 * 1024 * 1024;

pub const CAME_TO_NOTHING: &str = "the file could not be written; please ask for it again";
const TOO_LARGE: &str = "the file would be larger than 4 GiB; ask for a shorter range, or for gzip";

/// The bytes of a file as they come.
type Pieces = BoxStream<'static, io::Result<Bytes>>;

#[derive(Deserialize)]
struct Wanted {
    export_id: CdrExportId,
}

pub async fn export_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let Wanted { export_id } =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let begun = context.db.tx(export_id, |conn, id| Box::pin(store::begin(conn, *id)));
    let Some(export) = begun.await? else { return Ok(()) };
    let count = Arc::new(AtomicI64::new(0));
    let written = context.app.files.put(pieces(&context.db, &export, &count), SIZE_AT_MOST).await;
    let end = match written {
        Ok(file) => End::Ready(file, count.load(Ordering::Relaxed)),
        Err(FilesError::TooLarge { .. }) => End::Failed(TOO_LARGE),
        Err(error) if context.job.attempts >= context.job.max_attempts => {
            tracing::error!(export = %export.id, %error, "an export failed for good");
            End::Failed(CAME_TO_NOTHING)
        }
        Err(error) => return Err(JobError::Failed(error.to_string())),
    };
    let ended = (context.clone(), export, end);
    context.db.tx(ended, |conn, (context, export, end)| Box::pin(finish(conn, context, export, end))).await
}

/// What an attempt came to.
enum End {
    Ready(StoredFile, i64),
    Failed(&'static str),
}

async fn finish(conn: &mut Conn, context: &JobContext<App>, export: &ExportRow, end: &End) -> Result<(), JobError> {
    let now = context.clock.now();
    match end {
        End::Ready(file, rows) => {
            let expires_at = now.plus(DAY.saturating_mul(KEPT_DAYS));
            if store::complete(conn, export.id, *rows, *file, (now, expires_at)).await? {
                let news = ExportReady {
                    export_id: export.id.uuid(),
                    rows_count: *rows,
                    size_bytes: i64::try_from(file.size_bytes).unwrap_or(i64::MAX),
                    expires_at: Rfc3339(expires_at),
                };
                notify(conn, context.app.entropy, export.account_id, &news, now).await?;
            }
        }
        End::Failed(reason) => store::fail(conn, export.id, reason, now).await?,
    }
    context.finish_in(conn).await
}

fn pieces(db: &Db, export: &ExportRow, count: &Arc<AtomicI64>) -> Pieces {
    let format = export.format;
    let header = stream::iter([Ok(Bytes::from_static(rows::header(format).as_bytes()))]);
    let lines = pages(db.clone(), export.clone(), count.clone())
        .map_err(io::Error::other)
        .map_ok(move |page| async move {
            let lines = spawn_blocking(move || rows::lines(format, page)).await;
            lines.map_err(io::Error::other)?.map(Bytes::from)
        })
        .try_buffered(PAGES_AT_ONCE);
    let plain = header.chain(lines).boxed();
    match export.compression {
        Compression::None => plain,
        Compression::Gzip => compressed(plain),
    }
}

/// How far the reading is.
struct Reading {
    db: Db,
    export: ExportRow,
    after: (Time, CallId),
    pages: i64,
    count: Arc<AtomicI64>,
}

fn pages(
    db: Db,
    export: ExportRow,
    count: Arc<AtomicI64>,
) -> impl futures_util::Stream<Item = Result<Vec<CdrRow>, DbError>> + Send + 'static {
    let after = (export.range_from, CallId::new(Uuid::nil()));
    let reading = Reading { db, export, after, pages: 0, count };
    stream::try_unfold(Some(reading), async |reading| {
        let Some(mut reading) = reading else { return Ok(None) };
        let page = reading.next_page().await?;
        let is_last = (page.len() as i64) < PAGE;
        Ok(Some((page, (!is_last).then_some(reading))))
    })
}

impl Reading {
    async fn next_page(&mut self) -> Result<Vec<CdrRow>, DbError> {
        let wanted = (self.export.account_id, self.after, self.export.range_to);
        let read =
            self.db.report(wanted, |conn, (account, after, to)| Box::pin(onwards(conn, *account, *after, *to, PAGE)));
        let page = read.await?;
        if let Some(last) = page.last() {
            self.after = (last.started_at, last.id);
        }
        let so_far = self.count.fetch_add(page.len() as i64, Ordering::Relaxed) + page.len() as i64;
        self.pages += 1;
        if self.pages % PROGRESS_PAGES == 0 {
            let progress = (self.export.id, so_far);
            self.db.tx(progress, |conn, (id, rows)| Box::pin(store::set_progress(conn, *id, *rows))).await?;
        }
        Ok(page)
    }
}

/// The same in one gzip member, squeezed piece by piece.
fn compressed(plain: Pieces) -> Pieces {
    let encoder = GzEncoder::new(Vec::new(), Level::fast());
    let squeezed = stream::try_unfold(Some((plain, encoder)), async |state| {
        let Some((mut plain, mut encoder)) = state else { return Ok(None) };
        let piece = pin!(plain.next()).await.transpose()?;
        let squeeze = move || {
            let Some(piece) = piece else { return Ok((encoder.finish()?, None)) };
            encoder.write_all(&piece)?;
            Ok::<_, io::Error>((std::mem::take(encoder.get_mut()), Some(encoder)))
        };
        let (squeezed, encoder) = spawn_blocking(squeeze).await.map_err(io::Error::other)??;
        Ok(Some((Bytes::from(squeezed), encoder.map(|encoder| (plain, encoder)))))
    });
    squeezed.boxed()
}
