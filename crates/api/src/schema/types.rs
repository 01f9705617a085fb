//! What a type refuses though its schema does not, such as an amount that disagrees with its minor units.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use crate::faults::{Faults, below};

/// Adds what the type refuses though the schema does not. serde stops at the first error, so the value that it refuses
/// is left out and the rest read again, until the rest is valid or nothing more can be left out.
pub fn find_faults<T: DeserializeOwned>(value: &Value, faults: &mut Faults) {
    let mut left_out: BTreeSet<String> = faults.names().map(str::to_owned).collect();
    while !faults.is_full() {
        let rest = without(value, "", &left_out);
        let Err(error) = serde_path_to_error::deserialize::<_, T>(&rest) else { return };
        let name = name_of(error.path(), &left_out);
        // Without what was left out of it, an object may be incomplete; that is no fault of its own.
        let is_known = if name.is_empty() { !faults.is_empty() } else { faults.concern(&name) };
        if !is_known {
            faults.add(if name.is_empty() { "body" } else { &name }, error.inner().to_string());
        }
        if name.is_empty() || !left_out.insert(name) {
            return;
        }
    }
}

/// A copy of the value called `at`, without the values of these names.
fn without(value: &Value, at: &str, left_out: &BTreeSet<String>) -> Value {
    let kept = |name: &str, value: &Value| {
        let name = below(at, name);
        (!left_out.contains(&name)).then(|| without(value, &name, left_out))
    };
    match value {
        Value::Object(fields) => {
            fields.iter().filter_map(|(name, value)| Some((name.clone(), kept(name, value)?))).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().filter_map(|(index, item)| kept(&index.to_string(), item)).collect()
        }
        value => value.clone(),
    }
}

/// The name in the whole value of a path in the value without these names; empty for the value itself.
fn name_of(path: &Path, left_out: &BTreeSet<String>) -> String {
    let mut name = String::new();
    for segment in path {
        let part = match segment {
            Segment::Seq { index } => {
                let is_kept = |index: &usize| !left_out.contains(&below(&name, &index.to_string()));
                (0..).filter(is_kept).nth(*index).unwrap_or_default().to_string()
            }
            Segment::Map { key } | Segment::Enum { variant: key } => key.clone(),
            Segment::Unknown => break,
        };
        name = below(&name, &part);
    }
    name
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;
    use values::{Currency, Money, Text};

    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Invoice {
        customer: Text<1, 10>,
        deposit: Option<Money>,
        lines: Vec<Line>,
    }

    #[derive(Deserialize)]
    #[allow(dead_code)]
    struct Line {
        price: Money,
        currency: Currency,
    }

    fn faults(value: Value, known: &[&str]) -> Vec<String> {
        let mut faults = Faults::default();
        known.iter().for_each(|name| faults.add(*name, "is known"));
        find_faults::<Invoice>(&value, &mut faults);
        faults.names().map(str::to_owned).collect()
    }

    #[test]
    fn every_value_that_the_type_refuses_is_named_once() {
        let (good, bad) = (json!({"amount_minor": 1, "currency": "EUR"}), json!({"amount": "x", "currency": "EUR"}));
        let line = |price: &Value, currency: &str| json!({"price": price, "currency": currency});
        let lines = [line(&bad, "EUR"), line(&good, "EUR"), line(&bad, "eur"), line(&good, "eur")];
        let value = json!({"customer": "", "deposit": bad, "lines": lines});
        let expected =
            ["customer", "deposit", "lines.0.price", "lines.2.currency", "lines.2.price", "lines.3.currency"];
        assert_eq!(faults(value.clone(), &[]), expected);
        assert_eq!(faults(value, &["deposit", "lines.0.price", "lines.1"]), {
            let mut names = expected.to_vec();
            names.insert(3, "lines.1");
            names
        });
    }

    #[test]
    fn what_is_incomplete_without_a_known_fault_is_no_fault_of_its_own() {
        let value = json!({"deposit": {"amount_minor": 1, "currency": 5}, "lines": "none"});
        assert_eq!(
            faults(value, &["customer", "deposit.currency", "lines"]),
            ["customer", "deposit.currency", "lines"]
        );
    }

    #[test]
    fn a_value_that_is_wrong_as_a_whole_is_named_body() {
        assert_eq!(faults(json!(5), &[]), ["body"]);
        assert_eq!(faults(json!({"lines": []}), &[]), ["body"]);
    }
}
