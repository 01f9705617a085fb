//! The operations of the document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::schema::{Document, list, text};
use crate::html::anchor;

const METHODS: [&str; 8] = ["get", "post", "put", "patch", "delete", "head", "options", "trace"];
const UNTAGGED: &str = "Other";

pub struct Operation<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub node: &'a Value,
    /// The path item: what the operations of this path share.
    shared: &'a Value,
    pub anchor: String,
}

/// What problem codes can depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trait<'a> {
    Any,
    RequestBody,
    /// A parameter in the path or the query.
    Parameter(&'a str),
    Header(&'a str),
    /// A role that may call it.
    Role(&'a str),
}

/// A request or response body with its media type and schema, if it has one.
pub struct Body<'a> {
    pub node: &'a Value,
    pub content: Option<(&'a str, &'a Value)>,
}

impl<'a> Body<'a> {
    pub fn media_types(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let content = self.node.get("content").and_then(Value::as_object).into_iter().flatten();
        content.map(|(media_type, _)| media_type.as_str())
    }
}

impl<'a> Document<'a> {
    pub fn operations(self) -> Vec<Operation<'a>> {
        let mut operations: Vec<Operation<'a>> = Vec::new();
        for (path, shared) in self.0.get("paths").and_then(Value::as_object).into_iter().flatten() {
            for (method, node) in shared.as_object().into_iter().flatten() {
                if METHODS.contains(&method.as_str()) {
                    // `/a/{b}` and `/a/b` have the same anchor, so the second gets a number.
                    let plain = anchor(&format!("{method} {path}"));
                    let numbered = (2..).map(|number| format!("{plain}-{number}"));
                    let anchor = std::iter::once(plain.clone())
                        .chain(numbered)
                        .find(|anchor| operations.iter().all(|other| other.anchor != *anchor))
                        .unwrap_or_default();
                    operations.push(Operation { method, path, node, shared, anchor });
                }
            }
        }
        operations
    }

    /// The tags in the document's order, then any others, each with its operations.
    pub fn chapters(self, operations: &[Operation<'a>]) -> Vec<(&'a str, Vec<usize>)> {
        let declared = list(self.0, "tags").iter().filter_map(|tag| text(tag, "name"));
        let mut chapters: Vec<(&str, Vec<usize>)> = declared.map(|tag| (tag, vec![])).collect();
        for (position, operation) in operations.iter().enumerate() {
            let tag = operation.tag();
            match chapters.iter_mut().find(|(name, _)| *name == tag) {
                Some((_, members)) => members.push(position),
                None => chapters.push((tag, vec![position])),
            }
        }
        chapters.retain(|(_, members)| !members.is_empty());
        chapters
    }

    /// For each shared type the first operation that reads one, by its anchor.
    pub fn shown_by<'o>(
        self,
        operations: impl Iterator<Item = &'o Operation<'a>>,
        shared: &BTreeSet<&'a str>,
    ) -> BTreeMap<&'a str, String>
    where
        'a: 'o,
    {
        let mut shown_by = BTreeMap::new();
        for operation in operations.filter(|operation| operation.method == "get") {
            let good = operation.responses(self).into_iter().find(|(status, _)| status.starts_with('2'));
            let schema = good.and_then(|(_, body)| body.content).map(|(_, schema)| self.plain(schema));
            if let Some(name) = schema.and_then(|schema| schema.name).and_then(|name| shared.get(name)) {
                shown_by.entry(*name).or_insert_with(|| operation.anchor.clone());
            }
        }
        shown_by
    }

    pub fn tag_description(self, name: &str) -> &'a str {
        let tag = list(self.0, "tags").iter().find(|tag| text(tag, "name") == Some(name));
        tag.and_then(|tag| text(tag, "description")).unwrap_or_default()
    }

    fn body(self, node: &'a Value) -> Body<'a> {
        let node = self.resolve(node);
        let content = node.get("content").and_then(Value::as_object).and_then(|content| content.iter().next());
        Body {
            node,
            content: content
                .map(|(media_type, media)| (media_type.as_str(), media.get("schema").unwrap_or(&Value::Null))),
        }
    }
}

impl<'a> Operation<'a> {
    pub fn title(&self) -> &'a str {
        text(self.node, "summary").or_else(|| text(self.node, "operationId")).unwrap_or(self.path)
    }

    fn tag(&self) -> &'a str {
        list(self.node, "tags").first().and_then(Value::as_str).unwrap_or(UNTAGGED)
    }

    /// The parameters of the operation, then those of its path.
    pub fn parameters(&self, document: Document<'a>) -> Vec<&'a Value> {
        let own = list(self.node, "parameters").iter().chain(list(self.shared, "parameters"));
        own.map(|parameter| document.resolve(parameter)).collect()
    }

    pub fn traits(&self, document: Document<'a>) -> BTreeSet<Trait<'a>> {
        let parameters = self.parameters(document).into_iter().filter_map(|parameter| match text(parameter, "in")? {
            "header" => text(parameter, "name").map(Trait::Header),
            place => Some(Trait::Parameter(place)),
        });
        let body = self.node.get("requestBody").map(|_| Trait::RequestBody);
        let roles = self.roles().into_iter().map(Trait::Role);
        std::iter::once(Trait::Any).chain(body).chain(parameters).chain(roles).collect()
    }

    pub fn request(&self, document: Document<'a>) -> Option<Body<'a>> {
        self.node.get("requestBody").map(|body| document.body(body))
    }

    pub fn responses(&self, document: Document<'a>) -> Vec<(&'a str, Body<'a>)> {
        let responses = self.node.get("responses").and_then(Value::as_object).into_iter().flatten();
        responses.map(|(status, response)| (status.as_str(), document.body(response))).collect()
    }

    pub fn problem_codes(&self, document: Document<'a>) -> BTreeSet<&'a str> {
        let responses = self.responses(document);
        let codes = responses.iter().flat_map(|(_, body)| list(body.node, "x-problem-codes"));
        codes.filter_map(Value::as_str).collect()
    }

    /// The headers of its successes that have a paragraph.
    pub fn success_headers(&self, document: Document<'a>) -> BTreeSet<&'a str> {
        let responses = self.responses(document);
        let good = responses.iter().filter(|(status, _)| status.starts_with('2'));
        let headers = good.filter_map(|(_, body)| body.node.get("headers").and_then(Value::as_object)).flatten();
        headers.filter(|(_, header)| text(header, "$ref").is_some()).map(|(name, _)| name.as_str()).collect()
    }

    fn security(&self, document: Document<'a>) -> &'a [Value] {
        let own = self.node.get("security").and_then(Value::as_array);
        own.map_or_else(|| list(document.0, "security"), Vec::as_slice)
    }

    pub fn needs_sign_in(&self, document: Document<'a>) -> bool {
        let ways = self.security(document);
        !ways.is_empty() && ways.iter().all(|way| way.as_object().is_some_and(|schemes| !schemes.is_empty()))
    }

    pub fn is_deprecated(&self) -> bool {
        self.node.get("deprecated") == Some(&Value::Bool(true))
    }

    /// The roles that may call it (`x-roles`).
    pub fn roles(&self) -> Vec<&'a str> {
        list(self.node, "x-roles").iter().filter_map(Value::as_str).collect()
    }

    /// The names of its security schemes.
    pub fn sign_in(&self, document: Document<'a>) -> Vec<&'a str> {
        let ways = self.security(document).iter().filter_map(Value::as_object).flatten();
        ways.map(|(scheme, _)| scheme.as_str()).collect()
    }
}
