//! One node and four nodes on the same PostgreSQL, with the same clients: pages of CDRs, and decisions on calls of one
//! trunk, whose counters all nodes wait for.
//!
//! The nodes share the cores of this machine, so the rates say what coordination costs and not what another machine
//! gains. So the CPU time of a request is compared too: that of the nodes under load, and that of PostgreSQL. The other
//! nodes are idle while one has the load.
//!
//! A node decides in groups, which are a quarter as large where four nodes share the clients. So decisions are compared
//! with one node that has as many clients as each of the four, too: what is left then is what coordination costs.
//!
//! Afterwards every allowed call is live once, and the commands that verify the database find no difference.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use serde_json::Value;
use tokio::time::timeout;

use super::authorize::{call, check};
use super::fixture::{Fixture, post_cdrs};
use super::ingest::{BATCH, ndjson};
use super::store::Store;
use crate::http::{Client, Response, get, post};
use crate::postgres::Database;
use crate::report::{Limit, Line};
use crate::requests::CONNECTIONS;
use crate::service::Service;
use crate::{Outcome, ROUNDS, cpu};

const NODES: usize = 4;
const ROUND: Duration = Duration::from_millis(1500);
/// Longer than any healthy response takes.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The customers whose CDRs are read and whose calls are decided.
const READER: usize = 0;
const CALLER: usize = 1;
const PAGE_ROWS: usize = 50;
const LIVE_CALLS: &str = "SELECT COUNT(*) FROM live_calls";

/// What four nodes must reach, as multiples of one node.
struct Limits {
    /// At least.
    rate: f64,
    /// For a request, at most.
    cpu: f64,
}

const PAGES: Limits = Limits { rate: 0.7, cpu: 1.5 };
/// Beside one node with the same clients, whose groups are four times as large.
const DECISIONS: Limits = Limits { rate: 0.5, cpu: 2.5 };
/// Beside one node with as many clients as each of the four.
const DECISIONS_BESIDE_FEW: Limits = Limits { rate: 0.7, cpu: 1.5 };

pub async fn measure(work: &Path) -> Outcome<Vec<Line>> {
    let database = Database::create().await?;
    let server = database.server_process().await?;
    let fixture = Fixture::prepare(work, Store::Postgres(database)).await?;
    let mut others = Vec::new();
    for _ in 1..NODES {
        others.push(fixture.service.another_node(work).await?);
    }
    let nodes: Vec<&Service> = std::iter::once(&fixture.service).chain(&others).collect();

    let decisions = decisions(&fixture, &nodes, server).await?;
    // By now the rate deck is older than the calls that are imported.
    let pages = pages(&fixture, &nodes, server).await?;

    for what in ["ledger", "audit", "cdrs"] {
        fixture.service.run(&[what, "verify"])?;
    }
    fixture.store.delete().await?;
    Ok(pages.into_iter().chain(decisions).collect())
}

async fn decisions(fixture: &Fixture, nodes: &[&Service], server: u32) -> Outcome<Vec<Line>> {
    let (authorization, source) = (fixture.service.switch_authorization()?, &fixture.customer(CALLER).source);
    let load = Load {
        port: |node| node.ops,
        request: &|number| post("/switch/authorize", &authorization, &call(&format!("nodes-{number}"), source)),
        check,
        sent: Cell::new(0),
    };
    let compared = compare(nodes, server, &load).await?;
    let Store::Postgres(database) = &fixture.store else { return Err("PostgreSQL is needed".into()) };
    let (live, allowed) = (database.number(LIVE_CALLS).await?, load.sent.get());
    if u64::try_from(live)? != allowed {
        return Err(format!("{allowed} calls were allowed, and {live} are live").into());
    }
    let what = "Durable call authorization for one trunk, four nodes on PostgreSQL, 32 clients";
    let one = lines("decisions", what, "authorizations", &DECISIONS, &compared.four, ("one node", &compared.one));
    let few = ("one node with 8 clients", compared.few.as_slice());
    let few = lines("decisions-few", what, "authorizations", &DECISIONS_BESIDE_FEW, &compared.four, few);
    Ok(one.into_iter().chain(few).collect())
}

async fn pages(fixture: &Fixture, nodes: &[&Service], server: u32) -> Outcome<[Line; 3]> {
    import(fixture).await?;
    let request = get("/v1/cdrs?limit=50", Some(&fixture.sign_in(READER).await?));
    let page: Value =
        serde_json::from_slice(&Client::connect(fixture.service.public).await?.send(&request).await?.body)?;
    if page["data"].as_array().map(Vec::len) != Some(PAGE_ROWS) {
        return Err(format!("a page is not full: {page}").into());
    }
    let load = Load { port: |node| node.public, request: &|_| request.clone(), check: check_page, sent: Cell::new(0) };
    let compared = compare(nodes, server, &load).await?;
    let what = "Pages of 50 CDRs, four nodes on PostgreSQL, 32 clients";
    Ok(lines("pages", what, "pages", &PAGES, &compared.four, ("one node", &compared.one)))
}

/// Imports CDRs of the reader, over the first node.
async fn import(fixture: &Fixture) -> Outcome<()> {
    let text = ndjson(&[fixture.customer(READER).trunk], &mut 0)?;
    let request = post_cdrs(&fixture.service.switch_authorization()?, &text);
    let response = Client::connect(fixture.service.ops).await?.send(&request).await?;
    let result: Value = serde_json::from_slice(&response.body)?;
    if result["accepted"] == BATCH { Ok(()) } else { Err(format!("{}: {result}", response.status).into()) }
}

