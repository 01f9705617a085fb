//! Dashboards of the team: operational (requests, errors, latency) and security (sign-ins, tokens, second factors).
//!
//! Every node adds its counters (`platform::traffic`) to table `traffic` every few seconds and when it stops, per
//! minute and per hour. Audit rows are counted from where the last count ended. So a dashboard reads a few hundred
//! sums, however much traffic there was.

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

/// How often a node flushes its counters.
pub const FLUSH_INTERVAL: Duration = Duration::from_secs(5);
/// Retention of the sums per minute.
pub const MINUTES_KEPT_FOR: Duration = Duration::from_secs(2 * 24 * 3600);
/// Retention of the sums per hour.
pub const HOURS_KEPT_FOR: Duration = Duration::from_secs(90 * 24 * 3600);

/// Audit rows counted in one transaction.
const AUDIT_BATCH: i64 = 20_000;

/// Adds this node's counters to the database, and counts new audit rows. On failure the counters are kept.
pub async fn flush_traffic(app: &App) -> Result<(), DbError> {
    let counts = app.request_stats.drain();
    if !counts.is_empty() {
        let work = counts.clone();
        let written = app.db.tx(work, |conn, counts| Box::pin(store::add(conn, counts))).await;
        if let Err(error) = written {
            app.request_stats.restore(counts);
            return Err(error);
        }
    }
    while app.db.tx((), |conn, ()| Box::pin(store::count_audit(conn, AUDIT_BATCH))).await? == AUDIT_BATCH {}
    Ok(())
}

pub async fn purge_minutes(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    store::purge(conn, Span::Minute, cutoff, batch).await
}

pub async fn purge_hours(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    store::purge(conn, Span::Hour, cutoff, batch).await
}

/// Span of the sums for a window, and the start of the first.
fn window_start(now: Time, window: Duration) -> (Span, Time) {
    let span = if window <= Duration::from_secs(3600) { Span::Minute } else { Span::Hour };
    // The current minute or hour is the last of the window.
    (span, span.start(now).plus(span.length()).minus(window))
}
