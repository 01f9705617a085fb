//! Every property of every schema in the OpenAPI description says what it is.
//!
//! A property that is nothing but a reference is described by what it refers to. A property that an `allOf` narrows is
//! described by the part that introduces it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::description;

/// References that may lead to one another before they lead to a schema.
const MAX_REFERENCES: usize = 16;

struct Walk<'d> {
    document: &'d Value,
    /// How many properties there were.
    seen: usize,
    undescribed: Vec<String>,
}

fn list<'d>(node: &'d Value, key: &str) -> &'d [Value] {
    node[key].as_array().map_or(&[], Vec::as_slice)
}

fn entries<'d>(node: &'d Value, key: &str) -> impl Iterator<Item = (&'d String, &'d Value)> {
    node[key].as_object().into_iter().flatten()
}

impl<'d> Walk<'d> {
    fn resolve(&self, mut schema: &'d Value) -> &'d Value {
        for _ in 0..MAX_REFERENCES {
            let Some(reference) = schema["$ref"].as_str() else { break };
            schema = self.document.pointer(reference.trim_start_matches('#')).unwrap();
        }
        schema
    }

    fn is_described(&self, property: &'d Value) -> bool {
        let says = |schema: &Value| schema["description"].as_str().is_some_and(|text| !text.trim().is_empty());
        says(property) || says(self.resolve(property))
    }

    /// The properties of a schema that it describes itself.
    fn described(&self, schema: &'d Value) -> BTreeSet<&'d str> {
        let described = entries(self.resolve(schema), "properties").filter(|(_, property)| self.is_described(property));
        described.map(|(name, _)| name.as_str()).collect()
    }

    fn visit(&mut self, place: &str, schema: &'d Value, known: &BTreeSet<&'d str>) {
        if !schema.is_object() {
            return;
        }
        let nothing = BTreeSet::new();
        for (name, property) in entries(schema, "properties") {
            let place = format!("{place}.{name}");
            self.seen += 1;
            if !known.contains(name.as_str()) && !self.is_described(property) {
                self.undescribed.push(place.clone());
            }
            self.visit(&place, property, &nothing);
        }
        for key in ["items", "additionalProperties", "contains", "not"] {
            self.visit(place, &schema[key], &nothing);
        }
        // A condition narrows the properties of its own schema.
        let own = self.described(schema);
        for key in ["if", "then", "else"] {
            self.visit(place, &schema[key], &own);
        }
        for form in ["anyOf", "oneOf", "prefixItems"].into_iter().flat_map(|key| list(schema, key)) {
            self.visit(place, form, known);
        }
        let parts = list(schema, "allOf");
        let of_parts: BTreeSet<&str> = parts.iter().flat_map(|part| self.described(part)).collect();
        parts.iter().for_each(|part| self.visit(place, part, &of_parts));
    }

    fn visit_contents(&mut self, place: &str, body: &'d Value) {
        for (_, media) in entries(body, "content") {
            self.visit(place, &media["schema"], &BTreeSet::new());
        }
    }
}

#[test]
fn every_property_of_every_schema_has_a_description() {
    let document = description();
    let mut walk = Walk { document: &document, seen: 0, undescribed: Vec::new() };
    for (name, schema) in entries(&document["components"], "schemas") {
        walk.visit(name, schema, &BTreeSet::new());
    }
    for (path, methods) in entries(&document, "paths") {
        for (method, operation) in methods.as_object().unwrap() {
            let place = format!("{} {path}", method.to_uppercase());
            for parameter in list(operation, "parameters") {
                walk.visit(&place, &parameter["schema"], &BTreeSet::new());
            }
            walk.visit_contents(&format!("{place} request"), &operation["requestBody"]);
            for (status, response) in entries(operation, "responses") {
                walk.visit_contents(&format!("{place} {status}"), response);
            }
        }
    }
    assert!(walk.seen > 500, "only {} properties were found", walk.seen);
    let (missing, seen) = (walk.undescribed.len(), walk.seen);
    assert!(missing == 0, "{missing} of {seen} properties have no description:\n{}", walk.undescribed.join("\n"));
}

#[test]
fn a_property_is_described_by_itself_its_reference_or_the_part_it_narrows() {
    let document = serde_json::json!({
        "Money": {"description": "An amount.", "properties": {"currency": {"description": "ISO 4217."}}},
        "Bare": {},
        "Trunk": {"properties": {
            "name": {"type": "string"},
            "price": {"$ref": "#/Money"},
            "other": {"$ref": "#/Bare"},
            "told": {"$ref": "#/Bare", "description": "Told here."},
            "inner": {"description": "Inner.", "items": {"properties": {"deep": {"type": "string"}}}},
        }},
        "Narrowed": {"allOf": [{"$ref": "#/Money"}, {"properties": {"currency": {"enum": ["EUR"]}, "new": {}}}]},
    });
    let mut walk = Walk { document: &document, seen: 0, undescribed: Vec::new() };
    for (name, schema) in document.as_object().unwrap() {
        walk.visit(name, schema, &BTreeSet::new());
    }
    let expected = ["Trunk.name", "Trunk.other", "Trunk.inner.deep", "Narrowed.new"];
    assert_eq!((walk.undescribed, walk.seen), (expected.map(str::to_owned).to_vec(), 9));
}
