//! The compiled JSON schema of a request type, which finds every invalid field.
//!
//! A request is deserialized and validated against the type's schema. If either fails, the schema lists all errors; serde
//! would stop at the first.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, RwLock};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{JsonType, ValidationError, Validator};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::problem::{InvalidParam, Problem};

/// A list can have many invalid items; the rest is not reported.
const MAX_ERRORS: usize = 200;
const WRONG_FORMAT: &str = "has characters that are not allowed, or the wrong format";

pub struct Compiled {
    schema: Value,
    validator: Validator,
}

/// The compiled schema of a request type; each is compiled once.
pub fn compiled<T: JsonSchema + 'static>() -> Result<Arc<Compiled>, Problem> {
    static KNOWN: LazyLock<RwLock<HashMap<TypeId, Arc<Compiled>>>> = LazyLock::new(RwLock::default);
    let poisoned = || Problem::internal("the schema table is poisoned");
    if let Some(found) = KNOWN.read().map_err(|_| poisoned())?.get(&TypeId::of::<T>()) {
        return Ok(found.clone());
    }
    let mut schema =
        SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>().to_value();
    // Without `properties`, the validator does not name unexpected fields.
    if let Some(root) = schema.as_object_mut().filter(|root| root.contains_key("additionalProperties")) {
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    let mut options = jsonschema::options().should_validate_formats(true);
    for (name, check) in values::formats() {
        options = options.with_format(*name, *check);
    }
    let validator = options.build(&schema).map_err(|error| Problem::internal(error.to_string()))?;
    let compiled = Arc::new(Compiled { schema, validator });
    KNOWN.write().map_err(|_| poisoned())?.insert(TypeId::of::<T>(), compiled.clone());
    Ok(compiled)
}

/// Deserializes a request, or names every invalid field.
pub fn read<T: DeserializeOwned + JsonSchema + 'static>(mut value: Value) -> Result<T, Problem> {
    whole_numbers(&mut value);
    let error = match serde_path_to_error::deserialize::<_, T>(&value) {
        // The schema may be stricter than the type: ranges, lengths, objects that are not arrays.
        Ok(read) if compiled::<T>()?.validator.is_valid(&value) => return Ok(read),
        read => read.err(),
    };
    let mut failing = Vec::new();
    for fault in compiled::<T>()?.validator.iter_errors(&value).take(MAX_ERRORS) {
        explain(&fault, &mut failing);
    }
    if let Some(error) = error.filter(|_| failing.is_empty()) {
        let name = error.path().to_string();
        let name = if name == "." { "body".to_owned() } else { name.replace('[', ".").replace(']', "") };
        failing.push(InvalidParam { name, reason: error.inner().to_string() });
    }
    Err(Problem::validation(one_reason_each(failing)))
}

/// Keeps one reason per field; a wrong format gives way to any other reason.
fn one_reason_each(failing: Vec<InvalidParam>) -> Vec<InvalidParam> {
    let mut kept: Vec<InvalidParam> = Vec::new();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    for param in failing {
        match indexes.get(&param.name).and_then(|index| kept.get_mut(*index)) {
            Some(known) if known.reason == WRONG_FORMAT => *known = param,
            Some(_) => {}
            None => {
                indexes.insert(param.name.clone(), kept.len());
                kept.push(param);
            }
        }
    }
    kept
}

impl Compiled {
    /// Converts a query value to the type of its schema; text that does not fit stays text and fails validation.
    pub fn coerce(&self, name: &str, text: String) -> Value {
        let property = &self.schema["properties"][name];
        let property = match property["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
            Some(pointer) => self.schema.pointer(pointer).unwrap_or(property),
            None => property,
        };
        let is = |kind: &str| match &property["type"] {
            Value::String(one) => one == kind,
            Value::Array(several) => several.iter().any(|one| one == kind),
            _ => false,
        };
        match () {
            () if is("integer") => text.parse::<i64>().map_or(Value::String(text), Value::from),
            () if is("boolean") => text.parse::<bool>().map_or(Value::String(text), Value::from),
            () => Value::String(text),
        }
    }
}

