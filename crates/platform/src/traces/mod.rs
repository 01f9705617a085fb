//! Spans for an OpenTelemetry collector: one for each request and one for each run of a job.
//!
//! Without a collector nothing is made. With one a span is put into a bounded queue and nobody waits for it; a task sends
//! what has gathered, as OTLP over HTTP in its JSON form. What the queue cannot take, or the collector does not, is dropped
//! and counted. A span says what was asked and how it ended: the route but never the path of a request, and nothing of its
//! content.
//!
//! - `parent`: what a caller says of its own span · `otlp`: the form on the wire · `export`: the task

mod export;
mod otlp;
mod parent;

use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use tokio::sync::{Mutex, mpsc};

use crate::entropy::Entropy;
use crate::jobs::{Outcome, Run};
use db::metrics::{Metrics, method_name};
use export::Collector;
use parent::Parent;
use values::Time;

pub use export::TraceSettings;

/// Spans that may wait to be sent.
const QUEUE: usize = 4096;

/// Where spans go to, if anywhere.
pub struct Traces(Option<On>);

struct On {
    queue: mpsc::Sender<Span>,
    queued: Mutex<mpsc::Receiver<Span>>,
    collector: Collector,
    entropy: Entropy,
    metrics: Arc<Metrics>,
}

/// A span that has begun.
pub struct Begun {
    place: Place,
    at: Time,
}

/// Where a span stands in its trace.
struct Place {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    parent_id: Option<[u8; 8]>,
}

struct Span {
    place: Place,
    name: String,
    kind: SpanKind,
    began: Time,
    took: Duration,
    attributes: Vec<(&'static str, Attribute)>,
    is_error: bool,
}

/// By their numbers on the wire.
#[derive(Clone, Copy)]
enum SpanKind {
    Internal = 1,
    Server = 2,
}

enum Attribute {
    Text(String),
    Number(i64),
}

/// How a request was answered.
pub struct Answered<'r> {
    pub method: &'r Method,
    /// The path with names in braces, if there is such a path.
    pub route: Option<String>,
    pub status: StatusCode,
    pub request_id: &'r str,
    pub took: Duration,
}

impl Traces {
    pub fn off() -> Traces {
        Traces(None)
    }

    pub fn to(settings: &TraceSettings, http: reqwest::Client, entropy: Entropy, metrics: &Arc<Metrics>) -> Traces {
        let (queue, queued) = mpsc::channel(QUEUE);
        let (collector, metrics) = (Collector::new(settings, http), Arc::clone(metrics));
        Traces(Some(On { queue, queued: Mutex::new(queued), collector, entropy, metrics }))
    }

    /// Begins the span of a request, in the caller's trace if it tells of one; none if nobody wants it.
    pub fn begin(&self, headers: &HeaderMap, now: impl FnOnce() -> Time) -> Option<Begun> {
        let on = self.0.as_ref()?;
        let parent = Parent::of(headers);
        if parent.as_ref().is_some_and(|parent| !parent.is_sampled) {
            return None;
        }
        Some(Begun { place: on.place(parent), at: now() })
    }

    /// Ends the span of a request.
    pub fn answered(&self, begun: Begun, answered: Answered<'_>) {
        let Some(on) = &self.0 else { return };
        let Answered { method, route, status, request_id, took } = answered;
        let method = method_name(method);
        let mut attributes = vec![
            ("http.request.method", Attribute::Text(method.to_owned())),
            ("http.response.status_code", Attribute::Number(status.as_u16().into())),
            ("trunkline.request_id", Attribute::Text(request_id.to_owned())),
        ];
        let name = match &route {
            Some(route) => format!("{method} {route}"),
            None => method.to_owned(),
        };
        attributes.extend(route.map(|route| ("http.route", Attribute::Text(route))));
        let is_error = status.is_server_error();
        on.put(Span { place: begun.place, name, kind: SpanKind::Server, began: begun.at, took, attributes, is_error });
    }

    /// A job has run: a trace of its own.
    pub fn ran(&self, run: &Run<'_>) {
        let Some(on) = &self.0 else { return };
        let attributes = vec![
            ("trunkline.job.kind", Attribute::Text(run.kind.to_owned())),
            ("trunkline.job.id", Attribute::Text(run.job.id.to_string())),
            ("trunkline.job.attempt", Attribute::Number(run.job.attempts)),
            ("trunkline.job.outcome", Attribute::Text(run.outcome.as_str().to_owned())),
        ];
        on.put(Span {
            place: on.place(None),
            name: format!("job {}", run.kind),
            kind: SpanKind::Internal,
            began: run.began,
            took: run.took,
            attributes,
            is_error: run.outcome != Outcome::Success,
        });
    }
}

impl On {
    fn place(&self, parent: Option<Parent>) -> Place {
        Place {
            trace_id: parent.as_ref().map_or_else(|| self.entropy.bytes(), |parent| parent.trace_id),
            span_id: self.entropy.bytes(),
            parent_id: parent.map(|parent| parent.span_id),
        }
    }

    fn put(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.metrics.spans.of("dropped").inc();
        }
    }
}
