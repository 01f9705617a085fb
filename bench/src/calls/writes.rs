//! Audited writes of 64 clients: each changes a trunk of its own, and all add to one audit chain. None may be refused.
//! And those of a few during checkpoints.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use super::checkpoints;
use super::fixture::{Fixture, request, send_json};
use crate::http::Client;
use crate::report::Line;
use crate::{Outcome, ROUNDS};

const CLIENTS: usize = 64;
const ROUND: Duration = Duration::from_secs(3);

/// A client's trunk, and the access token of its customer.
pub struct Writer {
    pub path: String,
    pub token: String,
}

pub async fn measure(sqlite: &Fixture, postgres: &Fixture) -> Outcome<Vec<Line>> {
    let (in_sqlite, in_postgres) = (writers(sqlite).await?, writers(postgres).await?);
    let (mut ours, mut yardstick) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(rate(postgres, &in_postgres).await?);
        yardstick.push(rate(sqlite, &in_sqlite).await?);
    }
    let what = "Audited writes, 64 clients, PostgreSQL; baseline: the same on SQLite";
    Ok(vec![
        Line::beside(what, ours, yardstick, None).id("postgres"),
        checkpoints::measure(sqlite, &in_sqlite).await?,
        checkpoints::measure(postgres, &in_postgres).await?,
    ])
}

async fn writers(fixture: &Fixture) -> Outcome<Vec<Writer>> {
    let mut client = Client::connect(fixture.service.public).await?;
    let mut writers = Vec::new();
    for number in 0..CLIENTS {
        let token = fixture.sign_in(number).await?;
        let body = json!({"name": format!("Trunk {number}"), "zone": "eu-west", "channel_cap": 10});
        let trunk = send_json(&mut client, "POST", "/v1/trunks", &token, &body).await?;
        let id = trunk["id"].as_str().ok_or("the trunk has no id")?;
        writers.push(Writer { path: format!("/v1/trunks/{id}"), token });
    }
    Ok(writers)
}

/// Writes per second.
async fn rate(fixture: &Fixture, writers: &[Writer]) -> Outcome<f64> {
    let (mut tasks, started) = (JoinSet::new(), Instant::now());
    for Writer { path, token } in writers {
        let mut client = Client::connect(fixture.service.public).await?;
        let (path, token) = (path.clone(), token.clone());
        tasks.spawn(async move {
            let mut written = 0_u32;
            while started.elapsed() < ROUND {
                let body = json!({"name": format!("Name {written}")});
                let response = client.send(&request("PATCH", &path, &token, &body)).await?;
                if response.status != 200 {
                    return Err(format!("{}: {}", response.status, String::from_utf8_lossy(&response.body)).into());
                }
                written += 1;
            }
            Outcome::Ok(written)
        });
    }
    let total = tasks.join_all().await.into_iter().sum::<Outcome<u32>>()?;
    Ok(f64::from(total) / started.elapsed().as_secs_f64())
}
