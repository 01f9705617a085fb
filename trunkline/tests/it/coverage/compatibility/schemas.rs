//! What a new schema breaks of an old one: a request must accept what it accepted, a response must not have what it had
//! not.

use std::collections::BTreeSet;

use serde_json::Value;

/// Which way a value travels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Request,
    Response,
}

/// Lower bounds must not rise, upper bounds must not fall.
const LOWER: [&str; 4] = ["minLength", "minItems", "minimum", "exclusiveMinimum"];
const UPPER: [&str; 4] = ["maxLength", "maxItems", "maximum", "exclusiveMaximum"];

pub struct Schemas<'d> {
    old: &'d Value,
    new: &'d Value,
    /// References that are being compared, so that recursive schemas end.
    open: BTreeSet<(Direction, String)>,
}

/// A schema without its reference and without `null`.
struct Plain<'d> {
    node: &'d Value,
    nullable: bool,
}

impl<'d> Schemas<'d> {
    pub fn new(old: &'d Value, new: &'d Value) -> Schemas<'d> {
        Schemas { old, new, open: BTreeSet::new() }
    }

    pub fn compare(
        &mut self,
        place: &str,
        old: &'d Value,
        new: &'d Value,
        direction: Direction,
        found: &mut Vec<String>,
    ) {
        let opened = old["$ref"].as_str().map(|reference| (direction, reference.to_owned()));
        if opened.as_ref().is_some_and(|opened| !self.open.insert(opened.clone())) {
            return;
        }
        let (old, new) = (plain(self.old, old), plain(self.new, new));
        types(place, &old, &new, direction, found);
        let (old, new) = (old.node, new.node);
        values(place, old, new, direction, found);
        if direction == Direction::Request {
            bounds(place, old, new, found);
        }
        self.fields(place, old, new, direction, found);
        for (key, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
            if old[key].is_object() && new[key].is_object() {
                self.compare(&format!("{place}{suffix}"), &old[key], &new[key], direction, found);
            }
        }
        self.alternatives(place, old, new, direction, found);
        if let Some(opened) = opened {
            self.open.remove(&opened);
        }
    }

    fn fields(&mut self, place: &str, old: &'d Value, new: &'d Value, direction: Direction, found: &mut Vec<String>) {
        for (name, property) in old["properties"].as_object().into_iter().flatten() {
            match &new["properties"][name] {
                Value::Null => found.push(format!("{place}.{name}: removed")),
                kept => self.compare(&format!("{place}.{name}"), property, kept, direction, found),
            }
        }
        let (had, has) = (list(&old["required"]), list(&new["required"]));
        let without = |of: &[Value], other: &[Value]| -> Vec<String> {
            of.iter().filter(|name| !other.contains(name)).filter_map(Value::as_str).map(str::to_owned).collect()
        };
        match direction {
            Direction::Request => {
                found.extend(without(has, had).iter().map(|name| format!("{place}.{name}: now required")));
            }
            Direction::Response => {
                // What was removed is told already.
                let kept = |name: &&String| !new["properties"][name.as_str()].is_null();
                let lost = without(had, has);
                found.extend(lost.iter().filter(kept).map(|name| format!("{place}.{name}: no longer always there")));
            }
        }
    }

    /// The alternatives of a value, known by their type or title. New ones are additions.
    fn alternatives(
        &mut self,
        place: &str,
        old: &'d Value,
        new: &'d Value,
        direction: Direction,
        found: &mut Vec<String>,
    ) {
        let (old, new) = (forms(old), forms(new));
        for form in old {
            match new.iter().find(|other| name_of(other) == name_of(form)) {
                Some(kept) => self.compare(&format!("{place}.{}", name_of(form)), form, kept, direction, found),
                // A response that has fewer alternatives surprises nobody.
                None if direction == Direction::Request => {
                    found.push(format!("{place}: alternative {} removed", name_of(form)));
                }
                None => {}
            }
        }
    }
}

