//! What a call takes: a part of the day's spend, channels, and money.

use super::store::Facts;
use super::terms::Terms;
use super::{Asked, Refusal, SLICE_SECONDS, answer, begun, unanswered_until};
use crate::db::{Conn, Statement};
use crate::features::balance::CURRENCY;
use crate::features::calls::live;
use crate::features::calls::load::{self, Day};
use crate::features::calls::slice::{Slice, afford};
use crate::features::calls::types::{Allowed, Denial};
use crate::features::calls::{day_of, hour_of};
use crate::features::fraud_caps;
use crate::ledger::{self, Kind, LedgerError, NewHold};
use crate::values::{CallId, Money, Time};

/// Takes all that a call needs and puts it among the live ones, in one go and in the order of [`take`].
pub async fn take_at_once(
    conn: &mut Conn,
    asked: &Asked,
    facts: &Facts,
    terms: Terms,
    token: CallId,
) -> Result<Allowed, Refusal> {
    let now = asked.now;
    let Some(slice) = afford(&terms.rate, SLICE_SECONDS, i64::MAX).filter(|_| facts.zone_hour == Some(hour_of(now)))
    else {
        return Err(Refusal::Short);
    };
    let call = begun(asked, facts, terms, token, slice);
    let mut statements = Vec::new();
    if slice.amount > 0 {
        statements.push(load::reserving_in_day(day(facts, now), slice.amount));
    }
    statements.push(load::beginning_on_trunk(facts.trunk_id, facts.channel_cap, facts.cps_limit, now));
    statements.push(load::beginning_in_zone(facts.account_id, &facts.zone, quota(asked, facts), now));
    if slice.amount > 0 {
        let reference = token.to_string();
        let Ok(holding) = ledger::holding(&new_hold(facts, &reference, slice, now), now) else {
            return Err(Refusal::Short);
        };
        statements.extend(holding);
    }
    statements.push(live::inserting(&asked.identity, &call));
    let changed = conn.exec_all(&statements.iter().map(Statement::parts).collect::<Vec<_>>()).await?;
    if changed.iter().all(|rows| *rows == 1) { Ok(answer(&call)) } else { Err(Refusal::Short) }
}

fn day(facts: &Facts, now: Time) -> Day {
    let most = facts.max_spend_per_day.unwrap_or(fraud_caps::DEFAULT.max_spend_per_day.nanos());
    Day { account: facts.account_id, day: day_of(now), most }
}

fn quota(asked: &Asked, facts: &Facts) -> i64 {
    facts.channels.unwrap_or(asked.app.settings.calls.zone_channels)
}

fn new_hold<'r>(facts: &Facts, reference: &'r str, slice: Slice, now: Time) -> NewHold<'r> {
    let (amount, until) = (Money::from_nanos(slice.amount, CURRENCY), unanswered_until(now, slice.seconds.into()));
    NewHold { account: facts.account_id, kind: Kind::Call, reference, amount, until }
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
    if capped.amount == 0 || hold(conn, facts, token, capped, now).await? {
        return Ok(capped);
    }
    let available = ledger::balance_held_still(conn, account, CURRENCY).await?.available().nanos();
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
    let reference = token.to_string();
    match ledger::hold(conn, &new_hold(facts, &reference, slice, now), now).await {
        Ok(_) => Ok(true),
        Err(LedgerError::Insufficient { .. } | LedgerError::TooLarge) => Ok(false),
        Err(error) => Err(error),
    }
}
