//! Call authorization; each decision is a durable transaction with a reservation.

use std::net::SocketAddr;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::fixture::Fixture;
use crate::http::{Client, Response, post};
use crate::report::{Limit, Line};
use crate::requests::{CONNECTIONS, ROUND};
use crate::service::Process;
use crate::{Outcome, ROUNDS};

pub async fn measure(fixture: &Fixture, what: &'static str, limit: Limit) -> Outcome<Line> {
    let mut bare = Process::start(&std::env::current_exe()?, &["echo", "{}"], |_| {})?;
    let echo_address = bare.address_after("Echo")?;
    let authorization = fixture.service.switch_authorization()?;
    let sources: Vec<String> = fixture.customers.iter().map(|customer| customer.source.clone()).collect();
    let (mut ours, mut echo, mut round) = (Vec::new(), Vec::new(), 0);
    // The first round of each is a warm-up and is discarded.
    for _ in 0..=ROUNDS {
        round += 1;
        ours.push(rate(fixture.service.ops, "/switch/authorize", &authorization, &sources, round).await?);
        echo.push(rate(echo_address, "/echo", &authorization, &sources, round).await?);
    }
    Ok(Line::beside(what, ours.split_off(1), echo.split_off(1), Some(limit)))
}

/// What the edge asks about a call.
pub fn call(call_id: &str, source: &str) -> Value {
    json!({
        "edge_id": "edge-1", "call_id": call_id, "from_tag": "t", "source_ip": source, "calling": "+31201111111",
        "called": "+31201234567",
    })
}

/// The call must be allowed; an echo decides nothing.
pub fn check(response: &Response) -> Outcome<()> {
    let decision: Value = serde_json::from_slice(&response.body)?;
    match response.status == 200 && decision.get("decision").is_none_or(|decision| decision == "allow") {
        true => Ok(()),
        false => Err(format!("{}: {decision}", response.status).into()),
    }
}

/// Responses per second; every request is for a different call.
async fn rate(address: SocketAddr, path: &str, header: &str, sources: &[String], round: usize) -> Outcome<f64> {
    let mut tasks = JoinSet::new();
    let started = Instant::now();
    for connection in 0..CONNECTIONS {
        let mut client = Client::connect(address).await?;
        let (path, header) = (path.to_owned(), header.to_owned());
        let source = sources.get(connection % sources.len()).cloned().unwrap_or_default();
        tasks.spawn(async move {
            let mut responses = 0_u32;
            while started.elapsed() < ROUND {
                let call = call(&format!("{round}-{connection}-{responses}"), &source);
                check(&client.send(&post(&path, &header, &call)).await?)?;
                responses += 1;
            }
            Outcome::Ok(responses)
        });
    }
    let total = tasks.join_all().await.into_iter().sum::<Outcome<u32>>()?;
    Ok(f64::from(total) / started.elapsed().as_secs_f64())
}
