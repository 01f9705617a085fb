//! Sample values of the API's types, for request bodies in OpenAPI and for the reference.
//!
//! A value is the example of the field itself. Without one it comes from `values.json`, if a candidate for the field's name
//! fits its schema: `Type.field` before `field`. Otherwise it is the example of its type, or generated. Samples of
//! requests leave out optional references, which would have to exist, unless `values.json` names them.

mod fitting;
mod ids;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::reference::schema::{Document, forms, list, text, types};
use fitting::fits;

const MAX_DEPTH: usize = 8;
const JSON: &str = "application/json";

static VALUES: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("values.json")).unwrap_or_default());

/// What a sample is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Request,
    Response,
}

/// Where a value stands: the name of the object's type, and of the field.
#[derive(Clone, Copy, Default)]
pub struct Place<'a> {
    pub owner: &'a str,
    pub field: &'a str,
}

/// Adds a sample to every JSON request body.
pub fn add_to(document: &mut Value) {
    for (path, method, sample) in of_requests(document) {
        document["paths"][path][method]["requestBody"]["content"][JSON]["example"] = sample;
    }
}

/// Path, method and sample of every JSON request body.
fn of_requests(document: &Value) -> Vec<(String, String, Value)> {
    let samples = Samples { document: Document(document), usage: Use::Request };
    let mut found = Vec::new();
    for (path, operations) in document.get("paths").and_then(Value::as_object).into_iter().flatten() {
        for (method, operation) in operations.as_object().into_iter().flatten() {
            let content = operation.get("requestBody").and_then(|body| body.get("content")?.get(JSON));
            if let Some(schema) = content.and_then(|media| media.get("schema")) {
                found.push((path.clone(), method.clone(), samples.of(schema)));
            }
        }
    }
    found
}

/// Generates the samples of a document.
#[derive(Clone, Copy)]
pub struct Samples<'a> {
    pub document: Document<'a>,
    pub usage: Use,
}

impl<'a> Samples<'a> {
    /// A value of this schema.
    pub fn of(self, schema: &'a Value) -> Value {
        self.at(schema, Place::default())
    }

    /// A value of this schema for a field or parameter.
    pub fn at(self, schema: &'a Value, place: Place<'a>) -> Value {
        self.within(schema, place, &mut Vec::new()).unwrap_or(Value::Null)
    }

    /// `None` where a schema refers to itself; such a field is left out.
    fn within(self, schema: &'a Value, place: Place<'a>, open: &mut Vec<&'a str>) -> Option<Value> {
        let plain = self.document.plain(schema);
        if let Some(id) = ids::sample(plain.node, place) {
            return Some(id);
        }
        let own = given_example(schema).or_else(|| known(place, plain.node));
        if let Some(own) = own.or_else(|| given(plain.node)) {
            return Some(own.clone());
        }
        if open.len() > MAX_DEPTH || plain.references.iter().any(|reference| open.contains(reference)) {
            return None;
        }
        let opened = open.len();
        open.extend(&plain.references);
        let place = Place { owner: plain.name.unwrap_or_default(), field: place.field };
        let value = self.generated(plain.node, place, open);
        open.truncate(opened);
        Some(value)
    }

    fn generated(self, node: &'a Value, place: Place<'a>, open: &mut Vec<&'a str>) -> Value {
        if let Some(form) = forms(node).first() {
            let form = self.within(form, place, open).unwrap_or(Value::Null);
            return merged(form, self.object(node, place.owner, open));
        }
        match types(node).find(|kind| *kind != "null") {
            Some("string") => json!(string(node)),
            Some("integer" | "number") => node.get("minimum").cloned().unwrap_or_else(|| json!(1)),
            Some("boolean") => json!(true),
            Some("array") => {
                let item = node.get("items").and_then(|items| self.within(items, place, open));
                Value::Array(item.into_iter().collect())
            }
            Some("null") | None if node.get("properties").is_none() && node.get("allOf").is_none() => Value::Null,
            _ => match money(node, place.field) {
                Some(money) => money,
                None => Value::Object(self.object(node, place.owner, open)),
            },
        }
    }