/// `10.0` is an integer in JSON Schema; serde wants `10`.
fn whole_numbers(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT) {
                #[expect(clippy::cast_possible_truncation, reason = "a whole number within 2^53")]
                let whole = float as i64;
                *value = Value::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// Converts a schema error to field names and reasons.
fn explain(fault: &ValidationError<'_>, failing: &mut Vec<InvalidParam>) {
    let at = dotted(fault.instance_path());
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    let mut push = |name: String, reason: String| failing.push(InvalidParam { name, reason });
    let here = if at.is_empty() { "body".to_owned() } else { at.clone() };
    match fault.kind() {
        ValidationErrorKind::Required { property } => {
            push(below(property.as_str().unwrap_or_default()), "is required".into());
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            for name in unexpected {
                push(below(name), "is not a known field".into());
            }
        }
        ValidationErrorKind::PropertyNames { error } => {
            push(below(error.instance().as_str().unwrap_or_default()), reason(error.kind()));
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            explain_alternatives(context, &here, failing);
        }
        kind => push(here, reason(kind)),
    }
}

/// A nullable field fails as "neither null nor …": only the second half helps.
fn explain_alternatives(context: &[Vec<ValidationError<'static>>], here: &str, failing: &mut Vec<InvalidParam>) {
    let is_null_branch = |faults: &[ValidationError<'static>]| {
        matches!(faults, [only] if matches!(only.kind(),
            ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Null) }))
    };
    let mut branches = context.iter().filter(|faults| !is_null_branch(faults));
    match (branches.next(), branches.next()) {
        (Some(only), None) => only.iter().for_each(|fault| explain(fault, failing)),
        _ => failing.push(InvalidParam { name: here.to_owned(), reason: "matches none of the allowed schemas".into() }),
    }
}

fn reason(kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::Type { kind: TypeKind::Single(expected) } => format!("must be {}", article(*expected)),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(_) } => "has the wrong type".into(),
        ValidationErrorKind::Format { format } => values::reason(format).into(),
        ValidationErrorKind::Enum { options } => format!("must be one of {}", list(options)),
        ValidationErrorKind::MinLength { limit: 1 } => "must not be empty".into(),
        ValidationErrorKind::MinLength { limit } => format!("must have at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("must have at most {limit} characters"),
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}"),
        ValidationErrorKind::MinItems { limit } => format!("must have at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("must have at most {limit} items"),
        ValidationErrorKind::UniqueItems => "must not repeat an item".into(),
        ValidationErrorKind::Pattern { .. } => WRONG_FORMAT.into(),
        _ => "is not valid".into(),
    }
}

fn article(expected: JsonType) -> &'static str {
    match expected {
        JsonType::Array => "an array",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

fn list(options: &Value) -> String {
    let texts = options.as_array().into_iter().flatten().map(|option| match option {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn dotted(location: &Location) -> String {
    let mut name = String::new();
    for segment in location {
        if !name.is_empty() {
            name.push('.');
        }
        match segment {
            LocationSegment::Property(property) => name.push_str(&property),
            LocationSegment::Index(index) => name.push_str(&index.to_string()),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Many {
        #[allow(dead_code)]
        numbers: Vec<u8>,
    }

    #[test]
    fn errors_of_a_list_are_limited_and_name_their_index() {
        let Err(problem) = read::<Many>(json!({"numbers": vec!["x"; 30_000]})) else {
            panic!("the input was accepted")
        };
        assert_eq!(problem.invalid_params().len(), MAX_ERRORS);
        let Err(problem) = read::<Many>(json!({"numbers": [1, "x", 3, "y"]})) else { panic!("the input was accepted") };
        let names: Vec<&str> = problem.invalid_params().iter().map(|param| param.name.as_str()).collect();
        assert_eq!(names, ["numbers.1", "numbers.3"]);
    }
}
