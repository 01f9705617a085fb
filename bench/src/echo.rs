//! The baseline of request benchmarks: a bare axum server with an endpoint that echoes JSON and one that sends fixed
//! JSON.

use std::io::Write;
use std::sync::Arc;

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::Outcome;

/// Serves on as many threads as the service: `POST /echo` returns its body, `GET /fixed` returns `document`.
pub fn serve(document: Value) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "Echo {}", listener.local_addr()?)?;
        let document = Fixed(Arc::new(document));
        let router = Router::new().route("/echo", post(echo)).route("/fixed", get(fixed)).with_state(document);
        Ok(axum::serve(listener, router).await?)
    })
}

async fn echo(Json(document): Json<Value>) -> Json<Value> {
    Json(document)
}

#[derive(Clone)]
struct Fixed(Arc<Value>);

impl Serialize for Fixed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

async fn fixed(State(document): State<Fixed>) -> Json<Fixed> {
    Json(document)
}
