//! How a call ended, and the record that follows from it.

use super::live::LiveCall;
use super::records::Record;
use super::types::{CallStatus, Leg};
use super::{SECOND_MILLIS, SKEW_MILLIS};
use values::{Time, UpstreamId};

/// The longest a call can have lasted: a week.
const LONGEST_SECONDS: i64 = 7 * 24 * 3600;
/// How much longer than what was paid for a call may be without anybody wondering: switches end calls to the second.
const GRACE_SECONDS: i64 = 5;

/// What is said of a call's end.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    pub answered_at: Option<Time>,
    pub ended_at: Time,
    pub status: Option<CallStatus>,
    pub upstream_id: Option<UpstreamId>,
    /// Nobody said anything: this is what is known.
    pub is_guess: bool,
}

/// How long a call lasted from its answer: a second that has begun counts.
pub fn seconds_between(answered_at: Time, ended_at: Time) -> Result<u32, &'static str> {
    let millis = ended_at.millis().saturating_sub(answered_at.millis());
    let seconds = millis.max(0).saturating_add(SECOND_MILLIS - 1) / SECOND_MILLIS;
    match u32::try_from(seconds) {
        _ if millis < 0 => Err("it ends before it was answered"),
        Ok(whole) if seconds <= LONGEST_SECONDS => Ok(whole),
        _ => Err("it lasts for more than a week"),
    }
}

/// The status of a call by what the callee's side answered.
pub fn status_of(sip_code: i64) -> CallStatus {
    match sip_code {
        486 | 600 => CallStatus::Busy,
        487 => CallStatus::Cancelled,
        408 | 480 => CallStatus::NoAnswer,
        _ => CallStatus::Failed,
    }
}

/// The earlier of two moments, of which neither need be known.
pub fn earliest(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    one.into_iter().chain(other).min()
}

/// When a call was answered, by all that was told: of several answers the earliest counts.
pub fn answered(call: &LiveCall, told: Option<Time>) -> Result<Option<Time>, &'static str> {
    match earliest(call.answered_at, told) {
        Some(at) if is_before(call, at) => Err("it was answered before it was allowed"),
        answered_at => Ok(answered_at),
    }
}

/// Whether a moment lies before the call, even if the switch's clock is behind ours.
fn is_before(call: &LiveCall, at: Time) -> bool {
    at.millis() < call.started_at.millis() - SKEW_MILLIS
}

/// The same call by our clock, where the switch's was behind when it began: nothing happens before that.
fn by_our_clock(call: &LiveCall, answered_at: Option<Time>, ended_at: Time) -> (Option<Time>, Time) {
    let first = answered_at.unwrap_or(ended_at);
    let behind = (call.started_at.millis() - first.millis()).max(0);
    let moved = |at: Time| Time::from_millis(at.millis() + behind);
    (answered_at.map(moved), moved(ended_at))
}

/// The last that was said of a call, by the switch's clock. Before the first word there is only ours, which may be ahead.
pub fn last_said(call: &LiveCall) -> Time {
    if call.seen_at == call.started_at {
        return Time::from_millis(call.started_at.millis() - SKEW_MILLIS);
    }
    call.seen_at
}

/// The last that is known of a call, within what one can have lasted.
pub fn last_heard(call: &LiveCall) -> Time {
    let answered_at = call.answered_at.unwrap_or(call.seen_at);
    let longest = Time::from_millis(answered_at.millis().saturating_add(LONGEST_SECONDS * SECOND_MILLIS));
    call.seen_at.max(answered_at).min(longest)
}

/// The record of a call of ours.
pub fn record(call: &LiveCall, ending: &Ending, now: Time) -> Result<Record, &'static str> {
    let answered_at = answered(call, ending.answered_at)?;
    if is_before(call, ending.ended_at) {
        return Err("it ends before it was allowed");
    }
    let status = match (answered_at, ending.status) {
        (Some(_), _) => CallStatus::Answered,
        (None, Some(CallStatus::Answered)) => return Err("answered_at is missing"),
        (None, Some(status)) => status,
        (None, None) => CallStatus::NoAnswer,
    };
    let seconds = answered_at.map_or(Ok(0), |at| seconds_between(at, ending.ended_at))?;
    let upstream_id = ending.upstream_id.or(call.upstream_id).or(call.routes.0.first().map(|route| route.upstream_id));
    let route = call.routes.0.iter().find(|route| Some(route.upstream_id) == upstream_id);
    let (billed, charge, cost) = match answered_at {
        None => (0, 0, 0),
        Some(_) => {
            let rate = call.rate().map_err(|_| "its rate is damaged")?;
            let charge = rate.price(seconds).map_err(|_| "it costs more than there is money")?;
            (rate.billed_seconds(seconds), charge, route.map_or(0, |route| route.cost(seconds)))
        }
    };
    // A call that went where we did not send it: what that cost us is for a person to find out.
    let is_astray = call.leg == Leg::Termination && answered_at.is_some() && route.is_none();
    let (answered_at, ended_at) = by_our_clock(call, answered_at, ending.ended_at);
    let is_overdrawn = i64::from(seconds) > call.reserved_seconds + GRACE_SECONDS;
    Ok(Record {
        id: call.token,
        account_id: call.account_id,
        trunk_id: call.trunk_id,
        call_id: call.call_id.clone(),
        leg: call.leg,
        zone: call.zone.clone(),
        calling: call.calling.clone(),
        called: call.called.clone(),
        country: call.country.clone(),
        destination_name: call.destination_name.clone(),
        prefix: call.prefix.clone(),
        started_at: call.started_at,
        answered_at,
        ended_at: Some(ended_at),
        duration_seconds: seconds.into(),
        billed_seconds: billed.into(),
        status,
        currency: call.currency,
        rate_per_minute: call.rate_per_minute,
        connect_fee: call.connect_fee,
        increment_seconds: call.increment_seconds,
        minimum_seconds: call.minimum_seconds,
        rate_upstream_id: call.rate_upstream_id,
        upstream_id,
        charge,
        cost,
        ledger_id: None,
        imported: false,
        review: ending.is_guess || is_overdrawn || is_astray,
        recorded_at: now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_that_has_begun_counts_and_no_call_ends_before_its_answer() {
        let at = Time::from_millis;
        assert_eq!(seconds_between(at(1000), at(1000)), Ok(0));
        assert_eq!(seconds_between(at(1000), at(1001)), Ok(1));
        assert_eq!(seconds_between(at(1000), at(2000)), Ok(1));
        assert_eq!(seconds_between(at(1000), at(2001)), Ok(2));
        assert!(seconds_between(at(1000), at(999)).is_err());
        assert!(seconds_between(at(0), at(LONGEST_SECONDS * 1000 + 1)).is_err());
        assert!(seconds_between(at(i64::MIN), at(i64::MAX)).is_err());
    }
}
