//! What the team sees at a glance: how the service is doing, and who tries what they should not.
//!
//! Every node writes down what it counted (`platform::traffic`) every few seconds and when it stops, added to the same
//! numbers of the others: once for the minute and once for the hour. Rows of the audit log are counted from where the
//! last count ended. So a dashboard reads a few hundred sums, however much traffic they stand for.

mod operational;
mod security;
mod store;
mod types;

pub use operational::operational;
pub use security::security;

use std::time::Duration;

use store::Span;

use db::{Conn, DbError};
use platform::app::App;
use values::Time;

/// How often a node writes down what it counted.
pub const EVERY: Duration = Duration::from_secs(5);
/// Minutes are kept for this long, hours for longer.
pub const MINUTES_KEPT_FOR: Duration = Duration::from_secs(2 * 24 * 3600);
pub const HOURS_KEPT_FOR: Duration = Duration::from_secs(90 * 24 * 3600);

/// Rows of the audit log that are counted in one transaction.
const AUDIT_BATCH: i64 = 20_000;

/// Writes down what this node has counted so far.
pub async fn write_down(app: &App) -> Result<(), DbError> {
    let counts = app.request_stats.drain();
    if !counts.is_empty() {
        let work = (counts.clone(), app.clock.now());
        let written = app.db.tx(work, |conn, (counts, now)| Box::pin(store::add(conn, counts, *now))).await;
        if let Err(error) = written {
            app.request_stats.restore(counts);
            return Err(error);
        }
    }
    while app.db.tx((), |conn, ()| Box::pin(store::count_audit(conn, AUDIT_BATCH))).await? == AUDIT_BATCH {}
    Ok(())
}

pub async fn forget_minutes(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    store::forget(conn, Span::Minute, cutoff, batch).await
}

pub async fn forget_hours(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    store::forget(conn, Span::Hour, cutoff, batch).await
}

/// The sums from a moment on: their span, and where the first begins.
fn reaching_back(now: Time, window: Duration) -> (Span, Time) {
    let span = if window <= Duration::from_secs(3600) { Span::Minute } else { Span::Hour };
    // The one that is under way counts as the last.
    (span, span.start(now).plus(span.length()).minus(window))
}
