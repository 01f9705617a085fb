//! How long records keep who called whom. What a call cost, when it was and where it went stays for as long as the books
//! do; the numbers of caller and callee are taken out after some time.
//!
//! A job goes through the records in the order of their beginnings and remembers how far it came. A line that arrives
//! later for a time that is past already is kept without its numbers from the start, so none is passed over.

mod store;

use std::time::Duration;

use serde_json::Value;

use super::DAY_MILLIS;
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use values::{CallId, Time};

pub const FORGET_NUMBERS: Kind = Kind::new("calls.forget_numbers");

/// What stands in place of a number that was taken out.
pub const FORGOTTEN: &str = "anonymised";

const BATCH: i64 = 1000;
/// How much later than it could the job comes: longer than a line can be on its way from being judged to being kept.
const DELAY: Duration = Duration::from_secs(3600);

/// Whether a record of a call that began then keeps its numbers no more.
pub fn is_over(app: &App, started_at: Time, now: Time) -> bool {
    started_at < cutoff(app, now)
}

fn cutoff(app: &App, now: Time) -> Time {
    Time::from_millis(now.millis().saturating_sub(app.settings.calls.number_retention_days * DAY_MILLIS))
}

pub async fn forget_numbers_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let cutoff = cutoff(&context.app, context.clock.now()).minus(DELAY);
    while context.db.tx(cutoff, |conn, cutoff| Box::pin(forget_some(conn, *cutoff))).await? {}
    Ok(())
}

/// Takes the numbers out of the next records; answers whether there are more.
async fn forget_some(conn: &mut Conn, cutoff: Time) -> Result<bool, DbError> {
    // Should numbers be kept for longer than they used to be, records may arrive behind where the job had come to.
    let done = store::done(conn).await?.min((cutoff, CallId::new(uuid::Uuid::nil())));
    let next = store::place_after(conn, done, cutoff, BATCH).await?;
    let end = next.unwrap_or((cutoff, CallId::new(uuid::Uuid::nil())));
    store::forget_numbers(conn, done, end, FORGOTTEN).await?;
    store::note_done(conn, end).await?;
    Ok(next.is_some())
}
