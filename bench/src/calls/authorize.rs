//! Decisions on calls, each a durable transaction that sets money aside.

use std::net::SocketAddr;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::scene::Scene;
use crate::http::{Client, post};
use crate::report::{Limit, Line};
use crate::requests::{CONNECTIONS, ROUND};
use crate::service::Process;
use crate::{Outcome, ROUNDS};

pub async fn measure(scene: &Scene, what: &'static str) -> Outcome<Line> {
    let mut bare = Process::start(&std::env::current_exe()?, &["echo", "{}"], |_| {})?;
    let echo_address = bare.address_after("Echo")?;
    let authorization = scene.service.switch_authorization()?;
    let sources: Vec<String> = scene.customers.iter().map(|customer| customer.source.clone()).collect();
    let (mut ours, mut echo, mut calls) = (Vec::new(), Vec::new(), 0);
    // The first round of each warms it up and does not count.
    for _ in 0..=ROUNDS {
        calls += 1;
        ours.push(rate(scene.service.ops, "/switch/authorize", &authorization, &sources, calls).await?);
        echo.push(rate(echo_address, "/echo", &authorization, &sources, calls).await?);
    }
    Ok(Line::beside(what, ours.split_off(1), echo.split_off(1), Some(Limit::AtLeast(0.3, "×"))))
}

/// Questions answered a second; no two are about the same call.
async fn rate(address: SocketAddr, path: &str, header: &str, sources: &[String], round: usize) -> Outcome<f64> {
    let mut asking = JoinSet::new();
    let begun = Instant::now();
    for connection in 0..CONNECTIONS {
        let mut client = Client::connect(address).await?;
        let (path, header) = (path.to_owned(), header.to_owned());
        let source = sources.get(connection % sources.len()).cloned().unwrap_or_default();
        asking.spawn(async move {
            let mut answered = 0_u32;
            while begun.elapsed() < ROUND {
                let call = json!({
                    "edge_id": "edge-1", "call_id": format!("{round}-{connection}-{answered}"), "from_tag": "t",
                    "source_ip": source, "calling": "+31201111111", "called": "+31201234567",
                });
                let answer = client.send(&post(&path, &header, &call)).await?;
                let decided: Value = serde_json::from_slice(&answer.body)?;
                if answer.status != 200 || decided.get("decision").is_some_and(|decision| decision != "allow") {
                    return Err(format!("{}: {decided}", answer.status).into());
                }
                answered += 1;
            }
            Outcome::Ok(answered)
        });
    }
    let total = asking.join_all().await.into_iter().sum::<Outcome<u32>>()?;
    Ok(f64::from(total) / begun.elapsed().as_secs_f64())
}
