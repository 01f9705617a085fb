//! A thousand open event streams at a hundred events a second: each gets every event of its account once and in order,
//! while requests stay fast.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::Outcome;
use crate::calls::{request, send_json};
use crate::customers;
use crate::http::{Client, get};
use crate::report::{Limit, Line};
use crate::service::{Service, bootstrap, sign_in};

const ACCOUNTS: usize = 200;
const STREAMS_OF_USER: usize = 5;
/// Events of each account.
const ROUNDS: usize = 15;
const INTERVAL: Duration = Duration::from_millis(10);
/// How long the last events may take.
const PATIENCE: Duration = Duration::from_secs(30);
const QUIET: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);
/// What precedes the number of an event, and follows what a stream begins with.
const MARK: &[u8] = b"\"name\":\"Event ";
const GREETING: &[u8] = b"retry: 2000";

struct Account {
    token: String,
    trunk: String,
}

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run(work))
}

async fn run(work: &Path) -> Outcome<Vec<Line>> {
    let folder = TempDir::new_in(work)?;
    let url = format!("sqlite://{}", folder.path().join("streams.db").display());
    let customers = customers::create(&url, ACCOUNTS).await?;
    let service = Service::start_on(work, &url).await?;
    bootstrap(service.public).await?;
    let mut accounts = Vec::new();
    for customer in &customers {
        accounts.push(prepare(service.public, &customer.email).await?);
    }
    let probe = get("/v1/me", Some(&accounts[0].token));
    let quiet = p99(latencies(service.public, &probe, QUIET).await?);
    let before = service.resident_mib()?;

    let mut streams = JoinSet::new();
    for (number, account) in accounts.iter().enumerate() {
        // A network holds only so many connections, and these are of many customers.
        let network = Ipv4Addr::new(127, 0, 1, u8::try_from(number)?);
        for _ in 0..STREAMS_OF_USER {
            let stream = open(service.public, network, &account.token).await?;
            streams.spawn(timeout(PATIENCE + INTERVAL * (ACCOUNTS * ROUNDS) as u32, follow(stream)));
        }
    }
    let span = INTERVAL * (ACCOUNTS * ROUNDS) as u32;
    let (written, busy) = tokio::join!(write(service.public, &accounts), latencies(service.public, &probe, span));
    written?;
    let busy = p99(busy?);
    let opened = streams.len();
    let mut faults = 0;
    for outcome in streams.join_all().await {
        let seen = outcome.map_err(|_| "a stream did not get all events")??;
        faults += usize::from(seen != (0..ROUNDS).collect::<Vec<_>>());
    }
    let memory = service.peak_mib()? - before;
    Ok(vec![
        Line::alone(
            "Streams with a lost, repeated or misplaced event; 1,000 streams, 100 events/s",
            faults.to_string(),
            format!("{opened} streams, {} events", ACCOUNTS * ROUNDS),
            faults as f64,
            Limit::AtMost(0.0, ""),
        )
        .id("faults"),
        Line::alone(
            "`GET /v1/me` p99 meanwhile; before: without streams",
            format!("{busy:.2} ms"),
            format!("{quiet:.2} ms"),
            busy / quiet,
            Limit::AtMost(5.0, "×"),
        )
        .noise(1.0)
        .id("me-p99"),
        Line::alone(
            "Memory that 1,000 streams add",
            format!("{memory:.0} MiB"),
            format!("{before:.0} MiB"),
            memory,
            Limit::AtMost(100.0, " MiB"),
        )
        .id("memory"),
    ])
}

async fn prepare(address: SocketAddr, email: &str) -> Outcome<Account> {
    let token = sign_in(address, email).await?;
    let mut client = Client::connect(address).await?;
    let body = json!({"name": "Main", "zone": "eu-west", "channel_cap": 10});
    let trunk = send_json(&mut client, "POST", "/v1/trunks", &token, &body).await?;
    let id = trunk["id"].as_str().ok_or("the trunk has no id")?;
    Ok(Account { token, trunk: format!("/v1/trunks/{id}") })
}

/// Renames a trunk of each account in turn, which makes an event.
async fn write(address: SocketAddr, accounts: &[Account]) -> Outcome<()> {
    let mut client = Client::connect(address).await?;
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for number in 0..ROUNDS {
        for Account { token, trunk } in accounts {
            ticks.tick().await;
            let body = json!({"name": format!("Event {number}")});
            let response = client.send(&request("PATCH", trunk, token, &body)).await?;
            if response.status != 200 {
                return Err(String::from_utf8_lossy(&response.body).into_owned().into());
            }
        }
    }
    Ok(())
}

/// An open stream, after its greeting.
async fn open(address: SocketAddr, from: Ipv4Addr, token: &str) -> Outcome<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let mut stream = socket.connect(address).await?;
    stream.write_all(&get("/v1/events/stream", Some(token))).await?;
    let mut text = Vec::new();
    while !text.windows(GREETING.len()).any(|window| window == GREETING) {
        if stream.read_buf(&mut text).await? == 0 {
            return Err(String::from_utf8_lossy(&text).into_owned().into());
        }
    }
    Ok(stream)
}

/// The numbers of all events of an account, in the order in which they came.
async fn follow(mut stream: TcpStream) -> Outcome<Vec<usize>> {
    let (mut text, mut seen) = (Vec::new(), Vec::new());
    while seen.len() < ROUNDS {
        if stream.read_buf(&mut text).await? == 0 {
            return Err("a stream ended".into());
        }
        while let Some(number) = next_number(&mut text) {
            seen.push(number);
        }
    }
    Ok(seen)
}

/// Takes the number of the next event out of what has arrived.
fn next_number(text: &mut Vec<u8>) -> Option<usize> {
    let start = text.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let length = text[start..].iter().position(|byte| *byte == b'"')?;
    let number = std::str::from_utf8(&text[start..start + length]).ok()?.parse().ok()?;
    text.drain(..start + length);
    Some(number)
}

/// Milliseconds of requests one after the other.
async fn latencies(address: SocketAddr, request: &[u8], span: Duration) -> Outcome<Vec<f64>> {
    let (mut client, started, mut latencies) = (Client::connect(address).await?, Instant::now(), Vec::new());
    while started.elapsed() < span {
        let sent = Instant::now();
        let response = client.send(request).await?;
        if response.status != 200 {
            return Err(format!("{}: {}", response.status, String::from_utf8_lossy(&response.body)).into());
        }
        latencies.push(sent.elapsed().as_secs_f64() * 1000.0);
        tokio::time::sleep(PAUSE).await;
    }
    Ok(latencies)
}

fn p99(mut latencies: Vec<f64>) -> f64 {
    latencies.sort_by(f64::total_cmp);
    latencies.get(latencies.len() * 99 / 100).copied().unwrap_or(f64::NAN)
}
