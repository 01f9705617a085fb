//! Every request body in the OpenAPI description has an example, and every example is valid.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use super::document::description;

/// A schema of the description, with what it refers to.
fn whole(document: &Value, schema: &Value) -> Value {
    let mut whole = schema.clone();
    whole["components"] = json!({"schemas": document["components"]["schemas"]});
    whole
}

fn faults(document: &Value, schema: &Value, sample: &Value) -> Vec<String> {
    let mut options = jsonschema::options().should_validate_formats(true);
    for (name, check) in values::formats() {
        options = options.with_format(name, check);
    }
    let validator = options.build(&whole(document, schema)).unwrap();
    validator.iter_errors(sample).map(|fault| format!("{}: {fault}", fault.instance_path())).collect()
}

#[test]
fn every_json_request_body_has_an_example_that_fits_its_schema() {
    let document = description();
    let (mut seen, mut bad) = (0, Vec::new());
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let media = &operation["requestBody"]["content"]["application/json"];
            if media.is_null() {
                continue;
            }
            seen += 1;
            let sample = media.get("example").unwrap_or_else(|| panic!("{method} {path} has no example"));
            let faults = faults(&document, &media["schema"], sample);
            bad.extend(faults.iter().map(|fault| format!("{} {path}: {fault} in {sample}", method.to_uppercase())));
        }
    }
    assert!(seen > 50, "{seen} request bodies were found");
    assert!(bad.is_empty(), "add values to crates/api/src/samples/values.json:\n{}", bad.join("\n"));
}

#[test]
fn every_query_parameter_is_absent_or_has_a_value_but_is_never_null() {
    let document = description();
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let parameters = operations.filter_map(|operation| operation["parameters"].as_array()).flatten();
    let mut seen = 0;
    for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
        seen += 1;
        assert!(!parameter["schema"].to_string().contains("null"), "{parameter}");
    }
    assert!(seen > 100, "{seen} parameters were found");
}

#[test]
fn every_file_and_every_union_is_described_as_clients_need_it() {
    let document = description();
    let text = document.to_string();
    assert!(!text.contains("\"*/*\""), "a file does not name its media type");
    let export = &document["paths"]["/rates/export"]["get"]["responses"]["200"]["content"];
    assert_eq!(export.as_object().unwrap().keys().collect::<Vec<_>>(), ["text/csv"]);
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["MoneyInput"]["oneOf"].as_array().unwrap().len(), 2);
    let notification = &schemas["Notification"];
    assert_eq!(notification["discriminator"]["propertyName"], "code");
    let mapping = notification["discriminator"]["mapping"].as_object().unwrap();
    assert_eq!(mapping.len(), notification["oneOf"].as_array().unwrap().len());
    for (code, reference) in mapping {
        let form = document.pointer(reference.as_str().unwrap().trim_start_matches('#')).unwrap();
        assert_eq!(form["properties"]["code"]["const"], code.as_str());
        assert!(form["properties"]["payload"]["$ref"].is_string(), "{code}");
    }
    // Where two types have one name, the second gets a number.
    for name in schemas.as_object().unwrap().keys() {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
        assert!(plain == name || schemas.get(plain).is_none(), "{name} needs a name of its own");
    }
    let keys = text.matches("\"Idempotency-Key\"").count();
    assert!(keys > 50, "{keys} operations take a key");
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    for parameter in operations.filter_map(|operation| operation["parameters"].as_array()).flatten() {
        let is_key = parameter["name"] == "Idempotency-Key";
        assert!(!is_key || parameter["schema"].get("format").is_none(), "{parameter}");
    }
}
