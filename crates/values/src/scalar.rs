//! Deserializes one string or number with an error text for the API's caller.
//!
//! Serde's own text, "invalid type: integer `5`, expected a string", does not help a caller and could quote a password.
//! Only missing fields are left to serde, since it knows their names.

use std::fmt;
use std::str::FromStr;

use serde::Deserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};

use super::Invalid;

struct TextVisitor<T> {
    wrong: fn() -> Invalid,
    read: fn(&str) -> Result<T, Invalid>,
}

struct NumberVisitor {
    wrong: fn() -> Invalid,
}

/// Parses a string; `wrong` is the error for any other JSON type.
pub fn text<'de, T: FromStr<Err = Invalid>, D: Deserializer<'de>>(
    deserializer: D,
    wrong: fn() -> Invalid,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(TextVisitor { wrong, read: str::parse })
}

/// Reads a whole number; `wrong` is the error for anything else.
pub fn number<'de, D: Deserializer<'de>>(deserializer: D, wrong: fn() -> Invalid) -> Result<i64, D::Error> {
    deserializer.deserialize_any(NumberVisitor { wrong })
}

macro_rules! refuse {
    ($($visit:ident($kind:ty)),*) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Display::fmt(&(self.wrong)(), f)
        }

        $(fn $visit<E: Error>(self, _: $kind) -> Result<Self::Value, E> {
            Err(E::custom((self.wrong)()))
        })*

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Err(E::custom((self.wrong)()))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
            Err(A::Error::custom((self.wrong)()))
        }

        fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
            Err(A::Error::custom((self.wrong)()))
        }
    };
}

impl<'de, T> Visitor<'de> for TextVisitor<T> {
    type Value = T;

    refuse!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64));

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).map_err(E::custom)
    }
}

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = i64;

    refuse!(visit_bool(bool), visit_f64(f64), visit_str(&str));

    fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
        Ok(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
        i64::try_from(number).map_err(|_| E::custom((self.wrong)()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde::Deserialize;

    use crate::{Locale, UnixSeconds};

    #[derive(Deserialize, Debug)]
    struct Body {
        #[serde(rename = "locale")]
        _locale: Locale,
        #[serde(rename = "seen_at")]
        _seen_at: UnixSeconds,
    }

    fn error(body: &str) -> String {
        serde_json::from_str::<Body>(body).unwrap_err().to_string()
    }

    #[test]
    fn a_value_that_is_not_a_string_is_refused_with_the_reason() {
        for sent in ["5", "-5", "5.5", "true", "null", "[]", "[1]", "{}", r#"{"a":1}"#] {
            let error = error(&format!(r#"{{"locale":{sent},"seen_at":1}}"#));
            assert!(error.starts_with("must be a locale such as en or nl-BE"), "{sent}: {error}");
        }
    }

    #[test]
    fn a_value_that_is_not_a_whole_number_is_refused_with_the_reason() {
        for sent in [r#""5""#, "5.5", "true", "null", "[]", "{}", "18446744073709551615"] {
            let error = error(&format!(r#"{{"locale":"nl","seen_at":{sent}}}"#));
            assert!(error.starts_with("must be a whole number"), "{sent}: {error}");
        }
    }

    #[test]
    fn a_missing_field_is_named() {
        assert!(error(r#"{"locale":"nl"}"#).starts_with("missing field `seen_at`"));
        assert!(error(r#"{"seen_at":1}"#).starts_with("missing field `locale`"));
    }
}
