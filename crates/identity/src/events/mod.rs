//! Events: what happened to an account, for programs. `backoffice` lists, streams and sends them.
//!
//! Features call [`record`] in the transaction of what happened, with the resource as its GET answers; for most
//! notifications `notify` does it. Transactions commit in another order than they write, so an event has no place in the
//! order of events until [`publish`] gives it one, after the commit and under the lock of one row. So whoever sees a
//! position sees all earlier ones, and a reader that remembers the last position it has seen misses nothing. Events are
//! kept for 30 days.

mod kinds;
mod store;

pub use kinds::EventType;
pub use store::{
    EventFilter, EventId, EventRow, Head, PublishedEvent, find, head, list, lock_head, newest, publish, purge, range,
    set_head,
};

use std::sync::atomic::{AtomicI64, Ordering};

use serde::Serialize;

use db::{Conn, DbError};
use values::{AccountId, Time};

/// How long events are kept.
pub const RETENTION_DAYS: u64 = 30;

/// The ordinal of the last event that this node wrote: microseconds since 1970, so that a restart does not go back.
static ORDINAL: AtomicI64 = AtomicI64::new(0);

fn next_ordinal(now: Time) -> i64 {
    let micros = now.millis().saturating_mul(1000);
    let next = |last: i64| micros.max(last.saturating_add(1));
    next(ORDINAL.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last))).unwrap_or_default())
}

/// Writes an event; call it in the transaction of what happened.
pub async fn record(
    conn: &mut Conn,
    account: AccountId,
    kind: EventType,
    data: &(impl Serialize + Sync),
) -> Result<EventId, DbError> {
    let data = serde_json::to_string(data).map_err(DbError::other)?;
    let id = conn.new_id();
    let ordinal = next_ordinal(conn.now());
    store::insert(conn, id, account, kind, &data, ordinal).await?;
    // Which publishes it.
    conn.wake_job_runner();
    Ok(id)
}
