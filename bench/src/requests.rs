//! Authenticated `GET /v1/me`, compared with a bare axum server that sends the same JSON.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use crate::http::{Client, get, post};
use crate::report::{Limit, Line};
use crate::service::{Process, Service};
use crate::{Outcome, ROUNDS, on_one_thread};

pub const CONNECTIONS: usize = 32;
pub const ROUND: Duration = Duration::from_secs(2);
/// Longer than any healthy response takes.
const TIMEOUT: Duration = Duration::from_secs(30);

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    on_one_thread(async {
        let service = Service::start(work).await?;
        let token = service.sign_in().await?;
        let request = get("/v1/me", Some(&token));
        let document: Value =
            serde_json::from_slice(&Client::connect(service.public).await?.send(&request).await?.body)?;

        let mut bare = Process::start(&std::env::current_exe()?, &["echo", &document.to_string()], |_| {})?;
        let bare_address = bare.address_after("Echo")?;
        let authorization = format!("Authorization: Bearer {token}\r\n");
        let echo_request = post("/echo", &authorization, &document);
        let fixed_request = get("/fixed", Some(&token));

        let accepting = accepting_gzip(&request);

        // The first round of each is a warm-up and is discarded.
        let (mut ours, mut echo, mut fixed, mut packed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..=ROUNDS {
            ours.push(rate(service.public, &request).await?);
            packed.push(rate(service.public, &accepting).await?);
            echo.push(rate(bare_address, &echo_request).await?);
            fixed.push(rate(bare_address, &fixed_request).await?);
        }
        let (ours, packed, echo, fixed) =
            (ours.split_off(1), packed.split_off(1), echo.split_off(1), fixed.split_off(1));
        Ok(vec![
            Line::beside(
                "`GET /v1/me` with an access token, 32 connections; baseline: bare axum echo of the same JSON",
                ours.clone(),
                echo,
                Some(Limit::AtLeast(0.75, "×")),
            )
            .id("me"),
            Line::beside(
                "`GET /v1/me` of a client that accepts gzip and brotli; baseline: one that does not",
                packed,
                ours.clone(),
                Some(Limit::AtLeast(0.95, "×")),
            )
            .id("me-compressed"),
            Line::beside(
                "`GET /v1/me`, the same; baseline: bare axum server that reads nothing and sends fixed JSON",
                ours,
                fixed,
                None,
            )
            .id("me-fixed"),
        ])
    })
}

/// The same request of a client that accepts compressed responses.
fn accepting_gzip(request: &[u8]) -> Vec<u8> {
    let line_end = request.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (line, rest) = request.split_at(line_end);
    [line, b"Accept-Encoding: gzip, deflate, br\r\n", rest].concat()
}

/// Responses per second; each connection sends its next request as soon as it has the response.
pub async fn rate(address: SocketAddr, request: &[u8]) -> Outcome<f64> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut client = Client::connect(address).await?;
        let first = client.send(request).await?;
        if first.status != 200 {
            return Err(format!("{}: {}", first.status, String::from_utf8_lossy(&first.body)).into());
        }
        clients.push((client, first.length));
    }
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for (mut client, length) in clients {
        let request = request.to_vec();
        tasks.spawn(async move {
            let mut responses = 0_u32;
            while started.elapsed() < ROUND {
                client.send_repeated(&request, length).await?;
                responses += 1;
            }
            Ok::<_, std::io::Error>(responses)
        });
    }
    let counts = tokio::time::timeout(ROUND + TIMEOUT, tasks.join_all()).await?;
    let total = counts.into_iter().sum::<Result<u32, _>>()?;
    Ok(f64::from(total) / started.elapsed().as_secs_f64())
}
