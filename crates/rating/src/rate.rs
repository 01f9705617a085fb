//! What a call costs.
//!
//! Money is a whole number of nanos, the billionth part of a currency's unit. There is one rounding, [`half_up`], for
//! what a call costs us, for what a customer is charged, and for a rate that is turned into another currency: to the
//! next nano, and half a nano becomes one.

use std::fmt;

/// What a deck asks for a minute, and how it counts the seconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rate {
    nanos_per_minute: i64,
    connect_fee_nanos: i64,
    increment_seconds: u16,
    minimum_seconds: u16,
}

/// The part of a rate that is out of bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadRate {
    Negative,
    Increment,
    Minimum,
}

impl fmt::Display for BadRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadRate::Negative => "must not be negative",
            BadRate::Increment => "must be 1 to 3600 seconds",
            BadRate::Minimum => "must be 0 to 3600 seconds",
        })
    }
}

impl std::error::Error for BadRate {}

/// An amount that does not fit into 64 bits of nanos: more than nine thousand million of a currency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the amount is too large")
    }
}

impl std::error::Error for TooLarge {}

impl Rate {
    /// The longest increment and the longest minimum.
    pub const MOST_SECONDS: u16 = 3600;
    /// Nothing, however long a call lasts.
    pub const FREE: Rate = Rate { nanos_per_minute: 0, connect_fee_nanos: 0, increment_seconds: 1, minimum_seconds: 0 };

    pub fn new(
        nanos_per_minute: i64,
        connect_fee_nanos: i64,
        increment_seconds: u16,
        minimum_seconds: u16,
    ) -> Result<Rate, BadRate> {
        if nanos_per_minute < 0 || connect_fee_nanos < 0 {
            return Err(BadRate::Negative);
        }
        if !(1..=Rate::MOST_SECONDS).contains(&increment_seconds) {
            return Err(BadRate::Increment);
        }
        if minimum_seconds > Rate::MOST_SECONDS {
            return Err(BadRate::Minimum);
        }
        Ok(Rate { nanos_per_minute, connect_fee_nanos, increment_seconds, minimum_seconds })
    }

    pub fn nanos_per_minute(&self) -> i64 {
        self.nanos_per_minute
    }

    pub fn connect_fee_nanos(&self) -> i64 {
        self.connect_fee_nanos
    }

    pub fn increment_seconds(&self) -> u16 {
        self.increment_seconds
    }

    pub fn minimum_seconds(&self) -> u16 {
        self.minimum_seconds
    }

    /// The seconds that are paid for: at least the minimum, and then whole increments.
    pub fn billed_seconds(&self, answered_seconds: u32) -> u32 {
        let increment = u32::from(self.increment_seconds);
        let seconds = answered_seconds.max(u32::from(self.minimum_seconds));
        seconds.div_ceil(increment).saturating_mul(increment)
    }

    /// What an answered call costs, in nanos. One that was not answered has no price.
    pub fn price(&self, answered_seconds: u32) -> Result<i64, TooLarge> {
        let seconds = u128::from(self.billed_seconds(answered_seconds));
        let minutes = half_up(u128::from(self.nanos_per_minute.unsigned_abs()) * seconds, 60)?;
        minutes.checked_add(self.connect_fee_nanos).ok_or(TooLarge)
    }

    /// Whether an answered call, of whatever length, costs no more by this rate than by the other.
    pub fn is_within(&self, other: &Rate) -> bool {
        // Who asks more for the minute costs more in the end, however it begins.
        if self.nanos_per_minute > other.nanos_per_minute {
            return false;
        }
        let (step, other_step) = (u32::from(self.increment_seconds), u32::from(other.increment_seconds));
        // From where neither minimum counts any more, all comes again whenever both begin a step at once.
        let minimum = u32::from(self.minimum_seconds.max(other.minimum_seconds));
        let last = minimum + step / greatest_common_divisor(step, other_step) * other_step;
        // It compares worst where one of its steps has just begun.
        let begun = (self.billed_seconds(1)..=last).step_by(self.increment_seconds.into()).map(|ended| ended + 1);
        std::iter::once(1).chain(begun).all(|seconds| self.sixtieths(seconds) <= other.sixtieths(seconds))
    }

    /// The exact price, in sixtieths of a nano.
    fn sixtieths(&self, answered_seconds: u32) -> u128 {
        let seconds = u128::from(self.billed_seconds(answered_seconds));
        let (minute, fee) = (self.nanos_per_minute.unsigned_abs(), self.connect_fee_nanos.unsigned_abs());
        u128::from(minute) * seconds + u128::from(fee) * 60
    }

    /// What comes first when the cheapest is wanted: the minute, and between equals the connect fee.
    pub(crate) fn order(&self) -> (i64, i64) {
        (self.nanos_per_minute, self.connect_fee_nanos)
    }

    /// The same way of counting seconds at another price.
    pub(crate) fn at_prices(self, nanos_per_minute: i64, connect_fee_nanos: i64) -> Rate {
        Rate { nanos_per_minute, connect_fee_nanos, ..self }
    }
}

/// Neither is zero.
fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    let (mut larger, mut smaller) = (one.max(other), one.min(other));
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    larger
}

/// `dividend` ÷ `divisor`, where half is rounded up.
pub(crate) fn half_up(dividend: u128, divisor: u128) -> Result<i64, TooLarge> {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let rounded = if rest >= divisor - rest { quotient + 1 } else { quotient };
    i64::try_from(rounded).map_err(|_| TooLarge)
}
