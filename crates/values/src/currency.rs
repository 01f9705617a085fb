//! Currencies of ISO 4217.

use std::fmt;
use std::str::FromStr;

use super::Invalid;
use super::text_form::{TextForm, impl_serde_as_text, impl_stored_as_text};

/// A currency with a defined number of decimals. Codes without one, such as XAU (gold), are refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency(iso_currency::Currency);

impl Currency {
    pub const EUR: Currency = Currency(iso_currency::Currency::EUR);

    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// The number of decimals of the minor unit: 2 for EUR, 0 for JPY, 3 for KWD.
    pub fn exponent(self) -> u32 {
        self.0.exponent().map_or(0, u32::from)
    }
}

impl TextForm for Currency {
    const DESCRIPTION: &'static str = "ISO 4217 currency code.";
    const FORMAT: &'static str = "currency";
    const REASON: &'static str = "must be an ISO 4217 currency code such as EUR";
    const PATTERN: &'static str = "^[A-Z]{3}$";
    const EXAMPLE: &'static str = "EUR";
}

impl FromStr for Currency {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        iso_currency::Currency::from_code(text)
            .filter(|currency| currency.code() == text && currency.exponent().is_some())
            .map(Currency)
            .ok_or_else(Self::invalid)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl_serde_as_text!(Currency);
impl_stored_as_text!(Currency);

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use iso_currency::IntoEnumIterator;
    use proptest::prelude::*;

    use super::*;
    use crate::Stored;

    pub fn currencies() -> Vec<Currency> {
        iso_currency::Currency::iter().filter_map(|known| known.code().parse().ok()).collect()
    }

    pub fn any_currency() -> impl Strategy<Value = Currency> {
        proptest::sample::select(currencies())
    }

    #[test]
    fn every_currency_round_trips_through_json_and_its_column() {
        assert!(currencies().len() > 150);
        for currency in currencies() {
            assert_eq!(currency.to_string().parse(), Ok(currency));
            assert_eq!(Currency::from_raw(currency.to_raw()), Ok(currency));
            assert_eq!(serde_json::from_value::<Currency>(serde_json::json!(currency)).unwrap(), currency);
            assert!(currency.exponent() <= 4, "{currency}");
        }
    }

    #[test]
    fn exponents_follow_iso_4217() {
        for (code, exponent) in [("EUR", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4), ("USD", 2)] {
            assert_eq!(code.parse::<Currency>().unwrap().exponent(), exponent, "{code}");
        }
    }

    #[test]
    fn an_unknown_currency_code_is_refused() {
        for text in ["", "eur", "Eur", "EU", "EURO", " EUR", "EUR\0", "AAA", "XAU", "XTS", "978"] {
            assert_eq!(text.parse::<Currency>(), Err(Currency::invalid()), "{text}");
        }
    }
}
