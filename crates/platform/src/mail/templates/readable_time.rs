//! A time for people to read.

use std::fmt;

use jiff::Timestamp;

use values::Time;

/// Displays as `15 November 2026, 14:05 UTC`, rounded down to the minute.
#[derive(Clone, Copy, Debug)]
pub struct ReadableTime(pub Time);

impl fmt::Display for ReadableTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.millis();
        let end = if millis < 0 { Timestamp::MIN } else { Timestamp::MAX };
        let at = Timestamp::from_millisecond(millis).unwrap_or(end);
        write!(f, "{}", at.strftime("%-d %B %Y, %H:%M UTC"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_to_the_minute() {
        let text = |millis| ReadableTime(Time::from_millis(millis)).to_string();
        assert_eq!(text(1_794_751_559_999), "15 November 2026, 14:05 UTC");
        assert_eq!(text(0), "1 January 1970, 00:00 UTC");
        assert_eq!(text(-1), "31 December 1969, 23:59 UTC");
    }

    #[test]
    fn every_time_can_be_shown() {
        for millis in [i64::MIN, i64::MAX] {
            assert!(ReadableTime(Time::from_millis(millis)).to_string().ends_with(" UTC"));
        }
    }
}
