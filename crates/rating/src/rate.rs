//! A rate and the price of a call at it.
//!
//! Money is in whole nanos (10⁻⁹ of a currency unit). Everything rounds with [`half_up`], half a nano up: the cost of a
//! call, the charge of the customer, and a rate converted to another currency.

use std::fmt;

/// Price per minute, connect fee, and how seconds are billed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rate {
    nanos_per_minute: i64,
    connect_fee_nanos: i64,
    increment_seconds: u16,
    minimum_seconds: u16,
}

/// A value of a rate is out of bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateError {
    Negative,
    Increment,
    Minimum,
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RateError::Negative => "must not be negative",
            RateError::Increment => "must be 1 to 3600 seconds",
            RateError::Minimum => "must be 0 to 3600 seconds",
        })
    }
}

impl std::error::Error for RateError {}

/// An amount does not fit into 64 bits of nanos: more than 9.2 billion units of a currency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the amount is too large")
    }
}

impl std::error::Error for TooLarge {}

impl Rate {
    /// Maximum increment and maximum minimum.
    pub const MAX_SECONDS: u16 = 3600;
    /// Zero for a call of any length.
    pub const FREE: Rate = Rate { nanos_per_minute: 0, connect_fee_nanos: 0, increment_seconds: 1, minimum_seconds: 0 };

    pub fn new(
        nanos_per_minute: i64,
        connect_fee_nanos: i64,
        increment_seconds: u16,
        minimum_seconds: u16,
    ) -> Result<Rate, RateError> {
        if nanos_per_minute < 0 || connect_fee_nanos < 0 {
            return Err(RateError::Negative);
        }
        if !(1..=Rate::MAX_SECONDS).contains(&increment_seconds) {
            return Err(RateError::Increment);
        }
        if minimum_seconds > Rate::MAX_SECONDS {
            return Err(RateError::Minimum);
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

    /// The seconds charged: at least the minimum, rounded up to whole increments.
    pub fn billed_seconds(&self, answered_seconds: u32) -> u32 {
        let increment = u32::from(self.increment_seconds);
        let seconds = answered_seconds.max(u32::from(self.minimum_seconds));
        seconds.div_ceil(increment).saturating_mul(increment)
    }

    /// The price of an answered call in nanos. Do not call it for an unanswered one: the connect fee would count.
    pub fn price(&self, answered_seconds: u32) -> Result<i64, TooLarge> {
        let seconds = u128::from(self.billed_seconds(answered_seconds));
        let minutes = half_up(u128::from(self.nanos_per_minute.unsigned_abs()) * seconds, 60)?;
        minutes.checked_add(self.connect_fee_nanos).ok_or(TooLarge)
    }

    /// Whether an answered call of every length, from one second, costs at most as much at this rate as at `other`.
    ///
    /// This is the margin guard: `self` is the upstream's cost and `other` the sell rate. Prices are compared before
    /// rounding. Minute price, connect fee, increment and minimum all count: an upstream that bills whole minutes is
    /// within a sell rate billed by the second only if a call of one second already pays for the minute.
    pub fn is_within(&self, other: &Rate) -> bool {
        // With a higher price per minute, a call that is long enough costs more, whatever the other values are.
        if self.nanos_per_minute > other.nanos_per_minute {
            return false;
        }
        let (step, other_step) = (u32::from(self.increment_seconds), u32::from(other.increment_seconds));
        // Above both minimums, the comparison repeats with the least common multiple of the increments.
        let minimum = u32::from(self.minimum_seconds.max(other.minimum_seconds));
        let last = minimum + step / greatest_common_divisor(step, other_step) * other_step;
        // The cost jumps on the first second of each increment, so only those seconds have to be compared.
        let jumps = (self.billed_seconds(1)..=last).step_by(self.increment_seconds.into()).map(|billed| billed + 1);
        std::iter::once(1).chain(jumps).all(|seconds| self.sixtieths(seconds) <= other.sixtieths(seconds))
    }

    /// Whether any part is higher than in `other`: price per minute, connect fee, increment or minimum.
    pub fn exceeds(&self, other: &Rate) -> bool {
        self.nanos_per_minute > other.nanos_per_minute
            || self.connect_fee_nanos > other.connect_fee_nanos
            || self.increment_seconds > other.increment_seconds
            || self.minimum_seconds > other.minimum_seconds
    }

    /// The price before rounding, in sixtieths of a nano.
    fn sixtieths(&self, answered_seconds: u32) -> u128 {
        let seconds = u128::from(self.billed_seconds(answered_seconds));
        let (minute, fee) = (self.nanos_per_minute.unsigned_abs(), self.connect_fee_nanos.unsigned_abs());
        u128::from(minute) * seconds + u128::from(fee) * 60
    }

    /// Sort key from cheap to expensive: price per minute, then connect fee.
    pub(crate) fn price_key(&self) -> (i64, i64) {
        (self.nanos_per_minute, self.connect_fee_nanos)
    }

    /// The same increment and minimum at other prices.
    pub(crate) fn with_prices(self, nanos_per_minute: i64, connect_fee_nanos: i64) -> Rate {
        Rate { nanos_per_minute, connect_fee_nanos, ..self }
    }
}

/// Neither argument may be zero.
fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    let (mut larger, mut smaller) = (one.max(other), one.min(other));
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    larger
}

/// `dividend` ÷ `divisor`, rounded half up.
pub(crate) fn half_up(dividend: u128, divisor: u128) -> Result<i64, TooLarge> {
    // Most prices fit into 64 bits, whose division takes a tenth of the time.
    if let (Ok(dividend), Ok(divisor)) = (u64::try_from(dividend), u64::try_from(divisor)) {
        let (quotient, rest) = (dividend / divisor, dividend % divisor);
        return i64::try_from(quotient + u64::from(rest >= divisor - rest)).map_err(|_| TooLarge);
    }
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    i64::try_from(quotient + u128::from(rest >= divisor - rest)).map_err(|_| TooLarge)
}
