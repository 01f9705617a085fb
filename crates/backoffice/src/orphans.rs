//! Stored files that no row names: uploads refused at the last moment, and documents taken away again.
//!
//! A file comes before its row, so a young one may still be about to be named. One that nobody has stored for a day and
//! no row names will never be: whoever wants to name it has to store it again, which makes it young.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use billing::{invoices, vat};
use db::{Conn, DbError};
use identity::compliance;
use numbers::inventory;
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use platform::outside::files::{ContentHash, FilesError};
use voice::{cdrs, decks};

pub const SWEEP: Kind = Kind::new("files.sweep");

/// No upload takes longer from its file to its row.
const SPARED_FOR: Duration = Duration::from_secs(24 * 3600);
/// How many files are looked at in one go.
const BATCH: usize = 500;

/// Whether rows of one feature name a file.
type Names = for<'c> fn(&'c mut Conn, &'c ContentHash) -> BoxFuture<'c, Result<bool, DbError>>;

/// Every feature whose rows name files.
const NAMED_BY: [Names; 6] = [
    |conn, hash| Box::pin(cdrs::names_file(conn, hash)),
    |conn, hash| Box::pin(compliance::names_file(conn, hash)),
    |conn, hash| Box::pin(decks::names_file(conn, hash)),
    |conn, hash| Box::pin(invoices::names_file(conn, hash)),
    |conn, hash| Box::pin(inventory::names_file(conn, hash)),
    |conn, hash| Box::pin(vat::names_file(conn, hash)),
];

pub async fn sweep_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let files = &context.app.files;
    let cutoff = context.clock.now().minus(SPARED_FOR);
    let mut after = None;
    loop {
        let batch = files.list_older(cutoff, after, BATCH).await.map_err(failed)?;
        for hash in &batch {
            let named = is_named(&mut *context.db.read().await?, hash).await?;
            if !named && files.delete_older(hash, cutoff).await.map_err(failed)? {
                tracing::info!(%hash, "removed a file that no row names");
            }
        }
        if batch.len() < BATCH {
            return Ok(());
        }
        after = batch.last().copied();
    }
}

async fn is_named(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    for names in NAMED_BY {
        if names(conn, hash).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn failed(error: FilesError) -> JobError {
    JobError::Failed(error.to_string())
}
