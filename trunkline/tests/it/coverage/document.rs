//! The OpenAPI description says what the table says, and is well formed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::Path;

use api::endpoint::{Endpoint, Idempotency};
use api::openapi;
use api::problem::Code;
use platform::limits::Limit;
use serde_json::Value;
use server::routes;

use super::name;

pub fn description() -> Value {
    openapi::describe(&routes::table())
}

fn operation<'d>(description: &'d Value, endpoint: &Endpoint) -> &'d Value {
    let operation = &description["paths"][endpoint.path][endpoint.method.as_str().to_lowercase()];
    assert!(operation.is_object(), "{} is not described", name(endpoint));
    operation
}

/// What HTTP itself says, and what protects any response in a browser.
pub const COMMON_HEADERS: [&str; 14] = [
    "content-type",
    "content-encoding",
    "vary",
    "content-length",
    "transfer-encoding",
    "date",
    "cache-control",
    "content-security-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "referrer-policy",
    "strict-transport-security",
    "x-content-type-options",
    "x-frame-options",
];

/// The headers that a response is said to carry, in lower case.
pub fn described_headers(description: &Value, endpoint: &Endpoint, status: u16) -> BTreeSet<String> {
    let headers = &operation(description, endpoint)["responses"][status.to_string()]["headers"];
    headers.as_object().into_iter().flatten().map(|(name, _)| name.to_lowercase()).collect()
}

#[test]
fn every_row_tells_of_its_limit_its_way_to_wait_and_its_scheme() {
    let description = description();
    for endpoint in routes::table() {
        let headers = |status: u16| described_headers(&description, &endpoint, status);
        let success = headers(endpoint.handler.status().as_u16());
        assert_eq!(success.contains("ratelimit"), endpoint.limit != Limit::None, "{}", name(&endpoint));
        assert_eq!(headers(429).contains("retry-after"), endpoint.limit != Limit::None, "{}", name(&endpoint));
        assert!(headers(503).contains("retry-after"), "{}", name(&endpoint));
        let scheme = match endpoint.who.roles() {
            [] => serde_json::json!(null),
            roles if roles.contains(&"customer") => serde_json::json!({"bearer": []}),
            _ => serde_json::json!({"adminBearer": []}),
        };
        assert_eq!(operation(&description, &endpoint)["security"][0], scheme, "{}", name(&endpoint));
    }
}

#[test]
fn the_description_in_the_repository_is_the_one_of_this_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi.json");
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    let current = format!("{}\n", serde_json::to_string_pretty(&description()).unwrap());
    assert!(kept == current, "openapi.json is stale: run `make openapi` and commit it");
}

#[test]
fn every_row_is_described_under_a_name_of_its_own() {
    let description = description();
    let mut ids = BTreeSet::new();
    for endpoint in routes::table() {
        let operation = operation(&description, &endpoint);
        let id = operation["operationId"].as_str().unwrap().to_owned();
        assert!(ids.insert(id.clone()), "{id} names two operations");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{} has no summary", name(&endpoint));
        assert_eq!(operation["tags"], serde_json::json!([endpoint.tag.name]), "{}", name(&endpoint));
        assert!(!endpoint.tag.name.is_empty(), "{} stands under no heading", name(&endpoint));
    }
}

#[test]
fn every_status_of_a_row_is_described_and_every_problem_is_a_problem() {
    let description = description();
    for endpoint in routes::table() {
        let responses = operation(&description, &endpoint)["responses"].as_object().unwrap();
        let of_inputs = endpoint.handler.describe(endpoint.path, &mut openapi::request_schemas()).problems;
        for code in endpoint.problems(&of_inputs) {
            let response = &responses[code.status().as_str()];
            let codes = response["x-problem-codes"].as_array().unwrap();
            assert!(codes.iter().any(|known| known == code.as_str()), "{} hides {code:?}", name(&endpoint));
        }
        assert!(responses.contains_key(endpoint.handler.status().as_str()), "{}", name(&endpoint));
        assert_eq!(responses.contains_key("304"), endpoint.handler.is_tagged(), "{}", name(&endpoint));
        for (status, response) in responses {
            assert!(response["description"].is_string(), "{status} of {}", name(&endpoint));
            if status.as_str() >= "400" && endpoint.handler.refusal().is_none() {
                let schema = &response["content"]["application/problem+json"]["schema"];
                assert!(schema.is_object(), "{status} of {}", name(&endpoint));
            }
        }
    }
}

#[test]
fn every_value_in_a_path_and_every_key_is_a_parameter() {
    let description = description();
    for endpoint in routes::table() {
        let none = Vec::new();
        let parameters = operation(&description, &endpoint)["parameters"].as_array().unwrap_or(&none);
        let named = |place: &str| -> BTreeSet<&str> {
            let here = parameters.iter().filter(|parameter| parameter["in"] == place);
            here.map(|parameter| parameter["name"].as_str().unwrap()).collect()
        };
        let in_path: BTreeSet<&str> =
            endpoint.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(named("path"), in_path, "{}", name(&endpoint));
        let takes_key = endpoint.idempotency != Idempotency::None;
        assert_eq!(named("header").contains("Idempotency-Key"), takes_key, "{}", name(&endpoint));
        assert_eq!(named("header").contains("If-Match"), endpoint.is_conditional(), "{}", name(&endpoint));
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_one() {
    let description = description();
    let mut references = Vec::new();
    gather_references(&description, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} leads outside"));
        assert!(description.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    for (name, schema) in description["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{name} is not a JSON schema");
    }
}

#[test]
fn every_code_is_distinct_and_has_a_title() {
    let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(codes.len(), Code::ALL.len());
    assert!(Code::ALL.iter().all(|code| !code.title().is_empty() && code.status().as_u16() >= 400));
}

fn gather_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.push(reference.clone());
            }
            fields.values().for_each(|field| gather_references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| gather_references(item, found)),
        _ => {}
    }
}
