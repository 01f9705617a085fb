//! Amounts of money, exact to a billionth.
//!
//! A minute of voice costs fractions of a cent, so an amount is an integer of nano-units of the major unit
//! (0.000000001 EUR). Arithmetic does not round; only [`Money::minor`] and [`Money::rounded_up`] do. It is checked:
//! overflow and mixed currencies are errors.

use std::cmp::Ordering;
use std::fmt;

use super::{Currency, Invalid, ascii};

const NANO_DIGITS: u32 = 9;
const NANOS: i64 = 1_000_000_000;

pub(super) const DECIMAL_REASON: &str = "must be a decimal amount such as \"12.50\", with at most 9 decimals";
const TOO_LARGE: Invalid = Invalid::because("is too large an amount");

/// An amount in one currency, possibly negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Money {
    nanos: i64,
    currency: Currency,
}

/// Why an operation on amounts failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MoneyError {
    Overflow,
    CurrencyMismatch { left: Currency, right: Currency },
}

#[expect(clippy::should_implement_trait, reason = "an operator that may fail would hide that in `a + b`")]
impl Money {
    pub const fn from_nanos(nanos: i64, currency: Currency) -> Money {
        Money { nanos, currency }
    }

    pub const fn zero(currency: Currency) -> Money {
        Money { nanos: 0, currency }
    }

    /// An amount in minor units of the currency, such as cents.
    pub fn from_minor(minor: i64, currency: Currency) -> Result<Money, MoneyError> {
        let nanos = minor.checked_mul(nanos_per_minor(currency)).ok_or(MoneyError::Overflow)?;
        Ok(Money { nanos, currency })
    }

    /// Parses the format of [`amount`](Money::amount): `-12.5`, `0.0045`.
    pub fn from_decimal_str(text: &str, currency: Currency) -> Result<Money, Invalid> {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if leading_zero || !is_digits(whole) || !is_digits(fraction) || fraction.len() > NANO_DIGITS as usize {
            return Err(Invalid::because(DECIMAL_REASON));
        }
        // Summed with its sign, so that the smallest i64 can be read back.
        let sign = if negative { -1 } else { 1 };
        whole
            .bytes()
            .chain(fraction.bytes().chain(std::iter::repeat(b'0')).take(NANO_DIGITS as usize))
            .try_fold(0i64, |nanos, digit| nanos.checked_mul(10)?.checked_add(sign * i64::from(digit - b'0')))
            .map(|nanos| Money { nanos, currency })
            .ok_or(TOO_LARGE)
    }

    pub const fn nanos(self) -> i64 {
        self.nanos
    }

    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// In minor units, rounded half away from zero.
    pub fn minor(self) -> i64 {
        let unit = nanos_per_minor(self.currency);
        let (whole, rest) = (self.nanos / unit, self.nanos % unit);
        if rest.abs() * 2 >= unit { whole + rest.signum() } else { whole }
    }

    /// The exact amount in major units: `12.50` EUR, `12` JPY, `0.0045` EUR.
    pub fn amount(self) -> String {
        // Longer than most, and allocated once: responses contain many amounts.
        let mut text = Vec::with_capacity(16);
        self.push_amount(&mut text);
        String::from_utf8(text).unwrap_or_default()
    }

    /// Appends the exact amount.
    pub fn push_amount(self, out: &mut Vec<u8>) {
        let (magnitude, unit) = (self.nanos.unsigned_abs(), NANOS.unsigned_abs());
        if self.nanos < 0 {
            out.push(b'-');
        }
        ascii::push_magnitude(out, magnitude / unit);
        let mut fraction = [b'0'; NANO_DIGITS as usize];
        ascii::put_digits(&mut fraction, magnitude % unit);
        let significant = fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        let needed = significant.max(self.currency.exponent() as usize);
        if let Some(shown) = fraction.get(..needed).filter(|shown| !shown.is_empty()) {
            out.push(b'.');
            out.extend_from_slice(shown);
        }
    }

