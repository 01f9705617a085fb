//! Exact decimal numbers for quantities, unit prices and tax rates.
//!
//! Amounts of money are whole minor units (`i64`). Only [`Decimal::times`] rounds, half away from zero: half a cent
//! becomes a cent.

use std::fmt;

/// `units` ÷ 10^`scale`, without trailing zeros, so that equal numbers are equal values.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    units: i64,
    scale: u32,
}

/// A number or sum that does not fit into 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the amount is too large")
    }
}

impl std::error::Error for TooLarge {}

impl Decimal {
    pub const ZERO: Decimal = Decimal { units: 0, scale: 0 };
    /// Maximum number of decimals. XML processors keep at least eighteen digits.
    pub const MAX_PLACES: u32 = 10;

    /// `units` ÷ 10^`scale`; `None` if that needs more than [`Decimal::MAX_PLACES`] decimals.
    pub fn new(units: i64, scale: u32) -> Option<Decimal> {
        let (mut units, mut scale) = (units, scale);
        while scale > 0 && units % 10 == 0 {
            (units, scale) = (units / 10, scale - 1);
        }
        (scale <= Decimal::MAX_PLACES).then_some(Decimal { units, scale })
    }

    pub fn whole(units: i64) -> Decimal {
        Decimal { units, scale: 0 }
    }

    pub fn is_negative(self) -> bool {
        self.units < 0
    }

    pub fn is_zero(self) -> bool {
        self.units == 0
    }

    /// The product in units of 10^-`places`, rounded half away from zero.
    pub fn times(self, other: Decimal, places: u32) -> Result<i64, TooLarge> {
        let product = i128::from(self.units) * i128::from(other.units);
        let scale = self.scale + other.scale;
        let scaled = match places.checked_sub(scale) {
            Some(missing) => product.checked_mul(power_of_ten(missing)?).ok_or(TooLarge)?,
            None => divide(product, power_of_ten(scale - places)?),
        };
        i64::try_from(scaled).map_err(|_| TooLarge)
    }

    /// The unit price with the fewest decimals that, times this quantity, gives `amount` (in units of 10^-`places`).
    /// `None` if there is no such price, as for a quantity of zero.
    pub fn price_for(self, amount: i64, places: u32) -> Option<Decimal> {
        if self.is_zero() {
            return None;
        }
        (places..=Decimal::MAX_PLACES).find_map(|scale| {
            let dividend = i128::from(amount).checked_mul(power_of_ten(scale + self.scale - places).ok()?)?;
            let units = i64::try_from(divide(dividend, i128::from(self.units))).ok()?;
            let price = Decimal::new(units, scale)?;
            (self.times(price, places) == Ok(amount)).then_some(price)
        })
    }

    /// Formats with at least `places` decimals: `12.5` with two is `12.50`.
    pub fn padded(self, places: u32) -> String {
        let scale = self.scale.max(places);
        let digits = format!("{:0>1$}", self.units.unsigned_abs(), self.scale as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - self.scale as usize);
        let sign = if self.units < 0 { "-" } else { "" };
        let point = if scale > 0 { "." } else { "" };
        format!("{sign}{whole}{point}{fraction:0<width$}", width = scale as usize)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.padded(0))
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn power_of_ten(exponent: u32) -> Result<i128, TooLarge> {
    10_i128.checked_pow(exponent).ok_or(TooLarge)
}

/// Divides, rounding half away from zero.
fn divide(dividend: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let away = if (dividend < 0) == (divisor < 0) { 1 } else { -1 };
    if rest.unsigned_abs() * 2 >= divisor.unsigned_abs() { quotient + away } else { quotient }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn decimal(units: i64, scale: u32) -> Decimal {
        Decimal::new(units, scale).unwrap()
    }

    #[test]
    fn half_a_minor_unit_rounds_away_from_zero() {
        let rate = decimal(21, 2);
        assert_eq!(decimal(50, 2).times(rate, 2), Ok(11)); // 0.1050
        assert_eq!(decimal(-50, 2).times(rate, 2), Ok(-11));
        assert_eq!(decimal(49, 2).times(rate, 2), Ok(10)); // 0.1029
        assert_eq!(decimal(3, 0).times(decimal(5, 1), 0), Ok(2)); // 1.5
    }

    #[test]
    fn decimals_are_formatted_without_trailing_zeros_unless_padded() {
        assert_eq!(decimal(1500, 3).to_string(), "1.5");
        assert_eq!(decimal(1500, 3).padded(2), "1.50");
        assert_eq!(decimal(-5, 3).to_string(), "-0.005");
        assert_eq!(decimal(0, 4).to_string(), "0");
        assert_eq!(decimal(12, 0).padded(2), "12.00");
        assert_eq!(decimal(1, 1), decimal(100, 3));
    }

    #[test]
    fn a_product_that_does_not_fit_is_an_error() {
        assert_eq!(Decimal::whole(i64::MAX).times(Decimal::whole(2), 0), Err(TooLarge));
        assert_eq!(Decimal::whole(i64::MAX).times(Decimal::whole(i64::MAX), 10), Err(TooLarge));
    }

    #[test]
    fn price_for_returns_the_fewest_decimals() {
        assert_eq!(decimal(4, 0).price_for(1000, 2), Some(decimal(250, 2)));
        assert_eq!(decimal(3, 0).price_for(1000, 2), Some(decimal(3333, 3)));
        assert_eq!(Decimal::ZERO.price_for(1000, 2), None);
    }

    proptest! {
        #[test]
        fn quantity_times_price_for_gives_the_amount(
            units in 1_i64..10_000_000_000, scale in 0_u32..4, amount in 0_i64..1_000_000_000,
        ) {
            let quantity = decimal(units, scale);
            if let Some(price) = quantity.price_for(amount, 2) {
                prop_assert_eq!(quantity.times(price, 2), Ok(amount));
            }
        }

        #[test]
        fn rounding_is_symmetric_around_zero(units in -1_000_000_i64..1_000_000, rate in 0_i64..10_000) {
            let rate = decimal(rate, 4);
            let (up, down) = (decimal(units, 2).times(rate, 2), decimal(-units, 2).times(rate, 2));
            prop_assert_eq!(up.map(|amount| -amount), down);
        }
    }
}
