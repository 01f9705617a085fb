//! A DID supplier for tests: it answers as the test's script says, and records the requests it received.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const TOKEN: &str = "token-of-the-test-supplier";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    Active,
    Pending,
    Refused,
    /// It responds with a server error.
    Away,
}

/// A request it received, with its idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub path: String,
    pub key: Option<String>,
}

struct State {
    /// The next answers; the last one is repeated.
    script: VecDeque<Says>,
    asked: Vec<Asked>,
}

#[derive(Clone)]
pub struct DidSupplierServer {
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl DidSupplierServer {
    pub async fn start(script: &[Says]) -> DidSupplierServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State { script: script.iter().copied().collect(), asked: Vec::new() }));
        tokio::spawn(serve(listener, state.clone()));
        DidSupplierServer { url, state }
    }

    pub fn settings(&self) -> [(&str, &str); 3] {
        [
            ("TRUNKLINE_DID_SUPPLIER", "http"),
            ("TRUNKLINE_DID_SUPPLIER_URL", &self.url),
            ("TRUNKLINE_DID_SUPPLIER_TOKEN", TOKEN),
        ]
    }

    pub fn says(&self, script: &[Says]) {
        self.state.lock().unwrap().script = script.iter().copied().collect();
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, state.clone()));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(request: Request<Incoming>, state: Arc<Mutex<State>>) -> Result<Response<Full<Bytes>>, Infallible> {
    let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(header("authorization").as_deref(), Some(format!("Bearer {TOKEN}").as_str()));
    let asked = Asked { path: request.uri().path().to_owned(), key: header("idempotency-key") };
    let _ = request.into_body().collect().await;
    let says = {
        let mut state = state.lock().unwrap();
        state.asked.push(asked);
        match state.script.len() {
            0 | 1 => state.script.front().copied().unwrap_or(Says::Away),
            _ => state.script.pop_front().unwrap(),
        }
    };
    let (status, body): (u16, Value) = match says {
        Says::Active => (200, json!({"state": "active"})),
        Says::Pending => (202, json!({"state": "pending"})),
        Says::Refused => (422, json!({"state": "refused", "reason": "ported away"})),
        Says::Away => (503, json!({"error": "maintenance"})),
    };
    Ok(Response::builder().status(status).body(Full::new(Bytes::from(body.to_string()))).unwrap())
}
