//! A row of the operations port's table: everything that dispatch needs to know about an endpoint.
//!
//! These endpoints are for switches, load balancers and Prometheus. They are not in OpenAPI and have no users, rate
//! limits or idempotency keys, so they do not go through the pipeline of `/v1`.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use tokio::sync::Semaphore;

use super::Operations;
use api::problem::Problem;
use api::response::Response;
use db::metrics::{Requests, Successes};

pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send + 'a>>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Open,
    /// Needs the switch secret.
    SwitchSecret,
}

pub struct OpsEndpoint {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    /// The largest body of a POST. The body of a GET is not read.
    pub max_body_bytes: usize,
    /// Room for requests that run at the same time, if that is limited.
    pub concurrency: Option<Semaphore>,
    /// Counts successful responses. Endpoints without it are neither counted nor traced.
    pub successes: Option<Successes>,
    pub handler: for<'a> fn(&'a Operations, Bytes) -> Answer<'a>,
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
