//! The task that sends spans, in batches.

use std::fmt;
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::{Span, Traces, otlp};

/// Spans sent at once.
const BATCH: usize = 512;
/// How long the first of a batch waits for company.
const GATHER: Duration = Duration::from_secs(1);
/// How long the collector may take for a batch.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the last spans may take, all together, when the service stops.
const LAST: Duration = Duration::from_secs(5);

/// Where spans are collected, and as whose.
#[derive(Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// Up to and without `/v1/traces`.
    pub endpoint: String,
    /// What the collector knows us by; secret.
    pub headers: HeaderMap,
    pub service: String,
}

impl fmt::Debug for TraceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceSettings").field("service", &self.service).finish_non_exhaustive()
    }
}

pub(super) struct Collector {
    http: reqwest::Client,
    url: String,
    headers: HeaderMap,
    service: String,
}

impl Collector {
    pub(super) fn new(settings: &TraceSettings, http: reqwest::Client) -> Collector {
        let mut headers = settings.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let url = format!("{}/v1/traces", settings.endpoint.trim_end_matches('/'));
        Collector { http, url, headers, service: settings.service.clone() }
    }

    async fn send(&self, spans: &[Span]) -> Result<(), reqwest::Error> {
        let body = otlp::body(&self.service, spans).to_string();
        let request = self.http.post(&self.url).headers(self.headers.clone()).timeout(PATIENCE).body(body);
        // The address may hold a password.
        let answer = request.send().await.and_then(reqwest::Response::error_for_status);
        answer.map(drop).map_err(reqwest::Error::without_url)
    }
}

impl Traces {
    /// Sends spans until `stopping` turns true, and then what is left of them.
    pub async fn export(&self, mut stopping: watch::Receiver<bool>) {
        let Some(on) = &self.0 else { return };
        let mut queued = on.queued.lock().await;
        let mut batch = Vec::with_capacity(BATCH);
        let mut is_away = false;
        loop {
            let is_stopping = tokio::select! {
                () = gather(&mut queued, &mut batch) => false,
                _ = stopping.wait_for(|stopping| *stopping) => true,
            };
            if is_stopping {
                break;
            }
            self.send(&mut batch, &mut is_away).await;
        }
        queued.close();
        let rest = async {
            while !batch.is_empty() || queued.recv_many(&mut batch, BATCH).await > 0 {
                self.send(&mut batch, &mut is_away).await;
            }
        };
        if timeout(LAST, rest).await.is_err() {
            tracing::warn!("the collector did not take the last spans in time");
        }
    }

    /// Empties the batch, whether or not the collector takes it. That it is away is logged once.
    async fn send(&self, batch: &mut Vec<Span>, is_away: &mut bool) {
        let Some(on) = &self.0 else { return };
        let sent = on.collector.send(batch).await;
        on.metrics.spans.of(if sent.is_ok() { "sent" } else { "dropped" }).inc_by(batch.len() as u64);
        match &sent {
            Err(error) if !*is_away => tracing::warn!(%error, "the collector does not take spans"),
            Ok(()) if *is_away => tracing::info!("the collector takes spans again"),
            _ => {}
        }
        *is_away = sent.is_err();
        batch.clear();
    }
}

/// Fills the batch until it is full, or its first span has waited for long enough.
async fn gather(queued: &mut mpsc::Receiver<Span>, batch: &mut Vec<Span>) {
    if queued.recv_many(batch, BATCH).await == 0 {
        // Nobody can send any more; only the end of the service remains.
        return std::future::pending().await;
    }
    let until = Instant::now() + GATHER;
    while batch.len() < BATCH {
        match timeout_at(until, queued.recv_many(batch, BATCH - batch.len())).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
    }
}
