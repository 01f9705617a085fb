//! Authenticated `GET /v1/me` beside a bare echo of the same size.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::http::{Client, get};
use crate::report::{Limit, Line};
use crate::service::{Process, Service};
use crate::{Outcome, ROUNDS, alone_on_one_thread};

const CONNECTIONS: usize = 32;
const ROUND: Duration = Duration::from_secs(2);
/// Longer than any healthy answer takes.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    alone_on_one_thread(async {
        let service = Service::start(work).await?;
        let token = service.sign_in().await?;
        let request = get("/v1/me", Some(&token));
        let answer = Client::connect(service.public).await?.send(&request).await?;

        let size = answer.body.len().to_string();
        let mut echo = Process::start(&std::env::current_exe()?, &["echo", &size], |_| {})?;
        let echo_address = echo.address_after("Echo")?;

        // The first round of each warms it up and does not count.
        let (mut ours, mut yardstick) = (Vec::new(), Vec::new());
        for _ in 0..=ROUNDS {
            ours.push(rate(service.public, &request).await?);
            yardstick.push(rate(echo_address, &request).await?);
        }
        let (ours, yardstick) = (ours.split_off(1), yardstick.split_off(1));
        let what = "`GET /v1/me`, signed in, 32 connections, beside a bare axum echo";
        Ok(vec![Line::beside(what, ours, yardstick, Limit::AtLeast(0.7, "×"))])
    })
}

/// Requests answered a second, each connection asking again as soon as it was answered.
async fn rate(address: SocketAddr, request: &[u8]) -> Outcome<f64> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut client = Client::connect(address).await?;
        let first = client.send(request).await?;
        if first.status != 200 {
            return Err(format!("{}: {}", first.status, String::from_utf8_lossy(&first.body)).into());
        }
        clients.push((client, first.length));
    }
    let begun = Instant::now();
    let mut asking = JoinSet::new();
    for (mut client, length) in clients {
        let request = request.to_vec();
        asking.spawn(async move {
            let mut answered = 0_u32;
            while begun.elapsed() < ROUND {
                client.send_again(&request, length).await?;
                answered += 1;
            }
            Ok::<_, std::io::Error>(answered)
        });
    }
    let counts = tokio::time::timeout(ROUND + PATIENCE, asking.join_all()).await?;
    let total = counts.into_iter().sum::<Result<u32, _>>()?;
    Ok(f64::from(total) / begun.elapsed().as_secs_f64())
}
