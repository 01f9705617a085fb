//! Whether a sample value fits a schema, as far as samples need it. Tests validate every sample against its whole schema.

use serde_json::Value;

use crate::reference::schema::{text, types};

pub fn fits(node: &Value, value: &Value) -> bool {
    let kinds: Vec<&str> = types(node).collect();
    let is_kind = kinds.is_empty() || kinds.iter().any(|kind| has_kind(kind, value));
    let is_choice = node.get("enum").and_then(Value::as_array).is_none_or(|choices| choices.contains(value))
        && node.get("const").is_none_or(|only| only == value);
    is_kind && is_choice && is_in_range(node, value) && value.as_str().is_none_or(|string| fits_text(node, string))
}

fn has_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

fn is_in_range(node: &Value, value: &Value) -> bool {
    let Some(number) = value.as_f64() else { return true };
    let bound = |key: &str| node.get(key).and_then(Value::as_f64);
    bound("minimum").is_none_or(|least| number >= least) && bound("maximum").is_none_or(|most| number <= most)
}

fn fits_text(node: &Value, value: &str) -> bool {
    let bound = |key: &str| node.get(key).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok());
    let length = value.chars().count();
    let has_length =
        bound("minLength").is_none_or(|least| length >= least) && bound("maxLength").is_none_or(|most| length <= most);
    let has_format = match text(node, "format") {
        Some("date") => value.len() == 10,
        Some("date-time") => value.contains('T'),
        Some("uri" | "url") => value.contains(':'),
        Some("email") => value.contains('@'),
        Some("uuid" | "prefixed-id") => false,
        Some("digits" | "e164") => value.starts_with('+'),
        _ => true,
    };
    has_length && has_format
}
