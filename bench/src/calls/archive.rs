//! The archive of ten million CDRs: how fast they move to files, what callers notice meanwhile, and whether DuckDB finds
//! the sums of the rollups in the files.
//!
//! The jobs are started by making their schedules due, so the service runs them as it does every night.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use db::{Clock, Conn, Db, DbOptions, params};
use serde_json::{Value, json};
use tempfile::TempDir;
use values::{Date, Time};

use super::fill::Period;
use super::fixture::Fixture;
use super::grouped;
use super::soak::percentile;
use crate::Outcome;
use crate::http::{Client, get, post};
use crate::report::{Limit, Line};

/// 30 of these days are before the hot window.
pub const PERIOD: Period = Period { days: 40, ended_days_ago: 80 };
pub const SETTINGS: [(&str, &str); 1] = [("TRUNKLINE_CDR_HOT_DAYS", "90")];
/// How long latencies are measured before the archive begins.
const BEFORE: Duration = Duration::from_secs(10);
/// Between two requests of a client.
const PAUSE: Duration = Duration::from_millis(20);
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// A job that takes longer is a fault.
const JOB_TIMEOUT: Duration = Duration::from_secs(3600);
/// An access token is valid for longer.
const SIGN_IN_AGAIN: Duration = Duration::from_secs(8 * 60);
const MAX_SLOWDOWN: f64 = 3.0;
const MAX_MILLIS: f64 = 50.0;
const MAX_MIB: f64 = 512.0;
/// How much a p99 may differ from that of another run.
const NOISE_MILLIS: f64 = 5.0;
const DAY_MILLIS: i64 = 86_400_000;

const MAKE_DUE: &str = "UPDATE schedules SET next_run_at = 0 WHERE name = $1";
/// What is still to do of a job, and how often it died.
const UNFINISHED: &str = "SELECT (SELECT COUNT(*) FROM schedules WHERE name = $1 AND next_run_at = 0)
                               + (SELECT COUNT(*) FROM jobs WHERE kind = $2 AND dead_at IS NULL),
                                 (SELECT COUNT(*) FROM jobs WHERE kind = $2 AND dead_at IS NOT NULL)";
/// Calls in files, and calls before the hot window that are still in the database.
const MOVED: &str = "SELECT (SELECT CAST(COALESCE(SUM(calls), 0) AS BIGINT) FROM cdr_archive_files
                             WHERE verified_at IS NOT NULL),
                            (SELECT COUNT(*) FROM cdrs
                             WHERE started_at < (SELECT hot_from FROM cdr_archive WHERE id = 1))";
const ROLLUPS: &str = "SELECT day, CAST(SUM(attempts) AS BIGINT), CAST(SUM(seconds) AS BIGINT),
                              CAST(SUM(charge) AS BIGINT), CAST(SUM(cost) AS BIGINT)
                       FROM cdr_days WHERE day < (SELECT hot_from FROM cdr_archive WHERE id = 1) / 86400000
                       GROUP BY day";

/// Calls, seconds, charge and cost of a day; amounts in nanos.
type Sums = [i128; 4];

struct Archived {
    calls: i64,
    writing: Duration,
    dropping: Duration,
}

/// Response times in milliseconds, sorted.
struct Latencies {
    pages: Vec<f64>,
    decisions: Vec<f64>,
}

/// Measures a service that was filled with so many CDRs.
pub async fn measure(fixture: &Fixture, cdrs: i64, work: &Path) -> Outcome<Vec<Line>> {
    let db = Db::open(&fixture.store.url().parse::<DbOptions>()?).await?;
    let pause = async {
        tokio::time::sleep(BEFORE).await;
        Outcome::Ok(())
    };
    let ((), before) = beside(fixture, 1, pause).await?;
    let (archived, meanwhile) = beside(fixture, 2, archive(&db)).await?;
    let peak = fixture.service.peak_mib()?;
    let (days, differing) = compare_sums(fixture, &db, work).await?;
    let (engine, id) = (fixture.store.engine(), fixture.store.id());
    let mut lines = vec![rate(&archived, cdrs, engine).id(format!("rate-{id}"))];
    lines.extend(latencies(&before, &meanwhile, engine, id));
    let what = format!("Peak memory of the service meanwhile, {engine}");
    let limit = Limit::AtMost(MAX_MIB, " MiB");
    lines.push(Line::alone(what, format!("{peak:.0} MiB"), String::new(), peak, limit).id(format!("memory-{id}")));
    let what = format!("Archived days whose sums by DuckDB differ from the rollups, {engine}");
    let limit = Limit::AtMost(0.0, "");
    lines.push(
        Line::alone(what, differing.to_string(), format!("{days} days"), differing as f64, limit)
            .id(format!("differing-{id}")),
    );
    Ok(lines)
}

