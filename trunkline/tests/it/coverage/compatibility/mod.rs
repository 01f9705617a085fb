//! The OpenAPI description keeps what the last release promised, unless CHANGELOG.md says what breaks.
//!
//! Releases are in `docs/released/`; docs/versioning.md says what counts as breaking.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod operations;
mod schemas;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::document::description;
use operations::breaking_changes;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The version and the description of the last release.
fn last_release() -> (String, Value) {
    let folder = root().join("docs/released");
    let versions = std::fs::read_dir(&folder).unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        Some(name.strip_prefix("openapi-")?.strip_suffix(".json")?.to_owned())
    });
    let numbers = |version: &String| version.split('.').map(|part| part.parse::<u32>().unwrap()).collect::<Vec<_>>();
    let last = versions.max_by_key(numbers).expect("docs/released has a release");
    let text = std::fs::read_to_string(folder.join(format!("openapi-{last}.json"))).unwrap();
    (last, serde_json::from_str(&text).unwrap())
}

/// What CHANGELOG.md lists above the section of a version.
fn listed_since(changelog: &str, version: &str) -> Vec<String> {
    let (newer, _) = changelog.split_once(&format!("\n## {version}")).expect("CHANGELOG.md has the released version");
    newer.lines().filter_map(|line| line.trim().strip_prefix("- ")).map(str::to_owned).collect()
}

#[test]
fn a_breaking_change_is_listed_in_the_changelog() {
    let (version, released) = last_release();
    let changelog = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let listed = listed_since(&changelog, &version);
    let changes = breaking_changes(&released, &description());
    let unlisted: Vec<&String> = changes.iter().filter(|change| !listed.contains(change)).collect();
    assert!(
        unlisted.is_empty(),
        "breaking changes since {version}. Keep what was promised, or list each as it stands here in CHANGELOG.md under \
         Breaking, with what callers have to do (docs/versioning.md):\n{}",
        unlisted.iter().map(|change| format!("- {change}")).collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn the_version_of_the_api_is_that_of_the_program_and_in_the_changelog() {
    let version = description()["info"]["version"].as_str().unwrap().to_owned();
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let changelog = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    assert!(changelog.contains(&format!("\n## {version}")), "CHANGELOG.md does not tell of {version}");
}

/// A description with one operation that takes and returns this schema.
fn document(operation: Value) -> Value {
    json!({"paths": {"/trunks": {"post": operation}}, "components": {"schemas": {
        "Leg": {"type": "string", "enum": ["inbound", "outbound"]},
    }}})
}

fn operation(schema: &Value) -> Value {
    json!({
        "operationId": "createTrunk",
        "x-roles": ["customer", "admin"],
        "security": [{"bearer": []}],
        "parameters": [{"name": "zone", "in": "query", "required": false, "schema": {"type": "string"}}],
        "requestBody": {"required": true, "content": {"application/json": {"schema": schema}}},
        "responses": {"200": {"content": {"application/json": {"schema": schema}}}},
    })
}

fn trunk() -> Value {
    json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "maxLength": 100},
        "cps": {"type": ["integer", "null"], "minimum": 1},
        "leg": {"$ref": "#/components/schemas/Leg"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "price": {"oneOf": [{"title": "minor", "type": "object"}, {"title": "exact", "type": "object"}]},
    }})
}

/// The breaking changes of an operation that one edit of its schema makes.
fn changes_by(edit: impl Fn(&mut Value)) -> Vec<String> {
    let (old, mut new) = (trunk(), trunk());
    edit(&mut new);
    breaking_changes(&document(operation(&old)), &document(operation(&new)))
}

#[test]
fn additions_break_nothing() {
    assert_eq!(changes_by(|_| {}), [""; 0]);
    assert_eq!(changes_by(|trunk| trunk["properties"]["codec"] = json!({"type": "string"})), [""; 0]);
    let mut more = operation(&trunk());
    let filter = json!({"name": "q", "in": "query", "required": false, "schema": {"type": "string"}});
    more["parameters"].as_array_mut().unwrap().push(filter);
    more["responses"]["409"] = json!({"description": "Conflict"});
    let mut new = document(more);
    new["paths"]["/numbers"] = json!({"get": {"operationId": "listNumbers"}});
    new["components"]["schemas"]["Leg"]["enum"] = json!(["inbound", "outbound", "internal"]);
    assert_eq!(breaking_changes(&document(operation(&trunk())), &new), [""; 0]);
}

#[test]
fn removals_and_narrower_types_are_found_in_requests_and_responses() {
    type Edit = fn(&mut Value);
    let cases: [(Edit, &[&str]); 9] = [
        (
            |t| drop(t["properties"].as_object_mut().unwrap().shift_remove("tags")),
            &["request.tags: removed", "200.tags: removed"],
        ),
        (|t| t["required"] = json!(["name", "leg"]), &["request.leg: now required"]),
        (|t| t["required"] = json!([]), &["200.name: no longer always there"]),
        (|t| t["properties"]["cps"]["type"] = json!("integer"), &["request.cps: no longer accepts null"]),
        (|t| t["properties"]["name"]["type"] = json!(["string", "null"]), &["200.name: now also null"]),
        (|t| t["properties"]["name"]["maxLength"] = json!(50), &["request.name: maxLength is now 50"]),
        (
            |t| t["properties"]["tags"]["items"] = json!({"type": "integer"}),
            &["request.tags[]: no longer accepts string", "200.tags[]: now also integer"],
        ),
        (
            |t| t["properties"]["leg"] = json!({"type": "string", "enum": ["inbound"]}),
            &["request.leg: value \"outbound\" removed", "200.leg: value \"outbound\" removed"],
        ),
        (
            |t| drop(t["properties"]["price"]["oneOf"].as_array_mut().unwrap().pop()),
            &["request.price: alternative exact removed"],
        ),
    ];
    for (edit, expected) in cases {
        let expected: Vec<String> = expected.iter().map(|change| format!("POST /trunks {change}")).collect();
        assert_eq!(changes_by(edit), expected);
    }
}

#[test]
fn changed_operations_are_found() {
    let old = document(operation(&trunk()));
    let changes = |edit: fn(&mut Value)| {
        let mut new = operation(&trunk());
        edit(&mut new);
        breaking_changes(&old, &document(new))
    };
    assert_eq!(changes(|o| o["operationId"] = json!("addTrunk")), ["POST /trunks: operationId is now addTrunk"]);
    assert_eq!(changes(|o| o["x-roles"] = json!(["admin"])), ["POST /trunks: role customer removed"]);
    assert_eq!(changes(|o| o["parameters"] = json!([])), ["POST /trunks parameter zone: removed"]);
    assert_eq!(
        changes(|o| o["parameters"][0]["required"] = json!(true)),
        ["POST /trunks parameter zone: now required"]
    );
    assert_eq!(changes(|o| o["responses"] = json!({"201": {}})), ["POST /trunks: status 200 removed"]);
    let gone = json!({"paths": {}, "components": {}});
    assert_eq!(breaking_changes(&old, &gone), ["POST /trunks: removed"]);
    let mut open = operation(&trunk());
    open["security"] = json!([]);
    assert_eq!(breaking_changes(&document(open), &old), ["POST /trunks: now needs a token"]);
}
