//! The yardstick of requests: a bare axum server that parses nothing and answers JSON of a given size.

use std::io::Write;
use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;

use crate::Outcome;

#[derive(Serialize)]
struct Echo {
    id: u64,
    roles: [&'static str; 2],
    text: String,
}

/// Answers so many bytes to every request, on as many threads as the service uses.
pub fn serve(body_bytes: usize) -> Outcome<()> {
    let mut echo = Echo { id: 7, roles: ["admin", "support"], text: String::new() };
    let empty = serde_json::to_vec(&echo)?.len();
    echo.text = "x".repeat(body_bytes.saturating_sub(empty));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "Echo {}", listener.local_addr()?)?;
        let router = Router::new().route("/v1/me", get(answer).post(answer)).with_state(Arc::new(echo));
        Ok(axum::serve(listener, router).await?)
    })
}

async fn answer(State(echo): State<Arc<Echo>>) -> Json<Echo> {
    Json(Echo { id: echo.id, roles: echo.roles, text: echo.text.clone() })
}