    fn object(self, node: &'a Value, owner: &'a str, open: &mut Vec<&'a str>) -> Map<String, Value> {
        let mut object = Map::new();
        for part in list(node, "allOf") {
            if let Some(Value::Object(fields)) = self.within(part, Place { owner, field: "" }, open) {
                object.extend(fields);
            }
        }
        let required = list(node, "required");
        for (name, property) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let place = Place { owner, field: name };
            let is_required = required.iter().any(|known| known == name);
            if self.usage == Use::Request && !is_required && !self.is_shown(property, place) {
                continue;
            }
            if let Some(value) = self.within(property, place, open) {
                object.insert(name.clone(), value);
            }
        }
        object
    }

    /// Whether the sample of a request has this optional field: `values.json` names it for this type; or it is no
    /// reference, and may not be null or has a value.
    fn is_shown(self, property: &'a Value, place: Place<'a>) -> bool {
        if VALUES.contains_key(&format!("{}.{}", place.owner, place.field)) {
            return true;
        }
        let plain = self.document.plain(property);
        let items = plain.node.get("items").map(|items| self.document.plain(items).node);
        let is_reference = ids::is_id(plain.node) || items.is_some_and(ids::is_id);
        !is_reference && (!plain.nullable || known(place, plain.node).is_some())
    }
}

/// The candidate for this name that fits the schema.
fn known(place: Place<'_>, node: &Value) -> Option<&'static Value> {
    let Place { owner, field } = place;
    let of_owner = VALUES.get(&format!("{owner}.{field}"));
    let candidates = [of_owner, VALUES.get(field)].into_iter().flatten().filter_map(Value::as_array).flatten();
    candidates.into_iter().find(|candidate| fits(node, candidate))
}

fn given_example(node: &Value) -> Option<&Value> {
    node.get("example").or_else(|| node.get("examples")?.get(0))
}

/// What the schema itself gives.
fn given(node: &Value) -> Option<&Value> {
    let example = given_example(node);
    let default = node.get("default").filter(|default| !default.is_null());
    example.or_else(|| node.get("const")).or_else(|| node.get("enum")?.get(0)).or(default)
}

/// An amount of money that suits the field.
fn money(node: &Value, field: &str) -> Option<Value> {
    let properties = node.get("properties")?.as_object()?;
    let minor = match (properties.contains_key("amount_minor"), properties.contains_key("currency")) {
        (true, true) => minor_units(field),
        _ => return None,
    };
    let mut money = json!({"amount_minor": minor});
    if list(node, "required").iter().any(|name| name == "amount") {
        money["amount"] = format!("{}.{:02}", minor / 100, minor % 100).into();
    }
    money["currency"] = "EUR".into();
    Some(money)
}

fn minor_units(field: &str) -> u32 {
    match field {
        "max_spend_per_day" => 25_000,
        "max_rate_per_minute" => 150,
        "recharge_amount" => 10_000,
        "minimum" => 0,
        "rate_per_minute" | "price_per_minute" | "monthly" => 2,
        _ => 5_000,
    }
}

fn string(node: &Value) -> &'static str {
    match text(node, "format") {
        Some("email") => "katja@kanaal.example",
        Some("date-time") => "2026-01-31T09:30:00Z",
        Some("date") => "2026-01-31",
        Some("uri" | "url") => "https://kanaal.example/",
        Some("binary") => "@document.pdf",
        Some("password") => "violet canal heron 27",
        _ => "text",
    }
}

fn merged(form: Value, more: Map<String, Value>) -> Value {
    match form {
        Value::Object(mut fields) => {
            fields.extend(more);
            Value::Object(fields)
        }
        form => form,
    }
}

#[cfg(test)]
mod tests;
