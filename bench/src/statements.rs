//! Reconciliation of a statement of a million calls with a million CDRs, from the upload until it is completed, and the
//! memory of the service meanwhile. One in a hundred calls differs in each of the four ways; all must be found.
//!
//! The statement is not sorted, so that the service has to do it.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use db::{Clock, Conn, Db, DbError, DbOptions, Entropy, params, row_values};
use serde_json::Value;
use tempfile::TempDir;
use uuid::Uuid;
use values::{CallId, Rfc3339, Time, UpstreamId};

use crate::Outcome;
use crate::http::{Client, get, post_body};
use crate::inventory::{auth_headers, expect_status};
use crate::postgres::Database;
use crate::report::{Limit, Line};
use crate::service::Service;

const CALLS: i64 = 1_000_000;
/// CDRs that are inserted in one transaction.
const BATCH: i64 = 20_000;
const MONTH_MILLIS: i64 = 30 * 86_400_000;
const MAX_SECONDS: f64 = 60.0;
const MAX_MIB: f64 = 512.0;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

const UPSTREAM: &str = "INSERT INTO upstreams (id, name, status, health, dispatcher_group_id, base_currency, markup,
                                               gateways, signaling_ips, created_at, updated_at)
                        VALUES ($1, 'Upstream', 'active', 'unknown', 1, 'EUR', 100000, '[]', '[]', $2, $2)";
const COLUMNS: [&str; 26] = [
    "id",
    "account_id",
    "trunk_id",
    "call_id",
    "leg",
    "zone",
    "calling",
    "called",
    "started_at",
    "answered_at",
    "ended_at",
    "duration_seconds",
    "billed_seconds",
    "status",
    "currency",
    "rate_per_minute",
    "connect_fee",
    "increment_seconds",
    "minimum_seconds",
    "upstream_id",
    "charge",
    "cost",
    "imported",
    "review",
    "recorded_at",
    "country",
];

/// What the upstream and we know of a call.
struct Call {
    id: CallId,
    call_id: String,
    called: String,
    started_at: Time,
    ended_at: Time,
    seconds: i64,
    cost: i64,
    upstream: UpstreamId,
    /// Of nobody.
    account: Uuid,
}

/// What differs between the two views of a call.
#[derive(Clone, Copy, PartialEq)]
enum Difference {
    OnlyOurs,
    OnlyTheirs,
    Duration,
    Rate,
    None,
}

fn difference(number: i64) -> Difference {
    match number % 100 {
        1 => Difference::OnlyOurs,
        2 => Difference::OnlyTheirs,
        3 => Difference::Duration,
        4 => Difference::Rate,
        _ => Difference::None,
    }
}

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let folder = TempDir::new_in(work)?;
    let server = runtime.block_on(Database::create())?;
    let file = format!("sqlite://{}", folder.path().join("statements.db").display());
    // Both at once: inserting the CDRs takes longer than what is measured.
    let (in_file, on_server) =
        runtime.block_on(async { tokio::try_join!(Box::pin(prepare(&file)), Box::pin(prepare(&server.url))) })?;
    let mut lines = Vec::new();
    for (engine, id, url, prepared) in
        [("SQLite", "sqlite", &file, in_file), ("PostgreSQL", "postgres", &server.url, on_server)]
    {
        let (seconds, mib) = runtime.block_on(reconcile(work, url, prepared))?;
        lines.push(
            Line::alone(
                format!("Reconciliation of a statement of 1,000,000 lines, {engine}"),
                format!("{seconds:.1} s"),
                String::new(),
                seconds,
                Limit::AtMost(MAX_SECONDS, " s"),
            )
            .id(format!("seconds-{id}")),
        );
        lines.push(
            Line::alone(
                format!("Peak memory of the service meanwhile, {engine}"),
                format!("{mib:.0} MiB"),
                String::new(),
                mib,
                Limit::AtMost(MAX_MIB, " MiB"),
            )
            .id(format!("memory-{id}")),
        );
    }
    runtime.block_on(server.delete())?;
    Ok(lines)
}

