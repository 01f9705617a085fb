//! Time in Unix milliseconds.

use std::time::Duration;

use super::{Invalid, Stored};

/// A point in time, in Unix milliseconds.
///
/// It cannot be serialized itself: the API has three formats for times, and each field chooses one
/// ([`Rfc3339`](super::Rfc3339), [`UnixSeconds`](super::UnixSeconds), [`UnixMillis`](super::UnixMillis)).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time(i64);

impl Time {
    pub const EPOCH: Time = Time(0);

    pub const fn from_millis(millis: i64) -> Time {
        Time(millis)
    }

    /// Saturates at the ends of the range.
    pub const fn from_seconds(seconds: i64) -> Time {
        Time(seconds.saturating_mul(1000))
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    pub fn plus(self, span: Duration) -> Time {
        Time(self.0.saturating_add(whole_millis(span)))
    }

    pub fn minus(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(whole_millis(span)))
    }

    /// The duration since `earlier`, or zero if it is later than this time.
    pub fn since(self, earlier: Time) -> Duration {
        if earlier >= self { Duration::ZERO } else { Duration::from_millis(self.0.abs_diff(earlier.0)) }
    }
}

fn whole_millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

impl Stored for Time {
    type Raw = i64;

    fn to_raw(&self) -> i64 {
        self.0
    }

    fn from_raw(raw: i64) -> Result<Self, Invalid> {
        Ok(Time(raw))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn plus_and_minus_agree_with_since(millis in -1_000_000_000_000i64..4_000_000_000_000, span in 0u64..1 << 40) {
            let (time, span) = (Time::from_millis(millis), Duration::from_millis(span));
            prop_assert_eq!(time.plus(span).since(time), span);
            prop_assert_eq!(time.minus(span).plus(span), time);
            prop_assert_eq!(time.since(time.plus(span)), Duration::ZERO);
        }

        #[test]
        fn adding_and_subtracting_saturate(millis: i64, seconds: u64) {
            let (time, span) = (Time::from_millis(millis), Duration::from_secs(seconds));
            prop_assert!(time.plus(span) >= time && time.minus(span) <= time);
        }

        #[test]
        fn a_time_round_trips_through_its_column(millis: i64) {
            prop_assert_eq!(Time::from_raw(Time::from_millis(millis).to_raw()), Ok(Time::from_millis(millis)));
        }
    }

    #[test]
    fn seconds_round_down_on_both_sides_of_1970() {
        assert_eq!(Time::from_millis(1999).seconds(), 1);
        assert_eq!(Time::from_millis(-1).seconds(), -1);
        assert_eq!(Time::from_seconds(-1).millis(), -1000);
        assert_eq!(Time::from_millis(i64::MAX).since(Time::from_millis(i64::MIN)), Duration::from_millis(u64::MAX));
    }
}
