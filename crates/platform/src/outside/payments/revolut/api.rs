//! Revolut's HTTP API: sends a request, and separates a refusal (final) from a failure (worth a retry).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::RETRY_AFTER;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::{ProviderError, Refund, RefundState};
use crate::http_error;
use db::Clock;
use values::Time;

const VERSION: &str = "2026-04-20";
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;
/// How long to pause after a 429: what `Retry-After` says, up to a limit.
const MAX_PAUSE_SECONDS: u64 = 120;
const DEFAULT_PAUSE_SECONDS: u64 = 5;

#[derive(Clone)]
pub struct Api {
    url: String,
    key: String,
    http: reqwest::Client,
    clock: Clock,
    /// No requests until then, in Unix milliseconds, because of a 429.
    paused_until: Arc<AtomicI64>,
}

/// Revolut refused the request; a retry would not change that.
pub struct Refused {
    pub code: String,
}

impl Refused {
    pub fn refund(self) -> Refund {
        tracing::info!(code = self.code, "refund refused by Revolut");
        Refund { id: String::new(), state: RefundState::Failed }
    }
}

#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    code: Value,
    #[serde(default)]
    message: String,
}

impl Api {
    pub fn new(url: String, key: String, http: reqwest::Client, clock: Clock) -> Api {
        Api { url, key, http, clock, paused_until: Arc::default() }
    }

    /// Gets a resource; `None` if it does not exist.
    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Option<T>, ProviderError> {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let separator = if query.is_empty() { "" } else { "?" };
        let request = self.http.get(format!("{}{path}{separator}{query}", self.url));
        match self.send(request).await? {
            (StatusCode::NOT_FOUND, _) => Ok(None),
            (status, body) if status.is_success() => parsed(&body).map(Some),
            (status, body) => Err(failed(status, &body)),
        }
    }

    /// Sends a command. A refusal is an inner error, since a retry would not change it.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
        idempotency_key: Option<&str>,
    ) -> Result<Result<T, Refused>, ProviderError> {
        let mut request = self.http.post(format!("{}{path}", self.url)).json(body);
        if let Some(key) = idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        match self.send(request).await? {
            (status, body) if status.is_success() => {
                let body = if body.is_empty() { b"null".to_vec() } else { body };
                parsed(&body).map(Ok)
            }
            (StatusCode::BAD_REQUEST | StatusCode::CONFLICT | StatusCode::UNPROCESSABLE_ENTITY, body) => {
                Ok(Err(Refused { code: code(&error_body(&body)) }))
            }
            (status, body) => Err(failed(status, &body)),
        }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<(StatusCode, Vec<u8>), ProviderError> {
        let now = self.clock.now();
        if now < Time::from_millis(self.paused_until.load(Ordering::Relaxed)) {
            return Err(ProviderError("Revolut's rate limit is not over yet".into()));
        }
        let request = request.bearer_auth(&self.key).header("Revolut-Api-Version", VERSION).timeout(TIMEOUT);
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let retry_after =
                response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let seconds = retry_after.unwrap_or(DEFAULT_PAUSE_SECONDS).min(MAX_PAUSE_SECONDS);
            self.paused_until.store(now.plus(Duration::from_secs(seconds)).millis(), Ordering::Relaxed);
            return Err(ProviderError(format!("Revolut's rate limit is reached, pausing for {seconds} seconds")));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err(ProviderError("Revolut's response is too large".into()));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, body))
    }
}

fn unreachable(error: reqwest::Error) -> ProviderError {
    ProviderError(http_error::unreachable("Revolut", error))
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, ProviderError> {
    serde_json::from_slice(body).map_err(|error| ProviderError(format!("Revolut's response is invalid: {error}")))
}

fn error_body(body: &[u8]) -> ErrorBody {
    serde_json::from_slice(body).unwrap_or_default()
}

/// Codes are strings in newer responses and numbers in older ones.
fn code(error: &ErrorBody) -> String {
    match &error.code {
        Value::String(code) => code.chars().take(100).collect(),
        Value::Number(code) => code.to_string(),
        _ => "refused".to_owned(),
    }
}

fn failed(status: StatusCode, body: &[u8]) -> ProviderError {
    let error = error_body(body);
    let message: String = error.message.chars().take(200).collect();
    ProviderError(format!("Revolut responded {status} ({}: {message})", code(&error)))
}
