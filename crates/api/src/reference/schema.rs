//! Schemas: the type of a value, its constraints, and its fields.
//!
//! Types that many others use, such as money, are shown once and linked to; `shared` finds them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Deeper fields are not shown.
const MAX_DEPTH: usize = 8;
/// Limit of nested references and wrappers around a schema.
const MAX_WRAPPERS: usize = 16;
/// A type with this many uses is shown once.
const MANY_USES: usize = 2;
/// A value with this many alternatives links to them.
const MANY_FORMS: usize = 5;

/// Formats that say nothing beyond the type.
const PLAIN_FORMATS: [&str; 6] = ["text", "int64", "uint16", "uint32", "uint64", "double"];

/// The OpenAPI document, in which references are looked up.
#[derive(Clone, Copy)]
pub struct Document<'a>(pub &'a Value);

/// A schema without the references and wrappers around it.
#[derive(Clone)]
pub struct Plain<'a> {
    pub node: &'a Value,
    /// The last part of the innermost reference, such as `Money`.
    pub name: Option<&'a str>,
    pub references: Vec<&'a str>,
    pub nullable: bool,
    /// The outermost: a description where the schema is used comes before its own.
    pub description: Option<&'a str>,
}

/// One row of a table of fields.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    pub depth: usize,
    pub name: FieldName,
    pub kind: String,
    /// The type in `kind` that is shown elsewhere.
    pub link: Option<String>,
    pub required: bool,
    pub bounds: Vec<Bound>,
    pub description: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum FieldName {
    Named(String),
    /// Any key of a map.
    AnyKey,
    /// One of the alternatives (`oneOf`, `anyOf`) of the value above.
    Form {
        name: String,
        first: bool,
    },
}

/// A constraint as text, and the literal values in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Bound {
    pub words: String,
    pub values: Vec<String>,
}

impl<'a> Document<'a> {
    /// Follows a reference (of anything, not only of a schema) to what it names.
    pub fn resolve(self, node: &'a Value) -> &'a Value {
        let mut node = node;
        for _ in 0..MAX_WRAPPERS {
            match self.referred(node) {
                Some((_, target)) => node = target,
                None => break,
            }
        }
        node
    }

    fn referred(self, node: &'a Value) -> Option<(&'a str, &'a Value)> {
        let reference = node.get("$ref")?.as_str()?;
        Some((reference, self.0.pointer(reference.strip_prefix('#')?)?))
    }

    pub fn plain(self, schema: &'a Value) -> Plain<'a> {
        let mut plain = Plain { node: schema, name: None, references: vec![], nullable: false, description: None };
        for _ in 0..MAX_WRAPPERS {
            plain.description = plain.description.or_else(|| text(plain.node, "description"));
            if let Some((reference, target)) = self.referred(plain.node) {
                plain.references.push(reference);
                plain.name = reference.rsplit('/').next();
                plain.node = target;
            } else if let Some(inner) = or_null(plain.node) {
                plain.nullable = true;
                plain.node = inner;
            } else if let [only] = list(plain.node, "allOf") {
                plain.node = only;
            } else {
                break;
            }
        }
        plain.nullable |= types(plain.node).any(|kind| kind == "null");
        plain
    }

    /// The type of a value, such as `array of Trunk or null`.
    pub fn kind(self, schema: &'a Value) -> String {
        self.kind_within(schema, MAX_DEPTH)
    }

    fn kind_within(self, schema: &'a Value, levels: usize) -> String {
        let plain = self.plain(schema);
        let named: Vec<&str> = types(plain.node).filter(|kind| *kind != "null").collect();
        let kind = match (named.as_slice(), plain.node.get("items"), text(plain.node, "format")) {
            (["array"], Some(items), _) if levels > 0 => format!("array of {}", self.kind_within(items, levels - 1)),
            (["object"], ..) => plain.name.unwrap_or("object").to_owned(),
            ([], ..) => plain.name.unwrap_or(untyped(plain.node)).to_owned(),
            (kinds, _, Some(format)) if !PLAIN_FORMATS.contains(&format) => {
                format!("{} ({format})", kinds.join(" or "))
            }
            (kinds, ..) => kinds.join(" or "),
        };
        if plain.nullable { format!("{kind} or null") } else { kind }
    }

    /// All fields of a schema; nested fields follow their parent, except those of the types in `shared`.
    pub fn fields(self, schema: &'a Value, shared: &BTreeSet<&'a str>) -> Vec<Field> {
        let mut fields = Vec::new();
        self.collect(schema, 0, shared, &mut Vec::new(), &mut fields);
        fields
    }

    /// `open` holds the references being expanded; a recursive schema is named but not expanded again.
    fn collect(
        self,
        schema: &'a Value,
        depth: usize,
        shared: &BTreeSet<&'a str>,
        open: &mut Vec<&'a str>,
        fields: &mut Vec<Field>,
    ) {
        let plain = self.plain(schema);
        if depth > MAX_DEPTH || plain.references.iter().any(|reference| open.contains(reference)) {
            return;
        }
        let opened = open.len();
        open.extend(&plain.references);
        if let Some(items) = plain.node.get("items") {
            self.collect(items, depth, shared, open, fields);
        }
        for part in list(plain.node, "allOf") {
            self.collect(part, depth, shared, open, fields);
        }
        let required: Vec<&str> = list(plain.node, "required").iter().filter_map(Value::as_str).collect();
        let mut add = |name: FieldName, schema: &'a Value, required: bool| {
            let field = Field { required, depth, name, ..self.field(schema, shared) };
            let is_linked = field.link.is_some();
            fields.push(field);
            if !is_linked {
                self.collect(schema, depth + 1, shared, open, fields);
            }
        };
        for (name, property) in plain.node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            add(FieldName::Named(name.clone()), property, required.contains(&name.as_str()));
        }
        if let Some(values) = plain.node.get("additionalProperties").filter(|values| values.is_object()) {
            add(FieldName::AnyKey, values, false);
        }
        for (position, form) in forms(plain.node).iter().enumerate() {
            let name = text(form, "title").map_or_else(|| self.kind(form), str::to_owned);
            add(FieldName::Form { name, first: position == 0 }, form, false);
        }
        open.truncate(opened);
    }

