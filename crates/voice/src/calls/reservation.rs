//! Reservations: how long a call may last for how much money.

use rating::Rate;

use crate::concurrency::{DailySpend, SECOND_MILLIS};
use db::{Conn, DbError};
use values::Time;

/// Seconds that are reserved ahead, as far as the balance allows.
pub const RESERVED_SECONDS: u32 = 300;
/// How long a call may ring without using up its reservation.
const RING_SECONDS: i64 = 180;
/// How long a hold outlasts the seconds it pays for.
pub const HOLD_GRACE_SECONDS: i64 = 30;

/// Seconds of a call from its answer, and their price in nanos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub seconds: u32,
    pub amount: i64,
}

/// The longest reservation of up to `seconds` seconds that costs at most `funds`. One more second would cost more, so a
/// call of any length within it costs no more either. None if even the shortest call costs more.
pub fn afford(rate: &Rate, seconds: u32, funds: i64) -> Option<Reservation> {
    let (first, step) = (rate.billed_seconds(1), u32::from(rate.increment_seconds()));
    let last = rate.billed_seconds(seconds.max(1));
    let within = |seconds| rate.price(seconds).ok().filter(|amount| *amount <= funds);
    if let Some(amount) = within(last) {
        return Some(Reservation { seconds: last, amount });
    }
    within(first)?;
    // Binary search: step `affordable` is affordable, step `beyond` is not.
    let (mut affordable, mut beyond) = (0, (last - first) / step);
    while beyond - affordable > 1 {
        let middle = affordable + (beyond - affordable) / 2;
        if within(first + middle * step).is_some() {
            affordable = middle;
        } else {
            beyond = middle;
        }
    }
    let seconds = first + affordable * step;
    within(seconds).map(|amount| Reservation { seconds, amount })
}

/// Reserves daily spend for a call that has already reserved `held`, or less if the limit does not allow all of it;
/// none if it allows nothing.
pub async fn reserve_spend(
    conn: &mut Conn,
    day: DailySpend,
    rate: &Rate,
    requested: Reservation,
    held: i64,
) -> Result<Option<Reservation>, DbError> {
    if day.reserve(conn, requested.amount - held).await? {
        return Ok(Some(requested));
    }
    let remaining = day.remaining(conn).await?;
    let Some(smaller) = afford(rate, requested.seconds, held.saturating_add(remaining)) else { return Ok(None) };
    let is_reserved = smaller.amount >= held && day.reserve(conn, smaller.amount - held).await?;
    Ok(is_reserved.then_some(smaller))
}

/// When the hold of a call that is still ringing expires.
pub fn expiry_while_ringing(now: Time, seconds: i64) -> Time {
    Time::from_millis(now.millis() + (RING_SECONDS + seconds + HOLD_GRACE_SECONDS) * SECOND_MILLIS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_reservation_is_affordable_and_the_next_step_is_not(
            minute in 0i64..2_000_000_000, fee in 0i64..1_000_000_000, increment in 1u16..=3600, minimum in 0u16..=3600,
            seconds in 0u32..100_000, funds in -1i64..20_000_000_000
        ) {
            let rate = Rate::new(minute, fee, increment, minimum).unwrap();
            match afford(&rate, seconds, funds) {
                Some(reservation) => {
                    prop_assert_eq!(rate.price(reservation.seconds), Ok(reservation.amount));
                    prop_assert!(reservation.amount <= funds);
                    prop_assert!(reservation.seconds <= rate.billed_seconds(seconds.max(1)));
                    let whole = reservation.seconds == rate.billed_seconds(seconds.max(1));
                    prop_assert!(whole || rate.price(reservation.seconds + 1).unwrap() > funds);
                    prop_assert!(rate.price(reservation.seconds / 2).unwrap() <= reservation.amount);
                }
                None => prop_assert!(rate.price(1).unwrap() > funds),
            }
        }
    }

    #[test]
    fn a_free_call_gets_all_requested_seconds() {
        let free = Rate::new(0, 0, 1, 1).unwrap();
        assert_eq!(afford(&free, 300, 0), Some(Reservation { seconds: 300, amount: 0 }));
    }

    #[test]
    fn a_price_beyond_all_money_is_not_affordable() {
        let expensive = Rate::new(i64::MAX, 0, 3600, 3600).unwrap();
        assert_eq!(afford(&expensive, 300, i64::MAX), None);
    }
}
