//! Slow-client attacks: 2,000 connections that hardly send, and two bodies of 1 GiB. A normal client must not be
//! affected.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::http::{Client, get};
use crate::report::{Limit, Line, Spread};
use crate::service::Service;
use crate::{Outcome, on_one_thread};

const SLOW_CLIENTS: usize = 2000;
const BODY_BYTES: usize = 1 << 30;
const LATENCY_ROUND: Duration = Duration::from_secs(5);
/// The service closes a connection whose request head takes more than ten seconds.
const CLOSED_WITHIN: Duration = Duration::from_secs(15);

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    on_one_thread(async {
        let service = Service::start(work).await?;
        let request = get("/v1/me", Some(&service.sign_in().await?));
        let latencies = async || {
            let (address, request) = (service.public, request.clone());
            tokio::task::spawn_blocking(move || latencies(address, &request)).await?
        };
        let before = latencies().await?;
        let memory_before = service.resident_mib()?;

        let length = format!("Content-Length: {BODY_BYTES}");
        let slow = start_slow_clients(service.public).await?;
        let (during, announced, chunked) = tokio::join!(
            latencies(),
            send_gigabyte(service.public, &length, b""),
            send_gigabyte(service.public, "Transfer-Encoding: chunked", b"10000\r\n"),
        );
        let (during, refused_after) = (during?, announced?.max(chunked?));
        let memory_during = service.resident_mib()?;

        let cut_off = slow.join_all().await.into_iter().filter(|cut_off| *cut_off).count();
        let memory_after = service.resident_mib()?;
        let left = SLOW_CLIENTS - cut_off + service.open_connections().await?;
        Ok(lines(&before, &during, [memory_before, memory_during, memory_after], refused_after, left))
    })
}

fn lines(before: &[f64], during: &[f64], memory: [f64; 3], refused_after: Duration, left: usize) -> Vec<Line> {
    let percentile = |sorted: &[f64], part: usize| sorted.get(sorted.len() * part / 100).copied().unwrap_or(f64::NAN);
    let text = |sorted: &[f64]| format!("p50 {:.2} ms, p99 {:.2} ms", percentile(sorted, 50), percentile(sorted, 99));
    let mut latency = Line::alone(
        "Latency of `GET /v1/me` during 2,000 slow clients; baseline: before",
        text(during),
        text(before),
        percentile(during, 99),
        Limit::AtMost(5.0 * percentile(before, 99) + 5.0, " ms (5× and 5 ms)"),
    );
    latency.ratio = Spread::ratio(&[percentile(during, 99)], &[percentile(before, 99)]).text(2, "×");
    let [memory_before, memory_during, memory_after] = memory;
    let growth = memory_during.max(memory_after) - memory_before;
    let refused = refused_after.as_secs_f64();
    vec![
        latency,
        Line::alone(
            "Memory growth with slow clients and bodies of 1 GiB",
            format!("{growth:.1} MiB (during {memory_during:.1}, after {memory_after:.1})"),
            format!("{memory_before:.1} MiB before"),
            growth,
            Limit::AtMost(64.0, " MiB"),
        ),
        Line::alone(
            "Time to 413 for a body of 1 GiB, announced or chunked",
            format!("{refused:.3} s"),
            String::new(),
            refused,
            Limit::AtMost(1.0, " s"),
        ),
        Line::alone(
            "Slow clients still connected after 15 s",
            left.to_string(),
            format!("{SLOW_CLIENTS} at first"),
            left as f64,
            Limit::AtMost(0.0, ""),
        ),
    ]
}

/// Latencies in milliseconds, sorted, of one connection that sends requests in a row on its own thread.
fn latencies(address: SocketAddr, request: &[u8]) -> Outcome<Vec<f64>> {
    on_one_thread(async {
        let mut client = Client::connect(address).await?;
        let length = client.send(request).await?.length;
        let started = Instant::now();
        let mut millis = Vec::new();
        while started.elapsed() < LATENCY_ROUND {
            let sent = Instant::now();
            client.send_repeated(request, length).await?;
            millis.push(sent.elapsed().as_secs_f64() * 1000.0);
        }
        millis.sort_by(f64::total_cmp);
        Ok(millis)
    })
}

/// Each task returns whether the service closed its connection in time.
async fn start_slow_clients(address: SocketAddr) -> Outcome<JoinSet<bool>> {
    let mut slow = JoinSet::new();
    for number in 0..SLOW_CLIENTS {
        let stream = TcpStream::connect(address).await?;
        let trickle = trickle(stream, number % 2 == 0);
        slow.spawn(async move { tokio::time::timeout(CLOSED_WITHIN, trickle).await.is_ok() });
    }
    Ok(slow)
}

/// Sends one byte of a header per second, or nothing, until the service closes the connection.
async fn trickle(mut stream: TcpStream, sends_bytes: bool) {
    let mut buffer = [0; 512];
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        let (mut from, mut to) = stream.split();
        tokio::select! {
            read = from.read(&mut buffer) => if matches!(read, Ok(0) | Err(_)) { return },
            _ = second.tick(), if sends_bytes => if to.write_all(b"G").await.is_err() { return },
        }
    }
}

/// Sends a body of 1 GiB until it is rejected; returns how long that took.
async fn send_gigabyte(address: SocketAddr, framing: &str, prefix: &[u8]) -> Outcome<Duration> {
    let mut client = Client::connect(address).await?;
    let started = Instant::now();
    let head = format!(
        "POST /v1/auth/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    );
    client.stream.write_all(head.as_bytes()).await?;
    let mut piece = [prefix, &[b' '; 65_536]].concat();
    if !prefix.is_empty() {
        piece.extend_from_slice(b"\r\n");
    }
    let mut sent = 0;
    // The response may come at any time; after rejecting, the service need not read on.
    while sent < BODY_BYTES {
        let Client { stream, .. } = &mut client;
        let (from, mut to) = stream.split();
        tokio::select! {
            biased;
            ready = from.readable() => { ready?; break }
            written = to.write_all(&piece) => match written { Ok(()) => sent += piece.len(), Err(_) => break },
        }
    }
    match client.receive().await?.status {
        413 => Ok(started.elapsed()),
        status => Err(format!("a body of 1 GiB got {status}, not 413").into()),
    }
}
