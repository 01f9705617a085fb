//! The simulated period: from a midnight in the past to now.

use std::time::Duration;

use values::{Rfc3339, Time};

pub const HOUR: Duration = Duration::from_secs(3600);
pub const DAY: Duration = Duration::from_secs(24 * 3600);
const DAY_MS: i64 = 86_400_000;

/// `begin` is a midnight (UTC).
#[derive(Clone, Copy)]
pub struct Calendar {
    pub begin: Time,
    pub end: Time,
}

impl Calendar {
    /// The last `days` days, and today up to now.
    pub fn of_last(days: u32, now: Time) -> Calendar {
        let midnight = Time::from_millis(now.millis() - now.millis().rem_euclid(DAY_MS));
        Calendar { begin: midnight.minus(DAY * days), end: now }
    }

    /// 09:00 of the day that is this percentage into the whole days of the period. Today does not count, so the result
    /// does not depend on the time of day.
    pub fn morning(self, percent: i64) -> Time {
        let whole_days = self.end.since(self.begin).as_secs() / DAY.as_secs();
        let days = whole_days * percent.unsigned_abs() / 100;
        self.begin.plus(DAY * u32::try_from(days).unwrap_or(u32::MAX)).plus(HOUR * 9)
    }

    /// Times from the begin to the end, this far apart.
    pub fn every(self, span: Duration) -> impl Iterator<Item = Time> {
        std::iter::successors(Some(self.begin), move |at| Some(at.plus(span))).take_while(move |at| *at < self.end)
    }
}

/// 0 on Mondays.
pub fn weekday(moment: Time) -> i64 {
    // The first of January 1970 was a Thursday.
    (moment.millis().div_euclid(DAY_MS) + 3).rem_euclid(7)
}

pub fn hour_of_day(moment: Time) -> i64 {
    moment.millis().rem_euclid(DAY_MS) / 3_600_000
}

/// The day of a moment, as `2026-01-31`.
pub fn date(moment: Time) -> String {
    Rfc3339(moment).to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_begins_at_midnight() {
        // Saturday, 31 January 2026, 12:00.
        let now = Time::from_seconds(1_769_860_800);
        let calendar = Calendar::of_last(10, now);
        assert_eq!(Rfc3339(calendar.begin).to_string(), "2026-01-21T00:00:00Z");
        assert_eq!(Rfc3339(calendar.morning(50)).to_string(), "2026-01-26T09:00:00Z");
        assert_eq!((date(now), weekday(now), hour_of_day(now)), ("2026-01-31".to_owned(), 5, 12));
        assert_eq!(calendar.every(DAY).count(), 11);
    }
}
