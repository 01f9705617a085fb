//! One field of a PATCH body.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

/// A field of a PATCH body: absent, or set to a value.
///
/// `null` clears a nullable field, `Change<Option<T>>`, and is refused for every other. The field needs
/// `#[serde(default)]`:
///
/// ```
/// use values::{Change, Text};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct TrunkPatch {
///     #[serde(default)]
///     name: Change<Text<1, 100>>,
///     #[serde(default)]
///     note: Change<Option<Text<0, 500>>>,
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Change<T> {
    #[default]
    Absent,
    Set(T),
}

impl<T> Change<T> {
    pub fn is_set(&self) -> bool {
        matches!(self, Change::Set(_))
    }

    /// Overwrites `current` if the field was sent.
    pub fn apply(self, current: &mut T) {
        if let Change::Set(new) = self {
            *current = new;
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Change::Set)
    }
}

impl<T: JsonSchema> JsonSchema for Change<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::json;

    use super::*;
    use crate::Locale;

    #[derive(Deserialize, JsonSchema, PartialEq, Debug)]
    struct Patch {
        #[serde(default)]
        locale: Change<Locale>,
        #[serde(default)]
        spare: Change<Option<Locale>>,
    }

    fn patch(body: serde_json::Value) -> Result<Patch, String> {
        serde_json::from_value(body).map_err(|error| error.to_string())
    }

    #[test]
    fn absent_null_and_set_are_told_apart() {
        let nl: Locale = "nl".parse().unwrap();
        assert_eq!(patch(json!({})), Ok(Patch { locale: Change::Absent, spare: Change::Absent }));
        assert_eq!(patch(json!({ "spare": null })).unwrap().spare, Change::Set(None));
        assert_eq!(patch(json!({ "spare": "nl" })).unwrap().spare, Change::Set(Some(nl.clone())));
        assert_eq!(patch(json!({ "locale": "nl" })).unwrap().locale, Change::Set(nl));
        assert_eq!(patch(json!({ "locale": null })), Err("must be a locale such as en or nl-BE".into()));
    }

    #[test]
    fn only_a_field_that_was_sent_is_applied() {
        let mut limit = 5;
        Change::Absent.apply(&mut limit);
        assert_eq!(limit, 5);
        assert!(Change::Set(7).is_set() && !Change::<u8>::Absent.is_set());
        Change::Set(7).apply(&mut limit);
        assert_eq!(limit, 7);
    }

    #[test]
    fn the_schema_is_that_of_the_field_and_the_field_is_optional() {
        let schema = schemars::schema_for!(Patch);
        assert_eq!(schema.get("required"), None);
        assert_eq!(schema.pointer("/properties/locale/$ref"), Some(&json!("#/$defs/Locale")));
        assert_eq!(schema.pointer("/properties/spare/anyOf/1/type"), Some(&json!("null")));
    }
}
