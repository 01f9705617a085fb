//! What switches tell of calls and upstreams: in any order, as often as they like.
//!
//! All that a batch says of one call is put together first. An end closes the call, once: who speaks of it later is
//! heard and changes nothing, unless something was left open. Anything else lets it go on, with money for its next
//! minutes if there is any.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::authorize::{HOLD_GRACE_SECONDS, SLICE_SECONDS, unanswered_until};
use super::desk;
use super::end::{self, Ending, earliest, seconds_between, status_of};
use super::late::{self, LateWord};
use super::live::{self, LiveCall, Progress, Watched};
use super::load::Day;
use super::records::{self, Amended, Record};
use super::slice::{Slice, afford};
use super::types::{CallStatus, Event, EventType, Events, EventsAnswer, Extension, RejectedEvent};
use super::{SECOND_MILLIS, SKEW_MILLIS, day_of};
use crate::fraud_caps;
use api::problem::Problem;
use api::schema;
use db::{Conn, DbError};
use platform::app::App;
use platform::ledger::{self, Kind, LedgerError};
use platform::routing::upstreams::{self, UpstreamHealth};
use values::{CallId, Money, Text, Time, UpstreamId};

/// A call whose money lasts for less than this is given more.
const RENEW_BELOW_SECONDS: i64 = 240;

/// The most calls of one switch that one answer has it end; the next answer has more.
const ENDINGS_AT_ONCE: i64 = 500;

const UNKNOWN_CALL: &str = "there is no such call";

/// All that a batch says of one call.
#[derive(Clone, Debug)]
struct Word {
    /// The events it is made of.
    event_ids: Vec<String>,
    answered_at: Option<Time>,
    upstream_id: Option<UpstreamId>,
    seen_at: Time,
    /// The first end that was told.
    end: Option<(Time, Option<CallStatus>)>,
    is_keepalive: bool,
}

/// What one transaction needs.
struct Heard {
    app: App,
    words: BTreeMap<CallId, Word>,
    now: Time,
}

/// How an upstream does, by a switch.
struct HealthNews {
    upstream: UpstreamId,
    health: UpstreamHealth,
    at: Time,
}

pub async fn hear(app: &App, Events { edge_id, events }: Events) -> Result<EventsAnswer, Problem> {
    let now = app.clock.now();
    let mut edges: BTreeSet<Text<1, 64>> = edge_id.into_iter().collect();
    let mut answer = EventsAnswer::default();
    let (mut words, mut health) = (BTreeMap::new(), Vec::new());
    for value in events {
        let event_id = value["event_id"].as_str().map(|id| id.chars().take(128).collect());
        let read = read(value, now);
        edges.extend(read.iter().filter_map(|event| event.edge_id.clone()));
        let taken = match read {
            Ok(event) if is_of_upstream(event.kind) => health_news(app, &event).await?.map(|news| health.push(news)),
            Ok(event) => note(&mut words, event),
            Err(reason) => Err(reason),
        };
        match taken {
            Ok(()) => answer.accepted += 1,
            Err(reason) => answer.rejected.push(RejectedEvent { event_id, reason }),
        }
    }
    update_health(app, health, now).await?;
    if !words.is_empty() {
        let heard = Heard { app: app.clone(), words, now };
        let told = app.db.tx(heard, |conn, heard| Box::pin(take_in(conn, heard))).await?;
        answer.accepted -= told.rejected.len();
        answer.rejected.extend(told.rejected);
        (answer.extend, answer.hang_up) = (told.extend, told.hang_up);
    }
    app.metrics.calls.events.of("accepted").inc_by(answer.accepted as u64);
    app.metrics.calls.events.of("rejected").inc_by(answer.rejected.len() as u64);
    end_more(app, &edges, &mut answer.hang_up).await?;
    Ok(answer)
}

/// Adds the calls of these switches that are to end, whether or not anything was said of them.
async fn end_more(app: &App, edges: &BTreeSet<Text<1, 64>>, hang_up: &mut Vec<CallId>) -> Result<(), DbError> {
    if edges.is_empty() {
        return Ok(());
    }
    let mut all: BTreeSet<CallId> = hang_up.drain(..).collect();
    let mut reader = app.db.read().await?;
    for edge in edges {
        all.extend(desk::to_end(&mut reader, edge, ENDINGS_AT_ONCE).await?.into_iter().map(|(token,)| token));
    }
    hang_up.extend(all);
    Ok(())
}

