//! Mock DID supplier: slow enough that the service is killed during requests, refuses some numbers, answers others only
//! when polled, and remembers which order each number is active for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::Outcome;

pub const TOKEN: &str = "token-of-the-mock-did-supplier-0123456789";
/// Delay of an activation.
const ACTIVATION_DELAY: Duration = Duration::from_millis(60);

/// The order that each number is active for, by its digits.
type Active = Arc<Mutex<HashMap<String, String>>>;

pub struct DidSupplier {
    pub url: String,
    active: Active,
}

impl DidSupplier {
    pub async fn start() -> Outcome<DidSupplier> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let active = Active::default();
        let router = Router::new()
            .route("/numbers/{number}", get(state))
            .route("/numbers/{number}/activate", post(activate))
            .route("/numbers/{number}/deactivate", post(deactivate))
            .with_state(active.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(DidSupplier { url, active })
    }

    /// The order that a number is active for.
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

/// Refuses numbers that end in 0; those that end in 1 stay pending until the state is polled.
async fn activate(
    State(active): State<Active>,
    Path(number): Path<String>,
    Json(request): Json<Value>,
) -> (StatusCode, Json<Value>) {
    tokio::time::sleep(ACTIVATION_DELAY).await;
    let order = request["reference"].as_str().unwrap_or_default().to_owned();
    let mut active = lock(&active);
    match active.get(&number) {
        Some(known) if *known == order => (StatusCode::OK, Json(json!({"state": "active"}))),
        Some(_) => (StatusCode::CONFLICT, Json(json!({"state": "refused", "reason": "active for another order"}))),
        None if number.ends_with('0') => {
            (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"state": "refused", "reason": "not available"})))
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
