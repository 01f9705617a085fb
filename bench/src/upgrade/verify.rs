//! Compares what was acknowledged with what customers are shown after the upgrade.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::load::{Customer, PREFIX, Tally};
use crate::Outcome;
use crate::faults::{RetryClient, read_all};
use crate::postgres::Database;

const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Longer than the lease of a job whose node ended.
const JOBS_TIMEOUT: Duration = Duration::from_secs(120);
const DUE_JOBS: &str =
    "SELECT COUNT(*) FROM jobs WHERE dead_at IS NULL AND run_at <= (EXTRACT(EPOCH FROM now()) * 1000)::BIGINT";
const DEAD_JOBS: &str = "SELECT COUNT(*) FROM jobs WHERE dead_at IS NOT NULL";

/// Counts of what is there once.
#[derive(Default)]
pub struct Verified {
    pub credits: usize,
    pub tickets: usize,
    pub mails: usize,
    pub calls: usize,
    pub imports: usize,
}

/// Waits until no job is due; none may be dead.
pub async fn wait_for_jobs(database: &Database) -> Outcome<()> {
    let started = Instant::now();
    loop {
        match database.number(DUE_JOBS).await? {
            0 => break,
            due if started.elapsed() > JOBS_TIMEOUT => return Err(format!("{due} jobs are due and do not run").into()),
            _ => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
    match database.number(DEAD_JOBS).await? {
        0 => Ok(()),
        dead => Err(format!("{dead} jobs are dead").into()),
    }
}

/// Everything acknowledged is listed once, and nothing else of the load.
pub async fn verify(public: SocketAddr, customers: &[Arc<Customer>], tally: &Tally) -> Outcome<Verified> {
    let mut verified = Verified::default();
    for (index, customer) in customers.iter().enumerate() {
        let mut client = RetryClient::new(public, &customer.email);
        let own = |written: &[(usize, String)]| {
            let own = written.iter().filter(|(payer, _)| *payer == index);
            own.map(|(_, name)| name.clone()).collect::<Vec<_>>()
        };
        let (credits, tickets) = (own(&tally.credits), own(&tally.tickets));
        let (calls, imports) = (own(&tally.calls), own(&tally.imports));
        compare(&read_all(&mut client, "/v1/account/ledger").await?, "description", &credits)?;
        compare(&read_all(&mut client, "/v1/tickets").await?, "subject", &tickets)?;
        compare(&read_all(&mut client, "/v1/cdrs").await?, "call_id", &[&calls[..], &imports[..]].concat())?;
        verified.credits += credits.len();
        verified.tickets += tickets.len();
        verified.calls += calls.len();
        verified.imports += imports.len();
    }
    Ok(verified)
}

/// Compares the names in a field of a list's rows with those that were acknowledged.
fn compare(rows: &[Value], field: &str, acknowledged: &[String]) -> Outcome<()> {
    let mut found: HashMap<&str, usize> = acknowledged.iter().map(|name| (name.as_str(), 0)).collect();
    for name in rows.iter().filter_map(|row| row[field].as_str()).filter(|name| name.starts_with(PREFIX)) {
        *found.get_mut(name).ok_or_else(|| format!("{field} {name} is there and was never acknowledged"))? += 1;
    }
    match found.into_iter().find(|(_, times)| *times != 1) {
        Some((name, times)) => Err(format!("{field} {name} was acknowledged and is there {times} times").into()),
        None => Ok(()),
    }
}
