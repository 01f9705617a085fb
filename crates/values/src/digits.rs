//! Leading digits of phone numbers.

use std::fmt;
use std::str::FromStr;

use super::Invalid;
use super::text_form::{TextForm, impl_serde_as_text};

const MAX_DIGITS: usize = 15;

/// 1 to 15 digits, country code first. A leading `+` or `00` is dropped. So is a leading space, which is what an
/// unescaped `+` in a query becomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digits(String);

impl Digits {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextForm for Digits {
    const DESCRIPTION: &'static str =
        "Phone number or its leading digits, country code first, with or without + or 00.";
    const FORMAT: &'static str = "digits";
    const REASON: &'static str = "must be 1 to 15 digits, country code first, such as +31201234567";
    const PATTERN: &'static str = "^([+ ]|00)?[0-9]{1,15}$";
    const EXAMPLE: &'static str = "+31201234567";
}

impl FromStr for Digits {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let dialled = text.strip_prefix("00").filter(|rest| !rest.is_empty());
        let digits = dialled.or_else(|| text.strip_prefix(['+', ' '])).unwrap_or(text);
        let is_sound = (1..=MAX_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
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
    fn a_leading_plus_space_or_00_is_dropped() {
        for text in ["31201234567", "+31201234567", " 31201234567", "0031201234567"] {
            assert_eq!(text.parse(), Ok(Digits("31201234567".to_owned())), "{text}");
        }
        assert_eq!("00123456789012345".parse(), Ok(Digits("123456789012345".to_owned())));
        for text in ["", "+", "++31", "0031x", "31 20", "1234567890123456", "001234567890123456", "٣١"] {
            assert_eq!(text.parse::<Digits>(), Err(Digits::invalid()), "{text}");
        }
    }
}
