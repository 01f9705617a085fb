//! The service killed at moments nobody chose, again and again, while money moves; and the proof that none was lost and
//! none came twice.
//!
//! The real program runs on data and ports of its own, with the sandbox for payments. Callers write about 50 times a
//! second: credits, corrections, top-ups that are opened and then paid, declined or left alone, and orders of numbers,
//! which a carrier of ours thinks about (`load`, `carrier`). Each write has a key and is sent until it is answered. Meanwhile the program is killed with SIGKILL, now and then before it is
//! even up, and started at once on what it left (`node`). After the last kill whatever is due runs, and what callers
//! were told is held against what customers read of their ledgers (`proof`).
//!
//! The seed settles what is asked for and when the kills fall, but not how the two meet: a run with the same seed is
//! much like the first, and no more.

mod caller;
mod carrier;
mod chance;
mod load;
mod node;
mod options;
mod proof;
mod table;

use std::path::Path;
use std::time::{Duration, Instant};

pub use options::Options;
pub use table::table;

use crate::Outcome;
use crate::customers;
use crate::postgres::Database;
use crate::service::bootstrap;
use carrier::Carrier;
use chance::Chance;
use load::{Load, Shop};
use node::Node;
use options::Engine;
use proof::Proved;

const CUSTOMERS: usize = 8;
/// How long a service lives at most before it is killed.
const ALIVE: Duration = Duration::from_millis(1500);
/// One kill in so many is followed by another before the service is up.
const KILLED_AT_BIRTH: u64 = 8;
/// How soon after a kill the service has to be ready.
pub const READY_WITHIN: Duration = Duration::from_secs(3);

/// What came of it on one engine.
#[derive(Default)]
pub struct Findings {
    engine: Engine,
    kills: usize,
    /// Of these, before the service was up.
    at_birth: usize,
    /// From each kill to the next `/readyz` that said so, in seconds.
    ready: Vec<f64>,
    /// How long callers wrote, in seconds.
    seconds: f64,
    /// Requests that had to be sent again.
    again: usize,
    proved: Proved,
    /// The first that was found.
    pub fault: Option<String>,
}

pub fn find(work: &Path, options: &Options) -> Outcome<Vec<Findings>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut found = Vec::new();
    for engine in &options.engines {
        eprintln!("killing the service {} times on {} (seed {}) ...", options.kills, engine.name(), options.seed);
        let mut findings = Findings { engine: *engine, ..Findings::default() };
        // A child ends with the thread that started it, so this one has to be the main thread.
        let outcome = runtime.block_on(torment(&mut findings, work, options));
        let slowest = findings.ready.iter().copied().fold(0.0, f64::max);
        findings.fault = match outcome {
            Err(fault) => Some(fault.to_string()),
            Ok(()) if slowest > READY_WITHIN.as_secs_f64() => Some(format!("it took {slowest:.1} s to be ready again")),
            Ok(()) => None,
        };
        found.push(findings);
    }
    Ok(found)
}

async fn torment(findings: &mut Findings, work: &Path, options: &Options) -> Outcome<()> {
    let database = match findings.engine {
        Engine::Sqlite => None,
        Engine::Postgres => Some(Database::create().await?),
    };
    let carrier = Carrier::open().await?;
    let mut node = Node::prepare(work, database.as_ref().map(|database| database.url.clone()), &carrier.url)?;
    let outcome = kill_and_prove(findings, &mut node, &carrier, options).await;
    if outcome.is_err() {
        eprintln!("{}", node.last_words());
    }
    drop(node);
    if let Some(database) = database {
        database.forget().await?;
    }
    outcome
}

async fn kill_and_prove(findings: &mut Findings, node: &mut Node, carrier: &Carrier, options: &Options) -> Outcome<()> {
    let customers = customers::make(&node.database_url, CUSTOMERS).await?;
    node.start()?;
    node.ready().await?;
    bootstrap(node.public).await?;
    let shop = Shop::open(node.public, &customers).await?;

    let begun = Instant::now();
    let load = Load::begin(node.public, &customers, &shop, options.seed);
    kill_again_and_again(findings, node, options).await?;
    findings.seconds = begun.elapsed().as_secs_f64();
    let done = load.end().await?;
    findings.again = done.again;

    node.let_everything_fall_due().await?;
    findings.proved = proof::prove(node.public, &customers, carrier, &done.deeds).await?;
    node.kill();
    node.verify("ledger")?;
    node.verify("audit")?;
    findings.proved.verified = true;
    Ok(())
}

async fn kill_again_and_again(findings: &mut Findings, node: &mut Node, options: &Options) -> Outcome<()> {
    let mut chance = Chance::new(options.seed);
    // How long a start takes.
    let mut birth = Duration::ZERO;
    while findings.kills < options.kills {
        tokio::time::sleep(chance.up_to(ALIVE)).await;
        node.kill();
        node.start()?;
        findings.kills += 1;
        while findings.kills < options.kills && chance.below(KILLED_AT_BIRTH) == 0 {
            tokio::time::sleep(chance.up_to(birth)).await;
            node.kill();
            node.start()?;
            findings.kills += 1;
            findings.at_birth += 1;
        }
        birth = node.ready().await?;
        findings.ready.push(birth.as_secs_f64());
        if findings.ready.len().is_multiple_of(20) {
            eprintln!("  {} kills", findings.kills);
        }
    }
    Ok(())
}
