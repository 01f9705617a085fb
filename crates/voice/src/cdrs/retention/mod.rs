//! Anonymises the numbers of caller and callee in CDRs after the retention period. Charge, times and destination stay.
//!
//! A job goes through the CDRs by start time and stores how far it is. A CDR that is imported later for a time that the
//! job has passed is anonymised by the import, so none is missed.

mod store;

use std::time::Duration;

use serde_json::Value;

use crate::concurrency::DAY_MILLIS;
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use values::{CallId, Time};

pub const ANONYMISE_NUMBERS: Kind = Kind::new("calls.forget_numbers");

/// Replaces a number.
pub const ANONYMISED: &str = "anonymised";

/// How long the job waits after the retention period: longer than an import takes from its check to its commit.
const IMPORT_GRACE: Duration = Duration::from_secs(3600);

/// Whether the retention period of a call is over.
pub fn is_over(app: &App, started_at: Time, now: Time) -> bool {
    started_at < cutoff(app, now)
}

/// Numbers of calls that began before are anonymised.
pub fn cutoff(app: &App, now: Time) -> Time {
    Time::from_millis(now.millis().saturating_sub(app.settings.calls.number_retention_days * DAY_MILLIS))
}

pub async fn anonymise_numbers_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let cutoff = cutoff(&context.app, context.clock.now()).minus(IMPORT_GRACE);
    let batch = (cutoff, context.db.bulk_rows(100, 1000) as i64);
    while context.db.tx_bulk(batch, |conn, (cutoff, rows)| Box::pin(anonymise_batch(conn, *cutoff, *rows))).await? {}
    Ok(())
}

/// Anonymises the next CDRs; returns whether there are more.
async fn anonymise_batch(conn: &mut Conn, cutoff: Time, rows: i64) -> Result<bool, DbError> {
    // If the retention period was extended, CDRs before the stored progress may have been imported with numbers since.
    let done = store::lock_progress(conn).await?.min((cutoff, CallId::new(uuid::Uuid::nil())));
    let next = store::cursor_after(conn, done, cutoff, rows).await?;
    let end = next.unwrap_or((cutoff, CallId::new(uuid::Uuid::nil())));
    store::anonymise(conn, done, end, ANONYMISED).await?;
    store::save_progress(conn, end).await?;
    Ok(next.is_some())
}
