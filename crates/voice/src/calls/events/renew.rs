//! Calls that stay live: their reservation is renewed, or they must be hung up.

use super::CallEvents;
use crate::calls::live::{self, LiveCall, LiveState, LockedCall};
use crate::calls::reservation::{
    HOLD_GRACE_SECONDS, RESERVED_SECONDS, Reservation, afford, expiry_while_ringing, reserve_spend,
};
use crate::calls::types::{EventsAnswer, Extension};
use crate::cdrs::{CallTerms, seconds_between};
use crate::concurrency::{DailySpend, SECOND_MILLIS, day_of};
use crate::fraud_caps;
use api::problem::Problem;
use db::{Conn, DbError};
use platform::ledger::{self, Kind};
use values::Time;

/// A reservation is renewed when fewer seconds of it are left.
const RENEW_BELOW_SECONDS: i64 = 240;

/// Saves the progress of a live call and renews its reservation if needed.
pub async fn keep_live(
    conn: &mut Conn,
    locked: &LockedCall,
    events: &CallEvents,
    answered_at: Option<Time>,
    answer: &mut EventsAnswer,
) -> Result<(), Problem> {
    let now = conn.now();
    let (call, update) = (&locked.call, &events.update);
    let state = &call.state;
    let seen_at = update.seen_at.max(call.last_event_at());
    let used = answered_at.map_or(Ok(0), |at| seconds_between(at, seen_at.max(at))).map_or(i64::MAX, i64::from);
    let mut reserved = (state.reserved, state.reserved_seconds, state.held, state.expires_at);
    let may_continue = locked.is_account_active && !state.hang_up;
    let progress = Progress { used, is_ringing: answered_at.is_none(), now };
    let needs_more = state.reserved_seconds.saturating_sub(used) < RENEW_BELOW_SECONDS;
    let renewed =
        if events.is_keepalive && may_continue && needs_more { renew(conn, locked, progress).await? } else { None };
    let mut is_held = true;
    if let Some(renewed) = renewed {
        let seconds = renewed.seconds.into();
        reserved = (renewed.amount, seconds, renewed.amount, progress.expiry(seconds));
        answer.extend.push(Extension { call_token: call.token, max_seconds: renewed.seconds.into() });
    } else if may_continue && (events.is_keepalive || !progress.is_ringing) && progress.outlasts_hold(call) {
        is_held = set_hold(conn, call, state.reserved).await?;
        if is_held {
            (reserved.2, reserved.3) = (state.reserved, progress.expiry(state.reserved_seconds));
        }
    }
    let (reserved, reserved_seconds, held, expires_at) = reserved;
    let is_over = events.is_keepalive && (!may_continue || used >= reserved_seconds);
    if is_over || !(is_held || progress.is_ringing) {
        answer.hang_up.push(call.token);
    }
    let upstream_id = update.upstream_id.or(state.upstream_id);
    let state =
        LiveState { answered_at, upstream_id, seen_at, reserved, reserved_seconds, held, expires_at, ..state.clone() };
    live::update(conn, call.token, &state).await?;
    Ok(())
}

/// How far a call is.
#[derive(Clone, Copy)]
struct Progress {
    /// Seconds since the answer.
    used: i64,
    is_ringing: bool,
    now: Time,
}

impl Progress {
    /// When the hold for this many seconds expires.
    fn expiry(self, seconds: i64) -> Time {
        if self.is_ringing {
            return expiry_while_ringing(self.now, seconds);
        }
        let left = seconds.saturating_sub(self.used).max(0);
        Time::from_millis(self.now.millis() + (left + HOLD_GRACE_SECONDS) * SECOND_MILLIS)
    }

    /// Whether the hold expires before the call has used its reservation: it rang for long, or still rings.
    fn outlasts_hold(self, call: &LiveCall) -> bool {
        let needed = self.expiry(call.state.reserved_seconds).millis() - HOLD_GRACE_SECONDS * SECOND_MILLIS;
        self.used < call.state.reserved_seconds && call.state.expires_at.millis() < needed
    }
}

/// Reserves more for a call, as far as the daily fraud cap and the balance allow.
async fn renew(conn: &mut Conn, locked: &LockedCall, progress: Progress) -> Result<Option<Reservation>, Problem> {
    let call = &locked.call;
    let (terms, held) = (&call.terms, call.state.reserved);
    let rate = terms.rate()?;
    let seconds = u32::try_from(progress.used.saturating_add(RESERVED_SECONDS.into())).unwrap_or(u32::MAX);
    let is_more = |reservation: &Reservation| i64::from(reservation.seconds) > call.state.reserved_seconds;
    let Some(requested) = afford(&rate, seconds, i64::MAX).filter(is_more) else { return Ok(None) };
    let limit = locked.max_spend_per_day.unwrap_or(fraud_caps::DEFAULT.max_spend_per_day.nanos());
    let day = DailySpend { account: terms.account_id, day: day_of(terms.started_at), limit };
    let Some(capped) = reserve_spend(conn, day, &rate, requested, held).await? else { return Ok(None) };
    if is_more(&capped) && set_hold(conn, call, capped.amount).await? {
        return Ok(Some(capped));
    }
    let available = ledger::lock_balance(conn, terms.account_id, terms.currency).await?.available().nanos();
    // A hold that has expired is available already.
    let funds = call.state.held.saturating_add(available.max(0)).min(capped.amount);
    let funded = afford(&rate, capped.seconds, funds).filter(is_more);
    if let Some(funded) = funded
        && set_hold(conn, call, funded.amount).await?
    {
        day.release(conn, capped.amount - funded.amount).await?;
        return Ok(Some(funded));
    }
    day.release(conn, capped.amount - held).await?;
    Ok(None)
}

/// Raises the hold of a call to an amount, or places it again if it has expired; false if the balance does not cover it.
async fn set_hold(conn: &mut Conn, call: &LiveCall, amount: i64) -> Result<bool, DbError> {
    let CallTerms { account_id, currency, .. } = call.terms;
    let more = amount - call.state.held;
    let is_held = more == 0 || ledger::set_aside(conn, account_id, currency, more).await?;
    if !is_held {
        conn.count(|metrics| metrics.ledger.refusals.of(Kind::Call.as_str()), 1);
    }
    Ok(is_held)
}
