//! Rolling upgrade under load: two nodes of a previous version are replaced by the present one, and no caller notices.
//!
//! The nodes serve demo data on PostgreSQL (`nodes`). A load balancer that checks `/readyz` (`balancer`) spreads the
//! requests of customers, team and switches over them (`load`). Meanwhile the present version migrates the database, if
//! its plan says that nodes can serve beside that; then one node after the other gets SIGTERM, drains, ends and starts
//! as the present version. No request may fail, and everything acknowledged must be there once, with the mail that
//! follows from it (`verify`).

mod balancer;
mod load;
mod nodes;
mod verify;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use db::{Entropy, MIGRATIONS, Rollout};

use crate::Outcome;
use crate::postgres::Database;
use balancer::Balancer;
use load::{Load, Tally};
use nodes::{Installation, Node};
use verify::Verified;

/// How long the load goes on before, between and after the steps of the upgrade.
const STEADY: Duration = Duration::from_secs(5);
/// Nodes read what another changed once a second; the trunks of the load must be known to both.
const CACHES_REFRESHED: Duration = Duration::from_secs(2);
const NODES: usize = 2;
/// Failed requests that are printed.
const SHOWN_FAILURES: usize = 10;

/// The binaries of both versions.
pub struct Versions {
    old: PathBuf,
    new: PathBuf,
}

impl TryFrom<&[String]> for Versions {
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn try_from(arguments: &[String]) -> Outcome<Versions> {
        match arguments {
            [first, old, second, new] if first == "--old" && second == "--new" => {
                Ok(Versions { old: old.into(), new: new.into() })
            }
            _ => Err("usage: upgrade --old PATH --new PATH, or upgrade --newest-break".into()),
        }
    }
}

/// The newest migration that nodes of the release before do not survive. Upgrades that begin after it are online.
pub fn newest_break() -> Option<&'static str> {
    let breaks = MIGRATIONS.iter().rev().find(|migration| matches!(migration.rollout(), Rollout::Breaks(_)));
    breaks.map(|migration| migration.name)
}

pub fn run(work: &Path, versions: &Versions) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // PDEATHSIG follows the thread that started the child, so nodes must be started from the main thread.
    runtime.block_on(async {
        let database = Database::create().await?;
        let outcome = upgrade(work, &database, versions).await;
        database.delete().await?;
        outcome
    })
}

async fn upgrade(work: &Path, database: &Database, versions: &Versions) -> Outcome<()> {
    let installation = Installation::prepare(work, &database.url)?;
    eprintln!("filling a database with the previous version ...");
    let users = installation.fill(&versions.old)?;
    check_plan(&installation, &versions.new)?;
    let mut nodes = Vec::new();
    for number in 1..=NODES {
        let mut node = Node::prepare(&installation, number)?;
        node.start(&installation, &versions.old)?;
        node.wait_until_ready().await?;
        nodes.push(node);
    }
    let outcome = upgrade_nodes(&installation, database, &users, &mut nodes, &versions.new).await;
    if outcome.is_err() {
        for node in &nodes {
            eprintln!("{}", node.log_tail());
        }
    }
    outcome
}

/// Prints the plan of the present version; fails if the previous one cannot serve beside it.
fn check_plan(installation: &Installation, new: &Path) -> Outcome<()> {
    let plan = installation.run(new, &["migrate", "--plan"])?;
    eprint!("{plan}");
    if plan.contains("  not online: ") {
        return Err("the nodes of the previous version have to be stopped for this upgrade, so it cannot be rolled \
                    out under load; choose a later version to upgrade from"
            .into());
    }
    Ok(())
}

async fn upgrade_nodes(
    installation: &Installation,
    database: &Database,
    users: &nodes::Users,
    nodes: &mut [Node],
    new: &Path,
) -> Outcome<()> {
    let addresses: Vec<_> = nodes.iter().map(|node| (node.public, node.ops)).collect();
    let (public, _) = addresses[0];
    let actors = load::Actors::prepare(public, users, installation.switch_authorization()?).await?;
    tokio::time::sleep(CACHES_REFRESHED).await;
    let mails = installation.ticket_mails()?;
    let (balancer, started) = (Balancer::start(&addresses), Instant::now());
    let load = Load::start(&balancer, &actors, u64::from(u32::from_be_bytes(Entropy.bytes())));
    let replaced = replace(installation, nodes, new).await;
    let tally = load.end().await?;
    let seconds = started.elapsed().as_secs_f64();
    replaced?;
    check_failures(&tally)?;

    verify::wait_for_jobs(database).await?;
    let mut verified = verify::verify(public, &actors.customers, &tally).await?;
    verified.mails = installation.ticket_mails()? - mails;
    if verified.mails != tally.replies {
        return Err(format!("{} replies to tickets were mailed, not {}", verified.mails, tally.replies).into());
    }
    for node in nodes {
        node.drain().await?;
    }
    for what in ["ledger", "audit", "cdrs"] {
        installation.run(new, &[what, "verify"])?;
    }
    println!("{}", table(&tally, &verified, seconds));
    Ok(())
}

/// Migrates beside the old nodes, and replaces them one after another.
async fn replace(installation: &Installation, nodes: &mut [Node], new: &Path) -> Outcome<()> {
    tokio::time::sleep(STEADY).await;
    eprintln!("migrating ...");
    installation.run(new, &["migrate"])?;
    tokio::time::sleep(STEADY).await;
    for node in nodes {
        eprintln!("replacing a node ...");
        node.drain().await?;
        node.start(installation, new)?;
        node.wait_until_ready().await?;
        tokio::time::sleep(STEADY).await;
    }
    Ok(())
}

fn check_failures(tally: &Tally) -> Outcome<()> {
    for failure in tally.failures.iter().take(SHOWN_FAILURES) {
        eprintln!("{failure}");
    }
    match tally.failures.len() {
        0 => Ok(()),
        failed => Err(format!("{failed} of {} requests failed", tally.requests).into()),
    }
}

fn table(tally: &Tally, verified: &Verified, seconds: f64) -> String {
    let rows = [
        ("requests", format!("{} ({:.0} per second)", tally.requests, tally.requests as f64 / seconds)),
        ("failed", tally.failures.len().to_string()),
        ("sent to the other node, since the connection was refused", tally.refused.to_string()),
        ("credits, each in the ledger once", verified.credits.to_string()),
        ("tickets, each there once", verified.tickets.to_string()),
        ("replies to tickets, each mailed once", verified.mails.to_string()),
        ("authorized calls, each with one CDR", verified.calls.to_string()),
        ("imported calls, each with one CDR", verified.imports.to_string()),
        ("dead jobs, jobs that are due", "0".to_owned()),
        ("`ledger verify`, `audit verify`, `cdrs verify`", "passed".to_owned()),
    ];
    rows.iter().fold("| | |\n|---|---|\n".to_owned(), |table, (what, value)| table + &format!("| {what} | {value} |\n"))
}
