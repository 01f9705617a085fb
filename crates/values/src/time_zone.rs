//! Time zones by their name in the IANA database, which is built into the binary.

use std::fmt;
use std::str::FromStr;

use jiff::{Timestamp, Zoned, tz};

use super::text_form::{TextForm, impl_serde_as_text, impl_stored_as_text};
use super::{Invalid, Rfc3339, Time};

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeZone(tz::TimeZone);

impl TextForm for TimeZone {
    const DESCRIPTION: &'static str = "Time zone by its name in the IANA database.";
    const FORMAT: &'static str = "time-zone";
    const REASON: &'static str = "must be a time zone such as Europe/Amsterdam";
    const PATTERN: &'static str = "^[A-Za-z][A-Za-z0-9_+/-]{0,63}$";
    const EXAMPLE: &'static str = "Europe/Amsterdam";
}

impl TimeZone {
    pub const UTC: TimeZone = TimeZone(tz::TimeZone::UTC);

    /// How far clocks are ahead of UTC at a time, in seconds.
    pub fn offset_seconds(&self, time: Time) -> i64 {
        self.0.to_offset(timestamp(time)).seconds().into()
    }

    /// Midnight, or the first moment of the day, at or before a time; none at the ends of the calendar.
    pub fn day_start(&self, time: Time) -> Option<Time> {
        self.zoned(time).start_of_day().ok().map(|start| time_of(&start))
    }

    /// The start of the next day.
    pub fn next_day_start(&self, time: Time) -> Option<Time> {
        let next = self.zoned(time).tomorrow().and_then(|next| next.start_of_day());
        next.ok().map(|start| time_of(&start))
    }

    /// A time in this zone in RFC 3339 form, with its offset from UTC.
    pub fn format(&self, time: Time) -> String {
        let offset = self.offset_seconds(time);
        let local = Rfc3339(Time::from_millis(time.millis().saturating_add(offset * 1000))).to_string();
        if offset == 0 {
            return local;
        }
        let minutes = offset.abs() / 60;
        let sign = if offset < 0 { '-' } else { '+' };
        format!("{}{sign}{:02}:{:02}", local.trim_end_matches('Z'), minutes / 60, minutes % 60)
    }

    fn zoned(&self, time: Time) -> Zoned {
        timestamp(time).to_zoned(self.0.clone())
    }
}

fn timestamp(time: Time) -> Timestamp {
    let at_an_end = if time.millis() < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(time.millis()).unwrap_or(at_an_end)
}

fn time_of(zoned: &Zoned) -> Time {
    Time::from_millis(zoned.timestamp().as_millisecond())
}

impl FromStr for TimeZone {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_name = text.len() <= 64 && text.starts_with(|first: char| first.is_ascii_alphabetic());
        let zone = if is_name { tz::TimeZone::get(text).ok() } else { None };
        let named = zone.filter(|zone| !zone.is_unknown() && zone.iana_name().is_some());
        named.map(TimeZone).ok_or_else(Self::invalid)
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.iana_name().unwrap_or("UTC"))
    }
}

impl_serde_as_text!(TimeZone);
impl_stored_as_text!(TimeZone);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn at(text: &str) -> Time {
        text.parse::<Rfc3339>().unwrap().0
    }

    #[test]
    fn a_day_begins_at_midnight_of_the_zone() {
        let amsterdam: TimeZone = "Europe/Amsterdam".parse().unwrap();
        let noon = at("2026-03-29T12:00:00Z");
        assert_eq!(amsterdam.day_start(noon), Some(at("2026-03-28T23:00:00Z")));
        // The day on which summer time begins has 23 hours.
        assert_eq!(amsterdam.next_day_start(noon), Some(at("2026-03-29T22:00:00Z")));
        assert_eq!(amsterdam.offset_seconds(noon), 7200);
        assert_eq!(TimeZone::UTC.day_start(noon), Some(at("2026-03-29T00:00:00Z")));
    }

    #[test]
    fn times_are_written_with_the_offset_of_their_moment() {
        let zone = |name: &str| name.parse::<TimeZone>().unwrap();
        assert_eq!(zone("Europe/Amsterdam").format(at("2026-01-31T23:30:00.5Z")), "2026-02-01T00:30:00.500+01:00");
        assert_eq!(zone("America/New_York").format(at("2026-07-01T02:00:00Z")), "2026-06-30T22:00:00-04:00");
        assert_eq!(zone("Asia/Kolkata").format(at("2026-07-01T00:00:00Z")), "2026-07-01T05:30:00+05:30");
        assert_eq!(zone("UTC").format(at("2026-07-01T00:00:00Z")), "2026-07-01T00:00:00Z");
    }

    #[test]
    fn only_names_of_the_database_are_time_zones() {
        for text in ["Europe/Amsterdam", "UTC", "Etc/GMT+5", "america/new_york"] {
            assert!(text.parse::<TimeZone>().is_ok(), "{text}");
        }
        for text in ["", "Mars/Olympus", "+02:00", "CET-1CEST", "Etc/Unknown", "../etc/passwd", "Europe/Amsterdam "] {
            assert!(text.parse::<TimeZone>().is_err(), "{text}");
        }
        assert_eq!("europe/amsterdam".parse::<TimeZone>().unwrap().to_string(), "Europe/Amsterdam");
    }
}
