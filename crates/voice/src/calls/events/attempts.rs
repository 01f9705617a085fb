//! What became of each upstream that was tried for a call, and what follows for the routes of later calls.
//!
//! A switch reports an upstream that did not take a call with `attempt_failed` before it tries the next one, and the last
//! one with `answered`, `ended` or `failed`. A route of a call is counted once: a failure is marked in the live call, an
//! answer counts when it is first stored, an end when it closes the call.

use rating::quality::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

use super::CallEvents;
use crate::calls::live::LiveCall;
use crate::cdrs::{CallStatus, CdrRow, Leg, Route};
use db::{Conn, DbError};
use identity::events::{self as account_events, EventType as AccountEvent};
use identity::portal;
use platform::app::App;
use platform::routing::quality::{self, BreakerChange, Observation, RouteEvent};
use values::{Rfc3339, Time, UpstreamId};

/// A longer delay is a fault of a clock.
const MAX_DELAY_MILLIS: i64 = 300_000;

/// An upstream that did not take the call.
#[derive(Clone, Copy, Debug)]
pub struct FailedAttempt {
    pub upstream: UpstreamId,
    pub sip_code: Option<i64>,
    pub at: Time,
}

/// The last upstream that was tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Last {
    pub sent_at: Option<Time>,
    pub ringing_at: Option<Time>,
    pub sip_code: Option<i64>,
}

/// What the events of a batch say about the upstreams that were tried.
#[derive(Clone, Debug, Default)]
pub struct Attempts {
    pub failed: Vec<FailedAttempt>,
    last: Last,
}

impl Attempts {
    pub fn add(&mut self, more: &Last) {
        let last = &mut self.last;
        last.sent_at = more.sent_at.or(last.sent_at);
        last.ringing_at = more.ringing_at.or(last.ringing_at);
        last.sip_code = more.sip_code.or(last.sip_code);
    }

    /// Post-dial delay: from sending the call until it rings or is answered.
    fn delay_millis(&self, answered_at: Option<Time>) -> Option<i64> {
        let heard_at = self.last.ringing_at.or(answered_at)?;
        let delay = heard_at.millis() - self.last.sent_at?.millis();
        Some(delay).filter(|delay| (0..=MAX_DELAY_MILLIS).contains(delay))
    }
}

/// Marks the routes that failed; true if any was not marked before.
pub fn mark_failed(call: &mut LiveCall, attempts: &Attempts, observed: &mut Vec<Observation>) -> bool {
    let Some(destination) = destination(call) else { return false };
    let mut is_changed = false;
    for attempt in &attempts.failed {
        let is_new = |route: &&mut Route| route.upstream_id == attempt.upstream && !route.has_failed;
        let Some(route) = call.state.routes.0.iter_mut().find(is_new) else { continue };
        route.has_failed = true;
        is_changed = true;
        let outcome = Outcome::of_failure(attempt.sip_code, false);
        let event = RouteEvent::Attempt { outcome, sip_code: attempt.sip_code, delay_millis: None };
        let (upstream, at) = (attempt.upstream, attempt.at);
        observed.push(Observation { upstream, destination: destination.clone(), at, event });
    }
    is_changed
}

/// The route that answered, if these events are the first that say so.
pub fn answer(call: &LiveCall, events: &CallEvents, answered_at: Option<Time>) -> Option<Observation> {
    let at = answered_at.filter(|_| call.state.answered_at.is_none())?;
    let upstream = tried(call, events.update.upstream_id.or(call.state.upstream_id))?;
    let delay_millis = events.attempts.delay_millis(Some(at));
    let event = RouteEvent::Attempt { outcome: Outcome::Answered, sip_code: None, delay_millis };
    Some(Observation { upstream, destination: destination(call)?, at, event })
}

