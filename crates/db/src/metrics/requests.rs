//! What is counted of requests.

use std::time::Duration;

use hyper::{Method, StatusCode};
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge};

use super::MetricFactory;
use super::counters::Counters;

const BUCKETS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

pub struct Requests {
    answered: IntCounterVec,
    latency: HistogramVec,
    /// Refused because a limit was reached, by limit.
    pub limited: Counters,
    /// Open connections of the public listener.
    pub connections: IntGauge,
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
                "trunkline_request_seconds",
                "Time from the request's head to its answer.",
                &["method", "path"],
                &BUCKETS,
            )?,
            limited: factory.counters(
                "trunkline_rate_limited_total",
                "Requests refused because a limit was reached.",
                "limit",
            )?,
            connections: factory.gauge("trunkline_connections", "Open connections of the public listener.")?,
        })
    }

    /// `path` is the row of the table, never the path of the request: labels stay few.
    pub fn answered(&self, method: &Method, path: &str, status: StatusCode, took: Duration) {
        let method = method_name(method);
        self.answered.with_label_values(&[method, path, status.as_str()]).inc();
        self.latency.with_label_values(&[method, path]).observe(took.as_secs_f64());
    }

    /// What the successes of a row are counted with, found once: they are most of the requests.
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

/// A caller may invent methods; what we tell others may not follow.
pub fn method_name(method: &Method) -> &str {
    match method.as_str() {
        name @ ("GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" | "PATCH" | "DELETE") => name,
        _ => "other",
    }
}
