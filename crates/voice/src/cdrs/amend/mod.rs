//! Amends provisional CDRs by late events.
//!
//! A call is closed without its end when its events stop, and an end that does not say whether the call was answered
//! may overtake the answer. Late events complete the CDR of such a call; the difference is charged. Its row in
//! `open_ends` is deleted when the CDR is final, and an event that is sent again changes nothing.

mod store;

pub use store::{ProvisionalCdr, insert, lock, purge};

use super::state::{CallState, Known};
use super::terms::CallStatus;
use super::write::{self, Amendment, CallEnd, CallUpdate, KnownCall};
use db::{Conn, DbError};
use values::Time;

/// Applies late events to a provisional CDR: the amendment if they change it, or why they cannot be right.
pub async fn apply(
    conn: &mut Conn,
    provisional: &ProvisionalCdr,
    update: &CallUpdate,
) -> Result<Result<Option<Amendment>, &'static str>, DbError> {
    let now = conn.now();
    let stored = write::find(conn, provisional.token).await?.filter(|cdr| !cdr.result.imported);
    let Some(before) = stored else { return Ok(Ok(None)) };
    let end = end(provisional, update, before.result.status);
    let call = KnownCall {
        id: before.id,
        terms: &before.terms,
        routes: &provisional.routes.0,
        upstream_id: before.result.upstream_id,
        answered_at: provisional.answered_at,
        reserved_seconds: provisional.reserved_seconds,
    };
    let after = match write::end_call(call, &end, now) {
        Ok(after) => after,
        Err(reason) => return Ok(Err(reason)),
    };
    let is_end_reported = provisional.is_end_told || update.end.is_some();
    let is_status_sent = update.end.is_some_and(|(_, status)| status.is_some());
    let is_answer_known = after.result.answered_at.is_some() || is_status_sent;
    match CallState::Provisional.next(Known { is_end_reported, is_answer_known }) {
        CallState::Final => store::delete(conn, provisional.token).await?,
        CallState::Live | CallState::Provisional => {
            let answered_at = write::earliest(provisional.answered_at, update.answered_at);
            store::update(conn, provisional.token, answered_at, end.ended_at, is_end_reported).await?;
        }
    }
    let amendment = Amendment { before, after };
    Ok(Ok(amendment.is_change().then_some(amendment)))
}

/// The end by all events so far. An answered call was live at its last event, so an end before that counts as then.
fn end(provisional: &ProvisionalCdr, update: &CallUpdate, status: CallStatus) -> CallEnd {
    let not_before_last_event =
        |at: Time| if provisional.answered_at.is_some() { at.max(provisional.ended_at) } else { at };
    let (ended_at, status, is_assumed) = match update.end {
        _ if provisional.is_end_told => (provisional.ended_at, Some(status), false),
        Some((at, status)) => (not_before_last_event(at), status, false),
        None => (provisional.ended_at.max(update.seen_at), Some(CallStatus::Failed), true),
    };
    CallEnd { answered_at: update.answered_at, ended_at, status, upstream_id: update.upstream_id, is_assumed }
}
