//! Markups in percent.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Invalid, Stored};

const REASON: &str = "must be a number from 0 to 1000 with at most 4 decimals";

/// The percentage added to a cost: 0 to 1000 with up to four decimals, stored exactly as parts per million.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Markup(i64);

impl Markup {
    const PPM_PER_PERCENT: f64 = 10_000.0;
    const MAX_PPM: i64 = 10_000_000;

    /// In parts per million.
    pub const fn ppm(self) -> i64 {
        self.0
    }

    fn from_percent(percent: f64) -> Option<Markup> {
        let ppm = (percent * Self::PPM_PER_PERCENT).round();
        // A fraction such as 0.1 is not exact in binary; the four decimals that it stands for count.
        let is_exact = (percent * Self::PPM_PER_PERCENT - ppm).abs() < 1e-6;
        let is_within = (0.0..=Self::MAX_PPM as f64).contains(&ppm);
        (is_exact && is_within).then_some(Markup(ppm as i64))
    }
}

impl Stored for Markup {
    type Raw = i64;

    fn to_raw(&self) -> i64 {
        self.0
    }

    fn from_raw(raw: i64) -> Result<Self, Invalid> {
        (0..=Self::MAX_PPM).contains(&raw).then_some(Markup(raw)).ok_or(Invalid::because(REASON))
    }
}

impl Serialize for Markup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 % 10_000 {
            0 => serializer.serialize_i64(self.0 / 10_000),
            _ => serializer.serialize_f64(self.0 as f64 / Self::PPM_PER_PERCENT),
        }
    }
}

struct Percent;

impl Visitor<'_> for Percent {
    type Value = Markup;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REASON)
    }

    fn visit_f64<E: Error>(self, percent: f64) -> Result<Markup, E> {
        Markup::from_percent(percent).ok_or_else(|| E::custom(REASON))
    }

    fn visit_u64<E: Error>(self, percent: u64) -> Result<Markup, E> {
        self.visit_f64(percent as f64)
    }

    fn visit_i64<E: Error>(self, percent: i64) -> Result<Markup, E> {
        self.visit_f64(percent as f64)
    }
}

impl<'de> Deserialize<'de> for Markup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Percent)
    }
}

impl JsonSchema for Markup {
    fn schema_name() -> Cow<'static, str> {
        "MarkupPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "number", "minimum": 0, "maximum": 1000,
            "description": "Markup on the cost, in percent with at most 4 decimals.", "examples": [12.5],
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::{from_value, json};

    use super::*;

    proptest! {
        #[test]
        fn every_markup_round_trips_through_json(ppm in 0i64..=10_000_000) {
            let markup = Markup::from_raw(ppm).unwrap();
            let text = serde_json::to_string(&markup).unwrap();
            prop_assert_eq!(serde_json::from_str::<Markup>(&text).unwrap(), markup);
        }
    }

    #[test]
    fn a_markup_has_at_most_four_exact_decimals() {
        assert_eq!(from_value::<Markup>(json!(12.5)).unwrap().ppm(), 125_000);
        assert_eq!(from_value::<Markup>(json!(0.0001)).unwrap().ppm(), 1);
        assert_eq!(json!(from_value::<Markup>(json!(20)).unwrap()), json!(20));
        for wrong in [json!(0.00001), json!(-1), json!(1000.0001), json!("5"), json!(1e300)] {
            assert!(from_value::<Markup>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
