//! SIGTERM under load: clients with open connections must not lose a request.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::http::{Client, get};
use crate::report::{Limit, Line};
use crate::service::Service;
use crate::{Outcome, on_one_thread};

const RESTARTS: usize = 20;
const CLIENTS: usize = 24;
const LOAD: Duration = Duration::from_secs(1);
/// Connections are idle for this long between two requests.
const PAUSE: Duration = Duration::from_millis(2);

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    on_one_thread(async {
        let (mut answered, mut dropped) = (0, 0);
        for _ in 0..RESTARTS {
            let service = Service::start(work).await?;
            let mut clients = JoinSet::new();
            for _ in 0..CLIENTS {
                clients.spawn(load(service.public));
            }
            tokio::time::sleep(LOAD).await;
            service.terminate().await?;
            for (answers, drops) in clients.join_all().await {
                answered += answers;
                dropped += drops;
            }
        }
        Ok(vec![
            Line::alone(
                "Requests dropped by 20 restarts (SIGTERM) under load",
                dropped.to_string(),
                format!("{answered} answered"),
                dropped as f64,
                Limit::AtMost(0.0, ""),
            )
            .id("dropped"),
        ])
    })
}

/// Sends requests until no connection is accepted; returns how many were answered and how many were not.
async fn load(address: SocketAddr) -> (usize, usize) {
    let (mut answered, mut dropped) = (0, 0);
    let request = get("/", None);
    while let Ok(mut client) = Client::connect(address).await {
        loop {
            match client.send(&request).await {
                Ok(response) => {
                    answered += 1;
                    if response.closes {
                        break;
                    }
                }
                Err(_) => {
                    dropped += 1;
                    break;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    (answered, dropped)
}