/// What the end of a call says about the route that had it last.
pub fn end(
    call: &LiveCall,
    events: &CallEvents,
    (ended_at, status): (Time, Option<CallStatus>),
    cdr: &CdrRow,
) -> Vec<Observation> {
    let Some(destination) = destination(call) else { return Vec::new() };
    if cdr.result.answered_at.is_some() {
        let seconds = cdr.result.duration_seconds;
        let over = tried(call, cdr.result.upstream_id).map(|upstream| {
            let event = RouteEvent::Ended { seconds };
            Observation { upstream, destination, at: ended_at, event }
        });
        return answer(call, events, cdr.result.answered_at).into_iter().chain(over).collect();
    }
    // Only if the switch names the upstream: a call that reached none ends, too.
    let unmarked = |upstream: &UpstreamId| {
        call.state.routes.0.iter().any(|route| route.upstream_id == *upstream && !route.has_failed)
    };
    let (Some(upstream), Some(status)) = (events.update.upstream_id.filter(unmarked), status) else {
        return Vec::new();
    };
    let sip_code = events.attempts.last.sip_code.or(match status {
        CallStatus::Busy => Some(486),
        CallStatus::NoAnswer => Some(480),
        CallStatus::Cancelled => Some(487),
        CallStatus::Answered | CallStatus::Failed => None,
    });
    let outcome = Outcome::of_failure(sip_code, events.attempts.last.ringing_at.is_some());
    let delay_millis = events.attempts.delay_millis(None);
    let event = RouteEvent::Attempt { outcome, sip_code, delay_millis };
    vec![Observation { upstream, destination, at: ended_at, event }]
}

/// The destination of an outbound call.
fn destination(call: &LiveCall) -> Option<String> {
    call.terms.destination_name.clone().filter(|_| call.terms.leg == Leg::Termination)
}

/// The upstream, if it is a route of the call.
fn tried(call: &LiveCall, upstream: Option<UpstreamId>) -> Option<UpstreamId> {
    upstream.filter(|upstream| call.state.routes.0.iter().any(|route| route.upstream_id == *upstream))
}

/// Counts what became of routes. If a breaker changed, other nodes and the team are told; the events themselves are
/// stored already, so a failure of that is only logged.
pub async fn count(app: &App, observed: &[Observation], now: Time) {
    let mut changes: Vec<BreakerChange> =
        observed.iter().filter_map(|seen| app.route_quality.observe(seen, now)).collect();
    if changes.is_empty() {
        return;
    }
    // All nodes lock the rows in one order.
    changes.sort();
    for change in &changes {
        let BreakerChange { destination, upstream, is_open, sip_code, .. } = change;
        tracing::warn!(destination, %upstream, is_open, sip_code, "circuit breaker of a route changed");
    }
    let saved = app.db.tx(changes, |conn, changes| Box::pin(save(conn, changes))).await;
    if let Err(error) = saved {
        tracing::warn!(%error, "a change of circuit breakers could not be shared");
    }
}

/// Circuit breaker of a route that opened or closed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RouteBreaker {
    /// Id of the upstream.
    pub upstream_id: UpstreamId,
    /// Name of the destination.
    pub destination_name: String,
    /// SIP response of the last failure; null for a timeout, and when the breaker closed.
    pub sip_code: Option<i64>,
    /// When the breaker opened or closed (RFC 3339, UTC).
    pub at: Rfc3339,
}

async fn save(conn: &mut Conn, changes: &[BreakerChange]) -> Result<(), DbError> {
    for change in changes {
        if !quality::save_change(conn, change).await? {
            continue;
        }
        let Some(operator) = portal::operator(conn).await? else { continue };
        let kind = if change.is_open { AccountEvent::RouteBreakerOpened } else { AccountEvent::RouteBreakerClosed };
        let data = RouteBreaker {
            upstream_id: change.upstream,
            destination_name: change.destination.clone(),
            sip_code: change.sip_code,
            at: Rfc3339(change.at),
        };
        account_events::record(conn, operator, kind, &data).await?;
    }
    Ok(())
}
