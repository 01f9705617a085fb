//! The settings of calls: how many at once, what is remarkable about them, and how long their numbers are kept.

use super::Reading;

const NANOS: i64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSettings {
    /// How many calls at once an account may have in a zone, unless the team chose another number.
    pub zone_channels: i64,
    /// How long records keep the numbers of caller and callee.
    pub numbers_kept_days: i64,
    pub alarms: AlarmSettings,
}

/// When an account is told of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlarmSettings {
    /// How many times the average hour of the week before an hour must cost.
    pub spend_factor: i64,
    /// What it must cost at least, in nanos of the house currency.
    pub spend_least: i64,
    /// The share of calls to a destination that must be answered, in per cent.
    pub asr_percent: i64,
    /// How many calls there must have been to it on a day.
    pub asr_calls: i64,
}

impl Reading {
    pub(super) fn calls(&mut self) -> CallSettings {
        CallSettings {
            zone_channels: self.count("TRUNKLINE_ZONE_CHANNELS", 0..=1_000_000, 1000),
            numbers_kept_days: self.count("TRUNKLINE_CALL_NUMBERS_DAYS", 30..=3650, 400),
            alarms: AlarmSettings {
                spend_factor: self.count("TRUNKLINE_ALARM_SPEND_FACTOR", 2..=1000, 10),
                spend_least: self.count("TRUNKLINE_ALARM_SPEND_EUR", 1..=1_000_000, 10) * NANOS,
                asr_percent: self.count("TRUNKLINE_ALARM_ASR_PERCENT", 0..=100, 20),
                asr_calls: self.count("TRUNKLINE_ALARM_ASR_CALLS", 1..=1_000_000, 50),
            },
        }
    }

    fn count(&mut self, name: &str, range: std::ops::RangeInclusive<usize>, default: usize) -> i64 {
        i64::try_from(self.within(name, range, default)).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use crate::config::Settings;

    #[test]
    fn calls_have_sound_defaults_and_bounds() {
        let settings = |name: &str, value: &str| {
            Settings::from_names(BTreeMap::from([(name.to_owned(), value.to_owned())]), BTreeMap::new())
        };
        let calls = settings("TRUNKLINE_ALARM_SPEND_EUR", "25").unwrap().calls;
        assert_eq!((calls.zone_channels, calls.numbers_kept_days), (1000, 400));
        assert_eq!((calls.alarms.spend_factor, calls.alarms.spend_least), (10, 25_000_000_000));
        for (name, value) in [
            ("TRUNKLINE_CALL_NUMBERS_DAYS", "7"),
            ("TRUNKLINE_ALARM_SPEND_FACTOR", "1"),
            ("TRUNKLINE_ALARM_ASR_PERCENT", "101"),
            ("TRUNKLINE_ZONE_CHANNELS", "-1"),
        ] {
            assert!(settings(name, value).is_err(), "{name}");
        }
    }
}
