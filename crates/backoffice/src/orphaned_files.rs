//! Deletes stored files that no row references: uploads that were refused late, and files of deleted documents.
//!
//! A file is stored before its row, so a file younger than a day may still get one. An older file without a row never
//! will: a new upload of the same content stores it again, which makes it young.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use billing::{invoices, vat};
use db::{Conn, DbError};
use identity::compliance;
use numbers::inventory;
use platform::app::App;
use platform::audit;
use platform::jobs::{JobContext, JobError, Kind};
use platform::outside::files::{ContentHash, FilesError};
use voice::upstreams::{decks, statements};
use voice::{cdrs, price_notices};

pub const DELETE: Kind = Kind::new("files.sweep");

/// Longer than any upload takes from storing the file to inserting its row.
const MIN_AGE: Duration = Duration::from_secs(24 * 3600);
/// Files listed at a time.
const BATCH: usize = 500;

/// Whether a row of one feature references a file.
type IsReferenced = for<'c> fn(&'c mut Conn, &'c ContentHash) -> BoxFuture<'c, Result<bool, DbError>>;

/// Every feature whose rows reference files.
const REFERENCES: [IsReferenced; 10] = [
    |conn, hash| Box::pin(audit::names_file(conn, hash)),
    |conn, hash| Box::pin(cdrs::names_file(conn, hash)),
    |conn, hash| Box::pin(cdrs::names_archive_file(conn, hash)),
    |conn, hash| Box::pin(compliance::names_file(conn, hash)),
    |conn, hash| Box::pin(decks::names_file(conn, hash)),
    |conn, hash| Box::pin(invoices::names_file(conn, hash)),
    |conn, hash| Box::pin(inventory::names_file(conn, hash)),
    |conn, hash| Box::pin(statements::names_file(conn, hash)),
    |conn, hash| Box::pin(price_notices::names_file(conn, hash)),
    |conn, hash| Box::pin(vat::names_file(conn, hash)),
];

pub async fn delete_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let files = &context.app.files;
    let cutoff = context.clock.now().minus(MIN_AGE);
    let mut after = None;
    loop {
        let batch = files.list_older(cutoff, after, BATCH).await.map_err(failed)?;
        for hash in &batch {
            let referenced = is_referenced(&mut *context.db.read().await?, hash).await?;
            if !referenced && files.delete_older(hash, cutoff).await.map_err(failed)? {
                tracing::info!(%hash, "deleted orphaned file");
            }
        }
        if batch.len() < BATCH {
            return Ok(());
        }
        after = batch.last().copied();
    }
}

async fn is_referenced(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    for references in REFERENCES {
        if references(conn, hash).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn failed(error: FilesError) -> JobError {
    JobError::Failed(error.to_string())
}
