//! Values that are strings in JSON.

use std::fmt::Display;
use std::str::FromStr;

use schemars::{Schema, json_schema};

use super::Invalid;

/// A value that is a string in JSON: `FromStr` reads it, `Display` writes it.
pub trait TextForm: FromStr<Err = Invalid> + Display {
    /// Its description in the API.
    const DESCRIPTION: &'static str;
    /// The `format` of its schema.
    const FORMAT: &'static str;
    /// The error text for any other string.
    const REASON: &'static str;
    /// A regular expression that accepts everything `FromStr` does, and maybe more.
    const PATTERN: &'static str;
    const EXAMPLE: &'static str;

    fn invalid() -> Invalid {
        Invalid::because(Self::REASON)
    }
}

pub fn schema<T: TextForm>() -> Schema {
    json_schema!({
        "type": "string", "format": T::FORMAT, "pattern": T::PATTERN, "examples": [T::EXAMPLE],
        "description": T::DESCRIPTION,
    })
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

/// [`Stored`](crate::Stored) for a [`TextForm`], as a text column.
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
