//! Locales.

use std::fmt;
use std::str::FromStr;

use super::Invalid;
use super::text_form::{TextForm, impl_serde_as_text, impl_stored_as_text};

/// A locale such as `nl` or `nl-BE`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Locale(String);

impl Locale {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Locale {
    fn default() -> Self {
        Locale("en".to_owned())
    }
}

impl TextForm for Locale {
    const DESCRIPTION: &'static str = "Language, with an optional region.";
    const FORMAT: &'static str = "locale";
    const REASON: &'static str = "must be a locale such as en or nl-BE";
    const PATTERN: &'static str = "^[a-z]{2}(-[A-Z]{2})?$";
    const EXAMPLE: &'static str = "nl-BE";
}

impl FromStr for Locale {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.as_bytes() {
            [b'a'..=b'z', b'a'..=b'z'] | [b'a'..=b'z', b'a'..=b'z', b'-', b'A'..=b'Z', b'A'..=b'Z'] => {
                Ok(Locale(text.to_owned()))
            }
            _ => Err(Self::invalid()),
        }
    }
}

impl fmt::Display for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl_serde_as_text!(Locale);
impl_stored_as_text!(Locale);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;
    use crate::Stored;

    proptest! {
        #[test]
        fn a_locale_round_trips_through_json_and_its_column(text in "[a-z]{2}(-[A-Z]{2})?") {
            let locale: Locale = text.parse().unwrap();
            prop_assert_eq!(locale.to_string(), text);
            prop_assert_eq!(serde_json::from_value::<Locale>(serde_json::json!(locale)).unwrap(), locale.clone());
            prop_assert_eq!(Locale::from_raw(locale.to_raw()), Ok(locale));
        }
    }

    #[test]
    fn other_shapes_are_refused() {
        for text in ["", "n", "NL", "nld", "nl_BE", "nl-be", "nl-", "nl-BEL", "nl-BE-x", " nl", "nl\0", "\u{e9}"] {
            assert_eq!(text.parse::<Locale>(), Err(Locale::invalid()), "{text}");
        }
    }
}
