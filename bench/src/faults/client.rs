//! An API client that retries each request until it has a final response, however often the service is killed.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use uuid::Uuid;

use crate::Outcome;
use crate::http::{Client, Response, get, post};
use crate::service::sign_in;

/// Timeout of a single attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
/// No response for this long is a fault.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(120);
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// A write with an idempotency key.
#[derive(Clone)]
pub struct Request {
    pub path: &'static str,
    pub key: Uuid,
    pub body: Value,
}

pub struct RetryClient {
    public: SocketAddr,
    email: String,
    token: Option<String>,
    connection: Option<Client>,
    /// Requests that needed more than one attempt.
    pub retried: usize,
}

impl RetryClient {
    pub fn new(public: SocketAddr, email: &str) -> RetryClient {
        RetryClient { public, email: email.to_owned(), token: None, connection: None, retried: 0 }
    }

    pub async fn write(&mut self, request: &Request) -> Outcome<Response> {
        let Request { path, key, body } = request;
        self.send(|token| post(path, &format!("Authorization: Bearer {token}\r\nIdempotency-Key: {key}\r\n"), body))
            .await
    }

    /// The JSON at a path; the status must be 200.
    pub async fn read(&mut self, path: &str) -> Outcome<Value> {
        let response = self.send(|token| get(path, Some(token))).await?;
        if response.status != 200 {
            return Err(format!("GET {path}: {}", describe(&response)).into());
        }
        Ok(serde_json::from_slice(&response.body)?)
    }

    /// Sends a request, built with a current access token, until the response is final.
    pub async fn send(&mut self, request: impl Fn(&str) -> Vec<u8>) -> Outcome<Response> {
        let started = Instant::now();
        for attempt in 1_u64.. {
            match tokio::time::timeout(ATTEMPT_TIMEOUT, self.try_once(&request)).await {
                Ok(Ok(response)) if response.status == 401 => self.token = None,
                Ok(Ok(response)) if !is_retryable(&response) => {
                    self.retried += usize::from(attempt > 1);
                    return Ok(response);
                }
                Ok(Ok(_)) => {}
                // The service is down or was just killed.
                Ok(Err(_)) | Err(_) => self.connection = None,
            }
            if started.elapsed() > TOTAL_TIMEOUT {
                break;
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
        Err(format!("{} had no response in {} s", self.email, TOTAL_TIMEOUT.as_secs()).into())
    }

    async fn try_once(&mut self, request: &impl Fn(&str) -> Vec<u8>) -> Outcome<Response> {
        let token = match &self.token {
            Some(token) => token,
            None => self.token.insert(sign_in(self.public, &self.email).await?),
        };
        let request = request(token);
        let client = match &mut self.connection {
            Some(client) => client,
            None => self.connection.insert(Client::connect(self.public).await?),
        };
        Ok(client.send(&request).await?)
    }
}

/// Whether the service asked to retry.
fn is_retryable(response: &Response) -> bool {
    let has_code = |code: &str| String::from_utf8_lossy(&response.body).contains(code);
    response.status == 503 || (response.status == 409 && has_code("idempotency.in_progress"))
}

/// Status and body, for error messages.
pub fn describe(response: &Response) -> String {
    format!("{} {}", response.status, String::from_utf8_lossy(&response.body))
}