fn rate(archived: &Archived, cdrs: i64, engine: &str) -> Line {
    let Archived { calls, writing, dropping } = archived;
    let (writing, dropping) = (writing.as_secs_f64(), dropping.as_secs_f64());
    let rate = *calls as f64 / (writing + dropping);
    Line::reported(
        format!("Archive of {} of {} CDRs, {engine}", grouped(*calls), grouped(cdrs)),
        format!("{rate:.0} /s"),
        format!("{writing:.0} s to write, {dropping:.0} s to verify and delete"),
        rate,
    )
}

fn latencies(before: &Latencies, meanwhile: &Latencies, engine: &str, id: &str) -> [Line; 3] {
    let millis = |sorted: &[f64]| percentile(sorted, 99);
    let text = |sorted: &[f64]| format!("{:.1} ms", millis(sorted));
    let what = format!("p99 of a page of CDRs meanwhile, {engine}; baseline: before");
    let (ours, yardstick) = (text(&meanwhile.pages), text(&before.pages));
    let slowdown = millis(&meanwhile.pages) / millis(&before.pages);
    let mut relative =
        Line::alone(what.clone(), ours.clone(), yardstick.clone(), slowdown, Limit::AtMost(MAX_SLOWDOWN, "×"));
    relative.ratio = format!("{slowdown:.2}×");
    let absolute = Line::alone(what, ours, yardstick, millis(&meanwhile.pages), Limit::AtMost(MAX_MILLIS, " ms"));
    let what = format!("p99 of a call authorization meanwhile, {engine}; baseline: before");
    let (ours, yardstick) = (text(&meanwhile.decisions), text(&before.decisions));
    let decision = Line::reported(what, ours, yardstick, millis(&meanwhile.decisions)).better_when_lower();
    [
        relative.noise(1.0).id(format!("page-slowdown-{id}")),
        absolute.noise(NOISE_MILLIS).id(format!("page-p99-{id}")),
        decision.noise(NOISE_MILLIS).id(format!("decision-p99-{id}")),
    ]
}

/// Writes the days before the hot window to files, and drops their CDRs.
async fn archive(db: &Db) -> Outcome<Archived> {
    let started = Instant::now();
    run_job(db, "archive_cdrs", "cdrs.archive").await?;
    let writing = started.elapsed();
    run_job(db, "drop_archived_cdrs", "cdrs.drop_archived").await?;
    let dropping = started.elapsed().saturating_sub(writing);
    let (calls, left): (i64, i64) = db.read().await?.one(MOVED, params![]).await?;
    if calls == 0 || left > 0 {
        return Err(format!("{calls} calls are archived, and {left} of them are still in the database").into());
    }
    Ok(Archived { calls, writing, dropping })
}

/// Makes a schedule due and waits until its job has ended.
async fn run_job(db: &Db, schedule: &'static str, kind: &'static str) -> Outcome<()> {
    db.tx(schedule, |conn: &mut Conn, schedule| Box::pin(async move { conn.exec(MAKE_DUE, params![*schedule]).await }))
        .await?;
    let started = Instant::now();
    loop {
        let state: (i64, i64) = db.read().await?.one(UNFINISHED, params![schedule, kind]).await?;
        match state {
            (0, 0) => return Ok(()),
            (_, 0) if started.elapsed() < JOB_TIMEOUT => tokio::time::sleep(POLL_INTERVAL).await,
            (_, dead) => return Err(format!("{kind} did not end; dead jobs: {dead}").into()),
        }
    }
}

/// Reads pages and authorizes calls while some work is done. `phase` is part of the calls' names.
async fn beside<T>(fixture: &Fixture, phase: usize, work: impl Future<Output = Outcome<T>>) -> Outcome<(T, Latencies)> {
    let is_done = Cell::new(false);
    let work = async {
        let outcome = work.await;
        is_done.set(true);
        outcome
    };
    let (outcome, pages, decisions) =
        tokio::join!(work, read_pages(fixture, &is_done), authorize(fixture, phase, &is_done));
    Ok((outcome?, Latencies { pages: sorted(pages?), decisions: sorted(decisions?) }))
}

