//! From method and path to the endpoint.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH,
};
use hyper::{Method, StatusCode};

use super::conditional;
use super::endpoint::Endpoint;
use super::response::{Response, full};
use super::screen::{Screen, Show};

/// What every operation's path begins with.
pub const BASE: &str = "/v1";

/// A fixed text, such as the API description. It is written when somebody first asks for it, and then kept.
pub struct Document {
    content_type: HeaderValue,
    policy: Option<HeaderValue>,
    text: LazyLock<Text, Box<dyn FnOnce() -> Text + Send>>,
}

struct Text {
    tag: String,
    body: Bytes,
}

impl Document {
    pub fn new(
        content_type: &'static str,
        policy: Option<HeaderValue>,
        write: impl FnOnce() -> String + Send + 'static,
    ) -> Document {
        let text = move || {
            let body = Bytes::from(write());
            Text { tag: conditional::etag(&body), body }
        };
        let content_type = HeaderValue::from_static(content_type);
        Document { content_type, policy, text: LazyLock::new(Box::new(text)) }
    }

    pub fn answer(&self, request: &HeaderMap) -> Response {
        let known = request.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        let mut response = match known {
            Some(list) if conditional::matches(list, &self.text.tag) => full(StatusCode::NOT_MODIFIED, ""),
            _ => full(StatusCode::OK, self.text.body.clone()),
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.content_type.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Ok(tag) = HeaderValue::from_str(&self.text.tag) {
            headers.insert(ETAG, tag);
        }
        if let Some(policy) = &self.policy {
            headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
        }
        response
    }
}

enum Node {
    Endpoints(Vec<Arc<Endpoint>>),
    Document(Box<Document>),
    Screen(Screen),
}

pub struct Router(matchit::Router<Node>);

pub enum Found<'r> {
    Endpoint(&'r Arc<Endpoint>, Vec<String>),
    Document(&'r Document),
    Screen(&'static str, Show, Vec<String>),
    /// The path exists; these methods do.
    OtherMethods(String),
    Options(String),
    Nothing,
}

impl Found<'_> {
    /// The path as the table has it. What a caller puts into it may be secret.
    pub fn route(&self) -> &'static str {
        match self {
            Found::Endpoint(endpoint, _) => endpoint.path,
            Found::Screen(path, ..) => path,
            Found::Document(_) | Found::OtherMethods(_) | Found::Options(_) | Found::Nothing => "",
        }
    }
}

impl Router {
    /// A path that stands twice with the same method, or two that cannot be told apart, is an error in the table.
    pub fn new(
        table: &[Arc<Endpoint>],
        documents: Vec<(&'static str, Document)>,
        screens: Vec<Screen>,
    ) -> Result<Router, String> {
        let mut paths: Vec<(&'static str, Vec<Arc<Endpoint>>)> = Vec::new();
        for endpoint in table {
            match paths.iter_mut().find(|(path, _)| *path == endpoint.path) {
                Some((path, same)) if same.iter().any(|other| other.method == endpoint.method) => {
                    return Err(format!("{} {path} stands twice in the table", endpoint.method));
                }
                Some((_, same)) => same.push(endpoint.clone()),
                None => paths.push((endpoint.path, vec![endpoint.clone()])),
            }
        }
        let mut router = matchit::Router::new();
        for (path, endpoints) in paths {
            let path = format!("{BASE}{path}");
            router.insert(&path, Node::Endpoints(endpoints)).map_err(|error| format!("{path}: {error}"))?;
        }
        for (path, document) in documents {
            router.insert(path, Node::Document(Box::new(document))).map_err(|error| format!("{path}: {error}"))?;
        }
        for screen in screens {
            let path = screen.path;
            router.insert(path, Node::Screen(screen)).map_err(|error| format!("{path}: {error}"))?;
        }
        Ok(Router(router))
    }

    pub fn find(&self, method: &Method, path: &str) -> Found<'_> {
        let Ok(matched) = self.0.at(path) else { return Found::Nothing };
        let allow = || allowed(matched.value);
        if method == Method::OPTIONS {
            return Found::Options(allow());
        }
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        let path_values = || matched.params.iter().map(|(_, value)| decoded(value)).collect();
        match matched.value {
            Node::Screen(screen) if wanted == Method::GET => Found::Screen(screen.path, screen.show, path_values()),
            Node::Screen(Screen { path, submit: Some(submit), .. }) if wanted == Method::POST => {
                Found::Screen(path, *submit, path_values())
            }
            Node::Screen(_) => Found::OtherMethods(allow()),
            Node::Document(document) if wanted == Method::GET => Found::Document(document),
            Node::Document(_) => Found::OtherMethods(allow()),
            Node::Endpoints(endpoints) => match endpoints.iter().find(|endpoint| endpoint.method == wanted) {
                Some(endpoint) => Found::Endpoint(endpoint, path_values()),
                None => Found::OtherMethods(allow()),
            },
        }
    }
}

fn decoded(value: &str) -> String {
    percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned()
}

/// The `Allow` header of a path.
fn allowed(node: &Node) -> String {
    let mut methods = match node {
        Node::Document(_) | Node::Screen(Screen { submit: None, .. }) => vec!["GET"],
        Node::Screen(_) => vec!["GET", "POST"],
        Node::Endpoints(endpoints) => endpoints.iter().map(|endpoint| endpoint.method.as_str()).collect(),
    };
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    methods.join(", ")
}
