//! A calendar month in UTC.

use std::fmt;
use std::str::FromStr;

use values::{Date, Invalid, Stored, Time};

/// Months since year 0, so that months can be compared and counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Month(i32);

impl Month {
    pub fn of(moment: Time) -> Month {
        let date = Date::from(moment).civil();
        Month(i32::from(date.year()) * 12 + i32::from(date.month()) - 1)
    }

    pub const fn next(self) -> Month {
        Month(self.0 + 1)
    }

    pub fn start(self) -> Time {
        // A month made from a time or a text has a first day; only the month after December 9999 has none.
        self.first_day().map_or(Time::from_millis(i64::MAX), Date::start)
    }

    /// The first moment of the next month.
    pub fn end(self) -> Time {
        self.next().start()
    }

    pub fn last_day(self) -> Date {
        Date::from(Time::from_millis(self.end().millis() - 1))
    }

    fn first_day(self) -> Option<Date> {
        format!("{self}-01").parse().ok()
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.0.div_euclid(12), self.0.rem_euclid(12) + 1)
    }
}

impl FromStr for Month {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let first: Date =
            format!("{text}-01").parse().map_err(|_| Invalid::because("must be a month such as 2026-01"))?;
        Ok(Month::of(first.start()))
    }
}

impl Stored for Month {
    type Raw = String;

    fn to_raw(&self) -> String {
        self.to_string()
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        raw.parse()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_time_is_in_exactly_one_month(millis in 0i64..4_000_000_000_000) {
            let moment = Time::from_millis(millis);
            let month = Month::of(moment);
            prop_assert!(month.start() <= moment && moment < month.end());
            prop_assert_eq!(month.end(), month.next().start());
            prop_assert_eq!(month.to_string().parse(), Ok(month));
            prop_assert_eq!(Month::of(month.last_day().start()), month);
        }
    }

    #[test]
    fn january_follows_december() {
        let december: Month = "2026-12".parse().unwrap();
        assert_eq!(
            (december.next().to_string().as_str(), december.last_day().to_string().as_str()),
            ("2027-01", "2026-12-31")
        );
        assert_eq!("2028-02".parse::<Month>().unwrap().last_day().to_string(), "2028-02-29");
        for text in ["", "2026", "2026-13", "2026-1", "2026-01-01"] {
            assert!(text.parse::<Month>().is_err(), "{text}");
        }
    }
}
