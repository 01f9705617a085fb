//! Runway: how long a balance lasts if every hour of the week costs as much as it did in the last seven days.

use super::store;
use super::types::Runway;
use db::{Conn, DbError};
use values::{AccountId, Money, Rfc3339, Time};

const HOUR_MILLIS: i64 = 3_600_000;
const WEEK_HOURS: i64 = 7 * 24;
/// Beyond it a forecast says nothing.
const MAX_HOURS: i64 = 10 * 365 * 24;

/// The runway of an account with this much available.
pub async fn of(conn: &mut Conn, account: AccountId, available: Money) -> Result<Option<Runway>, DbError> {
    let hour = conn.now().millis().div_euclid(HOUR_MILLIS);
    let charges = store::hourly_charges(conn, account, (hour - WEEK_HOURS, hour)).await?;
    let Some(hours) = hours_left(available.nanos(), hour, &charges) else { return Ok(None) };
    let empty_at = Time::from_millis((hour + hours).saturating_mul(HOUR_MILLIS));
    Ok(Some(Runway { days: tenths_of_days(hours), empty_at: Rfc3339(empty_at) }))
}

#[expect(clippy::cast_precision_loss, reason = "ten years of hours are far below 2^53")]
fn tenths_of_days(hours: i64) -> f64 {
    (hours as f64 / 24.0 * 10.0).round() / 10.0
}

/// Whole hours from `now` on that the funds pay for, by the charges of the week before: pairs of hour and nanos, the
/// oldest first.
fn hours_left(funds: i64, now: i64, charges: &[(i64, i64)]) -> Option<i64> {
    let weekly: i64 = charges.iter().map(|(_, charge)| *charge).sum();
    if weekly <= 0 {
        return None;
    }
    let funds = funds.max(0);
    let mut left = funds % weekly;
    let weeks = funds / weekly;
    let into_week = charges.iter().find_map(|(hour, charge)| {
        left -= charge;
        // The hour of the next week in which this one's charge is no longer covered.
        (left < 0).then_some(hour + WEEK_HOURS - now)
    });
    let hours = weeks.saturating_mul(WEEK_HOURS).saturating_add(into_week.unwrap_or(WEEK_HOURS));
    (hours <= MAX_HOURS).then_some(hours)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_balance_ends_in_the_hour_that_it_does_not_cover() {
        let now = 1000;
        // Ten in the first hour of the past week, thirty in its third.
        let charges = [(now - WEEK_HOURS, 10), (now - WEEK_HOURS + 2, 30)];
        for (funds, hours) in [(-5, 0), (0, 0), (9, 0), (10, 2), (39, 2), (40, 168), (49, 168), (50, 170), (80, 336)] {
            assert_eq!(hours_left(funds, now, &charges), Some(hours), "{funds}");
        }
        assert_eq!(hours_left(1000, now, &[]), None);
        assert_eq!(hours_left(i64::MAX, now, &charges), None);
    }

    proptest! {
        #[test]
        fn more_money_never_lasts_shorter(
            funds in 0i64..10_000, more in 0i64..1000, charges in proptest::collection::btree_map(0i64..WEEK_HOURS, 0i64..50, 1..20)
        ) {
            let charges: Vec<(i64, i64)> = charges.into_iter().collect();
            let (less, more) = (hours_left(funds, WEEK_HOURS, &charges), hours_left(funds + more, WEEK_HOURS, &charges));
            prop_assert!(less.unwrap_or(MAX_HOURS) <= more.unwrap_or(MAX_HOURS));
        }
    }
}
