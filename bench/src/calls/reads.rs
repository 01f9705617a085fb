//! Reading CDRs among ten million: pages, summaries and exports.

use db::Clock;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use values::{Date, Rfc3339, Time};

use super::fixture::{Customer, Fixture, request};
use super::grouped;
use super::store::Store;
use crate::http::{Client, get};
use crate::postgres::Database;
use crate::report::{Limit, Line, Spread};
use crate::requests::rate;
use crate::service::{ADMIN, Process, sign_in};
use crate::{Outcome, ROUNDS};

/// The customer whose CDRs are exported, and how many it has.
const EXPORTER: usize = 1;
pub const EXPORTED: i64 = 1_000_000;
const EXPORT_ROUNDS: usize = 3;
/// Sequential requests of a round.
const REQUESTS: usize = 40;
const MAX_MILLIS: f64 = 5.0;
/// Of a report of the team.
const MAX_REPORT_MILLIS: f64 = 20.0;
/// Between two polls of an export.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const DAY_MILLIS: i64 = 86_400_000;

/// A read of rollups, which must be fast however many CDRs there are.
struct Read {
    id: &'static str,
    what: &'static str,
    path: fn() -> String,
    is_team: bool,
    max_millis: f64,
}

impl Read {
    const fn of_customer(id: &'static str, what: &'static str, path: fn() -> String) -> Read {
        Read { id, what, path, is_team: false, max_millis: MAX_MILLIS }
    }

    const fn of_team(id: &'static str, what: &'static str, path: fn() -> String) -> Read {
        Read { id, what, path, is_team: true, max_millis: MAX_MILLIS }
    }
}

#[rustfmt::skip]
const READS: [Read; 10] = [
    Read::of_customer("summary", "CDR summary of a day", summary_path),
    Read::of_customer("asr-acd", "ASR and ACD of 30 days", || "/v1/asr-acd?period=30d".into()),
    Read::of_customer("usage", "Usage of 30 days by destination", || "/v1/usage?group_by=destination".into()),
    Read::of_customer("usage-zone", "Usage of 30 days of Amsterdam", || "/v1/usage?time_zone=Europe/Amsterdam".into()),
    Read::of_customer("usage-amsterdam", "Usage of 30 days of Amsterdam by destination", || "/v1/usage?group_by=destination&time_zone=Europe/Amsterdam".into()),
    Read::of_customer("usage-hours", "Usage of 24 hours by destination", || "/v1/usage?interval=hour&group_by=destination".into()),
    Read::of_team("traffic", "Traffic of 30 days", || "/v1/admin/traffic".into()),
    Read::of_team("traffic-destinations", "Traffic of 30 days by destination", || "/v1/admin/traffic?group_by=destination".into()),
    Read { max_millis: MAX_REPORT_MILLIS, ..Read::of_team("margin-customers", "Margin of 30 days by customer", || "/v1/admin/reports/margin?by=customer".into()) },
    Read { max_millis: MAX_REPORT_MILLIS, ..Read::of_team("margin-destinations", "Margin of 30 days by destination", || "/v1/admin/reports/margin?by=destination".into()) },
];

fn summary_path() -> String {
    let yesterday = Date::from(Time::from_millis(Clock::system().now().millis() - DAY_MILLIS));
    format!("/v1/cdrs/summary?date={yesterday}")
}

/// Measures both engines, whose first customer has `cdrs` CDRs and the second [`EXPORTED`]; the exports of both are
/// compared with the same COPY.
pub async fn measure(sqlite: &Fixture, postgres: &Fixture, cdrs: i64, work: &Path) -> Outcome<Vec<Line>> {
    let Store::Postgres(server) = &postgres.store else { return Err("PostgreSQL is needed".into()) };
    let mut exports = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..EXPORT_ROUNDS {
        exports[0].push(export(sqlite).await?);
        exports[1].push(export(postgres).await?);
        exports[2].push(copy(server, postgres.customer(EXPORTER), work)?);
    }
    let [exports_sqlite, exports_postgres, copies] = exports;
    let half = Some(Limit::AtLeast(0.5, "×"));
    let mut lines = rows(sqlite, cdrs, [0.7, 1.0]).await?;
    let what = "CDR export of 1,000,000 as CSV, SQLite; baseline: PostgreSQL COPY in the same order";
    lines.push(Line::beside(what, exports_sqlite, copies.clone(), half).id("export-sqlite"));
    lines.extend(rows(postgres, cdrs, [0.6, 0.7]).await?);
    let what = "CDR export of 1,000,000 as CSV, PostgreSQL; baseline: its COPY in the same order";
    lines.push(Line::beside(what, exports_postgres, copies, half).id("export-postgres"));
    Ok(lines)
}

/// Pages and other reads.
async fn rows(fixture: &Fixture, cdrs: i64, page_limits: [f64; 2]) -> Outcome<Vec<Line>> {
    let (engine, among) = (fixture.store.engine(), grouped(cdrs));
    // Other sizes are other rows.
    let id = |name: &str| format!("{name}-{}-{}", cdrs / 1_000_000, fixture.store.id());
    let what = format!("Page of 50 among {among} CDRs, {engine}");
    let [beside_statement, beside_steps] = pages(fixture, &what, page_limits).await?;
    let mut lines = vec![beside_statement.id(id("page")), beside_steps.id(id("page-steps"))];
    for read in READS {
        let token = if read.is_team {
            sign_in(fixture.service.public, ADMIN).await?
        } else {
            fixture.first_customer().await?.1
        };
        let millis = latency(fixture, &(read.path)(), &token).await?;
        let what = format!("{} among {among} CDRs, {engine}", read.what);
        let limit = Limit::AtMost(read.max_millis, " ms");
        let line = Line::alone(what, millis.text(2, " ms"), String::new(), millis.median, limit);
        lines.push(line.spread(millis).id(id(read.id)));
    }
    Ok(lines)
}

