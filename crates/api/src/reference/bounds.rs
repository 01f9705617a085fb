//! The constraints of a schema as text.

use serde_json::Value;

use super::schema::{Bound, list, text};

const MAX_PATTERN: usize = 24;

pub fn bounds(node: &Value) -> Vec<Bound> {
    let mut bounds = Vec::new();
    match list(node, "enum") {
        [] => {}
        values => bounds.push(Bound { words: "one of".to_owned(), values: values.iter().map(literal).collect() }),
    }
    // Absent and null are the same where null is the default: the type says that already.
    for (key, words) in [("const", "always"), ("default", "default")] {
        if let Some(value) = node.get(key).filter(|value| !value.is_null()) {
            bounds.push(Bound { words: words.to_owned(), values: vec![literal(value)] });
        }
    }
    // A long pattern helps no reader: the type or the description says what it means.
    if let Some(pattern) = text(node, "pattern").filter(|pattern| pattern.len() <= MAX_PATTERN) {
        bounds.push(Bound { words: "pattern".to_owned(), values: vec![pattern.to_owned()] });
    }
    let words = [
        range(node, "minLength", "maxLength", " characters"),
        range(node, "minItems", "maxItems", " items"),
        range(node, "minProperties", "maxProperties", " keys"),
        range(node, "minimum", "maximum", ""),
        node.get("exclusiveMinimum").map(|than| format!("more than {}", literal(than))),
        node.get("exclusiveMaximum").map(|than| format!("less than {}", literal(than))),
        node.get("multipleOf").map(|step| format!("multiple of {}", literal(step))),
        flag(node, "uniqueItems", "unique items"),
        flag(node, "readOnly", "read only"),
        flag(node, "writeOnly", "write only"),
        flag(node, "deprecated", "deprecated"),
    ];
    bounds.extend(words.into_iter().flatten().map(|words| Bound { words, values: vec![] }));
    bounds
}

fn range(node: &Value, min: &str, max: &str, unit: &str) -> Option<String> {
    match (node.get(min).map(literal), node.get(max).map(literal)) {
        (Some(min), Some(max)) if min == max => Some(format!("exactly {min}{unit}")),
        (Some(min), Some(max)) => Some(format!("{min} to {max}{unit}")),
        (Some(min), None) => Some(format!("at least {min}{unit}")),
        (None, Some(max)) => Some(format!("at most {max}{unit}")),
        (None, None) => None,
    }
}

fn flag(node: &Value, key: &str, words: &str) -> Option<String> {
    (node.get(key) == Some(&Value::Bool(true))).then(|| words.to_owned())
}

/// A string without quotes; anything else as JSON.
fn literal(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(schema: Value) -> Vec<String> {
        let bounds = bounds(&schema).into_iter();
        bounds.map(|bound| [vec![bound.words], bound.values].concat().join(" ")).collect()
    }

    #[test]
    fn constraints_are_written_as_text() {
        assert_eq!(words(json!({"minLength": 1, "maxLength": 200})), ["1 to 200 characters"]);
        assert_eq!(
            words(json!({"minLength": 3, "maxLength": 3, "pattern": "^[A-Z]+$"})),
            ["pattern ^[A-Z]+$", "exactly 3 characters"]
        );
        assert_eq!(words(json!({"minimum": 100, "default": 100})), ["default 100", "at least 100"]);
        assert_eq!(words(json!({"enum": ["a", 1, null], "deprecated": true})), ["one of a 1 null", "deprecated"]);
        assert_eq!(words(json!({"const": "Bearer"})), ["always Bearer"]);
        assert_eq!(words(json!({"type": ["string", "null"], "default": null})), [""; 0]);
        assert_eq!(
            words(json!({"pattern": "^([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$"})),
            [""; 0]
        );
        assert_eq!(words(json!(true)), Vec::<String>::new());
    }
}
