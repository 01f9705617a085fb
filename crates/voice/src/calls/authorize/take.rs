//! What a call takes: a part of the day's spend, channels, and money.

use super::store::Facts;
use super::terms::Terms;
use super::{Asked, Refusal, SLICE_SECONDS, answer, begun, unanswered_until};
use crate::calls::live;
use crate::calls::load::{self, Day};
use crate::calls::slice::{Slice, afford};
use crate::calls::types::{Allowed, Denial};
use crate::calls::{day_of, hour_of};
use crate::fraud_caps;
use db::{Conn, Statement};
use identity::balance::CURRENCY;
use platform::ledger::{self, Kind, LedgerError, NewHold};
use values::{AccountId, CallId, Money, Time};

/// Takes all that these calls of a trunk need and puts them among the live ones, in one go and in the order of [`take`].
pub async fn take_at_once(
    conn: &mut Conn,
    facts: &Facts,
    asking: Vec<(&Asked, Terms)>,
) -> Result<Vec<Allowed>, Refusal> {
    let mut calls = Vec::with_capacity(asking.len());
    for (asked, terms) in asking {
        // What is reserved for a call is settled with the day on which it began.
        let is_of_this_hour = facts.zone_hour == Some(hour_of(asked.now));
        let Some(slice) = afford(&terms.rate, SLICE_SECONDS, i64::MAX).filter(|_| is_of_this_hour) else {
            return Err(Refusal::Short);
        };
        calls.push((asked, begun(asked, facts, terms, asked.token(), slice)));
    }
    let Some((newest, _)) = calls.iter().max_by_key(|(asked, _)| asked.now) else { return Ok(Vec::new()) };
    let (now, number) = (newest.now, i64::try_from(calls.len()).unwrap_or(i64::MAX));
    let references: Vec<String> = calls.iter().map(|(_, call)| call.token.to_string()).collect();
    let paid = calls.iter().zip(&references).filter(|((_, call), _)| call.reserved > 0);
    let holds: Vec<NewHold<'_>> = paid
        .map(|((_, call), reference)| new_hold(call.account_id, reference, call.reserved, call.expires_at))
        .collect();
    let Ok(holding) = ledger::hold_statements(&holds, now) else { return Err(Refusal::Short) };

    let mut statements = Vec::with_capacity(4 + holding.len() + calls.len());
    // No more than the ledger can hold, so this cannot be too much.
    let reserved: i64 = calls.iter().map(|(_, call)| call.reserved).sum();
    if reserved > 0 {
        statements.push(load::reserving_in_day(day(facts, now), reserved));
    }
    statements.push(load::beginning_on_trunk(facts.trunk_id, number, facts.channel_cap, facts.cps_limit, now));
    statements.push(load::beginning_in_zone(facts.account_id, &facts.zone, number, quota(newest, facts), now));
    statements.push(load::beginning_in_zone(facts.account_id, load::ACCOUNT_WIDE, number, i64::MAX, now));
    statements.extend(holding);
    statements.extend(calls.iter().map(|(asked, call)| live::inserting(&asked.identity, call)));
    let changed = conn.exec_all(&statements.iter().map(Statement::parts).collect::<Vec<_>>()).await?;
    let is_all = changed.iter().all(|rows| *rows == 1);
    if is_all { Ok(calls.iter().map(|(_, call)| answer(call)).collect()) } else { Err(Refusal::Short) }
}

fn day(facts: &Facts, now: Time) -> Day {
    let most = facts.max_spend_per_day.unwrap_or(fraud_caps::DEFAULT.max_spend_per_day.nanos());
    Day { account: facts.account_id, day: day_of(now), most }
}

fn quota(asked: &Asked, facts: &Facts) -> i64 {
    facts.channels.unwrap_or(asked.app.settings.calls.zone_channels)
}

fn new_hold(account: AccountId, reference: &str, nanos: i64, until: Time) -> NewHold<'_> {
    NewHold { account, kind: Kind::Call, reference, amount: Money::from_nanos(nanos, CURRENCY), until }
}

/// Takes what the call needs piece by piece, and less of it where all is not to be had.
pub async fn take(
    conn: &mut Conn,
    asked: &Asked,
    facts: &Facts,
    terms: &Terms,
    token: CallId,
) -> Result<Slice, Refusal> {
    let (now, account, rate) = (asked.now, facts.account_id, &terms.rate);
    let day = day(facts, now);
    let Some(wanted) = afford(rate, SLICE_SECONDS, i64::MAX) else {
        return Err(Refusal::Denied(Denial::BalanceInsufficient));
    };
    let Some(capped) = day.reserve(conn, rate, wanted, 0).await? else { return Err(Refusal::DaySpent(day)) };
    if !load::begin_on_trunk(conn, facts.trunk_id, facts.channel_cap, facts.cps_limit, now).await? {
        let is_full = load::channels_in_use(conn, facts.trunk_id).await? >= facts.channel_cap;
        return Err(Refusal::Denied(if is_full { Denial::ChannelCap } else { Denial::CpsLimit }));
    }
    if !load::begin_in_zone(conn, account, &facts.zone, quota(asked, facts), now).await? {
        return Err(Refusal::Denied(Denial::ZoneQuota));
    }
    load::begin_in_zone(conn, account, load::ACCOUNT_WIDE, i64::MAX, now).await?;
    if capped.amount == 0 || hold(conn, facts, token, capped, now).await? {
        return Ok(capped);
    }
    let available = ledger::lock_balance(conn, account, CURRENCY).await?.available().nanos();
    let Some(funded) = afford(rate, capped.seconds, available) else {
        return Err(Refusal::Denied(Denial::BalanceInsufficient));
    };
    day.give_back(conn, capped.amount - funded.amount).await?;
    match hold(conn, facts, token, funded, now).await? {
        true => Ok(funded),
        false => Err(Refusal::Denied(Denial::BalanceInsufficient)),
    }
}

async fn hold(conn: &mut Conn, facts: &Facts, token: CallId, slice: Slice, now: Time) -> Result<bool, LedgerError> {
    let (reference, until) = (token.to_string(), unanswered_until(now, slice.seconds.into()));
    match ledger::hold(conn, &new_hold(facts.account_id, &reference, slice.amount, until), now).await {
        Ok(_) => Ok(true),
        Err(LedgerError::Insufficient { .. } | LedgerError::TooLarge) => Ok(false),
        Err(error) => Err(error),
    }
}
