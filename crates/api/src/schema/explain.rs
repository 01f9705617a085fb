//! The errors of a JSON schema as faults: names and reasons that help the caller.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::faults::{Faults, WRONG_FORMAT, below};
use values::BLANK_REASON;

/// Converts a schema error to field names and reasons.
pub fn explain(fault: &ValidationError<'_>, faults: &mut Faults) {
    let at = dotted(fault.instance_path());
    let here = if at.is_empty() { "body".to_owned() } else { at.clone() };
    match fault.kind() {
        ValidationErrorKind::Required { property } => {
            faults.add(below(&at, property.as_str().unwrap_or_default()), "is required");
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            for name in unexpected {
                faults.add(below(&at, name), "is not a known field");
            }
        }
        ValidationErrorKind::PropertyNames { error } => {
            faults.add(below(&at, error.instance().as_str().unwrap_or_default()), reason(error));
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            explain_alternatives(context, &here, faults);
        }
        _ => faults.add(here, reason(fault)),
    }
}

/// A nullable field fails as "neither null nor …": only the second half helps.
fn explain_alternatives(context: &[Vec<ValidationError<'static>>], here: &str, faults: &mut Faults) {
    let is_null_branch = |faults: &[ValidationError<'static>]| {
        matches!(faults, [only] if matches!(only.kind(),
            ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Null) }))
    };
    let mut branches = context.iter().filter(|faults| !is_null_branch(faults));
    match (branches.next(), branches.next()) {
        (Some(only), None) => only.iter().for_each(|fault| explain(fault, faults)),
        _ => faults.add(here, "matches none of the allowed schemas"),
    }
}

fn reason(fault: &ValidationError<'_>) -> String {
    // The space around a text does not count, which only its pattern can say.
    let is_blank = || fault.instance().as_str().is_some_and(|text| !text.is_empty() && text.trim().is_empty());
    match fault.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Single(expected) } => format!("must be {}", article(*expected)),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(_) } => "has the wrong type".into(),
        ValidationErrorKind::Format { format } => values::reason(format).into(),
        ValidationErrorKind::Enum { options } => format!("must be one of {}", list(options)),
        ValidationErrorKind::MinLength { limit: 1 } => "must not be empty".into(),
        ValidationErrorKind::MinLength { limit } => format!("must have at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("must have at most {limit} characters"),
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}"),
        ValidationErrorKind::MinProperties { limit: 1 } => "must not be empty".into(),
        ValidationErrorKind::MinItems { limit } => format!("must have at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("must have at most {limit} items"),
        ValidationErrorKind::UniqueItems => "must not repeat an item".into(),
        ValidationErrorKind::Pattern { .. } if is_blank() => BLANK_REASON.into(),
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
