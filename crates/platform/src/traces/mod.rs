//! Tracing for an OpenTelemetry collector: one span per request and one per run of a job.
//!
//! Without a collector no spans are created. With one, spans go to a bounded queue, and a task exports them in batches
//! as OTLP/HTTP with JSON. Nothing waits for the export: spans that the queue or the collector does not accept are
//! dropped and counted. A span names the route, never the path of a request, and contains nothing of its body.
//!
//! - `parent`: the caller's `traceparent` · `otlp`: the JSON encoding · `export`: the task

mod export;
mod otlp;
mod parent;

use std::sync::Arc;
use std::time::Duration;

use crate::jobs::{Outcome, Run};
use db::Entropy;
use db::metrics::{Metrics, method_name};
use export::Collector;
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use parent::Parent;
use tokio::sync::{Mutex, mpsc};
use values::Time;

pub use export::TraceSettings;

/// Maximum number of spans that wait for export.
const QUEUE_SIZE: usize = 4096;

/// Creates spans, if a collector is configured.
pub struct Traces(Option<Exporter>);

struct Exporter {
    queue: mpsc::Sender<Span>,
    queued: Mutex<mpsc::Receiver<Span>>,
    collector: Collector,
    metrics: Arc<Metrics>,
}

/// The span of a request in progress.
pub struct OpenSpan {
    ids: SpanIds,
    at: Time,
}

/// The ids of a span.
struct SpanIds {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    parent_id: Option<[u8; 8]>,
}

struct Span {
    ids: SpanIds,
    name: String,
    kind: SpanKind,
    began: Time,
    took: Duration,
    attributes: Vec<(&'static str, Attribute)>,
    is_error: bool,
}

/// The values are OTLP's.
#[derive(Clone, Copy)]
enum SpanKind {
    Internal = 1,
    Server = 2,
}

enum Attribute {
    Text(String),
    Number(i64),
}

/// How a request ended.
pub struct RequestEnd<'r> {
    pub method: &'r Method,
    /// The path with placeholders in braces; `None` if no route matched.
    pub route: Option<String>,
    pub status: StatusCode,
    pub request_id: &'r str,
    pub took: Duration,
}

impl Traces {
    pub fn off() -> Traces {
        Traces(None)
    }

    pub fn to_collector(settings: &TraceSettings, http: reqwest::Client, metrics: &Arc<Metrics>) -> Traces {
        let (queue, queued) = mpsc::channel(QUEUE_SIZE);
        let (collector, metrics) = (Collector::new(settings, http), Arc::clone(metrics));
        Traces(Some(Exporter { queue, queued: Mutex::new(queued), collector, metrics }))
    }

    /// Begins the span of a request, in the caller's trace if it sent one. `None` if tracing is off or the caller does
    /// not sample this trace.
    pub fn begin_request(&self, headers: &HeaderMap, now: impl FnOnce() -> Time) -> Option<OpenSpan> {
        let exporter = self.0.as_ref()?;
        let parent = Parent::from_headers(headers);
        if parent.as_ref().is_some_and(|parent| !parent.is_sampled) {
            return None;
        }
        Some(OpenSpan { ids: exporter.new_ids(parent), at: now() })
    }

    /// Ends the span of a request.
    pub fn end_request(&self, open: OpenSpan, end: RequestEnd<'_>) {
        let Some(exporter) = &self.0 else { return };
        let RequestEnd { method, route, status, request_id, took } = end;
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
        exporter.enqueue(Span {
            ids: open.ids,
            name,
            kind: SpanKind::Server,
            began: open.at,
            took,
            attributes,
            is_error,
        });
    }

    /// Adds the span of a job's run, as a trace of its own.
    pub fn record_job(&self, run: &Run<'_>) {
        let Some(exporter) = &self.0 else { return };
        let attributes = vec![
            ("trunkline.job.kind", Attribute::Text(run.kind.to_owned())),
            ("trunkline.job.id", Attribute::Text(run.job.id.to_string())),
            ("trunkline.job.attempt", Attribute::Number(run.job.attempts)),
            ("trunkline.job.outcome", Attribute::Text(run.outcome.as_str().to_owned())),
        ];
        exporter.enqueue(Span {
            ids: exporter.new_ids(None),
            name: format!("job {}", run.kind),
            kind: SpanKind::Internal,
            began: run.began,
            took: run.took,
            attributes,
            is_error: run.outcome != Outcome::Success,
        });
    }
}

impl Exporter {
    fn new_ids(&self, parent: Option<Parent>) -> SpanIds {
        SpanIds {
            trace_id: parent.as_ref().map_or_else(|| Entropy.bytes(), |parent| parent.trace_id),
            span_id: Entropy.bytes(),
            parent_id: parent.map(|parent| parent.span_id),
        }
    }

    fn enqueue(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.metrics.spans.of("dropped").inc();
        }
    }
}
