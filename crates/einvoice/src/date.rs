//! A calendar date in the three formats that invoices use.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl Date {
    /// Returns `None` unless the date exists in the Gregorian calendar, years 1 to 9999.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        ((1..=9999).contains(&year) && (1..=days).contains(&day)).then_some(Date { year, month, day })
    }

    pub fn year(self) -> u16 {
        self.year
    }

    pub fn month(self) -> u8 {
        self.month
    }

    pub fn day(self) -> u8 {
        self.day
    }

    /// `20261031`, format 102 of UN/EDIFACT.
    pub(crate) fn compact(self) -> String {
        format!("{:04}{:02}{:02}", self.year, self.month, self.day)
    }

    /// `31 October 2026`: day and month cannot be confused.
    pub(crate) fn in_words(self) -> String {
        let month = MONTHS.get(usize::from(self.month) - 1).copied().unwrap_or_default();
        format!("{} {month} {}", self.day, self.year)
    }
}

/// `2026-10-31`
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_date_must_exist_in_the_calendar() {
        assert!(Date::new(2028, 2, 29).is_some() && Date::new(2000, 2, 29).is_some());
        for (year, month, day) in [(2026, 2, 29), (2100, 2, 29), (2026, 4, 31), (2026, 13, 1), (2026, 1, 0), (0, 1, 1)]
        {
            assert_eq!(Date::new(year, month, day), None, "{year}-{month}-{day}");
        }
    }

    #[test]
    fn a_date_has_iso_compact_and_long_forms() {
        let date = Date::new(2026, 3, 7).unwrap();
        assert_eq!(
            (date.to_string().as_str(), date.compact().as_str(), date.in_words().as_str()),
            ("2026-03-07", "20260307", "7 March 2026")
        );
    }
}
