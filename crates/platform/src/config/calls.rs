//! The settings of calls: zone quota, alarms, the retention of phone numbers in CDRs and the hot window.

use super::SettingsReader;

const NANOS: i64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSettings {
    /// Default zone quota: maximum number of concurrent calls of an account in a zone.
    pub zone_channels: i64,
    /// Maximum number of concurrent inbound calls of a trunk whose target is outside its allow-list.
    pub foreign_channels: i64,
    /// Maximum number of such calls that may begin in one second.
    pub foreign_cps: i64,
    /// How many days CDRs keep the numbers of caller and callee before they are anonymised.
    pub number_retention_days: i64,
    /// How many days CDRs stay in the database before they move to the archive; `None` keeps them for good.
    pub hot_days: Option<i64>,
    pub alarms: AlarmSettings,
}

/// When an account gets an alarm about its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlarmSettings {
    /// Spend alarm: an hour costs at least this many times the average hour of the week before.
    pub spend_factor: i64,
    /// Spend alarm: and at least this much, in nanos of EUR.
    pub min_spend_nanos: i64,
    /// ASR alarm: the ASR of a destination is below this percentage.
    pub asr_percent: i64,
    /// ASR alarm: and it had at least this many calls on the day.
    pub asr_calls: i64,
}

impl SettingsReader {
    pub(super) fn calls(&mut self) -> CallSettings {
        CallSettings {
            zone_channels: self.count("TRUNKLINE_ZONE_CHANNELS", 0..=1_000_000, 1000),
            foreign_channels: self.count("TRUNKLINE_FOREIGN_CHANNELS", 0..=1_000_000, 30),
            foreign_cps: self.count("TRUNKLINE_FOREIGN_CPS", 0..=10_000, 5),
            number_retention_days: self.count("TRUNKLINE_CALL_NUMBERS_DAYS", 30..=3650, 400),
            hot_days: self.hot_days(),
            alarms: AlarmSettings {
                spend_factor: self.count("TRUNKLINE_ALARM_SPEND_FACTOR", 2..=1000, 10),
                min_spend_nanos: self.count("TRUNKLINE_ALARM_SPEND_EUR", 1..=1_000_000, 10) * NANOS,
                asr_percent: self.count("TRUNKLINE_ALARM_ASR_PERCENT", 0..=100, 20),
                asr_calls: self.count("TRUNKLINE_ALARM_ASR_CALLS", 1..=1_000_000, 50),
            },
        }
    }

    /// Late events, imports and disputes reach CDRs in the hot window only, so it has a minimum.
    fn hot_days(&mut self) -> Option<i64> {
        let text = self.text("TRUNKLINE_CDR_HOT_DAYS").filter(|text| text != "off")?;
        let days = text.parse::<i64>().ok().filter(|days| (90..=3650).contains(days));
        if days.is_none() {
            self.wrong("TRUNKLINE_CDR_HOT_DAYS", "off, or days from 90 to 3650");
        }
        days
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
    fn call_settings_have_defaults_and_limits() {
        let settings = |name: &str, value: &str| {
            Settings::from_names(BTreeMap::from([(name.to_owned(), value.to_owned())]), BTreeMap::new())
        };
        let calls = settings("TRUNKLINE_ALARM_SPEND_EUR", "25").unwrap().calls;
        assert_eq!((calls.zone_channels, calls.number_retention_days), (1000, 400));
        assert_eq!(
            (calls.hot_days, settings("TRUNKLINE_CDR_HOT_DAYS", "400").unwrap().calls.hot_days),
            (None, Some(400))
        );
        assert_eq!(settings("TRUNKLINE_CDR_HOT_DAYS", "off").unwrap().calls.hot_days, None);
        assert_eq!((calls.alarms.spend_factor, calls.alarms.min_spend_nanos), (10, 25_000_000_000));
        for (name, value) in [
            ("TRUNKLINE_CALL_NUMBERS_DAYS", "7"),
            ("TRUNKLINE_CDR_HOT_DAYS", "30"),
            ("TRUNKLINE_ALARM_SPEND_FACTOR", "1"),
            ("TRUNKLINE_ALARM_ASR_PERCENT", "101"),
            ("TRUNKLINE_ZONE_CHANNELS", "-1"),
        ] {
            assert!(settings(name, value).is_err(), "{name}");
        }
    }
}