    /// Rounded up to whole minor units.
    pub fn rounded_up(self) -> Money {
        let unit = nanos_per_minor(self.currency);
        let over = self.nanos.rem_euclid(unit);
        let up = if over == 0 { self.nanos } else { self.nanos.saturating_add(unit - over) };
        Money::from_nanos(up, self.currency)
    }

    /// Whether the amount has no fraction of a minor unit, such as a tenth of a cent.
    pub fn is_in_minor_units(self) -> bool {
        self.nanos % nanos_per_minor(self.currency) == 0
    }

    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }

    pub const fn is_negative(self) -> bool {
        self.nanos < 0
    }

    pub const fn is_positive(self) -> bool {
        self.nanos > 0
    }

    pub fn add(self, other: Money) -> Result<Money, MoneyError> {
        self.combine(other, i64::checked_add)
    }

    pub fn sub(self, other: Money) -> Result<Money, MoneyError> {
        self.combine(other, i64::checked_sub)
    }

    pub fn neg(self) -> Result<Money, MoneyError> {
        self.nanos.checked_neg().map(|nanos| Money { nanos, ..self }).ok_or(MoneyError::Overflow)
    }

    pub fn times(self, factor: i64) -> Result<Money, MoneyError> {
        self.nanos.checked_mul(factor).map(|nanos| Money { nanos, ..self }).ok_or(MoneyError::Overflow)
    }

    /// Compares two amounts; amounts in different currencies have no order.
    pub fn compare(self, other: Money) -> Result<Ordering, MoneyError> {
        self.same_currency(other).map(|()| self.nanos.cmp(&other.nanos))
    }

    fn combine(self, other: Money, operation: fn(i64, i64) -> Option<i64>) -> Result<Money, MoneyError> {
        self.same_currency(other)?;
        operation(self.nanos, other.nanos).map(|nanos| Money { nanos, ..self }).ok_or(MoneyError::Overflow)
    }

    fn same_currency(self, other: Money) -> Result<(), MoneyError> {
        let (left, right) = (self.currency, other.currency);
        if left == right { Ok(()) } else { Err(MoneyError::CurrencyMismatch { left, right }) }
    }
}

fn nanos_per_minor(currency: Currency) -> i64 {
    10i64.pow(NANO_DIGITS.saturating_sub(currency.exponent()))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether this is a decimal amount. The rule is the same for every currency.
pub(super) fn is_decimal(text: &str) -> bool {
    Money::from_decimal_str(text, Currency::EUR).is_ok()
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount(), self.currency)
    }
}

impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for MoneyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MoneyError::Overflow => TOO_LARGE.fmt(f),
            MoneyError::CurrencyMismatch { left, right } => write!(f, "cannot mix {left} and {right}"),
        }
    }
}

impl std::error::Error for MoneyError {}

