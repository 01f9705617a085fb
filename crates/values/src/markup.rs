//! Markups in percent.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Invalid, Stored};

const PPM_PER_PERCENT: f64 = 10_000.0;
const MAX_PPM: i64 = 10_000_000;

/// The parts per million of a percentage, if they are whole.
fn ppm_of(percent: f64) -> Option<i64> {
    let ppm = (percent * PPM_PER_PERCENT).round();
    // A fraction such as 0.1 is not exact in binary; the four decimals that it stands for count.
    let is_exact = (percent * PPM_PER_PERCENT - ppm).abs() < 1e-6;
    let is_within = (-(MAX_PPM as f64)..=MAX_PPM as f64).contains(&ppm);
    (is_exact && is_within).then_some(ppm as i64)
}

/// A type of percentages, stored exactly as parts per million.
macro_rules! percentage {
    ($(#[$meta:meta])* $name:ident, $min_ppm:literal, $min:literal, $reason:literal, $schema:literal, $about:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(i64);

        impl $name {
            /// In parts per million.
            pub const fn ppm(self) -> i64 {
                self.0
            }
        }

        impl Stored for $name {
            type Raw = i64;

            fn to_raw(&self) -> i64 {
                self.0
            }

            fn from_raw(raw: i64) -> Result<Self, Invalid> {
                ($min_ppm..=MAX_PPM).contains(&raw).then_some($name(raw)).ok_or(Invalid::because($reason))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 % 10_000 {
                    0 => serializer.serialize_i64(self.0 / 10_000),
                    _ => serializer.serialize_f64(self.0 as f64 / PPM_PER_PERCENT),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let ppm = deserializer.deserialize_any(Percent($reason))?;
                $name::from_raw(ppm).map_err(|_| D::Error::custom($reason))
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $schema.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "number", "minimum": $min, "maximum": 1000, "description": $about, "examples": [12.5],
                })
            }
        }
    };
}

percentage! {
    /// The percentage added to a cost: 0 to 1000 with up to four decimals, stored exactly as parts per million.
    Markup, 0, 0, "must be a number from 0 to 1000 with at most 4 decimals", "MarkupPercent",
    "Markup on the cost, in percent with at most 4 decimals."
}

percentage! {
    /// The percentage that a rate plan adds to its base: −100 to 1000 with up to four decimals, stored exactly as parts
    /// per million. Less than zero is a discount.
    PlanMarkup, -1_000_000, -100, "must be a number from -100 to 1000 with at most 4 decimals", "PlanMarkupPercent",
    "Markup on the base of a rate plan, in percent with at most 4 decimals; less than zero is a discount."
}

/// Reads a percentage as parts per million, or refuses it for this reason.
struct Percent(&'static str);

impl Visitor<'_> for Percent {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_f64<E: Error>(self, percent: f64) -> Result<i64, E> {
        ppm_of(percent).ok_or_else(|| E::custom(self.0))
    }

    fn visit_u64<E: Error>(self, percent: u64) -> Result<i64, E> {
        self.visit_f64(percent as f64)
    }

    fn visit_i64<E: Error>(self, percent: i64) -> Result<i64, E> {
        self.visit_f64(percent as f64)
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

        #[test]
        fn every_markup_of_a_plan_round_trips_through_json(ppm in -1_000_000i64..=10_000_000) {
            let markup = PlanMarkup::from_raw(ppm).unwrap();
            let text = serde_json::to_string(&markup).unwrap();
            prop_assert_eq!(serde_json::from_str::<PlanMarkup>(&text).unwrap(), markup);
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

    #[test]
    fn a_markup_of_a_plan_may_be_a_discount_of_all_but_no_more() {
        assert_eq!(from_value::<PlanMarkup>(json!(-12.5)).unwrap().ppm(), -125_000);
        assert_eq!(from_value::<PlanMarkup>(json!(-100)).unwrap().ppm(), -1_000_000);
        for wrong in [json!(-100.0001), json!(1000.0001), json!("5"), json!(-1e300)] {
            assert!(from_value::<PlanMarkup>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
