//! Traces for an OpenTelemetry collector: one span per request and one per run of a job.
//!
//! Without a collector no spans are created. With one, spans go to a bounded queue, and a task exports them in batches
//! as OTLP/HTTP with JSON. Nothing waits for the export: spans that the queue or the collector does not accept are
//! dropped and counted. A span names the route, never the path of a request, and contains nothing of its body.
//!
//! The trace id is in the log lines that are written meanwhile, and is the exemplar of the histograms of requests and
//! jobs: from a graph to a trace, and from there to the log. A caller's trace id is in the log also without a collector.
//!
//! - `parent`: the caller's `traceparent` · `sampler`: which traces are sent · `otlp`: the JSON encoding · `export`: the
//!   task

mod export;
mod otlp;
mod parent;
mod sampler;

use std::sync::Arc;
use std::time::Duration;

use crate::jobs::{Claimed, Outcome, Run};
use data_encoding::HEXLOWER;
use db::Entropy;
use db::metrics::{Exemplar, Metrics, method_name};
use export::Collector;
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use parent::Parent;
use tokio::sync::{Mutex, mpsc};
use values::Time;

pub use export::TraceSettings;
pub use sampler::Sampler;

/// The target of the spans of the log. The log's filter must let it through, whatever else it says.
pub const LOG_TARGET: &str = "trunkline_trace";

/// Maximum number of spans that wait for export.
const QUEUE_SIZE: usize = 4096;

/// Creates spans, if a collector is configured.
pub struct Traces(Option<Exporter>);

struct Exporter {
    queue: mpsc::Sender<Span>,
    queued: Mutex<mpsc::Receiver<Span>>,
    collector: Collector,
    sampler: Sampler,
    metrics: Arc<Metrics>,
}

/// The span of a request in progress.
pub struct OpenSpan {
    trace_id: [u8; 16],
    /// What goes to the collector: the ids, and when it began.
    sampled: Option<(SpanIds, Time)>,
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
    /// What precedes the path in the route.
    pub base: &'static str,
    /// The path with placeholders in braces, as in the metrics; `None` if no route matched.
    pub path: Option<&'static str>,
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
        Traces(Some(Exporter { queue, queued: Mutex::new(queued), collector, sampler: settings.sampler, metrics }))
    }

    /// Begins the span of a request, in the caller's trace if it sent one. `None` if it is in no trace: the caller sent
    /// none, and there is no collector.
    pub fn begin_request(&self, headers: &HeaderMap, now: impl FnOnce() -> Time) -> Option<OpenSpan> {
        let parent = Parent::from_headers(headers);
        if self.0.is_none() && parent.is_none() {
            return None;
        }
        let trace_id = parent.as_ref().map_or_else(|| Entropy.bytes(), |parent| parent.trace_id);
        let is_sampled = self.samples(&trace_id, parent.as_ref().map(|parent| parent.is_sampled));
        let parent_id = parent.map(|parent| parent.span_id);
        let sampled = is_sampled.then(|| (SpanIds::new(trace_id, parent_id), now()));
        Some(OpenSpan { trace_id, sampled })
    }

    /// Ends the span of a request.
    pub fn end_request(&self, open: OpenSpan, end: RequestEnd<'_>) {
        let (Some(exporter), Some((ids, began))) = (&self.0, open.sampled) else { return };
        let RequestEnd { method, base, path, status, request_id, took } = end;
        exporter.metrics.requests.set_exemplar(method, path.unwrap_or_default(), ids.exemplar(began, took));
        let method = method_name(method);
        let mut attributes = vec![
            ("http.request.method", Attribute::Text(method.to_owned())),
            ("http.response.status_code", Attribute::Number(status.as_u16().into())),
            ("trunkline.request_id", Attribute::Text(request_id.to_owned())),
        ];
        let route = path.map(|path| format!("{base}{path}"));
        let name = match &route {
            Some(route) => format!("{method} {route}"),
            None => method.to_owned(),
        };
        attributes.extend(route.map(|route| ("http.route", Attribute::Text(route))));
        let is_error = status.is_server_error();
        exporter.enqueue(Span { ids, name, kind: SpanKind::Server, began, took, attributes, is_error });
    }

    /// Adds the span of a job's run. All runs of a job are one trace, whose id is the job's.
    pub fn record_job(&self, run: &Run<'_>) {
        let Some(exporter) = &self.0 else { return };
        let trace_id = run.job.id.into_bytes();
        if !exporter.sampler.samples(&trace_id, None) {
            return;
        }
        let ids = SpanIds::new(trace_id, None);
        exporter.metrics.set_job_exemplar(run.kind, ids.exemplar(run.began, run.took));
        let attributes = vec![
            ("trunkline.job.kind", Attribute::Text(run.kind.to_owned())),
            ("trunkline.job.id", Attribute::Text(run.job.id.to_string())),
            ("trunkline.job.attempt", Attribute::Number(run.job.attempts)),
            ("trunkline.job.outcome", Attribute::Text(run.outcome.as_str().to_owned())),
        ];
        exporter.enqueue(Span {
            ids,
            name: format!("job {}", run.kind),
            kind: SpanKind::Internal,
            began: run.began,
            took: run.took,
            attributes,
            is_error: run.outcome != Outcome::Success,
        });
    }

    fn samples(&self, trace_id: &[u8; 16], parent_is_sampled: Option<bool>) -> bool {
        self.0.as_ref().is_some_and(|exporter| exporter.sampler.samples(trace_id, parent_is_sampled))
    }
}

/// The span of the log while a job runs: every line has the id of the job's trace.
pub fn job_log_span(job: &Claimed) -> tracing::Span {
    tracing::error_span!(target: LOG_TARGET, "job", trace_id = %job.id.simple())
}

impl OpenSpan {
    /// The span of the log while the request is handled: every line has the id of the trace.
    pub fn log_span(&self) -> tracing::Span {
        tracing::error_span!(target: LOG_TARGET, "request", trace_id = %HEXLOWER.encode(&self.trace_id))
    }
}

impl SpanIds {
    fn new(trace_id: [u8; 16], parent_id: Option<[u8; 8]>) -> SpanIds {
        SpanIds { trace_id, span_id: Entropy.bytes(), parent_id }
    }

    /// At the end of the span: Prometheus takes no exemplar that is older than the last one of its bucket.
    fn exemplar(&self, began: Time, took: Duration) -> Exemplar {
        Exemplar { trace_id: HEXLOWER.encode(&self.trace_id), value: took.as_secs_f64(), at: began.plus(took) }
    }
}

impl Exporter {
    fn enqueue(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.metrics.spans.of("dropped").inc();
        }
    }
}
