//! The task that exports spans in batches.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::{Sampler, Span, Traces, otlp};
use crate::http_error;

/// Maximum number of spans in a request.
const MAX_BATCH: usize = 512;
/// How long the first span of a batch waits for more.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of the last export when the service stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The collector, and what it gets.
#[derive(Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// Where batches are posted.
    pub url: String,
    /// Headers for authentication; secret.
    pub headers: HeaderMap,
    /// Attributes of this node, the name of the service among them.
    pub resource: BTreeMap<String, String>,
    pub sampler: Sampler,
}

impl fmt::Debug for TraceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceSettings").field("resource", &self.resource).finish_non_exhaustive()
    }
}

pub(super) struct Collector {
    http: reqwest::Client,
    url: String,
    headers: HeaderMap,
    resource: Vec<Value>,
}

impl Collector {
    pub(super) fn new(settings: &TraceSettings, http: reqwest::Client) -> Collector {
        let mut headers = settings.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Collector { http, url: settings.url.clone(), headers, resource: otlp::resource(&settings.resource) }
    }

    async fn send(&self, spans: &[Span]) -> Result<(), String> {
        let body = otlp::body(&self.resource, spans).to_string();
        let request = self.http.post(&self.url).headers(self.headers.clone()).timeout(TIMEOUT).body(body);
        let response = request.send().await.and_then(reqwest::Response::error_for_status);
        response.map(drop).map_err(http_error::reason)
    }
}

impl Traces {
    /// Exports spans until `stopping` turns true, and then the remaining ones.
    pub async fn export(&self, mut stopping: watch::Receiver<bool>) {
        let Some(exporter) = &self.0 else { return };
        let mut queued = exporter.queued.lock().await;
        let mut batch = Vec::with_capacity(MAX_BATCH);
        let mut is_failing = false;
        loop {
            let is_stopping = tokio::select! {
                () = gather(&mut queued, &mut batch) => false,
                _ = stopping.wait_for(|stopping| *stopping) => true,
            };
            if is_stopping {
                break;
            }
            self.send(&mut batch, &mut is_failing).await;
        }
        queued.close();
        let remaining = async {
            while !batch.is_empty() || queued.recv_many(&mut batch, MAX_BATCH).await > 0 {
                self.send(&mut batch, &mut is_failing).await;
            }
        };
        if timeout(SHUTDOWN_TIMEOUT, remaining).await.is_err() {
            tracing::warn!("span export timed out at shutdown");
        }
    }

    /// Sends the batch and clears it, also on failure. Consecutive failures are logged once.
    async fn send(&self, batch: &mut Vec<Span>, is_failing: &mut bool) {
        let Some(exporter) = &self.0 else { return };
        let sent = exporter.collector.send(batch).await;
        exporter.metrics.spans.of(if sent.is_ok() { "sent" } else { "dropped" }).inc_by(batch.len() as u64);
        match &sent {
            Err(error) if !*is_failing => tracing::warn!(%error, "span export failed"),
            Ok(()) if *is_failing => tracing::info!("span export works again"),
            _ => {}
        }
        *is_failing = sent.is_err();
        batch.clear();
    }
}

/// Fills the batch until it is full or its first span has waited for [`BATCH_DELAY`].
async fn gather(queued: &mut mpsc::Receiver<Span>, batch: &mut Vec<Span>) {
    if queued.recv_many(batch, MAX_BATCH).await == 0 {
        // All senders are gone: wait for the service to stop.
        return std::future::pending().await;
    }
    let until = Instant::now() + BATCH_DELAY;
    while batch.len() < MAX_BATCH {
        match timeout_at(until, queued.recv_many(batch, MAX_BATCH - batch.len())).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
    }
}