/// Pages per second over HTTP, compared with the same rows directly from the database, and with two bare steps: the
/// statement, and then a bare server that sends the same JSON.
async fn pages(fixture: &Fixture, what: &str, limits: [f64; 2]) -> Outcome<[Line; 2]> {
    let (customer, token) = fixture.first_customer().await?;
    let request = get("/v1/cdrs?limit=50", Some(&token));
    let page: Value =
        serde_json::from_slice(&Client::connect(fixture.service.public).await?.send(&request).await?.body)?;
    let mut server = Process::start(&std::env::current_exe()?, &["echo", &page.to_string()], |_| {})?;
    let (address, fixed) = (server.address_after("Echo")?, get("/fixed", Some(&token)));
    let (mut ours, mut bare, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    // The first round is a warm-up and is discarded.
    for _ in 0..=ROUNDS {
        ours.push(rate(fixture.service.public, &request).await?);
        let (statement, sent) = (fixture.store.pages(customer).await?, rate(address, &fixed).await?);
        bare.push(statement);
        steps.push(1.0 / (1.0 / statement + 1.0 / sent));
    }
    let (ours, bare, steps) = (ours.split_off(1), bare.split_off(1), steps.split_off(1));
    let [statement_limit, steps_limit] = limits.map(|least| Some(Limit::AtLeast(least, "×")));
    let beside_steps =
        format!("{what}, the same; baseline: bare statement, then a bare axum server that sends the same JSON");
    Ok([
        Line::beside(format!("{what}; baseline: bare statement"), ours.clone(), bare, statement_limit),
        Line::beside(beside_steps, ours, steps, steps_limit),
    ])
}

/// The median response time of each round in milliseconds.
async fn latency(fixture: &Fixture, path: &str, token: &str) -> Outcome<Spread> {
    let request = get(path, Some(token));
    let mut client = Client::connect(fixture.service.public).await?;
    let mut medians = Vec::new();
    let first: Value = serde_json::from_slice(&client.send(&request).await?.body)?;
    if is_empty(&first) {
        return Err(format!("{path} has no data: {first}").into());
    }
    for _ in 0..ROUNDS {
        let mut times = Vec::new();
        for _ in 0..REQUESTS {
            let started = Instant::now();
            let response = client.send(&request).await?;
            times.push(started.elapsed().as_secs_f64() * 1000.0);
            if response.status != 200 {
                return Err(format!("{path}: {}", String::from_utf8_lossy(&response.body)).into());
            }
        }
        medians.push(Spread::of(times).median);
    }
    Ok(Spread::of(medians))
}

/// Whether a report has no calls, so that reading it says nothing.
fn is_empty(report: &Value) -> bool {
    ["rows", "series", "data"].iter().any(|list| report[list].as_array().is_some_and(Vec::is_empty))
        || report["sample_size"] == 0
}

/// Rows per second of an export, from the request until it is ready.
async fn export(fixture: &Fixture) -> Outcome<f64> {
    let token = fixture.sign_in(EXPORTER).await?;
    let now = Clock::system().now().millis();
    let range =
        json!({"from": Rfc3339(Time::from_millis(now - 40 * DAY_MILLIS)), "to": Rfc3339(Time::from_millis(now))});
    let mut client = Client::connect(fixture.service.public).await?;
    let started = Instant::now();
    let created = client.send(&request("POST", "/v1/cdrs/exports", &token, &range)).await?;
    let mut export: Value = serde_json::from_slice(&created.body)?;
    let id = export["id"].as_str().ok_or_else(|| format!("no export: {export}"))?;
    let poll = get(&format!("/v1/cdrs/exports/{id}"), Some(&token));
    while export["status"] != "ready" {
        if export["status"] == "failed" {
            return Err(format!("the export failed: {export}").into());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        export = serde_json::from_slice(&client.send(&poll).await?.body)?;
    }
    Ok(export["rows_count"].as_f64().ok_or("no rows")? / started.elapsed().as_secs_f64())
}

/// Rows per second of COPY with the same rows.
fn copy(server: &Database, customer: &Customer, work: &Path) -> Outcome<f64> {
    let folder = TempDir::new_in(work)?;
    let file = folder.path().join("cdrs.csv");
    let statement = format!(
        "\\copy (SELECT id, call_id, leg, started_at, answered_at, ended_at, duration_seconds, calling, called, country, \
         destination_name, status, charge, currency, trunk_id FROM cdrs WHERE account_id = '{}' ORDER BY started_at, id) \
         TO '{}' WITH (FORMAT csv, HEADER)",
        customer.account.uuid(),
        file.display()
    );
    let program = PathBuf::from(std::env::var("TRUNKLINE_TEST_POSTGRES_BIN").unwrap_or_default()).join("psql");
    let started = Instant::now();
    let output = Command::new(program).args(["--quiet", "--command", &statement, &server.url]).output()?;
    let elapsed = started.elapsed();
    if !output.status.success() {
        return Err(format!("psql: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let rows = std::fs::read_to_string(&file)?.lines().count() - 1;
    Ok(f64::from(u32::try_from(rows)?) / elapsed.as_secs_f64())
}
