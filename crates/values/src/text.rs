//! Free text of limited length, and passwords.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Invalid, Stored, scalar};

pub(super) const TEXT_FORMAT: &str = "text";
pub(super) const TEXT_REASON: &str = "must not contain control characters other than line feeds and tabs";
/// The error text for a text of nothing but space, where one is required.
pub const BLANK_REASON: &str = "must not be blank";
pub(super) const SECRET_FORMAT: &str = "password";
pub(super) const SECRET_REASON: &str = "must not contain the NUL character";

/// The characters that a text may not have, as the inside of a character class of a regular expression.
const FORBIDDEN: &str = r"\u0000-\u0008\u000B-\u001F\u007F-\u009F";

/// A text of `MIN` to `MAX` characters, trimmed, whose only control characters are line feeds and tabs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Text<const MIN: usize, const MAX: usize>(String);

impl<const MIN: usize, const MAX: usize> Text<MIN, MAX> {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

pub(super) fn is_clean(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t')
}

pub(super) fn has_no_nul(text: &str) -> bool {
    !text.contains('\0')
}

fn fits<const MIN: usize, const MAX: usize>(text: &str) -> Result<(), Invalid> {
    // Counting stops one past the limit, however long the text is.
    match text.chars().take(MAX + 1).count() {
        chars if (MIN..=MAX).contains(&chars) => Ok(()),
        0 => Err(Invalid::because("must not be empty")),
        _ if MIN == 0 => Err(Invalid(format!("must have at most {MAX} characters").into())),
        _ => Err(Invalid(format!("must have {MIN} to {MAX} characters").into())),
    }
}

impl<const MIN: usize, const MAX: usize> FromStr for Text<MIN, MAX> {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if !is_clean(text) {
            return Err(Invalid::because(TEXT_REASON));
        }
        let trimmed = text.trim();
        if MIN > 0 && trimmed.is_empty() && !text.is_empty() {
            return Err(Invalid::because(BLANK_REASON));
        }
        fits::<MIN, MAX>(trimmed).map(|()| Text(trimmed.to_owned()))
    }
}

impl<const MIN: usize, const MAX: usize> Deref for Text<MIN, MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> fmt::Display for Text<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<const MIN: usize, const MAX: usize> Serialize for Text<MIN, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Text<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar::text(deserializer, || Invalid::because("must be text"))
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Text<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Text{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "format": TEXT_FORMAT, "minLength": MIN, "maxLength": MAX, "pattern": text_pattern(MIN),
        })
    }
}

/// Surrounding space is trimmed, so the shortest text begins and ends with a visible character.
fn text_pattern(min: usize) -> String {
    let (any, visible) = (format!("[^{FORBIDDEN}]"), format!(r"[^\s{FORBIDDEN}]"));
    match min {
        0 => format!("^{any}*$"),
        1 => format!("^{any}*{visible}{any}*$"),
        _ => format!("^{any}*{visible}{any}{{{},}}{visible}{any}*$", min - 2),
    }
}

impl<const MIN: usize, const MAX: usize> Stored for Text<MIN, MAX> {
    type Raw = String;

    fn to_raw(&self) -> String {
        self.0.clone()
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        raw.parse()
    }
}

/// A password of `MIN` to `MAX` characters, not trimmed. It cannot be serialized, stored or printed.
#[derive(Clone)]
pub struct Secret<const MIN: usize, const MAX: usize>(String);

impl<const MIN: usize, const MAX: usize> Secret<MIN, MAX> {
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> fmt::Debug for Secret<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<const MIN: usize, const MAX: usize> FromStr for Secret<MIN, MAX> {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if !has_no_nul(text) {
            return Err(Invalid::because(SECRET_REASON));
        }
        fits::<MIN, MAX>(text).map(|()| Secret(text.to_owned()))
    }
}

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Secret<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar::text(deserializer, || Invalid::because("must be text"))
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Secret<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Secret{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "format": SECRET_FORMAT, "minLength": MIN, "maxLength": MAX,
            "pattern": r"^[^\u0000]*$", "writeOnly": true,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn a_text_round_trips_through_json_and_its_column(text in r"[\PC\n\t]{0,40}") {
            if let Ok(text) = text.parse::<Text<1, 30>>() {
                prop_assert_eq!(serde_json::from_value::<Text<1, 30>>(json!(text)).unwrap(), text.clone());
                prop_assert_eq!(Text::from_raw(text.to_raw()), Ok(text));
            }
        }

        #[test]
        fn the_length_counts_characters_after_trimming(text in r"[ \t\n]{0,5}[^\pC\s]{0,12}[ \t\n]{0,5}") {
            let chars = text.trim().chars().count();
            prop_assert_eq!(text.parse::<Text<2, 8>>().is_ok(), (2..=8).contains(&chars));
        }

        #[test]
        fn a_secret_is_not_trimmed_and_never_printed(text in r"[^\x00]{0,40}") {
            let taken = text.parse::<Secret<8, 30>>();
            prop_assert_eq!(taken.is_ok(), (8..=30).contains(&text.chars().count()));
            if let Ok(secret) = taken {
                prop_assert_eq!(secret.expose(), &text);
                prop_assert_eq!(format!("{secret:?}"), "Secret(..)");
            }
        }
    }

    #[test]
    fn control_characters_and_wrong_lengths_are_refused_with_the_reason() {
        for text in ["a\0", "\0", "a\u{7}b", "a\rb", "\u{1b}[31m", "a\u{7f}", "a\u{85}"] {
            assert_eq!(text.parse::<Text<1, 9>>(), Err(Invalid::because(TEXT_REASON)), "{text:?}");
        }
        for (text, reason) in [
            ("", "must not be empty"),
            (" ", BLANK_REASON),
            ("\n\t", BLANK_REASON),
            ("\u{3000}", BLANK_REASON),
            ("0123456789", "must have 1 to 9 characters"),
        ] {
            assert_eq!(text.parse::<Text<1, 9>>().unwrap_err().to_string(), reason, "{text:?}");
        }
        assert_eq!("abc".parse::<Text<0, 2>>().unwrap_err().to_string(), "must have at most 2 characters");
        assert_eq!(" a\nb\tc ".parse::<Text<1, 9>>().unwrap().as_str(), "a\nb\tc");
    }

    #[test]
    fn the_error_for_a_secret_does_not_quote_it() {
        for (body, reason) in [
            (json!("hunter2"), "must have 8 to 30 characters"),
            (json!("hunter2\0hunter2"), SECRET_REASON),
            (json!(12_345_678), "must be text"),
        ] {
            assert_eq!(serde_json::from_value::<Secret<8, 30>>(body).unwrap_err().to_string(), reason);
        }
    }
}