async fn read_pages(fixture: &Fixture, is_done: &Cell<bool>) -> Outcome<Vec<f64>> {
    let mut client = Client::connect(fixture.service.public).await?;
    let (mut token, mut signed_in) = (fixture.sign_in(0).await?, Instant::now());
    let mut millis = Vec::new();
    while !is_done.get() {
        if signed_in.elapsed() > SIGN_IN_AGAIN {
            (token, signed_in) = (fixture.sign_in(0).await?, Instant::now());
        }
        let request = get("/v1/cdrs?limit=50", Some(&token));
        let started = Instant::now();
        let response = client.send(&request).await?;
        millis.push(started.elapsed().as_secs_f64() * 1000.0);
        if response.status != 200 {
            return Err(format!("{}: {}", response.status, String::from_utf8_lossy(&response.body)).into());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(millis)
}

/// Authorizes one call after another; each fails at once, so that none stays.
async fn authorize(fixture: &Fixture, phase: usize, is_done: &Cell<bool>) -> Outcome<Vec<f64>> {
    let (mut client, switch) = (Client::connect(fixture.service.ops).await?, fixture.service.switch_authorization()?);
    let mut millis = Vec::new();
    while !is_done.get() {
        let name = format!("archive-{phase}-{}", millis.len());
        let call = super::authorize::call(&name, &fixture.customer(1).source);
        let request = post("/switch/authorize", &switch, &call);
        let started = Instant::now();
        let response = client.send(&request).await?;
        millis.push(started.elapsed().as_secs_f64() * 1000.0);
        let decision: Value = serde_json::from_slice(&response.body)?;
        let Some(token) = decision["call_token"].as_str() else {
            return Err(format!("a call was refused: {decision}").into());
        };
        let at = Clock::system().now().millis();
        let event = json!({"event_id": name, "type": "failed", "call_token": token, "at": at});
        let events = post("/switch/events", &switch, &json!({"edge_id": "edge-1", "events": [event]}));
        let answer: Value = serde_json::from_slice(&client.send(&events).await?.body)?;
        if answer["accepted"] != 1 {
            return Err(format!("an event was not accepted: {answer}").into());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(millis)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// How many days are archived, and how many of them have other sums in DuckDB than in the rollups.
async fn compare_sums(fixture: &Fixture, db: &Db, work: &Path) -> Outcome<(usize, usize)> {
    fixture.service.run(&["cdrs", "archive", "verify"])?;
    let folder = TempDir::new_in(work)?;
    let copies = folder.path().join("parquet");
    fixture.service.run(&["cdrs", "archive", "copy", copies.to_str().ok_or("the folder's name is not a text")?])?;
    let found = duckdb_sums(&copies)?;
    let rollups: Vec<(i64, i64, i64, i64, i64)> = db.read().await?.all(ROLLUPS, params![]).await?;
    let expected: BTreeMap<String, Sums> = rollups
        .into_iter()
        .map(|(day, calls, seconds, charge, cost)| {
            let day = Date::from(Time::from_millis(day * DAY_MILLIS)).to_string();
            (day, [calls, seconds, charge, cost].map(i128::from))
        })
        .collect();
    let missing = expected.keys().filter(|day| !found.contains_key(*day)).count();
    let differing = found.iter().filter(|(day, sums)| expected.get(*day) != Some(*sums)).count();
    Ok((expected.len(), missing + differing))
}

/// The sums of each day, over all its files.
fn duckdb_sums(folder: &Path) -> Outcome<BTreeMap<String, Sums>> {
    let mut python = Command::new("target/duckdb/bin/python");
    let output = python.arg("trunkline/tests/archive/sums.py").arg(folder).output()?;
    if !output.status.success() {
        return Err(format!("DuckDB: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let mut days: BTreeMap<String, Sums> = BTreeMap::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let file: Value = serde_json::from_str(line)?;
        // A name is cdrs-2026-01-31.parquet or cdrs-2026-01-31-2.parquet.
        let name = file["file"].as_str().unwrap_or_default();
        let day = name.get(5..15).ok_or_else(|| format!("a file of no day: {name}"))?;
        let sums = days.entry(day.to_owned()).or_default();
        for (sum, field) in sums.iter_mut().zip(["calls", "seconds", "charge", "cost"]) {
            *sum += exact(&file[field])?;
        }
    }
    Ok(days)
}

/// A whole number, or an amount with nine decimals in nanos.
fn exact(value: &Value) -> Outcome<i128> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(text.replace('.', "").parse()?)
}
