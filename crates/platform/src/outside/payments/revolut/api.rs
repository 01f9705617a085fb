//! Speaking with Revolut: one request, one answer, a refusal told from a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::RETRY_AFTER;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::{ProviderError, Refund, RefundState};
use crate::clock::Clock;
use values::Time;

const VERSION: &str = "2026-04-20";
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer that is read.
const LIMIT_BYTES: usize = 1024 * 1024;
/// How long we are quiet at most when we are asked to, and when no time is named.
const QUIET_AT_MOST: u64 = 120;
const QUIET_BY_DEFAULT: u64 = 5;

#[derive(Clone)]
pub struct Api {
    url: String,
    key: String,
    http: reqwest::Client,
    clock: Clock,
    /// Until when we were asked to be quiet, in Unix milliseconds.
    quiet_until: Arc<AtomicI64>,
}

/// Revolut understood, and says no.
pub struct Refused {
    pub code: String,
}

impl Refused {
    pub fn refund(self) -> Refund {
        tracing::info!(code = self.code, "Revolut refuses a refund");
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
        Api { url, key, http, clock, quiet_until: Arc::default() }
    }

    /// What is there, if something is.
    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Option<T>, ProviderError> {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let joint = if query.is_empty() { "" } else { "?" };
        let request = self.http.get(format!("{}{path}{joint}{query}", self.url));
        match self.send(request).await? {
            (StatusCode::NOT_FOUND, _) => Ok(None),
            (status, body) if status.is_success() => parsed(&body).map(Some),
            (status, body) => Err(failed(status, &body)),
        }
    }

    /// Asks for something to be done; a refusal that another try would not change is no error.
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
                Ok(Err(Refused { code: code(&error_of(&body)) }))
            }
            (status, body) => Err(failed(status, &body)),
        }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<(StatusCode, Vec<u8>), ProviderError> {
        let now = self.clock.now();
        if now < Time::from_millis(self.quiet_until.load(Ordering::Relaxed)) {
            return Err(ProviderError("Revolut has asked us to wait".into()));
        }
        let request = request.bearer_auth(&self.key).header("Revolut-Api-Version", VERSION).timeout(TIMEOUT);
        let mut answer = request.send().await.map_err(|error| ProviderError(error.without_url().to_string()))?;
        let status = answer.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let asked = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let seconds = asked.unwrap_or(QUIET_BY_DEFAULT).min(QUIET_AT_MOST);
            self.quiet_until.store(now.plus(Duration::from_secs(seconds)).millis(), Ordering::Relaxed);
            return Err(ProviderError(format!("Revolut asks us to wait for {seconds} seconds")));
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| ProviderError(error.without_url().to_string()))? {
            if body.len() + chunk.len() > LIMIT_BYTES {
                return Err(ProviderError("Revolut's answer is too long".into()));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, body))
    }
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, ProviderError> {
    serde_json::from_slice(body).map_err(|error| ProviderError(format!("Revolut's answer cannot be read: {error}")))
}

fn error_of(body: &[u8]) -> ErrorBody {
    serde_json::from_slice(body).unwrap_or_default()
}

/// Codes are texts in newer answers and numbers in older ones.
fn code(error: &ErrorBody) -> String {
    match &error.code {
        Value::String(code) => code.chars().take(100).collect(),
        Value::Number(code) => code.to_string(),
        _ => "refused".to_owned(),
    }
}

fn failed(status: StatusCode, body: &[u8]) -> ProviderError {
    let error = error_of(body);
    let message: String = error.message.chars().take(200).collect();
    ProviderError(format!("Revolut answers {status} ({}: {message})", code(&error)))
}
