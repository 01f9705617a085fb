//! The job that runs imports, one at a time.
//!
//! It reads the file and, if it has no errors, adds the DIDs to the inventory in batches. Each batch is a transaction
//! that also records the progress, so after a crash the retried job continues where it stopped.

use serde_json::Value;

use super::enqueue;
use super::staging::{Batch, import_batch};
use super::store::{self, End, ImportRow};
use crate::inventory::sheet::{self, BadFile, StagedRows};
use db::{Conn, DbError};
use identity::imports::{ImportFault, ImportStatus, read_blocking};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};

pub const IMPORT: Kind = Kind::new("numbers.import");

pub async fn import_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let begun = context
        .db
        .tx(context.clone(), |conn, context| Box::pin(async move { store::begin(conn, context.job.id).await }));
    let import = match begun.await {
        Ok(Some(import)) => import,
        // Another job runs an import and enqueues the next one.
        Ok(None) | Err(DbError::Unique(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let end = match read(&context.app, &import).await {
        Ok(rows) => {
            import_rows(&context, &import, rows).await?;
            End { status: ImportStatus::Completed, rows: None, error_count: 0, errors: Vec::new(), reason: None }
        }
        Err(end) => end,
    };
    let ended = (context.clone(), import, end);
    context.db.tx(ended, |conn, (context, import, end)| Box::pin(finish(conn, context, import, end))).await?;
    Ok(())
}

/// The content of the file, or how the import ends without it.
async fn read(app: &App, import: &ImportRow) -> Result<StagedRows, End> {
    let failed = |reason: String| End {
        status: ImportStatus::Failed,
        rows: None,
        error_count: 0,
        errors: Vec::new(),
        reason: Some(reason),
    };
    let content = app.files.open_read(&import.content_hash).await.map_err(|error| failed(error.to_string()))?;
    let (_, content) = content.ok_or_else(|| failed("the file is missing".to_owned()))?;
    let source = read_blocking(content);
    let read = tokio::task::spawn_blocking(move || sheet::read(source)).await;
    match read.map_err(|error| failed(error.to_string()))? {
        Ok(rows) => Ok(rows),
        Err(BadFile::Io(error)) => Err(failed(format!("the file cannot be read: {error}"))),
        Err(BadFile::Faults(faults, rows)) => Err(End {
            status: ImportStatus::Failed,
            rows: rows.and_then(|rows| i64::try_from(rows).ok()),
            error_count: i64::try_from(faults.count).unwrap_or(i64::MAX),
            errors: faults.first.into_iter().map(ImportFault::from).collect(),
            reason: None,
        }),
    }
}

async fn import_rows(context: &JobContext<App>, import: &ImportRow, rows: StagedRows) -> Result<(), JobError> {
    let done = usize::try_from(import.rows_done).unwrap_or_default();
    let mut from = import.rows_done;
    let rows_per_batch = context.db.bulk_rows(500, 10_000);
    for numbers in rows.numbers.get(done..).unwrap_or_default().chunks(rows_per_batch) {
        let named = numbers.iter().map(|row| row.terms);
        let terms = named.filter_map(|index| Some((index, rows.terms.get(index as usize)?.clone()))).collect();
        let batch = Batch {
            import: import.clone(),
            from,
            total: rows.numbers.len() as i64,
            numbers: numbers.to_vec(),
            terms,
            now: context.clock.now(),
        };
        context.db.tx_bulk(batch, |conn, batch| Box::pin(import_batch_once(conn, batch))).await?;
        from += numbers.len() as i64;
    }
    Ok(())
}

/// Rolls back a batch that was imported already: another worker runs this import.
async fn import_batch_once(conn: &mut Conn, batch: &Batch) -> Result<(), JobError> {
    if import_batch(conn, batch).await? { Ok(()) } else { Err(JobError::LeaseLost) }
}

async fn finish(conn: &mut Conn, context: &JobContext<App>, import: &ImportRow, end: &End) -> Result<(), JobError> {
    store::end(conn, import.id, end).await?;
    if store::has_queued(conn).await? {
        enqueue(conn).await?;
    }
    context.finish_in(conn).await
}