fn read(value: Value, now: Time) -> Result<Event, String> {
    let event: Event = schema::read(value).map_err(|problem| faults(&problem))?;
    let latest = now.millis() + SKEW_MILLIS;
    let is_late = |moment: Time| moment.millis() > latest;
    if is_late(event.at.0) || event.answered_at.is_some_and(|at| is_late(at.0)) {
        return Err("it lies in the future".to_owned());
    }
    Ok(event)
}

/// What is wrong with a line or an event, in a line.
pub(super) fn faults(problem: &Problem) -> String {
    let faults: Vec<String> =
        problem.invalid_params().iter().map(|fault| format!("{} {}", fault.name, fault.reason)).collect();
    match faults.as_slice() {
        [] => problem.detail().unwrap_or("it cannot be read").to_owned(),
        faults => faults.join("; "),
    }
}

fn is_of_upstream(kind: EventType) -> bool {
    matches!(kind, EventType::UpstreamUp | EventType::UpstreamDown)
}

async fn health_news(app: &App, event: &Event) -> Result<Result<HealthNews, String>, DbError> {
    let gateways = app.gateways.current(&app.db).await?;
    let group = |group| gateways.all().iter().find(|carrier| Some(carrier.dispatcher_group_id) == group);
    let found = match event.upstream_id {
        Some(id) => gateways.find(id),
        None => group(event.dispatcher_group_id).filter(|_| event.dispatcher_group_id.is_some()),
    };
    let health = if event.kind == EventType::UpstreamUp { UpstreamHealth::Up } else { UpstreamHealth::Down };
    Ok(match found {
        Some(carrier) => Ok(HealthNews { upstream: carrier.id, health, at: event.at.0 }),
        None => Err("there is no such upstream".to_owned()),
    })
}

async fn update_health(app: &App, mut news: Vec<HealthNews>, now: Time) -> Result<(), DbError> {
    if news.is_empty() {
        return Ok(());
    }
    news.sort_by_key(|news| news.at);
    app.db
        .tx((news, now), |conn, (news, now)| {
            Box::pin(async move {
                let mut changed = false;
                for HealthNews { upstream, health, at } in news {
                    changed |= upstreams::update_health(conn, *upstream, *health, *at).await?;
                }
                if changed { upstreams::bump_version(conn, *now).await } else { Ok(()) }
            })
        })
        .await
}

/// Adds an event to what is said of its call.
fn note(words: &mut BTreeMap<CallId, Word>, event: Event) -> Result<(), String> {
    let Some(token) = event.call_token else { return Err("call_token is missing".to_owned()) };
    let at = event.at.0;
    let word = words.entry(token).or_insert_with(|| Word {
        event_ids: Vec::new(),
        answered_at: None,
        upstream_id: None,
        seen_at: at,
        end: None,
        is_keepalive: false,
    });
    let answered_at = match event.kind {
        EventType::Answered => Some(event.answered_at.map_or(at, |told| told.0)),
        _ => event.answered_at.map(|told| told.0),
    };
    word.event_ids.push(event.event_id.into_string());
    word.answered_at = earliest(word.answered_at, answered_at);
    word.upstream_id = event.upstream_id.or(word.upstream_id);
    word.seen_at = word.seen_at.max(at);
    word.is_keepalive |= event.kind == EventType::Keepalive;
    if matches!(event.kind, EventType::Ended | EventType::Failed) && word.end.is_none() {
        let failed = (event.kind == EventType::Failed).then_some(CallStatus::Failed);
        word.end = Some((at, event.status.or(event.sip_code.map(status_of)).or(failed)));
    }
    Ok(())
}

