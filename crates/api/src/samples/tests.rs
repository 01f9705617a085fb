#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn sample(schema: Value, usage: Use) -> Value {
    let document = json!({
        "sample": schema,
        "components": {"schemas": {
            "Zone": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"},
                "parent": {"anyOf": [{"$ref": "#/components/schemas/Zone"}, {"type": "null"}]},
                "children": {"type": "array", "items": {"$ref": "#/components/schemas/Zone"}}}},
            "Passkey": {"type": "object", "properties": {
                "id": {"type": "string", "format": "uuid"}, "name": {"type": "string"}}},
        }},
    });
    Samples { document: Document(&document), usage }.of(&document["sample"])
}

#[test]
fn a_recursive_schema_ends() {
    let zone = sample(json!({"$ref": "#/components/schemas/Zone"}), Use::Response);
    assert_eq!(zone, json!({"name": "Amsterdam PBX", "children": []}));
}

#[test]
fn a_value_for_the_type_comes_before_one_for_the_name() {
    let passkey = sample(json!({"$ref": "#/components/schemas/Passkey"}), Use::Response);
    assert_eq!(passkey["name"], "Katja's laptop");
    assert!(passkey["id"].as_str().unwrap().starts_with("0198c0de-7a3b-7c4d-8e5f-"), "{passkey}");
}

#[test]
fn a_candidate_that_does_not_fit_is_not_used() {
    for (schema, expected) in [
        (json!({"type": "string", "format": "date"}), json!("2026-01-01")),
        (json!({"type": "string", "format": "date-time"}), json!("2026-01-01T00:00:00Z")),
        (json!({"type": "string", "enum": ["begin"]}), json!("begin")),
        (json!({"type": "integer", "minimum": 3}), json!(3)),
    ] {
        let object = json!({"type": "object", "properties": {"from": schema}});
        assert_eq!(sample(object, Use::Response), json!({"from": expected}));
    }
}

#[test]
fn a_request_leaves_out_optional_references_and_nulls() {
    let schema = json!({"type": "object", "required": ["trunk_id"], "properties": {
        "trunk_id": {"type": "string", "format": "uuid"},
        "cdr_ids": {"type": "array", "items": {"type": "string", "format": "uuid"}},
        "manager_id": {"type": ["string", "null"], "format": "uuid"},
        "unheard_of": {"type": ["string", "null"]},
        "note": {"type": ["string", "null"]},
        "flag": {"type": "boolean"},
    }});
    let names = |usage| sample(schema.clone(), usage).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(Use::Request), ["trunk_id", "note", "flag"]);
    assert_eq!(names(Use::Response).len(), 6);
}

#[test]
fn money_has_an_amount_that_suits_the_field() {
    let money = json!({"type": "object", "required": ["amount_minor", "amount", "currency"], "properties": {
        "amount_minor": {"type": "integer"}, "amount": {"type": "string"}, "currency": {"type": "string"}}});
    let cap = sample(json!({"type": "object", "properties": {"max_rate_per_minute": money}}), Use::Response);
    let expected = json!({"amount_minor": 150, "amount": "1.50", "currency": "EUR"});
    assert_eq!(cap["max_rate_per_minute"], expected);
}
