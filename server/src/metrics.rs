//! What the operations port tells Prometheus.

use std::time::Duration;

use hyper::{Method, StatusCode};
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry, TextEncoder,
};

pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    latency: HistogramVec,
    limited: IntCounterVec,
    jobs: IntCounterVec,
    pub connections: IntGauge,
}

impl Metrics {
    pub fn new() -> prometheus::Result<Metrics> {
        let registry = Registry::new();
        let requests = IntCounterVec::new(
            Opts::new("trunkline_requests_total", "Requests answered, by endpoint and status."),
            &["method", "path", "status"],
        )?;
        let latency = HistogramVec::new(
            HistogramOpts::new("trunkline_request_seconds", "Time from the request's head to its answer.")
                .buckets(vec![0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]),
            &["method", "path"],
        )?;
        let limited = IntCounterVec::new(
            Opts::new("trunkline_rate_limited_total", "Requests refused because a limit was reached."),
            &["limit"],
        )?;
        let jobs = IntCounterVec::new(
            Opts::new("trunkline_jobs_total", "Jobs run, by kind and outcome."),
            &["kind", "outcome"],
        )?;
        let connections = IntGauge::new("trunkline_connections", "Open connections of the public listener.")?;
        registry.register(Box::new(requests.clone()))?;
        registry.register(Box::new(latency.clone()))?;
        registry.register(Box::new(limited.clone()))?;
        registry.register(Box::new(jobs.clone()))?;
        registry.register(Box::new(connections.clone()))?;
        Ok(Metrics { registry, requests, latency, limited, jobs, connections })
    }

    /// `path` is the row of the table, never the path of the request: labels stay few.
    pub fn request(&self, method: &Method, path: &str, status: StatusCode, took: Duration) {
        let method = known(method);
        self.requests.with_label_values(&[method, path, status.as_str()]).inc();
        self.latency.with_label_values(&[method, path]).observe(took.as_secs_f64());
    }

    /// What the successes of a row are counted with, found once: they are most of the requests.
    pub fn successes(&self, method: &Method, path: &str, status: StatusCode) -> Successes {
        let method = known(method);
        Successes {
            status,
            count: self.requests.with_label_values(&[method, path, status.as_str()]),
            latency: self.latency.with_label_values(&[method, path]),
        }
    }

    pub fn limited(&self, limit: &str) {
        self.limited.with_label_values(&[limit]).inc();
    }

    pub fn job(&self, kind: &str, outcome: &str) {
        self.jobs.with_label_values(&[kind, outcome]).inc();
    }

    pub fn text(&self) -> prometheus::Result<Vec<u8>> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }
}

pub struct Successes {
    pub status: StatusCode,
    count: IntCounter,
    latency: Histogram,
}

impl Successes {
    pub fn request(&self, took: Duration) {
        self.count.inc();
        self.latency.observe(took.as_secs_f64());
    }
}

/// A caller may invent methods; a label may not follow.
fn known(method: &Method) -> &str {
    match method.as_str() {
        name @ ("GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" | "PATCH" | "DELETE") => name,
        _ => "other",
    }
}