impl From<MoneyError> for Invalid {
    fn from(error: MoneyError) -> Self {
        Invalid(error.to_string().into())
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;
    use crate::currency::tests::any_currency;

    const LARGE: i64 = 2_000_000_000_000_000_000;

    pub fn any_money() -> impl Strategy<Value = Money> {
        (any::<i64>(), any_currency()).prop_map(|(nanos, currency)| Money { nanos, currency })
    }

    fn eur(nanos: i64) -> Money {
        Money::from_nanos(nanos, Currency::EUR)
    }

    proptest! {
        #[test]
        fn a_decimal_amount_round_trips_exactly(money in any_money()) {
            prop_assert_eq!(Money::from_decimal_str(&money.amount(), money.currency()), Ok(money));
        }

        #[test]
        fn rounding_is_half_away_from_zero(money in any_money()) {
            let unit = i128::from(nanos_per_minor(money.currency()));
            let nanos = i128::from(money.nanos());
            let expected = nanos.signum() * ((nanos.abs() * 2 + unit) / (unit * 2));
            prop_assert_eq!(i128::from(money.minor()), expected);
        }

        #[test]
        fn rounding_up_gives_the_next_whole_minor_unit(nanos in -LARGE..LARGE, currency in any_currency()) {
            let (money, unit) = (Money::from_nanos(nanos, currency), nanos_per_minor(currency));
            let up = money.rounded_up();
            prop_assert_eq!(Money::from_minor(up.minor(), currency), Ok(up));
            prop_assert!(up.is_in_minor_units());
            prop_assert_eq!(money.is_in_minor_units(), money == up);
            prop_assert!((0..unit).contains(&(up.nanos() - nanos)));
        }

        #[test]
        fn minor_units_are_exact(minor in -9_000_000_000i64..9_000_000_000, currency in any_currency()) {
            prop_assert_eq!(Money::from_minor(minor, currency).unwrap().minor(), minor);
        }

        #[test]
        fn arithmetic_is_exact_or_an_overflow(left: i64, right: i64) {
            let wide = |sum: i128| i64::try_from(sum).map(eur).map_err(|_| MoneyError::Overflow);
            prop_assert_eq!(eur(left).add(eur(right)), wide(i128::from(left) + i128::from(right)));
            prop_assert_eq!(eur(left).sub(eur(right)), wide(i128::from(left) - i128::from(right)));
            prop_assert_eq!(eur(left).times(right), wide(i128::from(left) * i128::from(right)));
            prop_assert_eq!(eur(left).neg(), wide(-i128::from(left)));
            prop_assert_eq!(eur(left).compare(eur(right)), Ok(left.cmp(&right)));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in r"-?[0-9.\-]{0,30}|\PC*") {
            let _ = is_decimal(&text);
        }
    }

    #[test]
    fn an_amount_has_the_minor_unit_and_only_significant_digits() {
        let amount = |nanos, code: &str| Money::from_nanos(nanos, code.parse().unwrap()).amount();
        assert_eq!(amount(4_500_000, "EUR"), "0.0045");
        assert_eq!(amount(12_500_000_000, "EUR"), "12.50");
        assert_eq!(amount(-12_000_000_000, "EUR"), "-12.00");
        assert_eq!(amount(-1, "EUR"), "-0.000000001");
        assert_eq!(amount(12_000_000_000, "JPY"), "12");
        assert_eq!(amount(12_100_000_000, "JPY"), "12.1");
        assert_eq!(amount(1_500_000_000, "KWD"), "1.500");
        assert_eq!(amount(i64::MIN, "EUR"), "-9223372036.854775808");
    }

    #[test]
    fn halves_round_away_from_zero() {
        for (nanos, minor) in [(5_000_000, 1), (4_999_999, 0), (-5_000_000, -1), (-4_999_999, 0), (15_000_000, 2)] {
            assert_eq!(eur(nanos).minor(), minor, "{nanos}");
        }
    }

    #[test]
    fn a_malformed_decimal_amount_is_refused() {
        for text in [
            "",
            "-",
            ".",
            "1.",
            ".5",
            "+1",
            "1e3",
            "1,5",
            " 1",
            "1 ",
            "00",
            "01.5",
            "--1",
            "1.2.3",
            "0.0000000001",
            "\u{661}",
            "1\0",
            "NaN",
            "0x1",
        ] {
            assert_eq!(Money::from_decimal_str(text, Currency::EUR), Err(Invalid::because(DECIMAL_REASON)), "{text}");
        }
        for text in ["9223372036.854775808", "-9223372036.854775809", "99999999999999999999999999"] {
            assert_eq!(Money::from_decimal_str(text, Currency::EUR), Err(TOO_LARGE), "{text}");
        }
    }

    #[test]
    fn currencies_do_not_mix() {
        let yen = Money::zero("JPY".parse().unwrap());
        let mismatch = MoneyError::CurrencyMismatch { left: Currency::EUR, right: yen.currency() };
        assert_eq!(eur(1).add(yen), Err(mismatch));
        assert_eq!(eur(1).sub(yen), Err(mismatch));
        assert_eq!(eur(1).compare(yen), Err(mismatch));
        assert_eq!(Money::from_minor(i64::MAX, Currency::EUR), Err(MoneyError::Overflow));
    }
}