fn types(place: &str, old: &Plain<'_>, new: &Plain<'_>, direction: Direction, found: &mut Vec<String>) {
    let (had, has) = (kinds(old.node), kinds(new.node));
    let covers = |kinds: &BTreeSet<&str>, kind: &str| {
        kinds.is_empty() || kinds.contains(kind) || (kind == "integer" && kinds.contains("number"))
    };
    match direction {
        Direction::Request => {
            let lost = had.iter().filter(|kind| !covers(&has, kind));
            found.extend(lost.map(|kind| format!("{place}: no longer accepts {kind}")));
            if old.nullable && !new.nullable {
                found.push(format!("{place}: no longer accepts null"));
            }
        }
        Direction::Response => {
            let gained = has.iter().filter(|kind| !covers(&had, kind));
            found.extend(gained.map(|kind| format!("{place}: now also {kind}")));
            if new.nullable && !old.nullable {
                found.push(format!("{place}: now also null"));
            }
        }
    }
}

/// Enumerated values may be added, but not removed.
fn values(place: &str, old: &Value, new: &Value, direction: Direction, found: &mut Vec<String>) {
    let choices = |node: &Value| -> Vec<Value> {
        let only = node.get("const").cloned().into_iter();
        only.chain(list(&node["enum"]).iter().cloned()).filter(|value| !value.is_null()).collect()
    };
    let (had, has) = (choices(old), choices(new));
    if has.is_empty() {
        return;
    }
    if had.is_empty() && direction == Direction::Request {
        found.push(format!("{place}: now only certain values"));
    }
    found
        .extend(had.iter().filter(|value| !has.contains(value)).map(|value| format!("{place}: value {value} removed")));
}

fn bounds(place: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    let number = |node: &Value, key: &str| node[key].as_f64();
    for key in LOWER {
        let (had, has) = (number(old, key).unwrap_or(f64::MIN), number(new, key).unwrap_or(f64::MIN));
        // No text, list or count is shorter than nothing.
        let nothing = key.starts_with("minL") || key.starts_with("minI");
        if has > had && !(nothing && has == 0.0) {
            found.push(format!("{place}: {key} is now {}", new[key]));
        }
    }
    for key in UPPER {
        let (had, has) = (number(old, key).unwrap_or(f64::MAX), number(new, key).unwrap_or(f64::MAX));
        if has < had {
            found.push(format!("{place}: {key} is now {}", new[key]));
        }
    }
    if new["pattern"].is_string() && old["pattern"] != new["pattern"] {
        found.push(format!("{place}: pattern is now {}", new["pattern"]));
    }
}

fn plain<'d>(document: &'d Value, schema: &'d Value) -> Plain<'d> {
    let mut plain = Plain { node: schema, nullable: false };
    for _ in 0..16 {
        if let Some(reference) = plain.node["$ref"].as_str() {
            plain.node = document.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
            continue;
        }
        let is_null = |form: &&Value| form["type"] == "null";
        let forms = forms(plain.node);
        match forms.iter().filter(|form| !is_null(form)).collect::<Vec<_>>().as_slice() {
            [only] if forms.len() == 2 => (plain.node, plain.nullable) = (*only, true),
            _ => break,
        }
    }
    plain.nullable |= list(&plain.node["type"]).iter().any(|kind| kind == "null");
    plain
}

fn kinds(node: &Value) -> BTreeSet<&str> {
    let several = list(&node["type"]).iter().filter_map(Value::as_str);
    several.chain(node["type"].as_str()).filter(|kind| *kind != "null").collect()
}

fn forms(node: &Value) -> &[Value] {
    match list(&node["oneOf"]) {
        [] => list(&node["anyOf"]),
        forms => forms,
    }
}

fn name_of(form: &Value) -> String {
    let reference = form["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    reference.or_else(|| form["title"].as_str()).unwrap_or("other").to_owned()
}

fn list(node: &Value) -> &[Value] {
    node.as_array().map_or(&[], Vec::as_slice)
}
