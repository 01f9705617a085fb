//! What the values written as one text have in common.

use std::fmt::Display;
use std::str::FromStr;

use schemars::{Schema, json_schema};

use super::Invalid;

/// A value whose wire form is a text: `FromStr` reads it, `Display` writes it.
pub trait TextForm: FromStr<Err = Invalid> + Display {
    /// The `format` its schema names.
    const FORMAT: &'static str;
    /// The sentence for whoever sends something else.
    const REASON: &'static str;
    /// The shape as a regular expression: it may let more through than `FromStr`, never less.
    const PATTERN: &'static str;
    const EXAMPLE: &'static str;

    fn invalid() -> Invalid {
        Invalid::because(Self::REASON)
    }
}

pub fn schema<T: TextForm>() -> Schema {
    json_schema!({ "type": "string", "format": T::FORMAT, "pattern": T::PATTERN, "examples": [T::EXAMPLE] })
}

/// Serde and the JSON schema of a [`TextForm`].
macro_rules! impl_serde_as_text {
    ($value:ident) => {
        impl serde::Serialize for $value {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $value {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::scalar::text(deserializer, <$value as $crate::text_form::TextForm>::invalid)
            }
        }

        impl schemars::JsonSchema for $value {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($value).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::text_form::schema::<$value>()
            }
        }
    };
}

/// The column of a [`TextForm`] that is stored as it is written.
macro_rules! impl_stored_as_text {
    ($value:ident) => {
        impl $crate::Stored for $value {
            type Raw = String;

            fn to_raw(&self) -> String {
                self.to_string()
            }

            fn from_raw(raw: String) -> Result<Self, $crate::Invalid> {
                raw.parse()
            }
        }
    };
}

pub(super) use {impl_serde_as_text, impl_stored_as_text};