/// Returns how many seconds it took, and the peak memory of the service in MiB.
async fn reconcile(work: &Path, url: &str, (upstream, begin): (UpstreamId, i64)) -> Outcome<(f64, f64)> {
    let service = Service::start_on(work, url).await?;
    let token = service.sign_in().await?;
    let mut client = Client::connect(service.public).await?;
    let path = format!("/v1/admin/upstreams/{upstream}/statements");
    let request = post_body("text/csv", &path, &auth_headers(&token), &csv(upstream, begin)?);
    let started = Instant::now();
    let accepted = expect_status(client.send(&request).await?, 202)?;
    drop(request);
    let path = format!("{path}/{}", accepted["id"].as_str().ok_or("the statement has no id")?);
    let statement = loop {
        let statement = expect_status(client.send(&get(&path, Some(&token))).await?, 200)?;
        match statement["status"].as_str() {
            Some("queued" | "running") => tokio::time::sleep(POLL_INTERVAL).await,
            _ => break statement,
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    check(&statement)?;
    let mib = service.peak_mib()?;
    service.terminate().await?;
    Ok((seconds, mib))
}

/// Every difference was found, and no other.
fn check(statement: &Value) -> Outcome<()> {
    let count = |kind: &str| statement["totals"][kind]["count"].as_i64();
    let each = Some(CALLS / 100);
    let kinds = ["only_ours", "only_theirs", "duration_differs", "rate_differs"];
    match kinds.into_iter().all(|kind| count(kind) == each) && count("all") == Some(CALLS) {
        true => Ok(()),
        false => Err(format!("the statement was compared wrongly: {statement}").into()),
    }
}

/// A database with an upstream and its calls, and when they begin.
async fn prepare(url: &str) -> Outcome<(UpstreamId, i64)> {
    let options: DbOptions = url.parse()?;
    let db = Db::open(&options).await?;
    db.migrate().await?;
    let now = Clock::system().now();
    let upstream = UpstreamId::new(Entropy.uuid(now));
    db.tx((upstream, now), |conn: &mut Conn, (upstream, now)| {
        Box::pin(async move { conn.exec(UPSTREAM, params![*upstream, *now]).await.map(drop) })
    })
    .await?;
    let begin = now.millis() - MONTH_MILLIS;
    for first in (0..CALLS).step_by(BATCH as usize) {
        let numbers = (first..first + BATCH).filter(|number| difference(*number) != Difference::OnlyTheirs);
        let batch: Vec<Call> = numbers.map(|number| call(upstream, begin, number)).collect();
        db.tx(batch, |conn: &mut Conn, batch| Box::pin(insert(conn, batch))).await?;
    }
    Ok((upstream, begin))
}

/// One of the calls, to one of 10 million numbers.
fn call(upstream: UpstreamId, begin: i64, number: i64) -> Call {
    let (started_at, seconds) = (begin + number * (MONTH_MILLIS / CALLS), 10 + number % 300);
    let ended_at = Time::from_millis(started_at + seconds * 1000);
    let started_at = Time::from_millis(started_at);
    Call {
        id: CallId::new(Entropy.uuid(started_at)),
        call_id: format!("call-{number}"),
        called: format!("+3120{:07}", number * 7919 % 10_000_000),
        started_at,
        ended_at,
        seconds,
        cost: seconds * 100_000,
        upstream,
        account: Uuid::nil(),
    }
}

async fn insert(conn: &mut Conn, batch: &[Call]) -> Result<(), DbError> {
    conn.insert_many("cdrs", COLUMNS, batch, |call| {
        row_values![
            call.id,
            call.account,
            call.account,
            call.call_id,
            "termination",
            "eu-west",
            "+31201111111",
            call.called,
            call.started_at,
            call.started_at,
            call.ended_at,
            call.seconds,
            call.seconds,
            "answered",
            "EUR",
            6_000_000i64,
            0i64,
            1i64,
            1i64,
            call.upstream,
            call.cost,
            call.cost,
            false,
            false,
            call.started_at,
            "NL"
        ]
    })
    .await
    .map(drop)
}

/// The upstream's view, with the last call first.
fn csv(upstream: UpstreamId, begin: i64) -> Result<String, std::fmt::Error> {
    let mut text = "called_number,started_at,duration_seconds,cost\n".to_owned();
    for number in (0..CALLS).rev().filter(|number| difference(*number) != Difference::OnlyOurs) {
        let Call { called, started_at, seconds, cost, .. } = call(upstream, begin, number);
        let difference = difference(number);
        let longer = i64::from(difference == Difference::Duration) * 5;
        let nanos = cost + i64::from(difference == Difference::Rate) * 100_000;
        let start = Rfc3339(Time::from_millis((started_at.millis() / 1000 + number % 20) * 1000));
        writeln!(text, "{called},{start},{},0.{:09}", seconds + longer, nanos)?;
    }
    Ok(text)
}
