//! How a call ended, and the CDR that follows from it.

use crate::cdrs::quotes::Route;
use crate::cdrs::row::{CallResult, CdrRow};
use crate::cdrs::terms::{CallStatus, CallTerms, Leg};
use crate::concurrency::SECOND_MILLIS;
use values::{CallId, Time, UpstreamId};

/// How far the clock of a switch may be off.
pub const MAX_CLOCK_SKEW_MILLIS: i64 = 5 * 60 * SECOND_MILLIS;

/// The longest call that is accepted: a week.
pub const MAX_CALL_SECONDS: i64 = 7 * 24 * 3600;
/// How much longer than its reservation a call may be without `review`: switches end calls to the second.
const OVERRUN_GRACE_SECONDS: i64 = 5;

/// What events say about a call, taken together.
#[derive(Clone, Copy, Debug)]
pub struct CallUpdate {
    /// The earliest reported answer.
    pub answered_at: Option<Time>,
    pub upstream_id: Option<UpstreamId>,
    /// Time of the latest event.
    pub seen_at: Time,
    /// The first reported end and its status, if one was sent.
    pub end: Option<(Time, Option<CallStatus>)>,
}

/// What is known of a call when it ends.
#[derive(Clone, Copy, Debug)]
pub struct KnownCall<'a> {
    pub id: CallId,
    pub terms: &'a CallTerms,
    pub routes: &'a [Route],
    pub upstream_id: Option<UpstreamId>,
    pub answered_at: Option<Time>,
    pub reserved_seconds: i64,
}

/// The end of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallEnd {
    pub answered_at: Option<Time>,
    pub ended_at: Time,
    pub status: Option<CallStatus>,
    pub upstream_id: Option<UpstreamId>,
    /// No switch reported the end: it is assumed from the last event.
    pub is_assumed: bool,
}

/// Duration of a call from answer to end; every started second counts.
pub fn seconds_between(answered_at: Time, ended_at: Time) -> Result<u32, &'static str> {
    let millis = ended_at.millis().saturating_sub(answered_at.millis());
    let seconds = millis.max(0).saturating_add(SECOND_MILLIS - 1) / SECOND_MILLIS;
    match u32::try_from(seconds) {
        _ if millis < 0 => Err("the call ends before its answer"),
        Ok(whole) if seconds <= MAX_CALL_SECONDS => Ok(whole),
        _ => Err("the call is longer than a week"),
    }
}

/// The status of an unanswered call by its final SIP response.
pub fn status_from_sip_code(sip_code: i64) -> CallStatus {
    match sip_code {
        486 | 600 => CallStatus::Busy,
        487 => CallStatus::Cancelled,
        408 | 480 => CallStatus::NoAnswer,
        _ => CallStatus::Failed,
    }
}

pub fn earliest(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    one.into_iter().chain(other).min()
}

/// The answer time of a call: the earliest of those reported.
pub fn answer_time(
    started_at: Time,
    known: Option<Time>,
    reported: Option<Time>,
) -> Result<Option<Time>, &'static str> {
    match earliest(known, reported) {
        Some(at) if is_before(started_at, at) => Err("the answer is before the authorization"),
        answered_at => Ok(answered_at),
    }
}

/// Whether a time is before the call began, even if the switch's clock is behind ours.
fn is_before(started_at: Time, at: Time) -> bool {
    at.millis() < started_at.millis() - MAX_CLOCK_SKEW_MILLIS
}

/// Moves answer and end to our clock if the switch's clock was behind when the call began: neither is before the start.
fn by_our_clock(started_at: Time, answered_at: Option<Time>, ended_at: Time) -> (Option<Time>, Time) {
    let first = answered_at.unwrap_or(ended_at);
    let behind = (started_at.millis() - first.millis()).max(0);
    let moved = |at: Time| Time::from_millis(at.millis() + behind);
    (answered_at.map(moved), moved(ended_at))
}

/// The CDR of a call of our switches, or why its end cannot be right.
pub fn end_call(call: KnownCall<'_>, end: &CallEnd, now: Time) -> Result<CdrRow, &'static str> {
    let (terms, routes) = (call.terms, call.routes);
    let answered_at = answer_time(terms.started_at, call.answered_at, end.answered_at)?;
    if is_before(terms.started_at, end.ended_at) {
        return Err("the end is before the authorization");
    }
    let status = match (answered_at, end.status) {
        (Some(_), _) => CallStatus::Answered,
        (None, Some(CallStatus::Answered)) => return Err("answered_at is missing"),
        (None, Some(status)) => status,
        (None, None) => CallStatus::NoAnswer,
    };
    let seconds = answered_at.map_or(Ok(0), |at| seconds_between(at, end.ended_at))?;
    let upstream_id = end.upstream_id.or(call.upstream_id).or(routes.first().map(|route| route.upstream_id));
    let route = routes.iter().find(|route| Some(route.upstream_id) == upstream_id);
    let (billed, charge, cost) = match answered_at {
        None => (0, 0, 0),
        Some(_) => {
            let rate = terms.rate().map_err(|_| "the stored rate is invalid")?;
            let charge = rate.price(seconds).map_err(|_| "the charge is too large")?;
            (rate.billed_seconds(seconds), charge, route.map_or(0, |route| route.cost(seconds)))
        }
    };
    // It went to an upstream that is not among its routes, so its cost is unknown.
    let is_cost_unknown = terms.leg == Leg::Termination && answered_at.is_some() && route.is_none();
    let (answered_at, ended_at) = by_our_clock(terms.started_at, answered_at, end.ended_at);
    let is_overrun = i64::from(seconds) > call.reserved_seconds + OVERRUN_GRACE_SECONDS;
    let result = CallResult {
        answered_at,
        ended_at: Some(ended_at),
        duration_seconds: seconds.into(),
        billed_seconds: billed.into(),
        status,
        upstream_id,
        charge,
        cost,
        ledger_id: None,
        imported: false,
        review: end.is_assumed || is_overrun || is_cost_unknown,
        recorded_at: now,
    };
    Ok(CdrRow { id: call.id, terms: terms.clone(), result })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_started_second_counts_and_no_call_ends_before_its_answer() {
        let at = Time::from_millis;
        assert_eq!(seconds_between(at(1000), at(1000)), Ok(0));
        assert_eq!(seconds_between(at(1000), at(1001)), Ok(1));
        assert_eq!(seconds_between(at(1000), at(2000)), Ok(1));
        assert_eq!(seconds_between(at(1000), at(2001)), Ok(2));
        assert!(seconds_between(at(1000), at(999)).is_err());
        assert!(seconds_between(at(0), at(MAX_CALL_SECONDS * 1000 + 1)).is_err());
        assert!(seconds_between(at(i64::MIN), at(i64::MAX)).is_err());
    }
}