/// Takes in what was said of calls, in one transaction.
async fn take_in(conn: &mut Conn, heard: &Heard) -> Result<EventsAnswer, Problem> {
    let mut answer = EventsAnswer::default();
    let (mut ended, mut records, mut going_on): (Vec<LiveCall>, Vec<Record>, Vec<_>) = Default::default();
    let mut amended: Vec<Amended> = Vec::new();
    for (token, word) in &heard.words {
        let reason = match (live::lock(conn, *token).await?, word.end) {
            (None, _) => match hear_late(conn, *token, word, heard.now).await? {
                Ok(news) => {
                    amended.extend(news);
                    answer.hang_up.extend(word.is_keepalive.then_some(*token));
                    continue;
                }
                Err(reason) => reason,
            },
            (Some(watched), None) => match end::answered(&watched.call, word.answered_at) {
                Ok(answered_at) => {
                    going_on.push((watched, word, answered_at));
                    continue;
                }
                Err(reason) => reason,
            },
            (Some(watched), Some(end)) => match end::record(&watched.call, &ending(word, end), heard.now) {
                Ok(record) => {
                    live::remove(conn, *token).await?;
                    // An end that says nothing of an answer may have overtaken it.
                    if let ((ended_at, None), None) = (end, record.answered_at) {
                        late::open(conn, &watched.call, ended_at, true, heard.now).await?;
                    }
                    records.push(record);
                    ended.push(watched.call);
                    continue;
                }
                Err(reason) => reason,
            },
        };
        let rejected = |id: &String| RejectedEvent { event_id: Some(id.clone()), reason: reason.to_owned() };
        answer.rejected.extend(word.event_ids.iter().map(rejected));
    }
    records::keep(conn, heard.app.entropy, &ended, &mut records, &mut amended, heard.now).await?;
    going_on.sort_by_key(|(watched, ..)| (watched.call.account_id, watched.call.token));
    for (watched, word, answered_at) in going_on {
        go_on(conn, &watched, word, answered_at, heard.now, &mut answer).await?;
    }
    Ok(answer)
}

/// Takes in what is said of a call that is over; its record as it is now, if that differs.
async fn hear_late(
    conn: &mut Conn,
    token: CallId,
    word: &Word,
    now: Time,
) -> Result<Result<Option<Amended>, &'static str>, DbError> {
    let Some(open) = late::lock(conn, token).await? else {
        let is_over = live::was_kept(conn, token).await?;
        return Ok(if is_over { Ok(None) } else { Err(UNKNOWN_CALL) });
    };
    let Word { answered_at, upstream_id, seen_at, end, .. } = *word;
    late::amend(conn, &open, &LateWord { answered_at, upstream_id, seen_at, end }, now).await
}

fn ending(word: &Word, (ended_at, status): (Time, Option<CallStatus>)) -> Ending {
    Ending { answered_at: word.answered_at, ended_at, status, upstream_id: word.upstream_id, is_guess: false }
}

/// Lets a call go on, and gives it money for its next minutes where it needs some.
async fn go_on(
    conn: &mut Conn,
    watched: &Watched,
    word: &Word,
    answered_at: Option<Time>,
    now: Time,
    answer: &mut EventsAnswer,
) -> Result<(), Problem> {
    let call = &watched.call;
    let seen_at = word.seen_at.max(end::last_said(call));
    let used = answered_at.map_or(Ok(0), |at| seconds_between(at, seen_at.max(at))).map_or(i64::MAX, i64::from);
    let mut slice = (call.reserved, call.reserved_seconds, call.expires_at);
    let may_go_on = watched.is_account_active && !call.hang_up;
    let stage = Stage { used, is_ringing: answered_at.is_none(), now };
    let needs_more = call.reserved_seconds.saturating_sub(used) < RENEW_BELOW_SECONDS;
    let more = if word.is_keepalive && may_go_on && needs_more { renew(conn, watched, stage).await? } else { None };
    let mut is_held = true;
    if let Some(more) = more {
        slice = (more.amount, more.seconds.into(), stage.until(more.seconds.into()));
        answer.extend.push(Extension { call_token: call.token, max_seconds: more.seconds.into() });
    } else if may_go_on && (word.is_keepalive || !stage.is_ringing) && stage.outlasts_hold(call) {
        is_held = keep(conn, call, stage).await?;
        slice.2 = if is_held { stage.until(call.reserved_seconds) } else { slice.2 };
    }
    let (reserved, reserved_seconds, expires_at) = slice;
    let is_over = word.is_keepalive && (!may_go_on || used >= reserved_seconds);
    if is_over || !(is_held || stage.is_ringing) {
        answer.hang_up.push(call.token);
    }
    let upstream_id = word.upstream_id.or(call.upstream_id);
    let progress = Progress { answered_at, upstream_id, seen_at, reserved, reserved_seconds, expires_at };
    live::progress(conn, call.token, &progress).await?;
    Ok(())
}

