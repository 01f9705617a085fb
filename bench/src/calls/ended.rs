//! `calls.ended` at a thousand calls a second: every call arrives once, in batches, soon after it ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::fixture::{Fixture, post_cdrs, send_json};
use super::ingest::{BATCH, MAX_AGE_MILLIS, ndjson};
use crate::Outcome;
use crate::http::Client;
use crate::report::{Limit, Line};

/// Batches of calls, one a second.
const SECONDS: u32 = 30;
/// How long the last deliveries may take.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub async fn measure(sqlite: &Fixture, postgres: &Fixture) -> Outcome<Vec<Line>> {
    let mut lines = Vec::new();
    for fixture in [sqlite, postgres] {
        lines.extend(run(fixture).await?);
    }
    Ok(lines)
}

async fn run(fixture: &Fixture) -> Outcome<Vec<Line>> {
    let (engine, id) = (fixture.store.engine(), fixture.store.id());
    let receiver = Receiver::start().await?;
    subscribe(fixture, &receiver.url).await?;
    // Calls must start after the rate deck came into force.
    sleep(Duration::from_millis(MAX_AGE_MILLIS)).await;
    let calls = import(fixture).await?;
    let ended = Instant::now();
    while receiver.received().counts.len() < calls && ended.elapsed() < PATIENCE {
        sleep(POLL_INTERVAL).await;
    }
    let late = ended.elapsed().as_secs_f64();
    let received = receiver.received();
    let missing = calls - received.counts.len();
    let repeated = received.counts.values().filter(|count| **count > 1).count();
    let per_delivery = calls.checked_div(received.deliveries).unwrap_or_default();
    Ok(vec![
        Line::alone(
            format!("Calls that `calls.ended` webhooks miss or repeat, of {calls} at 1,000 calls/s, {engine}"),
            (missing + repeated).to_string(),
            format!("{} deliveries of {per_delivery} calls on average", received.deliveries),
            (missing + repeated) as f64,
            Limit::AtMost(0.0, ""),
        )
        .id(format!("faults-{id}")),
        Line::alone(
            format!("From the last of these calls to its delivery, {engine}"),
            format!("{late:.1} s"),
            String::new(),
            late,
            Limit::AtMost(10.0, " s"),
        )
        .noise(3.0)
        .id(format!("delay-{id}")),
    ])
}

/// An endpoint of every customer.
async fn subscribe(fixture: &Fixture, url: &str) -> Outcome<()> {
    let mut client = Client::connect(fixture.service.public).await?;
    let endpoint = json!({"url": url, "event_types": ["calls.ended"]});
    for number in 0..fixture.customers.len() {
        let token = fixture.sign_in(number).await?;
        send_json(&mut client, "POST", "/v1/webhook-endpoints", &token, &endpoint).await?;
    }
    Ok(())
}

/// Imports a batch every second, and returns how many calls they were.
async fn import(fixture: &Fixture) -> Outcome<usize> {
    let authorization = fixture.service.switch_authorization()?;
    let mut client = Client::connect(fixture.service.ops).await?;
    let (trunks, mut ticks, mut next) = (fixture.trunks(), interval(Duration::from_secs(1)), 0);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for _ in 0..SECONDS {
        ticks.tick().await;
        let response = client.send(&post_cdrs(&authorization, &ndjson(&trunks, &mut next)?)).await?;
        let result: Value = serde_json::from_slice(&response.body)?;
        if result["accepted"] != BATCH {
            return Err(format!("{}: {result}", response.status).into());
        }
    }
    Ok((BATCH * SECONDS) as usize)
}

/// How often each call arrived.
#[derive(Default)]
struct Received {
    counts: BTreeMap<String, usize>,
    deliveries: usize,
}

type Shared = Arc<Mutex<Received>>;

/// A webhook endpoint that accepts everything.
struct Receiver {
    url: String,
    received: Shared,
}

impl Receiver {
    async fn start() -> Outcome<Receiver> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let received = Shared::default();
        let router = Router::new().route("/", post(accept)).with_state(received.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Receiver { url, received })
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        locked(&self.received)
    }
}

fn locked(received: &Shared) -> MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(State(received): State<Shared>, Json(event): Json<Value>) {
    let mut received = locked(&received);
    received.deliveries += 1;
    for call in event["data"]["calls"].as_array().into_iter().flatten() {
        *received.counts.entry(call["call_id"].to_string()).or_default() += 1;
    }
}