    /// A field, but for its name and place.
    pub fn field(self, schema: &'a Value, shared: &BTreeSet<&'a str>) -> Field {
        let description = self.plain(schema).description.unwrap_or_default().to_owned();
        Field {
            depth: 0,
            name: FieldName::AnyKey,
            kind: self.kind(schema),
            link: self.link(schema, shared).map(str::to_owned),
            required: false,
            bounds: self.bounds(schema),
            description,
        }
    }

    /// The shared type that a value, or each item of it, is of.
    fn link(self, schema: &'a Value, shared: &BTreeSet<&'a str>) -> Option<&'a str> {
        let plain = self.plain(schema);
        let of_items = || self.plain(plain.node.get("items")?).name;
        plain.name.filter(|name| shared.contains(name)).or_else(|| of_items().filter(|name| shared.contains(name)))
    }

    /// The object types that are used often, or are one of many alternatives.
    pub fn shared(self) -> BTreeSet<&'a str> {
        let mut uses = BTreeMap::new();
        count_uses(self.0, &mut uses);
        let schemas = self.0.pointer("/components/schemas").and_then(Value::as_object);
        let has_fields = |name: &&str| {
            let schema = schemas.and_then(|schemas| schemas.get(*name));
            schema.is_some_and(|schema| schema.get("properties").is_some() || !forms(schema).is_empty())
        };
        let often = uses.into_iter().filter(|(_, uses)| *uses >= MANY_USES).map(|(name, _)| name);
        let many_forms = schemas.into_iter().flatten().map(|(_, schema)| forms(schema));
        let alternatives = many_forms.filter(|forms| forms.len() >= MANY_FORMS).flatten();
        let alternatives = alternatives.filter_map(|form| text(form, "$ref")?.rsplit('/').next());
        // Problems have a chapter of their own.
        often.chain(alternatives).filter(has_fields).filter(|name| *name != "Problem").collect()
    }

    pub fn bounds(self, schema: &'a Value) -> Vec<Bound> {
        let mut bounds = super::bounds::bounds(self.plain(schema).node);
        if let Some(items) = self.plain(schema).node.get("items") {
            let each = super::bounds::bounds(self.plain(items).node);
            bounds.extend(each.into_iter().map(|bound| Bound { words: format!("each {}", bound.words), ..bound }));
        }
        bounds
    }
}

/// Counts the references to each schema.
fn count_uses<'a>(node: &'a Value, uses: &mut BTreeMap<&'a str, usize>) {
    match node {
        Value::Object(fields) => {
            if let Some(name) = text(node, "$ref").and_then(|reference| reference.strip_prefix("#/components/schemas/"))
            {
                *uses.entry(name).or_default() += 1;
            }
            fields.values().for_each(|field| count_uses(field, uses));
        }
        Value::Array(items) => items.iter().for_each(|item| count_uses(item, uses)),
        _ => {}
    }
}

pub fn text<'a>(node: &'a Value, key: &str) -> Option<&'a str> {
    node.get(key)?.as_str()
}

pub fn list<'a>(node: &'a Value, key: &str) -> &'a [Value] {
    node.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// `type`, which may be one name or a list.
pub fn types(node: &Value) -> impl Iterator<Item = &str> {
    let kind = node.get("type");
    kind.and_then(Value::as_str)
        .into_iter()
        .chain(kind.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str))
}

/// The alternatives of a value (`oneOf` or `anyOf`).
pub fn forms(node: &Value) -> &[Value] {
    match list(node, "oneOf") {
        [] => list(node, "anyOf"),
        forms => forms,
    }
}

/// The only alternative besides `null`.
fn or_null(node: &Value) -> Option<&Value> {
    let is_null = |form: &Value| text(form, "type") == Some("null");
    match forms(node) {
        [form, null] | [null, form] if is_null(null) && !is_null(form) => Some(form),
        _ => None,
    }
}

fn untyped(node: &Value) -> &'static str {
    match node.get("const").or_else(|| node.get("enum")?.get(0)) {
        Some(Value::String(_)) => "string",
        Some(Value::Number(_)) => "number",
        Some(Value::Bool(_)) => "boolean",
        _ if !forms(node).is_empty() => "one of several types",
        _ if node.get("properties").is_some() || node.get("allOf").is_some() => "object",
        _ => "any type",
    }
}