/// How far a call has come.
#[derive(Clone, Copy)]
struct Stage {
    used: i64,
    is_ringing: bool,
    now: Time,
}

impl Stage {
    /// How long money for so many seconds is held.
    fn until(self, seconds: i64) -> Time {
        if self.is_ringing {
            return unanswered_until(self.now, seconds);
        }
        let left = seconds.saturating_sub(self.used).max(0);
        Time::from_millis(self.now.millis() + (left + HOLD_GRACE_SECONDS) * SECOND_MILLIS)
    }

    /// Whether a call can still use its money when that is let go of: it rang for long before its answer, or rings on.
    fn outlasts_hold(self, call: &LiveCall) -> bool {
        let needed = self.until(call.reserved_seconds).millis() - HOLD_GRACE_SECONDS * SECOND_MILLIS;
        self.used < call.reserved_seconds && call.expires_at.millis() < needed
    }
}

/// More money for a call, if the day and the balance allow any.
async fn renew(conn: &mut Conn, watched: &Watched, stage: Stage) -> Result<Option<Slice>, Problem> {
    let call = &watched.call;
    let (rate, held) = (call.rate()?, call.reserved);
    let wanted = u32::try_from(stage.used.saturating_add(SLICE_SECONDS.into())).unwrap_or(u32::MAX);
    let is_more = |slice: &Slice| i64::from(slice.seconds) > call.reserved_seconds;
    let Some(wanted) = afford(&rate, wanted, i64::MAX).filter(is_more) else { return Ok(None) };
    let most = watched.max_spend_per_day.unwrap_or(fraud_caps::DEFAULT.max_spend_per_day.nanos());
    let day = Day { account: call.account_id, day: day_of(call.started_at), most };
    let Some(capped) = day.reserve(conn, &rate, wanted, held).await? else { return Ok(None) };
    if is_more(&capped) && (capped.amount == 0 || raise(conn, call, capped, stage).await?) {
        return Ok(Some(capped));
    }
    let available = ledger::lock_balance(conn, call.account_id, call.currency).await?.available().nanos();
    // What was let go of is available by now.
    let still_held = ledger::open_hold_amount(conn, Kind::Call, &call.reference()).await?.map_or(0, Money::nanos);
    let funds = still_held.saturating_add(available.max(0)).min(capped.amount);
    let funded = afford(&rate, capped.seconds, funds).filter(is_more);
    if let Some(funded) = funded
        && raise(conn, call, funded, stage).await?
    {
        day.give_back(conn, capped.amount - funded.amount).await?;
        return Ok(Some(funded));
    }
    day.give_back(conn, capped.amount - held).await?;
    Ok(None)
}

/// Holds as much as a slice costs; answers whether there was so much.
async fn raise(conn: &mut Conn, call: &LiveCall, slice: Slice, stage: Stage) -> Result<bool, LedgerError> {
    hold_on(conn, call, slice.amount, stage.until(slice.seconds.into()), stage.now).await
}

/// Holds on to a call's money for as long as it can need it; answers whether it was still to be had.
async fn keep(conn: &mut Conn, call: &LiveCall, stage: Stage) -> Result<bool, LedgerError> {
    if call.reserved == 0 {
        return Ok(true);
    }
    hold_on(conn, call, call.reserved, stage.until(call.reserved_seconds), stage.now).await
}

async fn hold_on(conn: &mut Conn, call: &LiveCall, amount: i64, until: Time, now: Time) -> Result<bool, LedgerError> {
    match ledger::renew(conn, Kind::Call, &call.reference(), call.money(amount), until, now).await {
        Ok(_) => Ok(true),
        Err(LedgerError::Insufficient { .. } | LedgerError::NoHold { .. } | LedgerError::TooLarge) => Ok(false),
        Err(error) => Err(error),
    }
}
