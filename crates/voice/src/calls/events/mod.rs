//! Ingests events of calls and upstreams, in any order and any number of times.
//!
//! All events of a batch about one call are merged first. An end closes the call, once: later events change nothing,
//! unless the CDR is provisional. Any other event keeps the call live, and a keepalive renews its reservation.
//!
//! What became of each upstream that was tried is counted when the transaction has committed, so once.
//!
//! - `health`: events of upstreams · `attempts`: results of routes · `renew`: reservations of calls that stay live

mod attempts;
mod health;
mod renew;

pub use attempts::RouteBreaker;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::live;
use super::types::{Event, EventType, Events, EventsAnswer, RejectedEvent};
use crate::cdrs::{
    self, Amendment, CallEnd, CallState, CallStatus, CallUpdate, EndedCall, Known, MAX_CLOCK_SKEW_MILLIS,
    ProvisionalCdr, answer_time, earliest, status_from_sip_code,
};
use api::problem::Problem;
use api::schema;
use attempts::{Attempts, FailedAttempt};
use db::{Conn, DbError};
use platform::app::App;
use platform::routing::quality::Observation;
use values::{CallId, Text, Time};

/// Calls of one switch that one answer has it hang up; the next answer has more.
const MAX_HANG_UPS: i64 = 500;

const UNKNOWN_CALL: &str = "there is no such call";

/// The events of a batch about one call.
#[derive(Clone, Debug)]
struct CallEvents {
    event_ids: Vec<String>,
    update: CallUpdate,
    is_keepalive: bool,
    attempts: Attempts,
}

pub async fn ingest_events(app: &App, Events { edge_id, events }: Events) -> Result<EventsAnswer, Problem> {
    let now = app.clock.now();
    let mut edges: BTreeSet<Text<1, 64>> = edge_id.into_iter().collect();
    let mut answer = EventsAnswer::default();
    let (mut calls, mut reports) = (BTreeMap::new(), Vec::new());
    for value in events {
        let event_id = value["event_id"].as_str().map(|id| id.chars().take(128).collect());
        let event = parse(value, now);
        edges.extend(event.iter().filter_map(|event| event.edge_id.clone()));
        let accepted = match event {
            Ok(event) if health::is_of_upstream(event.kind) => {
                health::report(app, &event).await?.map(|report| reports.push(report))
            }
            Ok(event) => merge(&mut calls, event),
            Err(reason) => Err(reason),
        };
        match accepted {
            Ok(()) => answer.accepted += 1,
            Err(reason) => answer.rejected.push(RejectedEvent { event_id, reason }),
        }
    }
    edges.iter().for_each(|edge| app.presence.saw_edge(edge, now));
    health::save(app, reports).await?;
    if !calls.is_empty() {
        let (applied, observed) = app.db.tx(calls, |conn, calls| Box::pin(apply(conn, calls))).await?;
        attempts::count(app, &observed, now).await;
        answer.accepted -= applied.rejected.len();
        answer.rejected.extend(applied.rejected);
        (answer.extend, answer.hang_up) = (applied.extend, applied.hang_up);
    }
    app.metrics.calls.events.of("accepted").inc_by(answer.accepted as u64);
    app.metrics.calls.events.of("rejected").inc_by(answer.rejected.len() as u64);
    add_hang_ups(app, &edges, &mut answer.hang_up).await?;
    Ok(answer)
}

/// Adds the calls of these switches that must be hung up, whether or not the batch has events of them.
async fn add_hang_ups(app: &App, edges: &BTreeSet<Text<1, 64>>, hang_up: &mut Vec<CallId>) -> Result<(), DbError> {
    if edges.is_empty() {
        return Ok(());
    }
    let mut all: BTreeSet<CallId> = hang_up.drain(..).collect();
    let mut reader = app.db.read().await?;
    for edge in edges {
        all.extend(live::list_to_hang_up(&mut reader, edge, MAX_HANG_UPS).await?.into_iter().map(|(token,)| token));
    }
    hang_up.extend(all);
    Ok(())
}

fn parse(value: Value, now: Time) -> Result<Event, String> {
    let event: Event = schema::read(value).map_err(|problem| cdrs::invalid_reason(&problem))?;
    let latest = now.millis() + MAX_CLOCK_SKEW_MILLIS;
    let is_future = |time: Time| time.millis() > latest;
    if is_future(event.at.0) || event.answered_at.is_some_and(|at| is_future(at.0)) {
        return Err("the time is in the future".to_owned());
    }
    Ok(event)
}

/// Merges an event into those of its call.
fn merge(calls: &mut BTreeMap<CallId, CallEvents>, event: Event) -> Result<(), String> {
    let Some(token) = event.call_token else { return Err("call_token is missing".to_owned()) };
    let at = event.at.0;
    let failed = match (event.kind, event.upstream_id) {
        (EventType::AttemptFailed, None) => return Err("upstream_id is missing".to_owned()),
        (EventType::AttemptFailed, Some(upstream)) => Some(FailedAttempt { upstream, sip_code: event.sip_code, at }),
        _ => None,
    };
    let events = calls.entry(token).or_insert_with(|| CallEvents {
        event_ids: Vec::new(),
        update: CallUpdate { answered_at: None, upstream_id: None, seen_at: at, end: None },
        is_keepalive: false,
        attempts: Attempts::default(),
    });
    if let Some(failed) = failed {
        events.event_ids.push(event.event_id.into_string());
        events.attempts.failed.push(failed);
        events.update.seen_at = events.update.seen_at.max(at);
        return Ok(());
    }
    let answered_at = match event.kind {
        EventType::Answered => Some(event.answered_at.map_or(at, |reported| reported.0)),
        _ => event.answered_at.map(|reported| reported.0),
    };
    let event_times = attempts::Last {
        sent_at: event.sent_at.map(|at| at.0),
        ringing_at: event.ringing_at.map(|at| at.0),
        sip_code: event.sip_code,
    };
    events.event_ids.push(event.event_id.into_string());
    events.is_keepalive |= event.kind == EventType::Keepalive;
    events.attempts.add(&event_times);
    let update = &mut events.update;
    update.answered_at = earliest(update.answered_at, answered_at);
    update.upstream_id = event.upstream_id.or(update.upstream_id);
    update.seen_at = update.seen_at.max(at);
    if matches!(event.kind, EventType::Ended | EventType::Failed) && update.end.is_none() {
        let failed = (event.kind == EventType::Failed).then_some(CallStatus::Failed);
        update.end = Some((at, event.status.or(event.sip_code.map(status_from_sip_code)).or(failed)));
    }
    Ok(())
}

