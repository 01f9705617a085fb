//! Times as switches send them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use values::{Rfc3339, Time, UnixMillis};

/// RFC 3339, or Unix milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SwitchTime(pub Time);

impl<'de> Deserialize<'de> for SwitchTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "must be a date and time such as 2026-01-31T12:00:00Z, or Unix milliseconds")]
        enum Either {
            Text(Rfc3339),
            Number(UnixMillis),
        }
        Ok(SwitchTime(match Either::deserialize(deserializer)? {
            Either::Text(Rfc3339(time)) | Either::Number(UnixMillis(time)) => time,
        }))
    }
}

impl JsonSchema for SwitchTime {
    fn schema_name() -> Cow<'static, str> {
        "SwitchTime".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<Rfc3339>(), generator.subschema_for::<UnixMillis>()] })
    }
}
