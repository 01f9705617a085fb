//! The nightly job that moves rows of the audit log to files once they are old enough.
//!
//! The file is durable before the rows are deleted. After a crash between the two, the next run stores the same file
//! again, or the nightly cleanup deletes it.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{TryStreamExt, stream};
use serde_json::{Value, json};

use db::{Conn, DbError};
use platform::app::{App, StartError};
use platform::audit::archive::{self, Segment};
use platform::audit::{self, Entry, Fault, Ring};
use platform::jobs::{JobContext, JobError, Kind};
use platform::outside::files::ContentHash;

pub const ARCHIVE: Kind = Kind::new("audit.archive").attempts(3);

/// Rows of one file, which leave the table in one transaction.
const FILE_ROWS: usize = 10_000;
/// The same on SQLite, where everybody who writes waits for it.
const FILE_ROWS_OF_ONE_WRITER: usize = 1000;
/// More than the rows of one file can have.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Checkpoints read at a time.
const PAGE: i64 = 100;

pub async fn archive_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let app = &context.app;
    let cutoff = context.clock.now().minus(app.settings.audit_retention);
    let rows = app.db.bulk_rows(FILE_ROWS_OF_ONE_WRITER, FILE_ROWS) as i64;
    loop {
        let read = app.db.report((app.keys.clone(), cutoff, rows), |conn, (keys, cutoff, rows)| {
            Box::pin(archive::next_segment(conn, keys, *cutoff, *rows))
        });
        let segment =
            read.await?.map_err(|fault| JobError::Permanent(format!("the audit chain is broken: {fault}")))?;
        if segment.is_empty() {
            return Ok(());
        }
        let lines = segment.to_lines().map_err(|error| JobError::Permanent(error.to_string()))?;
        let body = stream::iter([Ok::<_, Infallible>(Bytes::from(lines))]);
        let stored = app.files.put(body, MAX_FILE_BYTES).await.map_err(|error| JobError::Failed(error.to_string()))?;
        let work = (app.clone(), segment, stored.hash);
        let moved = app.db.tx_bulk(work, |conn, (app, segment, file)| Box::pin(replace(conn, app, segment, *file)));
        if !moved.await? {
            return Ok(());
        }
    }
}

/// Holds the files of older rows against their checkpoints, and counts them.
pub async fn verify_archives(app: &App) -> Result<Result<u64, Fault>, StartError> {
    let ring = Ring::load(&mut *app.db.read().await?, &app.keys).await?;
    let (mut files, mut after) = (0, 0);
    loop {
        let page = audit::list_checkpoints(&mut *app.db.read().await?, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(Ok(files)) };
        after = last.last_seq;
        for checkpoint in &page {
            let mut lines = Vec::new();
            if let Some((_, mut content)) = app.files.open_read(&checkpoint.content_hash).await? {
                while let Some(piece) = content.try_next().await? {
                    lines.extend_from_slice(&piece);
                }
            }
            if let Err(fault) = archive::verify_file(&ring, checkpoint, &lines) {
                return Ok(Err(fault));
            }
            files += 1;
        }
    }
}

/// Puts the checkpoint in place of the rows, with an audit row. False if another node did.
async fn replace(conn: &mut Conn, app: &App, segment: &Segment, file: ContentHash) -> Result<bool, DbError> {
    if !archive::replace(conn, &app.keys, segment, file).await? {
        return Ok(false);
    }
    let meta = [("rows", json!(segment.len())), ("file", json!(file.to_string()))];
    audit::append(conn, &app.keys, &Entry::by_system("audit.archive", None, meta)).await?;
    Ok(true)
}
