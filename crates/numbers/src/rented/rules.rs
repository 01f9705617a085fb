//! When a number renews.

use std::time::Duration;

use jiff::{Span, Timestamp, tz::TimeZone};

use values::Time;

/// Failed renewals in a row after which the number is released.
pub const MAX_FAILURES: i64 = 3;
/// How long after a failed renewal the next attempt is made.
pub const RETRY_AFTER: Duration = Duration::from_secs(24 * 3600);
/// How long before a renewal the reminder job checks the balance.
pub const REMINDER_AHEAD: Duration = Duration::from_secs(3 * 24 * 3600);

/// The same day and time some months later, or the last day of a month without that day. Always counted from the
/// start, so a rental that started on a 31st renews on the 31st again.
pub fn add_months(since: Time, months: i64) -> Time {
    let end = || {
        let since = Timestamp::from_millisecond(since.millis()).ok()?.to_zoned(TimeZone::UTC);
        let end = since.checked_add(Span::new().try_months(months).ok()?).ok()?;
        Some(Time::from_millis(end.timestamp().as_millisecond()))
    };
    // Out of the range of the calendar: never renew.
    end().unwrap_or(Time::from_millis(i64::MAX))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;
    use values::Rfc3339;

    fn ends(since: &str, months: std::ops::RangeInclusive<i64>) -> Vec<String> {
        let since: Rfc3339 = serde_json::from_value(since.into()).unwrap();
        let shown = |end| serde_json::to_value(Rfc3339(end)).unwrap().as_str().unwrap()[..10].to_owned();
        months.map(|months| shown(add_months(since.0, months))).collect()
    }

    #[test]
    fn a_rental_from_the_31st_renews_on_the_last_day_of_shorter_months() {
        assert_eq!(
            ends("2027-12-31T23:59:59Z", 1..=5),
            ["2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30", "2028-05-31"]
        );
        assert_eq!(ends("2028-02-29T00:00:00Z", 12..=12), ["2029-02-28"]);
    }

    proptest! {
        #[test]
        fn each_month_ends_after_the_one_before_within_28_to_31_days(
            since in 0i64..4_000_000_000_000,
            months in 0i64..600,
        ) {
            let since = Time::from_millis(since);
            let length = add_months(since, months + 1).since(add_months(since, months)).as_secs();
            prop_assert!((28 * 86_400..=31 * 86_400).contains(&length), "{length}");
        }
    }
}
