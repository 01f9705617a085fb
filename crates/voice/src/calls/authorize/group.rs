//! Decides on calls together, of all trunks and accounts, in one transaction; each is judged by itself.
//!
//! What limits the calls is read first. They are then judged in memory, in the order in which they came, and the sums of
//! what they take are added to the counters, whose limits are checked again: if another group or node was faster, the
//! transaction is repeated with what is left. A request that is repeated is found by its live call: if it is refused, or
//! if its call cannot be inserted again. Rows are locked in the order that [`calls`](crate::calls) describes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::offer::Offer;
use super::room::{Counter, Limit, Place, Room};
use super::store::{self, CallContext, ContextKey};
use super::{Attempt, Refusal, Source};
use crate::calls::live::{self, LiveCall, LiveState};
use crate::calls::reservation::{Reservation, expiry_while_ringing};
use crate::calls::types::{Allowed, DenyReason};
use crate::cdrs::{CallTerms, Parties};
use crate::concurrency::{self, DailySpend, Entering, Starting, day_of};
use db::{Conn, DbError, Entropy};
use identity::balance::CURRENCY;
use platform::ledger::{self, Kind};
use values::{CallId, List};

pub type Outcome = Result<Allowed, Refusal>;

/// Calls that are decided together.
#[derive(Clone)]
pub struct Group {
    attempts: Vec<Arc<Attempt>>,
    /// Whether to look for live calls of the same requests first, not only for those that are refused: one of them is a
    /// repetition, or goes to a host outside the trunk's allow-list, which counts before it is judged.
    finds_first: bool,
}

impl Group {
    pub fn new(attempts: Vec<Arc<Attempt>>) -> Group {
        let finds_first = attempts.iter().any(|attempt| attempt.is_foreign());
        Group { attempts, finds_first }
    }
}

/// Decides on these calls, each as if it were alone: it is allowed, or denied with its reason. If one of them is to a host
/// outside the trunk's allow-list, it must be the only one.
pub async fn authorize(attempts: Vec<Arc<Attempt>>) -> Result<Vec<Outcome>, Refusal> {
    let Some(db) = attempts.first().map(|first| first.app.db.clone()) else { return Ok(Vec::new()) };
    let group = Group::new(attempts);
    match db.tx_by_keys(group.clone(), |conn, group| Box::pin(decide(conn, group))).await {
        Err(Refusal::Repeated) => {
            let group = Group { finds_first: true, ..group };
            db.tx_by_keys(group, |conn, group| Box::pin(decide(conn, group))).await
        }
        decided => decided,
    }
}

pub async fn decide(conn: &mut Conn, group: &Group) -> Result<Vec<Outcome>, Refusal> {
    let Group { attempts, finds_first } = group;
    let Some(newest) = attempts.iter().max_by_key(|attempt| attempt.now) else { return Ok(Vec::new()) };
    conn.set_now(newest.now);
    let contexts = contexts(conn, attempts).await?;
    let mut room = Room::default();
    for (key, context) in &contexts {
        room.add(context, newest.now, key.day, newest.app.settings.calls.zone_channels);
    }
    let mut repeated = BTreeMap::new();
    if *finds_first {
        repeated = find_repeated(conn, attempts, (0..attempts.len()).collect()).await?;
    }
    let mut outcomes = Vec::with_capacity(attempts.len());
    let mut begun: Vec<(&Attempt, LiveCall)> = Vec::with_capacity(attempts.len());
    for (index, attempt) in attempts.iter().enumerate() {
        let in_group = || begun.iter().find(|(other, _)| other.request() == attempt.request()).map(|(_, call)| call);
        if let Some(call) = repeated.get(&index).or_else(in_group) {
            outcomes.push(repeat(attempt, call));
            continue;
        }
        match judge(conn, attempt, contexts.get(&attempt.context_key()), &mut room).await? {
            Ok(call) => {
                outcomes.push(Ok(Allowed::from(&call)));
                begun.push((&**attempt, call));
            }
            // What it counted before it was refused is undone with the transaction.
            Err(refusal) if attempt.is_foreign() => return Err(refusal),
            Err(refusal) => outcomes.push(Err(refusal)),
        }
    }
    match begin(conn, &room, &begun).await? {
        Begun::All => {}
        Begun::Repeated if !finds_first => return Err(Refusal::Repeated),
        // Another transaction was faster, of this node or another.
        Begun::Repeated | Begun::Exceeded => return Err(conn.retry_conflict().into()),
    }
    answer_repeated(conn, group, &mut outcomes).await?;
    let is_unfunded = |it: &&Outcome| matches!(it, Err(Refusal::Denied(DenyReason::BalanceInsufficient)));
    let unfunded = outcomes.iter().filter(is_unfunded).count();
    conn.count(|metrics| metrics.ledger.refusals.of(Kind::Call.as_str()), unfunded as u64);
    Ok(outcomes)
}

