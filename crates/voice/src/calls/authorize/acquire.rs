//! What a call occupies: daily spend, a channel, a place in the zone quota, and a hold.

use super::offer::Offer;
use super::store::CallContext;
use super::{Attempt, Refusal, allowed, live_call};
use crate::calls::live;
use crate::calls::reservation::{RESERVED_SECONDS, Reservation, afford, reserve_spend};
use crate::calls::stale::expire_holds_of;
use crate::calls::types::{Allowed, DenyReason};
use crate::concurrency::{self, ALL_ZONES, DailySpend, day_of, hour_of};
use crate::fraud_caps;
use db::{Conn, DbError, Statement};
use identity::balance::CURRENCY;
use platform::ledger;
use values::{CallId, Time};

/// Acquires all that these calls of a trunk need and inserts their live calls, in one round trip and in the order of
/// [`acquire`]. If anything is short, nothing is acquired.
pub async fn acquire_together(
    conn: &mut Conn,
    context: &CallContext,
    attempts: Vec<(&Attempt, Offer)>,
) -> Result<Vec<Allowed>, Refusal> {
    let mut calls = Vec::with_capacity(attempts.len());
    for (attempt, offer) in attempts {
        // In one hour all calls reserve spend of the same day, the one on which they began, and no past peak is
        // recorded.
        let is_of_this_hour = context.zone_hour == Some(hour_of(attempt.now));
        if offer.is_foreign() {
            return Err(Refusal::Short);
        }
        let requested = afford(&offer.price.rate, RESERVED_SECONDS, i64::MAX);
        let Some(reservation) = requested.filter(|_| is_of_this_hour) else { return Err(Refusal::Short) };
        calls.push((attempt, live_call(attempt, context, offer, attempt.new_token(), reservation)));
    }
    let Some((newest, _)) = calls.iter().max_by_key(|(attempt, _)| attempt.now) else { return Ok(Vec::new()) };
    let (now, number) = (newest.now, i64::try_from(calls.len()).unwrap_or(i64::MAX));
    let (account, trunk) = (context.account_id, context.trunk_id);
    let mut statements = Vec::with_capacity(5 + calls.len());
    let reserved = calls.iter().try_fold(0_i64, |sum, (_, call)| sum.checked_add(call.state.reserved));
    let Some(reserved) = reserved else { return Err(Refusal::Short) };
    if reserved > 0 {
        statements.push(concurrency::reserve_statement(daily_spend(context, now), reserved));
    }
    statements.push(concurrency::occupy_channels(trunk, number, context.channel_cap, context.cps_limit, now));
    let quota = zone_quota(newest, context);
    statements.push(concurrency::enter_zone_statement(account, &context.zone, number, quota, now));
    statements.push(concurrency::enter_zone_statement(account, ALL_ZONES, number, i64::MAX, now));
    if reserved > 0 {
        statements.push(ledger::set_aside_statement(account, CURRENCY, reserved));
    }
    statements.extend(calls.iter().map(|(attempt, call)| live::insert_statement(&attempt.identity, call)));
    let changed = conn.exec_all(&statements.iter().map(Statement::parts).collect::<Vec<_>>()).await?;
    let is_all = changed.iter().all(|rows| *rows == 1);
    if is_all { Ok(calls.iter().map(|(_, call)| allowed(call)).collect()) } else { Err(Refusal::Short) }
}

fn daily_spend(context: &CallContext, now: Time) -> DailySpend {
    let limit = context.max_spend_per_day.unwrap_or(fraud_caps::DEFAULT.max_spend_per_day.nanos());
    DailySpend { account: context.account_id, day: day_of(now), limit }
}

fn zone_quota(attempt: &Attempt, context: &CallContext) -> i64 {
    context.channels.unwrap_or(attempt.app.settings.calls.zone_channels)
}

/// Acquires what a call needs step by step, with a shorter reservation if there is not enough for a whole one.
pub async fn acquire(
    conn: &mut Conn,
    attempt: &Attempt,
    context: &CallContext,
    offer: &Offer,
    token: CallId,
) -> Result<Reservation, Refusal> {
    let (now, account, rate) = (attempt.now, context.account_id, &offer.price.rate);
    let day = daily_spend(context, now);
    let Some(requested) = afford(rate, RESERVED_SECONDS, i64::MAX) else {
        return Err(Refusal::Denied(DenyReason::BalanceInsufficient));
    };
    let Some(capped) = reserve_spend(conn, day, rate, requested, 0).await? else {
        return Err(Refusal::FraudCap(day));
    };
    if offer.is_foreign() {
        enter_foreign(conn, attempt, context).await?;
    }
    if !concurrency::occupy_channel(conn, context.trunk_id, context.channel_cap, context.cps_limit).await? {
        let is_full = concurrency::channels_in_use(conn, context.trunk_id).await? >= context.channel_cap;
        return Err(Refusal::Denied(if is_full { DenyReason::ChannelCap } else { DenyReason::CpsLimit }));
    }
    if !concurrency::enter_zone(conn, account, &context.zone, zone_quota(attempt, context)).await? {
        return Err(Refusal::Denied(DenyReason::ZoneQuota));
    }
    concurrency::enter_zone(conn, account, ALL_ZONES, i64::MAX).await?;
    if capped.amount == 0 || hold(conn, context, token, capped.amount).await? {
        return Ok(capped);
    }
    let available = ledger::lock_balance(conn, account, CURRENCY).await?.available().nanos();
    let Some(funded) = afford(rate, capped.seconds, available) else {
        return Err(Refusal::Denied(DenyReason::BalanceInsufficient));
    };
    day.release(conn, capped.amount - funded.amount).await?;
    match hold(conn, context, token, funded.amount).await? {
        true => Ok(funded),
        false => Err(Refusal::Denied(DenyReason::BalanceInsufficient)),
    }
}

/// Counts an inbound call to a host outside the trunk's allow-list.
async fn enter_foreign(conn: &mut Conn, attempt: &Attempt, context: &CallContext) -> Result<(), Refusal> {
    let settings = attempt.app.settings.calls;
    if !concurrency::count_foreign(conn, context.trunk_id, settings.foreign_cps).await? {
        return Err(Refusal::Denied(DenyReason::ForeignCpsLimit));
    }
    // The row that counts the second is locked, so no other such call of the trunk begins meanwhile.
    if concurrency::inbound_channels_in_use(conn, context.account_id, context.trunk_id).await?
        >= settings.foreign_channels
    {
        return Err(Refusal::Denied(DenyReason::ForeignChannelCap));
    }
    Ok(())
}

/// Holds money for a call; false if too little is available, also without the holds that have expired.
async fn hold(conn: &mut Conn, context: &CallContext, token: CallId, amount: i64) -> Result<bool, DbError> {
    if ledger::set_aside(conn, context.account_id, CURRENCY, amount).await? {
        return Ok(true);
    }
    Ok(expire_holds_of(conn, context.account_id, token).await?
        && ledger::set_aside(conn, context.account_id, CURRENCY, amount).await?)
}
