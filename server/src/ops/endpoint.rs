//! A row of the operations port's table: everything that dispatch needs to know about an endpoint.
//!
//! These endpoints are for switches, load balancers and Prometheus. They are not in OpenAPI and have no users, rate
//! limits or idempotency keys, so they do not go through the pipeline of `/v1`.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Operations;
use api::problem::Problem;
use api::response::Response;
use api::scopes::Scope;
use db::metrics::{Requests, Successes};

/// How long a request waits for others to end.
const MAX_WAIT: Duration = Duration::from_secs(30);
const RETRY_AFTER_SECONDS: u64 = 5;

pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send + 'a>>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Open,
    /// Needs the switch secret.
    SwitchSecret,
    /// Needs the switch secret, or an API key of the team with this scope, whose use is audited under this action.
    SwitchSecretOr(Scope, &'static str),
    /// Needs the secret of the test clock; in a lab the switch secret will do.
    ClockSecret,
}

pub struct OpsEndpoint {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    /// The largest body of a POST. The body of a GET is not read.
    pub max_body_bytes: usize,
    /// Limits the requests that run at the same time.
    pub queue: Option<Queue>,
    /// Counts successful responses. Endpoints without it are neither counted nor traced.
    pub successes: Option<Successes>,
    pub handler: for<'a> fn(&'a Operations, OpsRequest) -> Answer<'a>,
}

/// What a handler reads.
pub struct OpsRequest {
    pub headers: HeaderMap,
    /// Empty for a GET.
    pub body: Bytes,
}

/// A few requests that run, and a few that wait for one of them to end.
pub struct Queue {
    running: Semaphore,
    /// Those that run or wait.
    admitted: Semaphore,
}

impl Queue {
    pub fn new(running: usize, waiting: usize) -> Queue {
        Queue { running: Semaphore::new(running), admitted: Semaphore::new(running + waiting) }
    }

    /// Waits until the request may run; it is over when the permits are dropped.
    pub async fn enter(&self) -> Result<[SemaphorePermit<'_>; 2], Problem> {
        let busy = || Problem::rate_limited(RETRY_AFTER_SECONDS);
        let admitted = self.admitted.try_acquire().map_err(|_| busy())?;
        let running = tokio::time::timeout(MAX_WAIT, self.running.acquire()).await.map_err(|_| busy())?;
        Ok([admitted, running.map_err(Problem::internal)?])
    }
}

impl OpsEndpoint {
    pub fn allow(&self) -> &'static str {
        if self.method == Method::GET { "GET, HEAD, OPTIONS" } else { "POST, OPTIONS" }
    }

    pub fn accepts(&self, method: &Method) -> bool {
        *method == self.method || (*method == Method::HEAD && self.method == Method::GET)
    }

    pub fn is_measured(&self) -> bool {
        self.successes.is_some()
    }

    pub fn count(&self, requests: &Requests, method: &Method, status: StatusCode, took: Duration) {
        match &self.successes {
            Some(successes) if status == successes.status && *method == self.method => successes.answered(took),
            Some(_) => requests.answered(method, self.path, status, took),
            None => {}
        }
    }
}
