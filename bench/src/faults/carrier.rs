//! The carrier that lets numbers work: slow enough to be asked when the service dies, of two minds about some numbers,
//! and with a memory of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::Outcome;

pub const TOKEN: &str = "token-of-the-carrier-of-the-faults-0123456789";
/// How long it thinks about a change.
const THINKING: Duration = Duration::from_millis(60);

/// Which order each number works for, by its digits.
type Active = Arc<Mutex<HashMap<String, String>>>;

pub struct Carrier {
    pub url: String,
    active: Active,
}

impl Carrier {
    pub async fn open() -> Outcome<Carrier> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let active = Active::default();
        let router = Router::new()
            .route("/numbers/{number}", get(state))
            .route("/numbers/{number}/activate", post(activate))
            .route("/numbers/{number}/deactivate", post(deactivate))
            .with_state(active.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Carrier { url, active })
    }

    /// The order that a number works for.
    pub fn order_of(&self, e164: &str) -> Option<String> {
        lock(&self.active).get(e164.trim_start_matches('+')).cloned()
    }
}

async fn state(State(active): State<Active>, Path(number): Path<String>) -> (StatusCode, Json<Value>) {
    match lock(&active).contains_key(&number) {
        true => (StatusCode::OK, Json(json!({"state": "active"}))),
        false => (StatusCode::NOT_FOUND, Json(json!({"state": "refused"}))),
    }
}

/// Numbers that end in 0 it does not let, and of those that end in 1 it speaks only when asked again.
async fn activate(
    State(active): State<Active>,
    Path(number): Path<String>,
    Json(asked): Json<Value>,
) -> (StatusCode, Json<Value>) {
    tokio::time::sleep(THINKING).await;
    let order = asked["reference"].as_str().unwrap_or_default().to_owned();
    let mut active = lock(&active);
    match active.get(&number) {
        Some(known) if *known == order => (StatusCode::OK, Json(json!({"state": "active"}))),
        Some(_) => (StatusCode::CONFLICT, Json(json!({"state": "refused", "reason": "it works for another order"}))),
        None if number.ends_with('0') => {
            (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"state": "refused", "reason": "not this one"})))
        }
        None => {
            active.insert(number.clone(), order);
            let state = if number.ends_with('1') { "pending" } else { "active" };
            (StatusCode::ACCEPTED, Json(json!({"state": state})))
        }
    }
}

async fn deactivate(State(active): State<Active>, Path(number): Path<String>) -> Json<Value> {
    lock(&active).remove(&number);
    Json(json!({"state": "refused"}))
}

fn lock(active: &Active) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
    active.lock().unwrap_or_else(PoisonError::into_inner)
}
