//! E.164 phone numbers.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use super::Invalid;
use super::text_form::{TextForm, impl_serde_as_text, impl_stored_as_text};

/// A phone number of 7 to 15 digits, country code first, with a leading plus.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct E164(String);

impl E164 {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number without its plus, as the prefixes of rates are written.
    pub fn digits(&self) -> &str {
        self.0.trim_start_matches('+')
    }
}

impl TextForm for E164 {
    const DESCRIPTION: &'static str = "Phone number in E.164 format.";
    const FORMAT: &'static str = "e164";
    const REASON: &'static str = "must be an E.164 number such as +31201234567";
    const PATTERN: &'static str = r"^\+[1-9][0-9]{6,14}$";
    const EXAMPLE: &'static str = "+31201234567";
}

impl FromStr for E164 {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.as_bytes() {
            [b'+', b'1'..=b'9', rest @ ..] if (6..=14).contains(&rest.len()) && rest.iter().all(u8::is_ascii_digit) => {
                Ok(E164(text.to_owned()))
            }
            _ => Err(Self::invalid()),
        }
    }
}

impl Deref for E164 {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for E164 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl_serde_as_text!(E164);
impl_stored_as_text!(E164);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;
    use crate::Stored;

    proptest! {
        #[test]
        fn a_number_round_trips_through_json_and_its_column(text in r"\+[1-9][0-9]{6,14}") {
            let number: E164 = text.parse().unwrap();
            prop_assert_eq!(number.as_str(), &text);
            prop_assert_eq!(number.digits(), &text[1..]);
            prop_assert_eq!(serde_json::from_value::<E164>(serde_json::json!(number)).unwrap(), number.clone());
            prop_assert_eq!(E164::from_raw(number.to_raw()), Ok(number));
        }
    }

    #[test]
    fn a_malformed_number_is_refused() {
        for text in [
            "",
            "+",
            "31201234567",
            "+01201234567",
            "+123456",
            "+1234567890123456",
            "+31 20 123 4567",
            "0031201234567",
            "+3120123456a",
            "+31201234567\n",
            "+3120123456\u{661}",
            "+31201234567\0",
            "++31201234567",
        ] {
            assert_eq!(text.parse::<E164>(), Err(E164::invalid()), "{text}");
        }
    }
}
