//! Metrics of HTTP requests.

use std::time::Duration;

use hyper::{Method, StatusCode};
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge};

use super::MetricFactory;
use super::counters::Counters;
use super::exemplars::{Exemplar, Exemplars};

pub(super) const SECONDS: &str = "trunkline_request_seconds";

const BUCKETS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

pub struct Requests {
    answered: IntCounterVec,
    latency: HistogramVec,
    pub(super) exemplars: Exemplars,
    /// Requests refused by a rate limit, by limit.
    pub limited: Counters,
    /// Failed requests of callers who are not known, by the action they tried.
    pub unattributed_failures: Counters,
    /// Open connections of the public listener.
    pub connections: IntGauge,
    /// Connections of the public listener that were over the limit of their network.
    pub connections_refused: IntCounter,
}

impl Requests {
    pub(super) fn new(factory: &MetricFactory) -> prometheus::Result<Requests> {
        Ok(Requests {
            answered: factory.counter_vec(
                "trunkline_requests_total",
                "Requests answered, by endpoint and status.",
                &["method", "path", "status"],
            )?,
            latency: factory.histogram_vec(
                SECONDS,
                "Time from the head of a request to its response, in seconds.",
                &["method", "path"],
                &BUCKETS,
            )?,
            exemplars: Exemplars::new(&BUCKETS),
            limited: factory.counters(
                "trunkline_rate_limited_total",
                "Requests refused by a rate limit.",
                "limit",
                &[],
            )?,
            unattributed_failures: factory.counters(
                "trunkline_unattributed_failures_total",
                "Failed requests of unknown callers, which are not in the audit log, by action.",
                "action",
                &[],
            )?,
            connections: factory.gauge("trunkline_connections", "Open connections of the public listener.")?,
            connections_refused: factory.counter(
                "trunkline_connections_refused_total",
                "Connections closed because their network has too many.",
            )?,
        })
    }

    /// `path` is the path pattern of the route, never the path of the request, which would make too many labels.
    pub fn answered(&self, method: &Method, path: &str, status: StatusCode, took: Duration) {
        let method = method_name(method);
        self.answered.with_label_values(&[method, path, status.as_str()]).inc();
        self.latency.with_label_values(&[method, path]).observe(took.as_secs_f64());
    }

    /// Leads from the histogram of requests to the trace of one.
    pub fn set_exemplar(&self, method: &Method, path: &'static str, exemplar: Exemplar) {
        self.exemplars.set(&[method_name(method), path], exemplar);
    }

    /// The counters of a route's successful requests, looked up once, since most requests are these.
    pub fn successes(&self, method: &Method, path: &str, status: StatusCode) -> Successes {
        let method = method_name(method);
        Successes {
            status,
            count: self.answered.with_label_values(&[method, path, status.as_str()]),
            latency: self.latency.with_label_values(&[method, path]),
        }
    }
}

pub struct Successes {
    pub status: StatusCode,
    count: IntCounter,
    latency: Histogram,
}

impl Successes {
    pub fn answered(&self, took: Duration) {
        self.count.inc();
        self.latency.observe(took.as_secs_f64());
    }
}

/// The method as a label. Unknown methods, which a caller may invent, become `other`.
pub fn method_name(method: &Method) -> &str {
    match method.as_str() {
        name @ ("GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" | "PATCH" | "DELETE") => name,
        _ => "other",
    }
}
