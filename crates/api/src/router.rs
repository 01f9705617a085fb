//! Routing: from method and path to the endpoint, document or page.

use std::sync::Arc;

use hyper::Method;
use hyper::header::HeaderMap;

use super::document::{Document, accepts_html};
use super::endpoint::Endpoint;
use super::manual::{self, Manual};
use super::portal::Portal;
use super::screen::{Screen, Show, see_other};

/// The prefix of every operation's path.
pub const BASE: &str = "/v1";

enum Node {
    Endpoints(Vec<Arc<Endpoint>>),
    Document(Arc<Document>),
    Screen(Screen),
    /// A path of the manual, where there is none.
    NoManual,
}

pub struct Router {
    nodes: matchit::Router<Node>,
    /// What a browser gets where there is nothing: the portal's page.
    not_found: Option<Arc<Document>>,
}

pub enum RouteMatch<'r> {
    Endpoint(&'r Arc<Endpoint>, Vec<String>),
    Document(&'r Arc<Document>),
    Screen(&'static str, Show, Vec<String>),
    NoManual,
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
            | RouteMatch::NoManual
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
        Ok(Router { nodes: router, not_found: None })
    }

    /// Adds the pages of the manual or, without one, what says so in their place.
    pub fn with_manual(mut self, manual: Option<&Manual>) -> Result<Router, String> {
        let mut add =
            |path: &str, node| self.nodes.insert(path, node).map_err(|error| format!("manual: {path}: {error}"));
        let Some(manual) = manual else {
            for path in [manual::ROOT, manual::FRONT, manual::BELOW] {
                add(path, Node::NoManual)?;
            }
            return Ok(self);
        };
        let show: Show = |_| Box::pin(async { see_other(manual::FRONT) });
        add(manual::ROOT, Node::Screen(Screen { path: manual::ROOT, show, submit: None }))?;
        for (path, document) in manual.documents().map_err(|error| format!("manual: {error}"))? {
            add(&path, Node::Document(Arc::new(document)))?;
        }
        Ok(self)
    }

    /// Adds the screens and files of the portal. Fails if the service itself has one of their paths.
    pub fn with_portal(mut self, portal: &Portal) -> Result<Router, String> {
        let (page, screens) = (Arc::new(portal.page()), portal.screens()?);
        let files = portal.files.iter().map(|file| (file.path, Arc::new(Document::of_portal(*file, None))));
        let added: Vec<_> = screens.paths().map(|path| (path, page.clone())).chain(files).collect();
        // All are compared with the service before one is added: screens may overlap with each other.
        if let Some((path, _)) = added.iter().find(|(path, _)| is_below(path, BASE) || self.nodes.at(path).is_ok()) {
            return Err(format!("the portal has {path}, which is a path of the service"));
        }
        for (path, document) in added {
            self.nodes.insert(path, Node::Document(document)).map_err(|error| format!("portal: {path}: {error}"))?;
        }
        self.not_found = Some(page);
        Ok(self)
    }

    /// The page for a browser that asks for a path that does not exist. Programs and the API get a problem.
    pub fn not_found_page(&self, method: &Method, path: &str, request: &HeaderMap) -> Option<&Arc<Document>> {
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        self.not_found.as_ref().filter(|_| is_read && !is_below(path, BASE) && accepts_html(request))
    }

    pub fn find(&self, method: &Method, path: &str) -> RouteMatch<'_> {
        let Ok(matched) = self.nodes.at(path) else { return RouteMatch::NotFound };
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
            Node::NoManual => RouteMatch::NoManual,
            Node::Document(document) if method == Method::GET => RouteMatch::Document(document),
            Node::Document(_) => RouteMatch::MethodNotAllowed(allow()),
            Node::Endpoints(endpoints) => match endpoints.iter().find(|endpoint| endpoint.method == method) {
                Some(endpoint) => RouteMatch::Endpoint(endpoint, path_values()),
                None => RouteMatch::MethodNotAllowed(allow()),
            },
        }
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn decoded(value: &str) -> String {
    percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned()
}

/// The `Allow` header of a path.
fn allowed(node: &Node) -> String {
    let mut methods = match node {
        Node::Document(_) | Node::NoManual | Node::Screen(Screen { submit: None, .. }) => vec!["GET"],
        Node::Screen(_) => vec!["GET", "POST"],
        Node::Endpoints(endpoints) => endpoints.iter().map(|endpoint| endpoint.method.as_str()).collect(),
    };
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    methods.join(", ")
}
