//! The job that writes an export.
//!
//! CDRs are read in pages along the index of the account, or of all accounts, and then filtered; each page in its own
//! statement, so that no long read keeps the database from vacuuming. Those before the hot window come from the archive,
//! in the same order, a row group at a time. While one page is formatted on a blocking thread, the next is read; at most
//! [`MAX_BUFFERED_PAGES`] are in memory. CDRs that arrive meanwhile and began before the page being read are not in the
//! file.

use std::collections::BTreeSet;
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
use crate::cdrs::archive::{self, FileRow, Groups};
use crate::cdrs::row::MarkedCdr;
use crate::cdrs::search::{CdrCursor, CdrFilter, CdrListRow, list_all_ascending, list_ascending};
use crate::cdrs::types::list_row;
use crate::concurrency::day_of;
use db::{Conn, Db, DbError};
use identity::events::{self, EventType};
use identity::names::Names;
use identity::notifications::{ExportReady, notify};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use platform::outside::files::{FilesError, StoredFile};
use values::{AccountId, CallId, Rfc3339, Time, TrunkId, UpstreamId};

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
    // A replica has the CDRs that there were when the export began, or is not read.
    let db = context.app.db.for_exports().await;
    let written = context.app.files.put(file_bytes(&context.app, db, &export, filter, &count), MAX_FILE_BYTES).await;
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

fn file_bytes(app: &App, db: Db, export: &ExportRow, filter: CdrFilter, count: &Arc<AtomicI64>) -> ByteStream {
    let style = Arc::new(Style { format: export.format, is_team: export.is_team, time_zone: export.time_zone.clone() });
    let header = stream::iter([Ok(Bytes::from_static(lines::header(&style).as_bytes()))]);
    let lines = pages(app.clone(), db, export.clone(), filter, count.clone())
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

/// Reads the CDRs of an export page by page: from files of the archive, then from the database.
struct PageReader {
    app: App,
    /// Where the CDRs are read.
    db: Db,
    export: ExportRow,
    filter: CdrFilter,
    after: CdrCursor,
    /// Day and part of the last file that was opened.
    file: (i64, i64),
    /// What is left of it.
    groups: Option<Groups>,
    pages: i64,
    count: Arc<AtomicI64>,
}

/// Where the next CDRs are.
enum Source {
    File(FileRow),
    Database { rows: Vec<CdrListRow>, is_last: bool },
}

fn pages(
    app: App,
    db: Db,
    export: ExportRow,
    filter: CdrFilter,
    count: Arc<AtomicI64>,
) -> impl futures_util::Stream<Item = io::Result<Lines>> + Send + 'static {
    let after = (export.range_from, CallId::new(Uuid::nil()));
    let file = (day_of(export.range_from), -1);
    let reader = PageReader { app, db, export, filter, after, file, groups: None, pages: 0, count };
    stream::try_unfold(Some(reader), async |reader| {
        let Some(mut reader) = reader else { return Ok(None) };
        let (page, is_last) = reader.next_page().await?;
        Ok(Some((page, (!is_last).then_some(reader))))
    })
}

/// The next file after a cursor or, where the hot window begins, the next page of the database.
async fn next_source(
    conn: &mut Conn,
    filter: &CdrFilter,
    mut after: CdrCursor,
    file: (i64, i64),
) -> Result<Source, DbError> {
    loop {
        let hot_from = archive::hot_from(conn).await?.unwrap_or(Time::EPOCH);
        if after.0 < hot_from {
            let last_day = day_of(Time::from_millis(hot_from.min(filter.to).millis() - 1));
            let next = file.max((day_of(after.0), -1));
            if let Some(found) = archive::next_file(conn, filter.account, next, last_day).await? {
                return Ok(Source::File(found));
            }
            after = (hot_from, CallId::new(Uuid::nil()));
        }
        let rows = match filter.account {
            Some(account) => list_ascending(conn, account, after, filter.to, PAGE_SIZE).await?,
            None => list_all_ascending(conn, after, filter.to, PAGE_SIZE).await?,
        };
        // If the archive took the day over while the page was read, the page may lack rows.
        if archive::hot_from(conn).await?.is_none_or(|hot_from| hot_from <= after.0) {
            let is_last = (rows.len() as i64) < PAGE_SIZE;
            return Ok(Source::Database { rows, is_last });
        }
    }
}

/// What the lines of a page name.
struct Named {
    trunks: BTreeSet<TrunkId>,
    customers: BTreeSet<AccountId>,
    upstreams: BTreeSet<UpstreamId>,
}

impl Named {
    fn of(rows: &[CdrListRow], is_team: bool) -> Named {
        let of_team = || rows.iter().filter(move |_| is_team);
        Named {
            trunks: rows.iter().map(|row| row.trunk_id).collect(),
            customers: of_team().map(|row| row.account_id).collect(),
            upstreams: of_team().filter_map(|row| row.upstream_id).collect(),
        }
    }

    async fn names(&self, conn: &mut Conn) -> Result<Names, DbError> {
        let mut names = Names::of_trunks(conn, self.trunks.iter().copied()).await?;
        names.add_customers(conn, self.customers.iter().copied()).await?;
        names.add_upstreams(conn, self.upstreams.iter().copied()).await?;
        Ok(names)
    }
}

impl PageReader {
    /// The CDRs of a page that match, with their names, and whether it is the last one.
    async fn next_page(&mut self) -> io::Result<(Lines, bool)> {
        let (mut rows, is_last) = self.next_rows().await?;
        if let Some(last) = rows.last() {
            self.after = (last.started_at, last.id);
        }
        rows.retain(|row| self.filter.matches(row));
        let named = Named::of(&rows, self.export.is_team);
        let names = self.db.report(named, |conn, named| Box::pin(named.names(conn)));
        let page = Lines { rows, names: names.await.map_err(io::Error::other)? };
        let written = page.rows.len() as i64;
        let so_far = self.count.fetch_add(written, Ordering::Relaxed) + written;
        self.pages += 1;
        if self.pages % PROGRESS_PAGES == 0 {
            let progress = (self.export.id, so_far);
            let saved = self.app.db.tx(progress, |conn, (id, rows)| Box::pin(store::set_progress(conn, *id, *rows)));
            saved.await.map_err(io::Error::other)?;
        }
        Ok((page, is_last))
    }

    /// The next CDRs of the range, and whether they are the last.
    async fn next_rows(&mut self) -> io::Result<(Vec<CdrListRow>, bool)> {
        loop {
            if let Some(groups) = self.groups.take()
                && let Some((cdrs, rest)) = groups.next().await.map_err(io::Error::other)?
            {
                self.groups = Some(rest);
                let mut rows: Vec<CdrListRow> =
                    cdrs.into_iter().map(|MarkedCdr { cdr, hung_up_by }| list_row(cdr, hung_up_by)).collect();
                rows.retain(|row| (row.started_at, row.id) > self.after && row.started_at < self.filter.to);
                return Ok((rows, false));
            }
            let input = (self.filter.clone(), self.after, self.file);
            let source =
                self.db.report(input, |conn, (filter, after, file)| Box::pin(next_source(conn, filter, *after, *file)));
            match source.await.map_err(io::Error::other)? {
                Source::Database { rows, is_last } => return Ok((rows, is_last)),
                Source::File(file) => {
                    self.file = (file.day, file.part);
                    self.groups = Some(Groups::open(&self.app.files, file).await.map_err(io::Error::other)?);
                }
            }
        }
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
