//! Reads requests into their types, or names every field that fails.
//!
//! Three layers find faults: the JSON schema of the type, the type itself, which may be stricter than its schema, and its
//! rules (`checks`). All of them look at every request, so that one response names all faults.

mod explain;
mod types;

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, RwLock};

use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::checks::{Given, Request};
use crate::faults::{Faults, MAX_FAULTS};
use crate::problem::Problem;
use explain::explain;
use platform::config::Settings;
use values::Time;

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
        options = options.with_format(name, check);
    }
    drop_patterns(&mut schema);
    let validator = options.build(&schema).map_err(|error| Problem::internal(error.to_string()))?;
    let compiled = Arc::new(Compiled { schema, validator });
    KNOWN.write().map_err(|_| poisoned())?.insert(TypeId::of::<T>(), compiled.clone());
    Ok(compiled)
}

/// Removes the patterns that are for callers only, since a format checks more: that of a URL takes megabytes once compiled.
fn drop_patterns(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").and_then(Value::as_str).is_some_and(values::includes_pattern) {
                fields.remove("pattern");
            }
            fields.values_mut().for_each(drop_patterns);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_patterns),
        _ => {}
    }
}

/// Reads a request that has these faults so far.
pub fn read_request<R: Request>(
    mut request: Value,
    mut faults: Faults,
    settings: &Settings,
    now: Time,
) -> Result<R, Problem> {
    whole_numbers(&mut request);
    let compiled = compiled::<R::Schema>()?;
    let read = compiled.read(&request, &mut faults);
    let faults = RefCell::new(faults);
    if request.is_object() {
        R::check(&Given::new(&request, &compiled.schema, &faults, settings, now));
    }
    match read {
        Some(read) if faults.borrow().is_empty() => Ok(R::new(read)),
        _ => Err(faults.into_inner().into()),
    }
}

/// Reads a value without rules that is a part of a request, such as a line of a file.
pub fn read<T: DeserializeOwned + JsonSchema + 'static>(mut value: Value) -> Result<T, Problem> {
    whole_numbers(&mut value);
    let mut faults = Faults::default();
    compiled::<T>()?.read(&value, &mut faults).ok_or_else(|| faults.into())
}

impl Compiled {
    /// The value as its type, or all faults of its schema and its type.
    fn read<T: DeserializeOwned>(&self, value: &Value, faults: &mut Faults) -> Option<T> {
        match T::deserialize(value) {
            // The schema may be stricter than the type: ranges, lengths, objects that are not arrays.
            Ok(read) if self.validator.is_valid(value) => return Some(read),
            _ => {}
        }
        for fault in self.validator.iter_errors(value).take(MAX_FAULTS) {
            explain(&fault, faults);
        }
        types::find_faults::<T>(value, faults);
        None
    }

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
        assert_eq!(problem.invalid_params().len(), MAX_FAULTS);
        let Err(problem) = read::<Many>(json!({"numbers": [1, "x", 3, "y"]})) else { panic!("the input was accepted") };
        let names: Vec<&str> = problem.invalid_params().iter().map(|param| param.name.as_str()).collect();
        assert_eq!(names, ["numbers.1", "numbers.3"]);
    }
}
