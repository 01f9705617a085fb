//! Cron expressions.

use std::fmt;
use std::str::FromStr;

use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::text_form::{TextForm, impl_serde_as_text, impl_stored_as_text};
use super::{Invalid, Time};

const MAX_CHARS: usize = 100;

/// A cron expression of minute, hour, day, month and weekday, in UTC, that ticks at least once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cron {
    text: String,
    pattern: croner::Cron,
}

impl Cron {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The next tick after `time`, if there is one.
    pub fn after(&self, time: Time) -> Option<Time> {
        let start = Timestamp::from_millisecond(time.millis()).ok()?.to_zoned(TimeZone::UTC);
        let next = self.pattern.find_next_occurrence(&start, false).ok()?;
        Some(Time::from_millis(next.timestamp().as_millisecond()))
    }
}

impl TextForm for Cron {
    const DESCRIPTION: &'static str = "Cron expression of five fields: minute, hour, day, month and weekday, in UTC.";
    const FORMAT: &'static str = "cron";
    const REASON: &'static str = "must be a cron expression of five fields such as \"0 4 * * *\", in UTC";
    const PATTERN: &'static str = "^.{1,100}$";
    const EXAMPLE: &'static str = "0 4 * * *";
}

impl FromStr for Cron {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() > MAX_CHARS || text.contains(|c: char| !c.is_ascii() || c.is_control()) {
            return Err(Self::invalid());
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let pattern = parser.parse(text).map_err(|_| Self::invalid())?;
        let cron = Cron { text: text.trim().to_owned(), pattern };
        // The 30th of February is well formed and never ticks.
        cron.after(Time::from_millis(0)).map(|_| cron).ok_or_else(Self::invalid)
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl_serde_as_text!(Cron);
impl_stored_as_text!(Cron);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cron_expression_ticks_in_utc() {
        let daily: Cron = "30 4 * * *".parse().unwrap();
        let tick = daily.after(Time::from_millis(0)).unwrap();
        assert_eq!(tick, Time::from_millis((4 * 60 + 30) * 60_000));
        assert_eq!(daily.after(tick), Some(Time::from_millis(tick.millis() + 86_400_000)));
    }

    #[test]
    fn an_expression_that_is_malformed_or_never_ticks_is_refused() {
        for text in ["", "* * * *", "61 * * * *", "0 0 30 2 *", "0 0 0 * * *", "daily", "* * * * *\n", "* * * * * * *"]
        {
            assert!(text.parse::<Cron>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in r"([0-9*/,\-LW# @a-zA-Z]{1,3} ?){0,8}|\PC{0,40}") {
            let _ = text.parse::<Cron>();
        }
    }
}
