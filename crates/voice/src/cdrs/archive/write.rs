//! The nightly job that writes the CDRs of days that left the hot window to files.
//!
//! Nothing else changes: the database keeps the CDRs until another job has verified the files. A file is stored before its
//! row, so after a crash the next run writes the day again, or the nightly cleanup deletes the file.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use parquet::errors::ParquetError;
use serde_json::Value;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::file::{FileWriter, WrittenFile};
use super::store::{self, FileRow, start_of};
use crate::cdrs::row::MarkedCdr;
use crate::cdrs::search::CdrCursor;
use crate::concurrency::{DAY_MILLIS, day_of};
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use values::{CallId, Date, Time};

pub const ARCHIVE: Kind = Kind::new("cdrs.archive").attempts(5);

/// Rows of a row group, which are in memory together.
const GROUP_ROWS: i64 = 20_000;
/// Rows of a file, which is read as a whole.
const FILE_ROWS: i64 = 100_000;
/// More than the rows of a file can have.
pub const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Days that one run writes.
const MAX_DAYS: usize = 400;

pub async fn archive_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let app = &context.app;
    let Some(hot_days) = app.settings.calls.hot_days else { return Ok(()) };
    let first_hot = day_of(Time::from_millis(context.clock.now().millis() - hot_days * DAY_MILLIS));
    for _ in 0..MAX_DAYS {
        let next = app.db.report(first_hot, |conn, first_hot| Box::pin(next_day(conn, *first_hot))).await?;
        let Some(day) = next else { return Ok(()) };
        let files = write_day(app, day).await?;
        tracing::info!(day = %Date::from(start_of(day)), files = files.len(), "wrote CDRs to the archive");
        app.db.tx((day, files), |conn, (day, files)| Box::pin(insert(conn, *day, files))).await?;
    }
    Ok(())
}

/// The first day before the hot window that has CDRs and no files.
async fn next_day(conn: &mut Conn, first_hot: i64) -> Result<Option<i64>, DbError> {
    let hot_from = store::progress(conn).await?.hot_from;
    let after_files = store::last_day(conn).await?.map_or(Time::EPOCH, |day| start_of(day + 1));
    let oldest = store::oldest(conn, hot_from.max(after_files), start_of(first_hot)).await?;
    Ok(oldest.map(day_of))
}

/// Records the files of a day, unless another node did.
async fn insert(conn: &mut Conn, day: i64, files: &[FileRow]) -> Result<(), DbError> {
    store::lock_progress(conn).await?;
    if !store::files_of_day(conn, day, 1).await?.is_empty() {
        return Ok(());
    }
    for file in files {
        conn.insert(file).await?;
    }
    Ok(())
}

/// Stores the CDRs of a day as files, and returns their rows.
async fn write_day(app: &App, day: i64) -> Result<Vec<FileRow>, JobError> {
    let mut after = (start_of(day), CallId::new(Uuid::nil()));
    let mut files = Vec::new();
    loop {
        let (written, is_last) = write_file(app, &mut after, start_of(day + 1)).await?;
        if written.totals.calls > 0 {
            let part = files.len() as i64;
            let file = store_file(app, (day, part), written).await?;
            files.push(file);
        }
        if is_last {
            return Ok(files);
        }
    }
}

/// Writes the CDRs after a cursor to a file, as many as it may have, and says whether these were the last.
async fn write_file(app: &App, after: &mut CdrCursor, to: Time) -> Result<(WrittenFile, bool), JobError> {
    let mut writer = FileWriter::new().map_err(unwritable)?;
    loop {
        let page =
            app.db.report((*after, to), |conn, (after, to)| Box::pin(store::list_cdrs(conn, *after, *to, GROUP_ROWS)));
        let cdrs = page.await?;
        let is_last = (cdrs.len() as i64) < GROUP_ROWS;
        if let Some(MarkedCdr { cdr, .. }) = cdrs.last() {
            *after = (cdr.terms.started_at, cdr.id);
            writer = add(writer, cdrs).await?;
        }
        if is_last || writer.rows() + GROUP_ROWS > FILE_ROWS {
            let written = spawn_blocking(move || writer.finish()).await.map_err(unwritable)?;
            return Ok((written.map_err(unwritable)?, is_last));
        }
    }
}

/// Adds a row group.
pub async fn add(mut writer: FileWriter, cdrs: Vec<MarkedCdr>) -> Result<FileWriter, JobError> {
    let added = spawn_blocking(move || {
        writer.add(&cdrs)?;
        Ok::<_, ParquetError>(writer)
    });
    added.await.map_err(unwritable)?.map_err(unwritable)
}

/// Stores a file and returns its row.
pub async fn store_file(app: &App, (day, part): (i64, i64), written: WrittenFile) -> Result<FileRow, JobError> {
    let WrittenFile { content, totals, has_numbers } = written;
    let body = stream::iter([Ok::<Bytes, Infallible>(content)]);
    let stored = app.files.put(body, MAX_FILE_BYTES).await.map_err(unwritable)?;
    Ok(FileRow {
        day,
        part,
        content_hash: stored.hash,
        size_bytes: i64::try_from(stored.size_bytes).unwrap_or(i64::MAX),
        calls: totals.calls,
        seconds: totals.seconds,
        charge: totals.charge,
        cost: totals.cost,
        has_numbers,
        created_at: app.clock.now(),
        verified_at: None,
    })
}

pub fn unwritable(error: impl std::fmt::Display) -> JobError {
    JobError::Failed(format!("the CDR archive could not be written: {error}"))
}