/// Applies the events of calls, in one transaction, and returns what became of the routes that were tried.
async fn apply(
    conn: &mut Conn,
    calls: &BTreeMap<CallId, CallEvents>,
) -> Result<(EventsAnswer, Vec<Observation>), Problem> {
    let (mut answer, mut observed) = (EventsAnswer::default(), Vec::new());
    let (mut ended, mut amendments, mut continuing) = (Vec::new(), Vec::new(), Vec::new());
    for (token, events) in calls {
        let update = &events.update;
        let reason = match (live::lock(conn, *token).await?, update.end) {
            (None, _) => match apply_late(conn, *token, update).await? {
                Ok(amendment) => {
                    amendments.extend(amendment);
                    answer.hang_up.extend(events.is_keepalive.then_some(*token));
                    continue;
                }
                Err(reason) => reason,
            },
            (Some(mut locked), None) => {
                let call = &mut locked.call;
                match answer_time(call.terms.started_at, call.state.answered_at, update.answered_at) {
                    Ok(answered_at) => {
                        if attempts::mark_failed(call, &events.attempts, &mut observed) {
                            live::save_routes(conn, *token, &call.state.routes).await?;
                        }
                        observed.extend(attempts::answer(call, events, answered_at));
                        continuing.push((locked, events, answered_at));
                        continue;
                    }
                    Err(reason) => reason,
                }
            }
            (Some(mut locked), Some(end)) => {
                let mut of_call = Vec::new();
                attempts::mark_failed(&mut locked.call, &events.attempts, &mut of_call);
                match close(conn, &locked.call, update, end).await? {
                    Ok(call) => {
                        observed.extend(of_call);
                        observed.extend(attempts::end(&locked.call, events, end, &call.cdr));
                        ended.push(call);
                        continue;
                    }
                    Err(reason) => reason,
                }
            }
        };
        let rejected = |id: &String| RejectedEvent { event_id: Some(id.clone()), reason: reason.to_owned() };
        answer.rejected.extend(events.event_ids.iter().map(rejected));
    }
    let mut unsettled = cdrs::write_cdrs(conn, &mut ended, &mut amendments).await?;
    continuing.sort_by_key(|(locked, ..)| (locked.call.terms.account_id, locked.call.token));
    for (locked, ..) in &continuing {
        unsettled.keep(locked.call.terms.account_id, locked.call.terms.started_at);
    }
    let routes = unsettled.settle(conn).await?;
    for (locked, events, answered_at) in continuing {
        renew::keep_live(conn, &locked, events, answered_at, &mut answer).await?;
    }
    cdrs::add_routes(conn, &routes).await?;
    Ok((answer, observed))
}

/// Ends a live call; its CDR is provisional if the end does not say whether the call was answered.
async fn close(
    conn: &mut Conn,
    call: &live::LiveCall,
    update: &CallUpdate,
    (ended_at, status): (Time, Option<CallStatus>),
) -> Result<Result<EndedCall, &'static str>, DbError> {
    let now = conn.now();
    let CallUpdate { answered_at, upstream_id, .. } = *update;
    let end = CallEnd { answered_at, ended_at, status, upstream_id, is_assumed: false };
    let cdr = match cdrs::end_call(call.known(), &end, now) {
        Ok(cdr) => cdr,
        Err(reason) => return Ok(Err(reason)),
    };
    live::delete(conn, call.token).await?;
    let is_answer_known = status.is_some() || cdr.result.answered_at.is_some();
    let (reserved, held, hung_up_by) = (call.state.reserved, call.state.held, call.hung_up_by());
    if CallState::Live.next(Known { is_end_reported: true, is_answer_known }) == CallState::Provisional {
        let provisional = ProvisionalCdr {
            token: call.token,
            is_end_told: true,
            answered_at: call.state.answered_at,
            ended_at,
            routes: call.state.routes.clone(),
            reserved_seconds: call.state.reserved_seconds,
            closed_at: now,
        };
        cdrs::insert_provisional(conn, &provisional).await?;
    }
    Ok(Ok(EndedCall { cdr, reserved, held, hung_up_by }))
}

/// Applies late events: the amendment if they change the CDR.
async fn apply_late(
    conn: &mut Conn,
    token: CallId,
    update: &CallUpdate,
) -> Result<Result<Option<Amendment>, &'static str>, DbError> {
    match cdrs::lock_provisional(conn, token).await? {
        Some(provisional) => cdrs::amend(conn, &provisional, update).await,
        None => Ok(if cdrs::exists(conn, token).await? { Ok(None) } else { Err(UNKNOWN_CALL) }),
    }
}
