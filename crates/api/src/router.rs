//! Routing: from method and path to the endpoint, document or page.

use std::sync::{Arc, LazyLock, OnceLock};

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH,
};
use hyper::{Method, StatusCode};

use super::compression::{self, Coding};
use super::conditional;
use super::endpoint::Endpoint;
use super::problem::Problem;
use super::response::{Response, full};
use super::screen::{Screen, Show};

/// The prefix of every operation's path.
pub const BASE: &str = "/v1";

/// A static document, such as openapi.json, generated at the first request and compressed at the first that accepts it.
pub struct Document {
    content_type: HeaderValue,
    policy: Option<HeaderValue>,
    text: LazyLock<Text, Box<dyn FnOnce() -> Text + Send>>,
}

struct Text {
    tag: String,
    body: Bytes,
    brotli: OnceLock<Option<Bytes>>,
    gzip: OnceLock<Option<Bytes>>,
}

impl Text {
    /// The body in this coding; `None` if that is not shorter.
    fn packed(&self, coding: Coding) -> Option<Bytes> {
        let kept = match coding {
            Coding::Brotli => &self.brotli,
            Coding::Gzip => &self.gzip,
        };
        let pack = || compression::packed_once(&self.body, coding).filter(|packed| packed.len() < self.body.len());
        kept.get_or_init(|| if self.body.len() < compression::MIN_BYTES { None } else { pack() }).clone()
    }
}

impl Document {
    pub fn new(
        content_type: &'static str,
        policy: Option<HeaderValue>,
        write: impl FnOnce() -> String + Send + 'static,
    ) -> Document {
        let text = move || {
            let body = Bytes::from(write());
            Text { tag: conditional::etag(&body), body, brotli: OnceLock::new(), gzip: OnceLock::new() }
        };
        let content_type = HeaderValue::from_static(content_type);
        Document { content_type, policy, text: LazyLock::new(Box::new(text)) }
    }

    /// The response. The first may take a while, so it is made on a blocking thread.
    pub async fn answer(self: &Arc<Self>, request: &HeaderMap) -> Result<Response, Problem> {
        let coding = Coding::negotiate(request, compression::STATIC);
        let known = request.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let document = self.clone();
        let render = move || document.render(coding, known.as_deref());
        tokio::task::spawn_blocking(render).await.map_err(Problem::internal)
    }

    fn render(&self, coding: Option<Coding>, known: Option<&str>) -> Response {
        let packed = coding.and_then(|coding| Some((coding, self.text.packed(coding)?)));
        let is_known = known.is_some_and(|list| conditional::matches(list, &self.text.tag));
        let mut response = match &packed {
            _ if is_known => full(StatusCode::NOT_MODIFIED, ""),
            Some((_, packed)) => full(StatusCode::OK, packed.clone()),
            None => full(StatusCode::OK, self.text.body.clone()),
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
        compression::vary(headers);
        if let Some((coding, _)) = packed {
            compression::mark(headers, coding);
            if is_known {
                headers.remove(CONTENT_ENCODING);
            }
        }
        response
    }
}

enum Node {
    Endpoints(Vec<Arc<Endpoint>>),
    Document(Arc<Document>),
    Screen(Screen),
}

pub struct Router(matchit::Router<Node>);

pub enum RouteMatch<'r> {
    Endpoint(&'r Arc<Endpoint>, Vec<String>),
    Document(&'r Arc<Document>),
    Screen(&'static str, Show, Vec<String>),
    /// The path exists, but not with this method; the allowed methods.
    MethodNotAllowed(String),
    /// The allowed methods, and whether the path is for pages of the service only.
    Options(String, bool),
    NotFound,
}

impl RouteMatch<'_> {
    /// The path with names in braces, for logs: path values may be secret.
    pub fn route(&self) -> &'static str {
        match self {
            RouteMatch::Endpoint(endpoint, _) => endpoint.path,
            RouteMatch::Screen(path, ..) => path,
            RouteMatch::Document(_)
            | RouteMatch::MethodNotAllowed(_)
            | RouteMatch::Options(..)
            | RouteMatch::NotFound => "",
        }
    }

    /// Whether only pages of the service itself may call it, so that CORS stays closed.
    pub fn is_same_origin(&self) -> bool {
        match self {
            RouteMatch::Endpoint(endpoint, _) => endpoint.same_origin,
            RouteMatch::Options(_, is_same_origin) => *is_same_origin,
            _ => false,
        }
    }
}

impl Router {
    /// Fails if the table has a method and path twice, or two paths that conflict.
    pub fn new(
        table: &[Arc<Endpoint>],
        documents: Vec<(&'static str, Document)>,
        screens: Vec<Screen>,
    ) -> Result<Router, String> {
        let mut paths: Vec<(&'static str, Vec<Arc<Endpoint>>)> = Vec::new();
        for endpoint in table {
            match paths.iter_mut().find(|(path, _)| *path == endpoint.path) {
                Some((path, same)) if same.iter().any(|other| other.method == endpoint.method) => {
                    return Err(format!("{} {path} is in the table twice", endpoint.method));
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
            router.insert(path, Node::Document(Arc::new(document))).map_err(|error| format!("{path}: {error}"))?;
        }
        for screen in screens {
            let path = screen.path;
            router.insert(path, Node::Screen(screen)).map_err(|error| format!("{path}: {error}"))?;
        }
        Ok(Router(router))
    }

    pub fn find(&self, method: &Method, path: &str) -> RouteMatch<'_> {
        let Ok(matched) = self.0.at(path) else { return RouteMatch::NotFound };
        let allow = || allowed(matched.value);
        if method == Method::OPTIONS {
            let is_same_origin = match matched.value {
                Node::Endpoints(endpoints) => endpoints.iter().any(|endpoint| endpoint.same_origin),
                _ => false,
            };
            return RouteMatch::Options(allow(), is_same_origin);
        }
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let path_values = || matched.params.iter().map(|(_, value)| decoded(value)).collect();
        match matched.value {
            Node::Screen(screen) if method == Method::GET => {
                RouteMatch::Screen(screen.path, screen.show, path_values())
            }
            Node::Screen(Screen { path, submit: Some(submit), .. }) if method == Method::POST => {
                RouteMatch::Screen(path, *submit, path_values())
            }
            Node::Screen(_) => RouteMatch::MethodNotAllowed(allow()),
            Node::Document(document) if method == Method::GET => RouteMatch::Document(document),
            Node::Document(_) => RouteMatch::MethodNotAllowed(allow()),
            Node::Endpoints(endpoints) => match endpoints.iter().find(|endpoint| endpoint.method == method) {
                Some(endpoint) => RouteMatch::Endpoint(endpoint, path_values()),
                None => RouteMatch::MethodNotAllowed(allow()),
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