/// The live calls of those of the requests that are repeated.
async fn find_repeated(
    conn: &mut Conn,
    attempts: &[Arc<Attempt>],
    asked: Vec<usize>,
) -> Result<BTreeMap<usize, LiveCall>, DbError> {
    let requests: Vec<_> = asked.iter().filter_map(|index| Some(attempts.get(*index)?.request())).collect();
    let live = live::find_each(conn, &requests).await?;
    Ok(asked.into_iter().zip(live).filter_map(|(index, call)| Some((index, call?))).collect())
}

/// A request that is refused may be one that was allowed before, and is answered as then.
async fn answer_repeated(conn: &mut Conn, group: &Group, outcomes: &mut [Outcome]) -> Result<(), DbError> {
    let refused = outcomes.iter().enumerate().filter(|(_, outcome)| outcome.is_err()).map(|(index, _)| index);
    let refused: Vec<usize> = refused.collect();
    if refused.is_empty() || group.finds_first {
        return Ok(());
    }
    let repeated = find_repeated(conn, &group.attempts, refused).await?;
    for (index, (attempt, outcome)) in group.attempts.iter().zip(outcomes.iter_mut()).enumerate() {
        if let Some(call) = repeated.get(&index) {
            *outcome = repeat(attempt, call);
        }
    }
    Ok(())
}

async fn contexts<'a>(
    conn: &mut Conn,
    attempts: &'a [Arc<Attempt>],
) -> Result<BTreeMap<ContextKey<'a>, CallContext>, DbError> {
    let mut keys: Vec<ContextKey<'a>> = attempts.iter().map(|attempt| attempt.context_key()).collect();
    keys.sort_unstable();
    keys.dedup();
    let found = store::contexts(conn, &keys).await?;
    Ok(keys.into_iter().zip(found).filter_map(|(key, context)| Some((key, context?))).collect())
}

