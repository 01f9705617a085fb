//! Examples generated from schemas: a value, and the curl command that sends it.

use serde_json::{Map, Value, json};

use super::operation::Operation;
use super::schema::{Document, forms, list, text, types};

const MAX_DEPTH: usize = 6;
/// The host of examples if the server address is only a path.
const HOST: &str = "https://trunkline.example";

impl<'a> Document<'a> {
    /// A value of this schema: its own example, or a generated one.
    pub fn example(self, schema: &'a Value) -> Value {
        self.example_within(schema, &mut Vec::new()).unwrap_or(Value::Null)
    }

    /// `None` where a schema refers to itself; such a field is left out.
    fn example_within(self, schema: &'a Value, open: &mut Vec<&'a str>) -> Option<Value> {
        let plain = self.plain(schema);
        if let Some(given) = given_example(schema).or_else(|| given_example(plain.node)) {
            return Some(given.clone());
        }
        if open.len() > MAX_DEPTH || plain.references.iter().any(|reference| open.contains(reference)) {
            return None;
        }
        let opened = open.len();
        open.extend(&plain.references);
        let value = self.generated_example(plain.node, open);
        open.truncate(opened);
        Some(value)
    }

    fn generated_example(self, node: &'a Value, open: &mut Vec<&'a str>) -> Value {
        if let Some(form) = forms(node).first() {
            let form = self.example_within(form, open).unwrap_or(Value::Null);
            return merged(form, self.generated_object(node, open));
        }
        match types(node).find(|kind| *kind != "null") {
            Some("string") => json!(string_example(node)),
            Some("integer" | "number") => node.get("minimum").cloned().unwrap_or_else(|| json!(1)),
            Some("boolean") => json!(true),
            Some("array") => {
                let item = node.get("items").and_then(|items| self.example_within(items, open));
                Value::Array(item.into_iter().collect())
            }
            Some("null") | None if node.get("properties").is_none() && node.get("allOf").is_none() => Value::Null,
            _ => Value::Object(self.generated_object(node, open)),
        }
    }

    fn generated_object(self, node: &'a Value, open: &mut Vec<&'a str>) -> Map<String, Value> {
        let mut object = Map::new();
        for part in list(node, "allOf") {
            if let Some(Value::Object(fields)) = self.example_within(part, open) {
                object.extend(fields);
            }
        }
        for (name, property) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if let Some(value) = self.example_within(property, open) {
                object.insert(name.clone(), value);
            }
        }
        object
    }

    /// The curl command of an operation.
    pub fn curl(self, operation: &Operation<'a>) -> String {
        let mut url = self.address();
        url.push_str(operation.path);
        let mut separator = '?';
        let mut lines = Vec::new();
        if operation.method != "get" {
            lines.push(format!("-X {}", operation.method.to_uppercase()));
        }
        if operation.needs_sign_in(self) {
            lines.push("-H \"Authorization: Bearer $TOKEN\"".to_owned());
        }
        for parameter in operation.parameters(self) {
            let (Some(name), Some(place)) = (text(parameter, "name"), text(parameter, "in")) else { continue };
            let value = self.parameter_example(parameter);
            let required = parameter.get("required") == Some(&Value::Bool(true));
            match place {
                "path" => url = url.replace(&format!("{{{name}}}"), &value),
                "query" if required => {
                    url.push_str(&format!("{separator}{name}={value}"));
                    separator = '&';
                }
                "header" if required => lines.push(format!("-H {}", quoted(&format!("{name}: {value}")))),
                _ => {}
            }
        }
        lines.extend(self.body_lines(operation));
        lines.insert(0, format!("curl {}", quoted(&url)));
        lines.join(" \\\n  ")
    }

    fn body_lines(self, operation: &Operation<'a>) -> Vec<String> {
        let Some((media_type, schema)) = operation.request(self).and_then(|body| body.content) else { return vec![] };
        match media_type {
            "multipart/form-data" => {
                let parts = self.example(schema);
                let parts = parts.as_object().into_iter().flatten();
                parts.map(|(name, value)| format!("-F {}", quoted(&form_part(name, value)))).collect()
            }
            _ if media_type.ends_with("json") => {
                let body = serde_json::to_string_pretty(&self.example(schema)).unwrap_or_default();
                vec![format!("-H {}", quoted(&format!("Content-Type: {media_type}"))), format!("-d {}", quoted(&body))]
            }
            _ => {
                vec![format!("-H {}", quoted(&format!("Content-Type: {media_type}"))), "--data-binary @file".to_owned()]
            }
        }
    }

    /// The base URL, without a slash at the end.
    pub fn address(self) -> String {
        let url = list(self.0, "servers").first().and_then(|server| text(server, "url")).unwrap_or_default();
        let host = if url.contains("://") { "" } else { HOST };
        format!("{host}{}", url.trim_end_matches('/'))
    }

    fn parameter_example(self, parameter: &'a Value) -> String {
        let given = parameter.get("example").cloned();
        let value = given.or_else(|| parameter.get("schema").map(|schema| self.example(schema))).unwrap_or_default();
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }
}

fn given_example(node: &Value) -> Option<&Value> {
    let known = node.get("example").or_else(|| node.get("examples")?.get(0));
    known.or_else(|| node.get("const")).or_else(|| node.get("default")).or_else(|| node.get("enum")?.get(0))
}

fn string_example(node: &Value) -> &'static str {
    match text(node, "format") {
        Some("uuid") => "0198c2a4-7d1e-7b3a-9f00-5a1c3e8d2b47",
        Some("email") => "anna@example.com",
        Some("date-time") => "2026-01-31T09:30:00Z",
        Some("date") => "2026-01-31",
        Some("uri" | "url") => "https://example.com/",
        Some("binary") => "@document.pdf",
        Some("password") => "correct horse battery staple",
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

fn form_part(name: &str, value: &Value) -> String {
    format!("{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// In single quotes, only the single quote itself needs escaping in a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
