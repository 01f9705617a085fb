//! What a new description breaks of the operations of an old one.

use serde_json::Value;

use super::schemas::{Direction, Schemas};

/// The breaking changes, each as a sentence that begins with method and path.
pub fn breaking_changes(old: &Value, new: &Value) -> Vec<String> {
    let mut changes = Changes { schemas: Schemas::new(old, new), found: Vec::new() };
    for (path, operations) in entries(old, "paths") {
        for (method, operation) in operations.as_object().into_iter().flatten() {
            let name = format!("{} {path}", method.to_uppercase());
            match &new["paths"][path][method] {
                Value::Null => changes.found.push(format!("{name}: removed")),
                kept => changes.operation(&name, operation, kept),
            }
        }
    }
    changes.found
}

struct Changes<'d> {
    schemas: Schemas<'d>,
    found: Vec<String>,
}

impl<'d> Changes<'d> {
    fn operation(&mut self, name: &str, old: &'d Value, new: &'d Value) {
        if old["operationId"] != new["operationId"] {
            self.found.push(format!("{name}: operationId is now {}", new["operationId"].as_str().unwrap_or_default()));
        }
        if list(&old["security"]).is_empty() && !list(&new["security"]).is_empty() {
            self.found.push(format!("{name}: now needs a token"));
        }
        for role in list(&old["x-roles"]).iter().filter(|role| !list(&new["x-roles"]).contains(role)) {
            // Without roles anyone may call it.
            if !list(&new["x-roles"]).is_empty() {
                self.found.push(format!("{name}: role {} removed", role.as_str().unwrap_or_default()));
            }
        }
        self.parameters(name, old, new);
        self.request(name, &old["requestBody"], &new["requestBody"]);
        for (status, response) in entries(old, "responses").filter(|(status, _)| status.as_str() < "400") {
            match &new["responses"][status] {
                Value::Null => self.found.push(format!("{name}: status {status} removed")),
                kept => self.content(&format!("{name} {status}"), response, kept, Direction::Response),
            }
        }
    }

    fn parameters(&mut self, name: &str, old: &'d Value, new: &'d Value) {
        let same = |one: &Value, other: &Value| one["name"] == other["name"] && one["in"] == other["in"];
        let (old, new) = (list(&old["parameters"]), list(&new["parameters"]));
        for parameter in old {
            let place = place(name, parameter);
            match new.iter().find(|other| same(parameter, other)) {
                None => self.found.push(format!("{place}: removed")),
                Some(kept) => {
                    if parameter["required"] != true && kept["required"] == true {
                        self.found.push(format!("{place}: now required"));
                    }
                    let (old, new) = (&parameter["schema"], &kept["schema"]);
                    self.schemas.compare(&place, old, new, Direction::Request, &mut self.found);
                }
            }
        }
        let is_new = |parameter: &&Value| !old.iter().any(|known| same(known, parameter));
        for parameter in new.iter().filter(is_new).filter(|parameter| parameter["required"] == true) {
            self.found.push(format!("{}: now required", place(name, parameter)));
        }
    }

    fn request(&mut self, name: &str, old: &'d Value, new: &'d Value) {
        if old["required"] != true && new["required"] == true {
            self.found.push(format!("{name}: now needs a body"));
        }
        self.content(&format!("{name} request"), old, new, Direction::Request);
    }

    fn content(&mut self, place: &str, old: &'d Value, new: &'d Value, direction: Direction) {
        for (media_type, media) in entries(old, "content") {
            match &new["content"][media_type] {
                Value::Null => self.found.push(format!("{place}: {media_type} removed")),
                kept => {
                    self.schemas.compare(place, &media["schema"], &kept["schema"], direction, &mut self.found);
                }
            }
        }
    }
}

fn place(name: &str, parameter: &Value) -> String {
    format!("{name} parameter {}", parameter["name"].as_str().unwrap_or_default())
}

fn entries<'d>(node: &'d Value, key: &str) -> impl Iterator<Item = (&'d String, &'d Value)> {
    node[key].as_object().into_iter().flatten()
}

fn list(node: &Value) -> &[Value] {
    node.as_array().map_or(&[], Vec::as_slice)
}
