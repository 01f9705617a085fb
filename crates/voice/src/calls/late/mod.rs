//! Words that come late: of calls that were closed by then, but not for sure.
//!
//! A call of which no switch spoke any more was closed with what was known of it, and one may have ended before anybody
//! told of its answer. What is told afterwards makes their records anew; what is charged is the difference. The row of an
//! open end goes with the last word there can be, and a word that is told again changes nothing.

mod store;

pub use store::{OpenEnd, forget, lock, open};

use super::end::{self, Ending};
use super::live::LiveCall;
use super::records::{self, Amended, Record};
use super::types::CallStatus;
use db::{Conn, DbError};
use values::{List, Time, UpstreamId};

/// What is told late.
#[derive(Clone, Copy, Debug)]
pub struct LateWord {
    pub answered_at: Option<Time>,
    pub upstream_id: Option<UpstreamId>,
    pub seen_at: Time,
    pub end: Option<(Time, Option<CallStatus>)>,
}

/// The record as it is by a late word, or why that cannot be.
pub async fn amend(
    conn: &mut Conn,
    open: &OpenEnd,
    word: &LateWord,
    now: Time,
) -> Result<Result<Option<Amended>, &'static str>, DbError> {
    let Some(before) = records::find(conn, open.token).await? else { return Ok(Ok(None)) };
    let ending = ending(open, word, before.status);
    let after = match end::record(&as_it_was(&before, open), &ending, now) {
        Ok(after) => after,
        Err(reason) => return Ok(Err(reason)),
    };
    let is_end_told = open.is_end_told || word.end.is_some();
    let is_answer_known = after.answered_at.is_some() || word.end.is_some_and(|(_, status)| status.is_some());
    if is_end_told && is_answer_known {
        store::settle(conn, open.token).await?;
    } else {
        let answered_at = end::earliest(open.answered_at, word.answered_at);
        store::leave_open(conn, open.token, answered_at, ending.ended_at, is_end_told).await?;
    }
    let amended = Amended { before, after };
    Ok(Ok(amended.is_news().then_some(amended)))
}

/// The end by all that was told. What was heard of an answered call before was so; an end before that ends it there.
fn ending(open: &OpenEnd, word: &LateWord, status: CallStatus) -> Ending {
    let heard = |at: Time| if open.answered_at.is_some() { at.max(open.ended_at) } else { at };
    let (ended_at, status, is_guess) = match word.end {
        _ if open.is_end_told => (open.ended_at, Some(status), false),
        Some((at, status)) => (heard(at), status, false),
        None => (open.ended_at.max(word.seen_at), Some(CallStatus::Failed), true),
    };
    Ending { answered_at: word.answered_at, ended_at, status, upstream_id: word.upstream_id, is_guess }
}

/// The call as it was when it was closed.
fn as_it_was(record: &Record, open: &OpenEnd) -> LiveCall {
    let Record { id, account_id, trunk_id, leg, currency, started_at, .. } = *record;
    LiveCall {
        token: id,
        call_id: record.call_id.clone(),
        account_id,
        trunk_id,
        leg,
        zone: record.zone.clone(),
        calling: record.calling.clone(),
        called: record.called.clone(),
        country: record.country.clone(),
        destination_name: record.destination_name.clone(),
        prefix: record.prefix.clone(),
        currency,
        rate_per_minute: record.rate_per_minute,
        connect_fee: record.connect_fee,
        increment_seconds: record.increment_seconds,
        minimum_seconds: record.minimum_seconds,
        rate_upstream_id: record.rate_upstream_id,
        routes: List(open.routes.0.clone()),
        target_uri: None,
        upstream_id: record.upstream_id,
        started_at,
        answered_at: open.answered_at,
        seen_at: open.ended_at,
        reserved: 0,
        reserved_seconds: open.reserved_seconds,
        expires_at: record.recorded_at,
        hang_up: false,
    }
}
