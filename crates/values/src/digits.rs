//! Leading digits of phone numbers.

use std::fmt;
use std::str::FromStr;

use super::Invalid;
use super::text_form::{TextForm, impl_serde_as_text};

const MAX_DIGITS: usize = 15;

/// 1 to 15 digits, country code first. A leading `+` or `00` is dropped, and so are spaces and hyphens. An unescaped `+`
/// in a query becomes a space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digits(String);

impl Digits {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextForm for Digits {
    const DESCRIPTION: &'static str = "Phone number or its leading digits, country code first, with or without + or 00; spaces and hyphens are ignored.";
    const FORMAT: &'static str = "digits";
    const REASON: &'static str = "must be 1 to 15 digits, country code first, such as +31201234567";
    const PATTERN: &'static str = r"^[ -]*(\+|0[ -]*0)?[ -]*[1-9]([ -]*[0-9]){0,14}[ -]*$";
    const EXAMPLE: &'static str = "+31201234567";
}

impl FromStr for Digits {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let plain: String = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
        let digits = plain.strip_prefix('+').or_else(|| plain.strip_prefix("00")).unwrap_or(&plain);
        // No country code begins with a zero.
        let is_sound = (1..=MAX_DIGITS).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0');
        if is_sound { Ok(Digits(digits.to_owned())) } else { Err(Self::invalid()) }
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl_serde_as_text!(Digits);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_plus_or_00_spaces_and_hyphens_are_dropped() {
        for text in
            ["31201234567", "+31201234567", " 31201234567", "0031201234567", "+31 20 123-4567", " 00 31-20 1234567 "]
        {
            assert_eq!(text.parse(), Ok(Digits("31201234567".to_owned())), "{text}");
        }
        assert_eq!("00123456789012345".parse(), Ok(Digits("123456789012345".to_owned())));
        for text in [
            "",
            " ",
            "-",
            "+",
            "++31",
            "+0031",
            "0",
            "00",
            "020",
            "+020",
            "0031x",
            "abc",
            "31.20",
            "(31)",
            "31+",
            "٣١",
            "1234567890123456",
            "001234567890123456",
        ] {
            assert_eq!(text.parse::<Digits>(), Err(Digits::invalid()), "{text}");
        }
    }
}
