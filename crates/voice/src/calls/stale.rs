//! Live calls that have no events any more: first their money becomes available again, then they are closed. Their CDRs
//! are provisional.

use std::time::Duration;

use serde_json::Value;

use super::live;
use crate::cdrs::{self, CallEnd, CallStatus, EndedCall, ProvisionalCdr};
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{Class, JobContext, JobError, Kind};
use platform::ledger::{self, LedgerError};

pub const CLOSE_STALE: Kind = Kind::new("calls.close_vanished").class(Class::Money);

/// How long after the expiry of its hold a call is closed: time for a switch that could not reach us to report its end.
const CLOSE_AFTER: Duration = Duration::from_secs(300);
const BATCH_SIZE: i64 = 200;

pub async fn close_stale_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let batch = || context.db.tx((), |conn, ()| Box::pin(close_batch(conn)));
    while batch().await.map_err(|error| JobError::Failed(error.to_string()))? == BATCH_SIZE.unsigned_abs() as usize {}
    Ok(())
}

/// Ends the holds of at most `batch` calls that have expired, and returns how many. Not of stale calls: closing them ends
/// their holds too, and would leave out those that are locked here.
pub async fn expire_holds(conn: &mut Conn, batch: i64) -> Result<u64, DbError> {
    let cutoff = conn.now().minus(CLOSE_AFTER);
    let mut expired = live::lock_expired(conn, cutoff, batch).await?;
    expired.sort_by_key(|hold| (hold.account_id, hold.currency));
    let ends = expired.iter().flat_map(|hold| {
        let release = ledger::set_aside_statement(hold.account_id, hold.currency, -hold.held);
        [live::release_statement(hold.token), release]
    });
    conn.exec_many(&ends.collect::<Vec<_>>()).await?;
    Ok(expired.len() as u64)
}

/// Closes up to [`BATCH_SIZE`] calls and returns how many.
async fn close_batch(conn: &mut Conn) -> Result<usize, LedgerError> {
    let now = conn.now();
    let stale = live::lock_stale(conn, now.minus(CLOSE_AFTER), BATCH_SIZE).await?;
    let mut ended = Vec::with_capacity(stale.len());
    for call in stale {
        // An answered call was live until its last event; anything later is not certain.
        let end = CallEnd {
            answered_at: call.state.answered_at,
            ended_at: call.last_live_at(),
            status: Some(CallStatus::Failed),
            upstream_id: None,
            is_assumed: true,
        };
        let cdr = cdrs::end_call(call.known(), &end, now).map_err(DbError::other)?;
        live::delete(conn, call.token).await?;
        // The switch that reports an answer later may have a clock that is behind.
        let ended_at = if call.state.answered_at.is_some() { end.ended_at } else { call.last_event_at() };
        let (reserved, held, hung_up_by) = (call.state.reserved, call.state.held, call.hung_up_by());
        let provisional = ProvisionalCdr {
            token: call.token,
            is_end_told: false,
            answered_at: call.state.answered_at,
            ended_at,
            routes: call.state.routes,
            reserved_seconds: call.state.reserved_seconds,
            closed_at: now,
        };
        cdrs::insert_provisional(conn, &provisional).await?;
        ended.push(EndedCall { cdr, reserved, held, hung_up_by });
    }
    let routes = cdrs::write_cdrs(conn, &mut ended, &mut []).await?.settle(conn).await?;
    cdrs::add_routes(conn, &routes).await?;
    if !ended.is_empty() {
        tracing::warn!(calls = ended.len(), "stale calls closed");
    }
    Ok(ended.len())
}
