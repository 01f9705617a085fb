//! Exchange rates and exact conversion by them.
//!
//! A rate is the value of one euro in a currency, with nine decimals. A conversion multiplies by one rate and divides
//! by the other in 128-bit integers, and rounds once at the end, half away from zero.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use values::{Currency, Date, Invalid, Money, Stored};

/// The base currency of all rates.
pub const BASE: Currency = Currency::EUR;

const REASON: &str = "must be a positive decimal such as \"1.0832\", with at most 9 decimals";

/// Value of one unit of the base in a currency, in 10⁻⁹; always positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate(i64);

impl Rate {
    /// The rate of the base to itself.
    const ONE: Rate = Rate(1_000_000_000);
}

impl FromStr for Rate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let read = Money::from_decimal_str(text, BASE).ok().map(Money::nanos);
        read.filter(|nanos| *nanos > 0).map(Rate).ok_or(Invalid::because(REASON))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:09}", self.0 / Rate::ONE.0, self.0 % Rate::ONE.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Stored for Rate {
    type Raw = i64;

    fn to_raw(&self) -> i64 {
        self.0
    }

    fn from_raw(raw: i64) -> Result<Self, Invalid> {
        if raw > 0 { Ok(Rate(raw)) } else { Err(Invalid::because(REASON)) }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> Cow<'static, str> {
        "FxRate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "format": "decimal", "pattern": r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?$",
            "description": "Value of one unit of the base currency.", "examples": ["1.0832"],
        })
    }
}

/// The rates of one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    pub date: Date,
    /// All but the base itself.
    pub rates: BTreeMap<Currency, Rate>,
}

/// A converted amount, with the rates that were used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Converted {
    pub money: Money,
    /// The day of the rates.
    pub date: Date,
    pub from_rate: Rate,
    pub to_rate: Rate,
}

/// Why an amount cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FxError {
    /// The day has no rate for the currency.
    Unknown(Currency),
    TooLarge,
}

impl fmt::Display for FxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FxError::Unknown(currency) => write!(f, "there is no exchange rate for {currency}"),
            FxError::TooLarge => f.write_str("the amount is too large"),
        }
    }
}

impl std::error::Error for FxError {}

impl Rates {
    pub fn convert(&self, money: Money, to: Currency) -> Result<Converted, FxError> {
        let (from_rate, to_rate) = (self.rate(money.currency())?, self.rate(to)?);
        let nanos = rounded(i128::from(money.nanos()) * i128::from(to_rate.0), i128::from(from_rate.0));
        let nanos = i64::try_from(nanos).map_err(|_| FxError::TooLarge)?;
        Ok(Converted { money: Money::from_nanos(nanos, to), date: self.date, from_rate, to_rate })
    }

    fn rate(&self, currency: Currency) -> Result<Rate, FxError> {
        if currency == BASE {
            return Ok(Rate::ONE);
        }
        self.rates.get(&currency).copied().ok_or(FxError::Unknown(currency))
    }
}

/// The quotient, half away from zero. Both fit in 126 bits, the divisor in 63 and is positive.
fn rounded(dividend: i128, divisor: i128) -> i128 {
    let (whole, rest) = (dividend / divisor, dividend % divisor);
    if rest.abs() * 2 >= divisor { whole + rest.signum() } else { whole }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    fn rates(usd: Rate, jpy: Rate) -> Rates {
        let rates = [(currency("USD"), usd), (currency("JPY"), jpy)].into();
        Rates { date: "2026-11-13".parse().unwrap(), rates }
    }

    fn any_rate() -> impl Strategy<Value = Rate> {
        prop_oneof![1i64..1000, 1_000_000i64..1_000_000_000_000_000, 1..i64::MAX].prop_map(Rate)
    }

    proptest! {
        #[test]
        fn a_conversion_is_the_exact_quotient_rounded_half_away_from_zero(
            nanos: i64, usd in any_rate(), jpy in any_rate(),
        ) {
            let money = Money::from_nanos(nanos, currency("USD"));
            let exact = i128::from(nanos) * i128::from(jpy.0);
            match rates(usd, jpy).convert(money, currency("JPY")) {
                Ok(Converted { money, from_rate, to_rate, .. }) => {
                    let off = i128::from(money.nanos()) * i128::from(usd.0) - exact;
                    prop_assert!(off.abs() * 2 <= i128::from(usd.0));
                    prop_assert!(off.abs() * 2 < i128::from(usd.0) || off.signum() == exact.signum());
                    prop_assert_eq!((from_rate, to_rate), (usd, jpy));
                }
                Err(error) => {
                    prop_assert_eq!(error, FxError::TooLarge);
                    prop_assert!(exact.abs() / i128::from(usd.0) >= i128::from(i64::MAX) - 1);
                }
            }
        }

        #[test]
        fn a_conversion_is_symmetric_in_sign(nanos in 0..i64::MAX, usd in any_rate(), jpy in any_rate()) {
            let rates = rates(usd, jpy);
            let convert = |nanos| rates.convert(Money::from_nanos(nanos, currency("USD")), currency("JPY"));
            if let (Ok(there), Ok(mirrored)) = (convert(nanos), convert(-nanos)) {
                prop_assert_eq!(there.money.nanos(), -mirrored.money.nanos());
            }
        }

        #[test]
        fn a_conversion_to_the_same_currency_changes_nothing(nanos: i64, usd in any_rate(), jpy in any_rate()) {
            for code in ["EUR", "USD", "JPY"] {
                let money = Money::from_nanos(nanos, currency(code));
                prop_assert_eq!(rates(usd, jpy).convert(money, money.currency()).unwrap().money, money);
            }
        }

        #[test]
        fn a_rate_round_trips_through_text_and_column(rate in any_rate()) {
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            prop_assert_eq!(Rate::from_raw(rate.to_raw()), Ok(rate));
        }
    }

    #[test]
    fn a_dollar_price_becomes_euros_by_the_rate_of_the_day() {
        let rates = rates("1.0832".parse().unwrap(), "163.5".parse().unwrap());
        let price = Money::from_decimal_str("0.0045", currency("USD")).unwrap();
        let converted = rates.convert(price, BASE).unwrap();
        // 0.0045 / 1.0832 = 0.00415435745…
        assert_eq!(converted.money, Money::from_decimal_str("0.004154357", BASE).unwrap());
        assert_eq!(converted.date.to_string(), "2026-11-13");
        assert_eq!((converted.from_rate.to_string(), converted.to_rate.to_string()), ("1.0832".into(), "1".into()));
    }

    #[test]
    fn a_currency_without_a_rate_is_named() {
        let rates = rates(Rate::ONE, Rate::ONE);
        let pound = Money::zero(currency("GBP"));
        assert_eq!(rates.convert(pound, BASE), Err(FxError::Unknown(currency("GBP"))));
    }

    #[test]
    fn only_positive_decimals_are_rates() {
        for text in ["", "0", "0.0", "-1", "1e3", "1.0000000001", "N/A", "+1", " 1"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