fn check_page(response: &Response) -> Outcome<()> {
    match response.status {
        200 => Ok(()),
        status => Err(format!("{status}: {}", String::from_utf8_lossy(&response.body)).into()),
    }
}

/// What the clients send.
struct Load<'a> {
    /// The port of a node that it goes to.
    port: fn(&Service) -> SocketAddr,
    /// The request with this number.
    request: &'a dyn Fn(u64) -> Vec<u8>,
    check: fn(&Response) -> Outcome<()>,
    /// How many were sent; no number is used twice.
    sent: Cell<u64>,
}

/// What was measured in a round; CPU time is in milliseconds for a request.
struct Round {
    rate: f64,
    nodes_cpu: f64,
    server_cpu: f64,
}

type Figure = fn(&Round) -> f64;

struct Compared {
    one: Vec<Round>,
    /// One node with as many clients as each of the four.
    few: Vec<Round>,
    four: Vec<Round>,
}

/// Puts the load on the first node and on all nodes, in turns.
async fn compare(nodes: &[&Service], server: u32, load: &Load<'_>) -> Outcome<Compared> {
    let mut of_one = Side::connect(&nodes[..1], CONNECTIONS, server, load).await?;
    let mut of_few = Side::connect(&nodes[..1], CONNECTIONS / NODES, server, load).await?;
    let mut of_four = Side::connect(nodes, CONNECTIONS, server, load).await?;
    let (mut one, mut few, mut four) = (Vec::new(), Vec::new(), Vec::new());
    // The first round of each is a warm-up and is discarded.
    for _ in 0..=ROUNDS {
        one.push(of_one.round(load).await?);
        few.push(of_few.round(load).await?);
        four.push(of_four.round(load).await?);
    }
    Ok(Compared { one: one.split_off(1), few: few.split_off(1), four: four.split_off(1) })
}

/// Nodes under load, and its clients.
struct Side<'a> {
    nodes: &'a [&'a Service],
    server: u32,
    clients: Vec<RoundRobin>,
}

impl<'a> Side<'a> {
    async fn connect(nodes: &'a [&'a Service], number: usize, server: u32, load: &Load<'_>) -> Outcome<Side<'a>> {
        let mut clients = Vec::new();
        for first in 0..number {
            let mut connections = Vec::new();
            for node in nodes {
                connections.push(Client::connect((load.port)(node)).await?);
            }
            clients.push(RoundRobin { connections, next: first });
        }
        Ok(Side { nodes, server, clients })
    }

    async fn round(&mut self, load: &Load<'_>) -> Outcome<Round> {
        let (nodes_before, server_before) = self.cpu_seconds()?;
        let started = Instant::now();
        let sending = try_join_all(self.clients.iter_mut().map(|client| client.send_until_over(load, started)));
        let requests = f64::from(timeout(ROUND + TIMEOUT, sending).await??.into_iter().sum::<u32>());
        let rate = requests / started.elapsed().as_secs_f64();
        let (nodes, server) = self.cpu_seconds()?;
        let millis = |seconds: f64| seconds * 1000.0 / requests;
        Ok(Round { rate, nodes_cpu: millis(nodes - nodes_before), server_cpu: millis(server - server_before) })
    }

    /// CPU time of the nodes and of PostgreSQL so far.
    fn cpu_seconds(&self) -> Outcome<(f64, f64)> {
        let nodes = self.nodes.iter().map(|node| node.cpu_seconds()).sum::<Outcome<f64>>()?;
        Ok((nodes, cpu::seconds_with_children(self.server)?))
    }
}

/// A client with a connection to each node, which it uses in turn.
struct RoundRobin {
    connections: Vec<Client>,
    next: usize,
}

impl RoundRobin {
    /// Sends its next request as soon as it has the response, and returns how many it got.
    async fn send_until_over(&mut self, load: &Load<'_>, started: Instant) -> Outcome<u32> {
        let mut responses = 0;
        while started.elapsed() < ROUND {
            let number = load.sent.get();
            load.sent.set(number + 1);
            let turn = self.next % self.connections.len();
            self.next += 1;
            (load.check)(&self.connections[turn].send(&(load.request)(number)).await?)?;
            responses += 1;
        }
        Ok(responses)
    }
}

fn lines(
    id: &str,
    what: &str,
    requests: &str,
    limits: &Limits,
    four: &[Round],
    (baseline, of_baseline): (&str, &[Round]),
) -> [Line; 3] {
    let of = |rounds: &[Round], figure: Figure| rounds.iter().map(figure).collect::<Vec<_>>();
    let both = |figure: Figure| (of(four, figure), of(of_baseline, figure));
    let cpu = |whose: &str, figure: Figure| {
        let (four, one) = both(figure);
        let what = format!("CPU time of {whose} for each of these {requests}; baseline: {baseline}");
        Line::cost(what, four, one, Limit::AtMost(limits.cpu, "×"))
    };
    let (four, one) = both(|round| round.rate);
    [
        Line::beside(format!("{what}; baseline: {baseline}"), four, one, Some(Limit::AtLeast(limits.rate, "×"))).id(id),
        cpu("the nodes", |round| round.nodes_cpu).id(format!("{id}-cpu")),
        cpu("PostgreSQL", |round| round.server_cpu).id(format!("{id}-cpu-postgres")),
    ]
}
