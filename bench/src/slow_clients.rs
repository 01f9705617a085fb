//! Slow-client attacks from other addresses, all at once: 10,000 connections that never read, 2,000 slow headers, 1,024
//! slow bodies and 200 bodies that arrive byte by byte; and two bodies of 1 GiB. A normal client must not be affected.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::http::{Client, get};
use crate::report::{Limit, Line, Spread};
use crate::service::{Process, Service};
use crate::{Outcome, on_one_thread};

const BODY_BYTES: usize = 1 << 30;
const LATENCY_ROUND: Duration = Duration::from_secs(10);
/// The attackers hold on to their connections; the service must have closed all of them this long after the last one
/// connected.
const CLOSED_WITHIN: Duration = Duration::from_secs(60);
const CHECK: Duration = Duration::from_millis(500);
/// Attackers that connect at a time: more would wait for the system to try again.
const CONNECTING: usize = 64;
/// What the attack prints when all have tried to connect.
const CONNECTED: &str = "Connected";
/// Addresses of each kind of attacker.
const ADDRESSES: u8 = 8;

const GET_PAGE: &[u8] = b"GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n";
const POST_HEAD: &[u8] = b"POST /v1/auth/refresh HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                           Content-Length: 60000\r\n\r\n";

/// What attackers of one kind send at first, and then again and again; they read what they are sent or nothing.
#[derive(Clone, Copy)]
struct Attacker {
    count: usize,
    first: &'static [u8],
    then: &'static [u8],
    every: Duration,
    reads: bool,
}

const ATTACKERS: [Attacker; 4] = [
    Attacker { count: 10_000, first: GET_PAGE, then: b"", every: Duration::from_secs(1), reads: false },
    Attacker { count: 2000, first: b"G", then: b"E", every: Duration::from_secs(1), reads: true },
    Attacker { count: 1024, first: POST_HEAD, then: &[b' '; 50], every: Duration::from_millis(500), reads: true },
    Attacker { count: 200, first: POST_HEAD, then: b" ", every: Duration::from_millis(10), reads: true },
];

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    on_one_thread(async {
        let service = Service::start(work).await?;
        let request = get("/v1/me", Some(&service.sign_in().await?));
        let latencies = async || {
            let (address, request) = (service.public, request.clone());
            tokio::task::spawn_blocking(move || latencies(address, &request)).await?
        };
        // The page that the attackers ask for is generated at its first request.
        Client::connect(service.public).await?.stream.write_all(GET_PAGE).await?;
        let before = latencies().await?;
        let memory_before = service.resident_mib()?;

        let length = format!("Content-Length: {BODY_BYTES}");
        let mut attack = start_attack(service.public)?;
        let (during, announced, chunked) = tokio::join!(
            latencies(),
            send_gigabyte(service.public, &length, b""),
            send_gigabyte(service.public, "Transfer-Encoding: chunked", b"10000\r\n"),
        );
        let (during, refused_after) = (during?, announced?.max(chunked?));
        let attack = tokio::task::spawn_blocking(move || attack.wait_for(CONNECTED).map(|()| attack)).await??;
        let (connected, mut left) = (Instant::now(), service.open_connections().await?);
        while left > 0 && connected.elapsed() < CLOSED_WITHIN {
            tokio::time::sleep(CHECK).await;
            left = service.open_connections().await?;
        }
        let memory = [memory_before, service.peak_mib()?];
        drop(attack);
        Ok(lines(&before, &during, memory, refused_after, left))
    })
}

fn lines(before: &[f64], during: &[f64], memory: [f64; 2], refused_after: Duration, left: usize) -> Vec<Line> {
    let percentile = |sorted: &[f64], part: usize| sorted.get(sorted.len() * part / 100).copied().unwrap_or(f64::NAN);
    let text = |sorted: &[f64]| format!("p50 {:.2} ms, p99 {:.2} ms", percentile(sorted, 50), percentile(sorted, 99));
    let mut latency = Line::alone(
        "Latency of `GET /v1/me` during 13,224 slow clients; baseline: before",
        text(during),
        text(before),
        percentile(during, 99),
        Limit::AtMost(5.0 * percentile(before, 99) + 5.0, " ms (5× and 5 ms)"),
    );
    latency.ratio = Spread::ratio(&[percentile(during, 99)], &[percentile(before, 99)]).text(2, "×");
    let [memory_before, peak] = memory;
    let refused = refused_after.as_secs_f64();
    vec![
        latency.noise(5.0).id("me-p99"),
        Line::alone(
            "Memory at most, with slow clients and bodies of 1 GiB",
            format!("{peak:.1} MiB"),
            format!("{memory_before:.1} MiB before"),
            peak,
            Limit::AtMost(300.0, " MiB"),
        )
        .id("memory"),
        Line::alone(
            "Time to 413 for a body of 1 GiB, announced or chunked",
            format!("{refused:.3} s"),
            String::new(),
            refused,
            Limit::AtMost(1.0, " s"),
        )
        .noise(0.2)
        .id("refused"),
        Line::alone(
            "Slow clients still connected after 60 s",
            left.to_string(),
            "13,224 tried".to_owned(),
            left as f64,
            Limit::AtMost(0.0, ""),
        )
        .id("left"),
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

/// The attack is a process of its own, which leaves the processors to the service: real attackers have other machines.
fn start_attack(address: SocketAddr) -> Outcome<Process> {
    let bench = std::env::current_exe()?;
    let bench = bench.to_str().ok_or("the path of the program is not text")?;
    let arguments = ["--adjustment", "19", bench, "attack", &address.to_string()];
    Process::start(Path::new("/usr/bin/nice"), &arguments, |_| {})
}

/// Attacks until it is killed. Each kind of attacker comes from addresses of its own.
pub fn attack(address: &str) -> Outcome<()> {
    let address: SocketAddr = address.parse()?;
    on_one_thread(async {
        let (mut connecting, mut attack) = (JoinSet::new(), JoinSet::new());
        let turns = Arc::new(Semaphore::new(CONNECTING));
        for (kind, attacker) in (1..).zip(ATTACKERS) {
            for number in 0..attacker.count {
                let source = Ipv4Addr::new(127, 0, kind, 1 + (number % usize::from(ADDRESSES)) as u8);
                let turns = turns.clone();
                connecting.spawn(async move {
                    let _turn = turns.acquire().await;
                    (attacker, connect_from(source.into(), address).await)
                });
            }
        }
        while let Some(connected) = connecting.join_next().await {
            // The service may refuse it, or close it at any time.
            if let (attacker, Ok(stream)) = connected? {
                attack.spawn(trickle(stream, attacker));
            }
        }
        println!("{CONNECTED}");
        std::future::pending().await
    })
}

async fn connect_from(source: IpAddr, address: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    socket.bind(SocketAddr::new(source, 0))?;
    socket.connect(address).await
}

/// Ends when the service closes the connection, which who does not read only notices when sending.
async fn trickle(mut stream: TcpStream, attacker: Attacker) -> std::io::Result<()> {
    stream.write_all(attacker.first).await?;
    let mut buffer = [0; 512];
    let mut next = tokio::time::interval(attacker.every);
    loop {
        let (mut from, mut to) = stream.split();
        tokio::select! {
            read = from.read(&mut buffer), if attacker.reads => if read? == 0 { return Ok(()) },
            _ = next.tick() => to.write_all(attacker.then).await?,
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
