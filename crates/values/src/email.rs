//! Email addresses.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use email_address::{EmailAddress, Options};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Invalid;
use super::scalar;
use super::text_form::{self, TextForm, impl_stored_as_text};

const MAX_CHARS: usize = 200;

/// An address without a display name, at a domain with a dot, trimmed and in lower case.
///
/// Lower case, so that `Ann@` and `ann@` cannot open two accounts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Email(String);

impl Email {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextForm for Email {
    const DESCRIPTION: &'static str = "Email address; stored in lower case.";
    const FORMAT: &'static str = "email";
    const REASON: &'static str = "must be an email address such as ann@example.com, of at most 200 characters";
    const PATTERN: &'static str = r"^[^\u0000-\u001F\u007F-\u009F]+$";
    const EXAMPLE: &'static str = "ann@example.com";
}

impl FromStr for Email {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rules = Options::default().with_required_tld().without_display_text().without_domain_literal();
        let address = text.trim_matches(' ').to_lowercase();
        let fits = address.chars().count() <= MAX_CHARS && !address.contains(char::is_control);
        match EmailAddress::parse_with_options(&address, rules) {
            Ok(_) if fits => Ok(Email(address)),
            _ => Err(Self::invalid()),
        }
    }
}

impl Deref for Email {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Email {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Email {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar::text(deserializer, Self::invalid)
    }
}

impl JsonSchema for Email {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Email".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = text_form::schema::<Email>();
        schema.insert("maxLength".into(), MAX_CHARS.into());
        schema
    }
}

impl_stored_as_text!(Email);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;
    use crate::Stored;

    proptest! {
        #[test]
        fn an_address_round_trips_through_json_and_its_column(
            text in r"[a-zA-Z0-9!#$%&'*+/=?^_{|}~-]{1,20}(\.[a-z0-9]{1,9})?@[a-zA-Z0-9]{1,20}(-[a-z0-9]{1,9})?\.[a-z]{2,9}"
        ) {
            let email: Email = text.parse().unwrap();
            prop_assert_eq!(email.as_str(), text.to_lowercase());
            prop_assert_eq!(format!("  {} ", text).parse(), Ok(email.clone()));
            prop_assert_eq!(serde_json::from_value::<Email>(serde_json::json!(email)).unwrap(), email.clone());
            prop_assert_eq!(Email::from_raw(email.to_raw()), Ok(email));
        }

        #[test]
        fn a_parsed_address_parses_to_itself(text in r#"\PC{1,12}@\PC{1,8}\.\PC{2,5}"#) {
            if let Ok(email) = text.parse::<Email>() {
                prop_assert_eq!(email.as_str().parse(), Ok(email.clone()));
            }
        }
    }

    #[test]
    fn an_address_that_mail_cannot_reach_is_refused() {
        let long = format!("a@{}.com", ["x"; 99].join("."));
        for text in [
            "",
            "ann",
            "@example.com",
            "ann@",
            "ann@localhost",
            "ann@example",
            "Ann <ann@example.com>",
            "<ann@example.com>",
            "ann@[127.0.0.1]",
            "ann@exa mple.com",
            "ann@@example.com",
            "ann@example..com",
            "ann\0@example.com",
            "ann@example.com\n",
            "ann@example.com\r\nBcc: bob@example.com",
            "\"a\tb\"@example.com",
            &long,
        ] {
            assert_eq!(text.parse::<Email>(), Err(Email::invalid()), "{text}");
        }
    }
}
