//! Alternatives as generated clients understand them.
//!
//! Requests are validated by `anyOf: [{required: [a]}, {required: [b]}]` beside the properties, which names the field that
//! fails. Most generators ignore such an `anyOf`. The description says the same with `oneOf`: one object for each of the
//! alternatives, and no value fits two of them.

use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value, json};

/// Rewrites every schema that requires one of several fields.
#[derive(Clone, Debug)]
pub struct OneOfFields;

impl Transform for OneOfFields {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(rewritten) = schema.as_object().and_then(one_of_fields) {
            *schema = rewritten;
        }
        transform_subschemas(self, schema);
    }
}

fn one_of_fields(schema: &Map<String, Value>) -> Option<Schema> {
    let alternatives: Vec<&str> = schema.get("anyOf")?.as_array()?.iter().map(required_field).collect::<Option<_>>()?;
    let properties = schema.get("properties")?.as_object()?;
    let always: Vec<&str> =
        schema.get("required").and_then(Value::as_array)?.iter().filter_map(Value::as_str).collect();
    let forms: Vec<Value> = (0..alternatives.len())
        .map(|position| {
            // A value with several of the fields is of the last form that it has the field of.
            let (own, later) = (alternatives[position], &alternatives[position + 1..]);
            let kept: Map<String, Value> = properties
                .iter()
                .filter(|(name, _)| !later.contains(&name.as_str()))
                .map(|(name, property)| (name.clone(), property.clone()))
                .collect();
            let required: Vec<&str> = [own].into_iter().chain(always.iter().copied()).collect();
            let title = format!("By {}", own.replace('_', " "));
            json!({
                "title": title, "type": "object", "properties": kept, "required": required, "additionalProperties": false,
            })
        })
        .collect();
    let mut rewritten = json!({"oneOf": forms});
    if let Some(description) = schema.get("description") {
        rewritten["description"] = description.clone();
    }
    rewritten.try_into().ok()
}

/// The field of `{required: [field]}`.
fn required_field(form: &Value) -> Option<&str> {
    let form = form.as_object().filter(|form| form.len() == 1)?;
    match form.get("required")?.as_array()?.as_slice() {
        [only] => only.as_str(),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use schemars::generate::SchemaSettings;
    use values::Money;

    use super::*;

    #[test]
    fn money_in_a_request_has_two_forms_and_no_value_fits_both() {
        let validated = SchemaSettings::draft2020_12().for_deserialize();
        let described = validated.clone().with_transform(OneOfFields).into_generator().into_root_schema_for::<Money>();
        let validated = validated.into_generator().into_root_schema_for::<Money>().to_value();
        let described = described.to_value();
        let money = &described["$defs"]["MoneyInput"];
        assert_eq!(money["oneOf"].as_array().unwrap().len(), 2, "{money}");
        assert!(money.get("anyOf").is_none() && money.get("properties").is_none(), "{money}");
        for (value, fits) in [
            (json!({"amount_minor": 5, "currency": "EUR"}), true),
            (json!({"amount": "0.05", "currency": "EUR"}), true),
            (json!({"amount": "0.05", "amount_minor": 5, "currency": "EUR"}), true),
            (json!({"currency": "EUR"}), false),
            (json!({"amount_minor": 5}), false),
            (json!({"amount_minor": 5, "currency": "EUR", "cents": 5}), false),
            (json!({"amount": 5, "amount_minor": 5, "currency": "EUR"}), false),
        ] {
            assert_eq!(jsonschema::is_valid(&described, &value), fits, "{value}");
            assert_eq!(jsonschema::is_valid(&validated, &value), fits, "{value}");
        }
    }

    #[test]
    fn other_alternatives_stay_as_they_are() {
        for other in [
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ] {
            let mut schema: Schema = other.clone().try_into().unwrap();
            OneOfFields.transform(&mut schema);
            assert_eq!(schema.to_value(), other);
        }
    }
}