/// The live call, or why there is none.
async fn judge(
    conn: &mut Conn,
    attempt: &Attempt,
    context: Option<&CallContext>,
    room: &mut Room,
) -> Result<Result<LiveCall, Refusal>, DbError> {
    let Some(context) = context else { return Ok(Err(deny_unknown_source(conn, attempt).await?)) };
    if !attempt.versions.covers(&context.versions()) {
        return Ok(Err(Refusal::Behind(context.versions())));
    }
    let offer = match plan(attempt, context) {
        Ok(offer) => offer,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if attempt.is_foreign()
        && let Some(reason) = enter_foreign(conn, attempt, context).await?
    {
        return Ok(Err(Refusal::Denied(reason)));
    }
    let (account, trunk, day) = (context.account_id, context.trunk_id, day_of(attempt.now));
    let reserved = room.take(Place { account, trunk, zone: &context.zone, day }, &offer.price.rate);
    Ok(reserved.map(|reservation| live_call(attempt, context, offer, reservation)))
}

/// Denies a call that belongs to no account, unless the caches are behind.
async fn deny_unknown_source(conn: &mut Conn, attempt: &Attempt) -> Result<Refusal, DbError> {
    let versions = store::versions(conn).await?;
    Ok(match attempt.source {
        _ if !attempt.versions.covers(&versions) => Refusal::Behind(versions),
        Source::Trunk(..) => Refusal::Denied(DenyReason::SourceNotAllowed),
        Source::Upstream(_) => Refusal::Denied(DenyReason::NumberUnknown),
    })
}

/// What a call is offered, by checks that need no counter.
fn plan(attempt: &Attempt, context: &CallContext) -> Result<Offer, Refusal> {
    let offer = match (attempt.source, &attempt.called) {
        (Source::Trunk(..), called) => Offer::outbound(context, called.as_ref().ok(), attempt.quote.as_ref()),
        (Source::Upstream(_), _) if !attempt.target.as_ref().is_some_and(|target| target.is_of(context)) => {
            return Err(Refusal::Moved);
        }
        (Source::Upstream(upstream), Ok(called)) => Offer::inbound(context, called, upstream, attempt.target.as_ref()),
        (Source::Upstream(_), Err(_)) => Err(DenyReason::NumberUnknown),
    };
    offer.map_err(Refusal::Denied)
}

/// Counts an inbound call to a host outside the trunk's allow-list, or says why it may not begin.
async fn enter_foreign(
    conn: &mut Conn,
    attempt: &Attempt,
    context: &CallContext,
) -> Result<Option<DenyReason>, DbError> {
    let settings = attempt.app.settings.calls;
    if !concurrency::count_foreign(conn, context.trunk_id, settings.foreign_cps).await? {
        return Ok(Some(DenyReason::ForeignCpsLimit));
    }
    // The row that counts the second is locked, so no other such call of the trunk begins meanwhile.
    let live = concurrency::inbound_channels_in_use(conn, context.account_id, context.trunk_id).await?;
    Ok((live >= settings.foreign_channels).then_some(DenyReason::ForeignChannelCap))
}

/// What became of calls that were to begin. Unless all did, the transaction must be undone.
enum Begun {
    All,
    /// A limit has become too small since it was read.
    Exceeded,
    /// One of the calls is live.
    Repeated,
}

/// Takes what the calls have taken of the room and inserts them, one statement for each table.
async fn begin(conn: &mut Conn, room: &Room, calls: &[(&Attempt, LiveCall)]) -> Result<Begun, DbError> {
    if calls.is_empty() {
        return Ok(Begun::All);
    }
    let (mut days, mut trunks, mut zones, mut money) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for ((account, counter), &Limit { limit, taken, .. }) in &room.limits {
        let account = *account;
        match counter {
            _ if taken == 0 => {}
            Counter::Spend(day) => days.push((DailySpend { account, day: *day, limit }, taken)),
            Counter::Channels(trunk) => {
                let cps_limit = room.limits.get(&(account, Counter::Starts(*trunk))).map_or(0, |starts| starts.limit);
                trunks.push(Starting { trunk: *trunk, calls: taken, channel_cap: limit, cps_limit });
            }
            // Counted with the channels.
            Counter::Starts(_) => {}
            Counter::Zone(zone) => zones.push(Entering { account, zone, calls: taken, quota: limit }),
            Counter::Money => money.push((account, CURRENCY, taken)),
        }
    }
    let now = conn.now();
    let inserts = [
        concurrency::reserve_each(&days),
        concurrency::occupy_channels(&trunks, now),
        concurrency::enter_zones(&zones, now),
        ledger::set_aside_each(&money),
        live::insert_each(calls.iter().map(|(attempt, call)| (&attempt.identity, call))),
    ];
    let returned = conn.insert_all(&inserts).await?;
    let [spent, loads, entered, available, begun] = returned.as_slice() else { return Ok(Begun::Exceeded) };
    if begun.len() != calls.len() {
        return Ok(Begun::Repeated);
    }
    let is_within = all(&days, spent, |(day, _), row| matches!(row, [spent] if *spent <= day.limit))
        && all(
            &trunks,
            loads,
            |it, row| matches!(row, [live, starts] if *live <= it.channel_cap && *starts <= it.cps_limit),
        )
        && all(&zones, entered, |it, row| matches!(row, [live, ..] if *live <= it.quota))
        && all(&money, available, |_, row| matches!(row, [available] if *available >= 0));
    if !is_within {
        return Ok(Begun::Exceeded);
    }
    concurrency::record_peaks_before(conn, &zones, entered).await?;
    Ok(Begun::All)
}

/// Whether there is a row for each of what was taken, and each is within its limit. Rows of SQLite say nothing: there only
/// one transaction writes at a time, so what was read holds.
fn all<T>(taken: &[T], returned: &[Vec<i64>], is_within: impl Fn(&T, &[i64]) -> bool) -> bool {
    let mut rows = taken.iter().zip(returned);
    taken.len() == returned.len() && rows.all(|(taken, row)| row.is_empty() || is_within(taken, row))
}

fn live_call(attempt: &Attempt, context: &CallContext, offer: Offer, reservation: Reservation) -> LiveCall {
    let parties = Parties {
        account_id: context.account_id,
        trunk_id: context.trunk_id,
        call_id: attempt.identity.call_id.clone(),
        leg: offer.leg,
        zone: context.zone.clone(),
        calling: attempt.calling.clone(),
        called: offer.called.to_string(),
        started_at: attempt.now,
    };
    let state = LiveState {
        routes: List(offer.routes),
        target_uri: offer.target_uri,
        sent_to: offer.next_hop.map(|next_hop| next_hop.uri),
        upstream_id: offer.upstream_id,
        answered_at: None,
        seen_at: attempt.now,
        reserved: reservation.amount,
        reserved_seconds: reservation.seconds.into(),
        held: reservation.amount,
        expires_at: expiry_while_ringing(attempt.now, reservation.seconds.into()),
        hang_up: false,
    };
    let token = CallId::new(Entropy.uuid(attempt.now));
    LiveCall { token, terms: CallTerms::new(parties, offer.price), state }
}

/// Answers a repeated request as before, as long as it can be the same call.
fn repeat(attempt: &Attempt, call: &LiveCall) -> Outcome {
    let called = attempt.called.as_ref().map(|number| number.as_str());
    let is_same = called == Ok(call.terms.called.as_str())
        && attempt.calling == call.terms.calling
        && call.state.answered_at.is_none();
    if is_same { Ok(call.into()) } else { Err(Refusal::Denied(DenyReason::CallIdInUse)) }
}
