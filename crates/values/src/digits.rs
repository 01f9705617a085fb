//! The first digits of telephone numbers, or all of them.

use std::fmt;
use std::str::FromStr;

use super::Invalid;
use super::text_form::{TextForm, impl_serde_as_text};

const MAX_DIGITS: usize = 15;

/// 1 to 15 digits, country code first. They may be sent with a plus, which in a query is a space unless it is escaped, or
/// with 00.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digits(String);

impl Digits {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextForm for Digits {
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
    fn a_plus_or_00_may_be_sent_or_not_and_nothing_else() {
        for text in ["31201234567", "+31201234567", " 31201234567", "0031201234567"] {
            assert_eq!(text.parse(), Ok(Digits("31201234567".to_owned())), "{text}");
        }
        assert_eq!("00123456789012345".parse(), Ok(Digits("123456789012345".to_owned())));
        for text in ["", "+", "++31", "0031x", "31 20", "1234567890123456", "001234567890123456", "٣١"] {
            assert_eq!(text.parse::<Digits>(), Err(Digits::invalid()), "{text}");
        }
    }
}
