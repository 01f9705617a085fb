//! A stand-in for VIES: it answers as the test decides and keeps the questions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

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
use tokio::sync::watch;

#[derive(Clone)]
pub enum Reply {
    Says(u16, String),
    /// Accepts the request and never answers.
    Silence,
    /// Accepts the request and answers once it is released.
    Held(watch::Receiver<bool>, Box<Reply>),
}

/// The answer for a valid VAT id.
pub fn valid() -> Reply {
    says(json!({
        "countryCode": "DE", "vatNumber": "136695976", "requestDate": "2026-11-15T08:00:00.000Z", "valid": true,
        "requestIdentifier": "WAPIAAAAZhK3m9Qb", "name": "Kunde GmbH", "address": "Ufer 1\n10115 Berlin",
        "traderName": "---", "traderStreet": "---", "traderPostalCode": "---", "traderCity": "---",
    }))
}

/// The answer for an unknown VAT id.
pub fn invalid() -> Reply {
    says(json!({
        "countryCode": "DE", "vatNumber": "136695976", "requestDate": "2026-11-15T08:00:00.000Z", "valid": false,
        "requestIdentifier": "", "name": "---", "address": "---",
    }))
}

/// The answer when VIES cannot decide.
pub fn refuses(error: &str) -> Reply {
    says(json!({"actionSucceed": false, "errorWrappers": [{"error": error}]}))
}

/// The answer that waits until the sender says `true`.
pub fn held(reply: Reply) -> (watch::Sender<bool>, Reply) {
    let (release, released) = watch::channel(false);
    (release, Reply::Held(released, Box::new(reply)))
}

fn says(body: Value) -> Reply {
    Reply::Says(200, body.to_string())
}

pub struct ViesServer {
    pub url: String,
    state: Arc<Mutex<(Reply, Vec<Value>)>>,
}

impl ViesServer {
    pub async fn start(reply: Reply) -> ViesServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/rest-api", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new((reply, Vec::new())));
        tokio::spawn(serve(listener, state.clone()));
        ViesServer { url, state }
    }

    pub fn answers(&self, reply: Reply) {
        self.state.lock().unwrap().0 = reply;
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Value> {
        self.state.lock().unwrap().1.clone()
    }
}

async fn serve(listener: TcpListener, state: Arc<Mutex<(Reply, Vec<Value>)>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, state.clone()));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<Mutex<(Reply, Vec<Value>)>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    assert_eq!(request.uri().path(), "/rest-api/check-vat-number");
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let reply = {
        let mut state = state.lock().unwrap();
        state.1.push(serde_json::from_slice(&body).unwrap());
        state.0.clone()
    };
    let reply = match reply {
        Reply::Held(mut released, reply) => {
            released.wait_for(|released| *released).await.unwrap();
            *reply
        }
        reply => reply,
    };
    match reply {
        Reply::Says(status, body) => Ok(Response::builder().status(status).body(Full::new(Bytes::from(body))).unwrap()),
        Reply::Silence | Reply::Held(..) => std::future::pending().await,
    }
}
