//! Fault injection: kills the service at random times while money moves, and verifies that nothing is lost or done
//! twice.
//!
//! The real binary runs on its own data and ports, with the payment sandbox. Clients make about 50 writes per second:
//! credits, corrections, top-ups that are paid, declined, cancelled or abandoned, and number orders at a mock DID
//! supplier (`load`, `did_supplier`). Each write has an idempotency key and is retried until it has a response
//! (`client`). The service is killed with SIGKILL, sometimes during its start, and restarted at once on the same data
//! (`node`). After the last kill all due jobs run, and the responses are compared with the customers' ledgers
//! (`verify`).
//!
//! The seed determines the writes and the times of the kills, but not how they interleave: a run with the same seed is
//! similar, not identical.

mod client;
mod did_supplier;
mod load;
mod node;
mod options;
mod rng;
mod table;
mod verify;

use std::path::Path;
use std::time::{Duration, Instant};

pub use client::{RetryClient, describe};
pub use node::{free_address, tail};
pub use options::Options;
pub use rng::Rng;
pub use table::table;
pub use verify::read_all;

use crate::Outcome;
use crate::customers;
use crate::postgres::Database;
use crate::service::bootstrap;
use did_supplier::DidSupplier;
use load::{Catalog, Load};
use node::Node;
use options::Engine;
use verify::Verified;

const CUSTOMERS: usize = 8;
/// Maximum time between a start and the next kill.
const MAX_UPTIME: Duration = Duration::from_millis(1500);
/// One in so many kills is followed by another while the service starts.
const KILL_DURING_START_ONE_IN: u64 = 8;
/// Maximum time from a kill until the service is ready again.
pub const READY_WITHIN: Duration = Duration::from_secs(3);

/// The result on one engine.
#[derive(Default)]
pub struct Findings {
    engine: Engine,
    kills: usize,
    /// Of these, while the service was starting.
    kills_during_start: usize,
    /// Seconds from each kill to the next successful `/readyz`.
    ready_seconds: Vec<f64>,
    /// Duration of the load in seconds.
    load_seconds: f64,
    /// Requests that had to be retried.
    retried: usize,
    verified: Verified,
    /// The first fault found.
    pub fault: Option<String>,
}

pub fn run(work: &Path, options: &Options) -> Outcome<Vec<Findings>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut all = Vec::new();
    for engine in &options.engines {
        eprintln!("killing the service {} times on {} (seed {}) ...", options.kills, engine.name(), options.seed);
        let mut findings = Findings { engine: *engine, ..Findings::default() };
        // PDEATHSIG follows the thread that started the child, so children must be started from the main thread.
        let outcome = runtime.block_on(run_engine(&mut findings, work, options));
        let slowest = findings.ready_seconds.iter().copied().fold(0.0, f64::max);
        findings.fault = match outcome {
            Err(fault) => Some(fault.to_string()),
            Ok(()) if slowest > READY_WITHIN.as_secs_f64() => {
                Some(format!("took {slowest:.1} s to be ready after a kill"))
            }
            Ok(()) => None,
        };
        all.push(findings);
    }
    Ok(all)
}

async fn run_engine(findings: &mut Findings, work: &Path, options: &Options) -> Outcome<()> {
    let database = match findings.engine {
        Engine::Sqlite => None,
        Engine::Postgres => Some(Database::create().await?),
    };
    let supplier = DidSupplier::start().await?;
    let mut node = Node::prepare(work, database.as_ref().map(|database| database.url.clone()), &supplier.url)?;
    let outcome = kill_and_verify(findings, &mut node, &supplier, options).await;
    if outcome.is_err() {
        eprintln!("{}", node.log_tail());
    }
    drop(node);
    if let Some(database) = database {
        database.delete().await?;
    }
    outcome
}

async fn kill_and_verify(
    findings: &mut Findings,
    node: &mut Node,
    supplier: &DidSupplier,
    options: &Options,
) -> Outcome<()> {
    let customers = customers::create(&node.database_url, CUSTOMERS).await?;
    node.start()?;
    node.wait_until_ready().await?;
    bootstrap(node.public).await?;
    let catalog = Catalog::create(node.public, &customers).await?;

    let started = Instant::now();
    let load = Load::start(node.public, &customers, &catalog, options.seed);
    kill_repeatedly(findings, node, options).await?;
    findings.load_seconds = started.elapsed().as_secs_f64();
    let result = load.end().await?;
    findings.retried = result.retried;

    node.run_due_jobs().await?;
    findings.verified = verify::verify(node.public, &customers, supplier, &result.operations).await?;
    node.kill();
    node.verify("ledger")?;
    node.verify("audit")?;
    findings.verified.self_checks_passed = true;
    Ok(())
}

async fn kill_repeatedly(findings: &mut Findings, node: &mut Node, options: &Options) -> Outcome<()> {
    let mut rng = Rng::new(options.seed);
    // Duration of the last start.
    let mut start_time = Duration::ZERO;
    while findings.kills < options.kills {
        tokio::time::sleep(rng.up_to(MAX_UPTIME)).await;
        node.kill();
        node.start()?;
        findings.kills += 1;
        while findings.kills < options.kills && rng.below(KILL_DURING_START_ONE_IN) == 0 {
            tokio::time::sleep(rng.up_to(start_time)).await;
            node.kill();
            node.start()?;
            findings.kills += 1;
            findings.kills_during_start += 1;
        }
        start_time = node.wait_until_ready().await?;
        findings.ready_seconds.push(start_time.as_secs_f64());
        if findings.ready_seconds.len().is_multiple_of(20) {
            eprintln!("  {} kills", findings.kills);
        }
    }
    Ok(())
}
