//! An HTTP client of the API, and its responses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Deref;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;

#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
    headers: Vec<(String, String)>,
}

impl Client {
    pub fn new(http: reqwest::Client, base: String, token: Option<String>) -> Client {
        Client { http, base, token, headers: Vec::new() }
    }

    /// The same caller with one more header.
    pub fn header(&self, name: &str, value: &str) -> Client {
        let mut client = self.clone();
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    pub fn with_key(&self, key: uuid::Uuid) -> Client {
        self.header("Idempotency-Key", &key.to_string())
    }

    pub fn token(&self) -> &str {
        self.token.as_deref().unwrap()
    }

    /// A request that can still be changed. The path is below `/v1`, or whole when it begins with `http`.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.base) };
        let mut request = self.http.request(method, url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        self.headers.iter().fold(request, |request, (name, value)| request.header(name, value))
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        // A stream has no end to wait for.
        let is_stream = headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let bytes = if is_stream { Default::default() } else { response.bytes().await.unwrap() };
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer { status, headers, body, bytes: bytes.to_vec() }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::POST, path).json(&body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::PATCH, path).json(&body)).await
    }

    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let request = self.request(method, path);
        self.send(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }
}

/// A response with its whole body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// Null when the body is not JSON.
    pub body: Value,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The body of a response with this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.bytes));
        self.body
    }

    /// The body of a success.
    #[track_caller]
    pub fn ok(self) -> Value {
        self.expect(200)
    }

    /// The body of a problem with this status and code, after checking its form.
    #[track_caller]
    pub fn problem(self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.bytes));
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.body["type"], format!("urn:service:voice:problem:{code}"), "{}", self.body);
        assert_eq!(self.body["status"], status);
        assert_eq!(self.body["request_id"].as_str(), self.header("x-request-id"));
        assert!(self.body["title"].is_string() && self.body["instance"].is_string());
        self.body
    }

    /// The names of the fields that failed, each once.
    #[track_caller]
    pub fn invalid(self) -> Vec<String> {
        let body = self.problem(422, "validation.failed");
        let names = body["invalid_params"].as_array().unwrap().iter();
        let mut names: Vec<String> = names.map(|param| param["name"].as_str().unwrap().to_owned()).collect();
        names.dedup();
        names
    }
}

/// A signed-in caller.
#[derive(Clone)]
pub struct Session {
    client: Client,
    pub refresh_token: String,
    pub user_id: String,
    pub account_id: String,
}

impl Session {
    pub fn new(client: Client, body: &Value) -> Session {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Session {
            client,
            refresh_token: text(&body["refresh_token"]),
            user_id: text(&body["user"]["id"]),
            account_id: text(&body["user"]["account_id"]),
        }
    }
}

impl Session {
    /// The client without the session.
    pub fn into_client(self) -> Client {
        self.client
    }
}

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}
