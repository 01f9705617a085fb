//! The factor from a deck's price to the customer's: exchange rate times markup, exact until the one rounding.

use crate::rate::half_up;
use crate::{Rate, TooLarge};

/// An exchange rate as a ratio of two positive whole numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    pub const ONE: Ratio = Ratio { numerator: 1, denominator: 1 };

    pub fn new(numerator: u64, denominator: u64) -> Option<Ratio> {
        (numerator > 0 && denominator > 0).then_some(Ratio { numerator, denominator })
    }
}

/// Parts per million: a markup of 5 % is 50,000 ppm.
const PPM: u128 = 1_000_000;

/// Exchange rate and markup combined, so that a price is rounded once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Factor {
    numerator: u128,
    denominator: u128,
}

impl Factor {
    pub fn new(fx: Ratio, markup_ppm: u32) -> Factor {
        let numerator = u128::from(fx.numerator) * (PPM + u128::from(markup_ppm));
        let denominator = u128::from(fx.denominator) * PPM;
        let common = greatest_common_divisor(numerator, denominator);
        Factor { numerator: numerator / common, denominator: denominator / common }
    }

    /// The same with one more markup, which may be negative.
    pub fn with_markup(self, ppm: i32) -> Result<Factor, TooLarge> {
        let share = PPM.checked_add_signed(ppm.into()).ok_or(TooLarge)?;
        let product = self.numerator.checked_mul(share).zip(self.denominator.checked_mul(PPM));
        // Times any nanos it fits into 128 bits, so it need not be reduced, which takes longer than all the rest.
        if let Some((numerator, denominator)) = product.filter(|(numerator, _)| numerator >> 64 == 0) {
            return Ok(Factor { numerator, denominator });
        }
        let (above, below) =
            (greatest_common_divisor(self.numerator, PPM), greatest_common_divisor(share, self.denominator));
        let numerator = (self.numerator / above).checked_mul(share / below).ok_or(TooLarge)?;
        let denominator = (self.denominator / below).checked_mul(PPM / above).ok_or(TooLarge)?;
        Ok(Factor { numerator, denominator })
    }

    pub fn apply_to_nanos(self, nanos: i64) -> Result<i64, TooLarge> {
        // Most rates have no connect fee.
        if nanos == 0 {
            return Ok(0);
        }
        let product = u128::from(nanos.unsigned_abs()).checked_mul(self.numerator).ok_or(TooLarge)?;
        half_up(product, self.denominator)
    }

    pub fn apply(self, rate: &Rate) -> Result<Rate, TooLarge> {
        let minute = self.apply_to_nanos(rate.nanos_per_minute())?;
        Ok(rate.with_prices(minute, self.apply_to_nanos(rate.connect_fee_nanos())?))
    }
}

fn greatest_common_divisor(mut one: u128, mut other: u128) -> u128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
