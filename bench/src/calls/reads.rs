//! Reading calls among a million and among ten million of them: pages, sums and a whole file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_postgres::NoTls;
use trunkline::clock::Clock;
use trunkline::values::{Date, Rfc3339, Time};

use super::fill::fill;
use super::scene::{Customer, Scene};
use crate::http::{Client, get, post};
use crate::postgres::Database;
use crate::report::{Limit, Line, Spread};
use crate::requests::{CONNECTIONS, ROUND, rate};
use crate::{Outcome, ROUNDS};

const FEW: i64 = 1_000_000;
const MANY: i64 = 10_000_000;
/// Requests whose time is taken, one after another.
const LOOKS: usize = 200;
const MOST_MILLIS: f64 = 5.0;
/// Between two looks at how far an export is.
const LOOK: Duration = Duration::from_millis(20);
const DAY_MILLIS: i64 = 86_400_000;

const PAGE: &str =
    "SELECT id, call_id, leg, started_at, answered_at, ended_at, duration_seconds, calling, called, country,
                           destination_name, status, charge, currency, trunk_id
                    FROM cdrs WHERE account_id = $1 ORDER BY started_at DESC, id DESC LIMIT 50";

pub async fn measure(scene: &Scene, server: &Database, work: &Path) -> Outcome<Vec<Line>> {
    let (customer, _) = scene.reader().await?;
    let yesterday = Date::from(Time::from_millis(Clock::system().now().millis() - DAY_MILLIS));
    let summary = format!("/v1/cdrs/summary?date={yesterday}");
    fill(server, customer, 1, FEW).await?;
    let few = (look(scene, &summary).await?, look(scene, "/v1/asr-acd?period=30d").await?);
    let files = export(scene, server, work).await?;
    let pages_of_few =
        pages(scene, server, "a page of 50 among 1,000,000 calls, PostgreSQL, beside the bare statement").await?;
    fill(server, customer, FEW + 1, MANY - FEW).await?;
    let many = (look(scene, &summary).await?, look(scene, "/v1/asr-acd?period=30d").await?);
    let pages_of_many = pages(scene, server, "the same among 10,000,000").await?;
    let alone = |what, many: Spread, few: Spread| {
        let limit = Limit::AtMost(MOST_MILLIS, " ms");
        Line::alone(what, many.text(2, " ms"), few.text(2, " ms"), many.median, limit)
    };
    Ok(vec![
        pages_of_few,
        pages_of_many,
        alone("the summary of a day among 10,000,000 calls, and among 1,000,000", many.0, few.0),
        alone("ASR and ACD of 30 days among 10,000,000 calls, and among 1,000,000", many.1, few.1),
        files,
    ])
}

/// Pages a second over HTTP, and the rows of as many pages straight from the database.
async fn pages(scene: &Scene, server: &Database, what: &'static str) -> Outcome<Line> {
    let (customer, token) = scene.reader().await?;
    let request = get("/v1/cdrs?limit=50", Some(&token));
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..=ROUNDS {
        ours.push(rate(scene.service.public, &request).await?);
        bare.push(bare_rate(server, customer).await?);
    }
    Ok(Line::beside(what, ours.split_off(1), bare.split_off(1), Some(Limit::AtLeast(0.7, "×"))))
}

async fn bare_rate(server: &Database, customer: &Customer) -> Outcome<f64> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await?;
        tokio::spawn(connection);
        let statement = client.prepare(&PAGE.replace("$1", &format!("'{}'", customer.account.uuid()))).await?;
        clients.push((client, statement));
    }
    let begun = Instant::now();
    let mut asking = JoinSet::new();
    for (client, statement) in clients {
        asking.spawn(async move {
            let mut answered = 0_u32;
            while begun.elapsed() < ROUND {
                if client.query(&statement, &[]).await?.len() != 50 {
                    return Err("a page that is not full".into());
                }
                answered += 1;
            }
            Outcome::Ok(answered)
        });
    }
    let total = asking.join_all().await.into_iter().sum::<Outcome<u32>>()?;
    Ok(f64::from(total) / begun.elapsed().as_secs_f64())
}

/// How long an answer takes, in milliseconds.
async fn look(scene: &Scene, path: &str) -> Outcome<Spread> {
    let (_, token) = scene.reader().await?;
    let request = get(path, Some(&token));
    let mut client = Client::connect(scene.service.public).await?;
    let mut times = Vec::new();
    for _ in 0..LOOKS {
        let begun = Instant::now();
        let answer = client.send(&request).await?;
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
        if answer.status != 200 {
            return Err(format!("{path}: {}", String::from_utf8_lossy(&answer.body)).into());
        }
    }
    Ok(Spread::of(times))
}

/// Rows a second of an export from its request to its being ready, beside the same rows by COPY.
async fn export(scene: &Scene, server: &Database, work: &Path) -> Outcome<Line> {
    let (customer, token) = scene.reader().await?;
    let now = Clock::system().now().millis();
    let range =
        json!({"from": Rfc3339(Time::from_millis(now - 40 * DAY_MILLIS)), "to": Rfc3339(Time::from_millis(now))});
    let header = format!("Authorization: Bearer {}\r\n", token);
    let mut client = Client::connect(scene.service.public).await?;
    let (mut ours, mut copied) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let asked = client.send(&post("/v1/cdrs/exports", &header, &range)).await?;
        let mut export: Value = serde_json::from_slice(&asked.body)?;
        let request = get(&format!("/v1/cdrs/exports/{}", export["id"].as_str().ok_or("no export")?), Some(&token));
        while export["status"] != "ready" {
            if export["status"] == "failed" {
                return Err(format!("the export failed: {export}").into());
            }
            tokio::time::sleep(LOOK).await;
            export = serde_json::from_slice(&client.send(&request).await?.body)?;
        }
        ours.push(export["rows_count"].as_f64().ok_or("no rows")? / begun.elapsed().as_secs_f64());
        copied.push(copy(server, customer, work, now)?);
    }
    let what = "calls of a million written as CSV by an export, beside PostgreSQL's COPY of them in the same order";
    Ok(Line::beside(what, ours, copied, Some(Limit::AtLeast(0.5, "×"))))
}

fn copy(server: &Database, customer: &Customer, work: &Path, now: i64) -> Outcome<f64> {
    let folder = TempDir::new_in(work)?;
    let file = folder.path().join("cdrs.csv");
    let statement = format!(
        "\\copy (SELECT id, call_id, leg, started_at, answered_at, ended_at, duration_seconds, calling, called, country, \
         destination_name, status, charge, currency, trunk_id FROM cdrs WHERE account_id = '{}' AND started_at < {now} \
         ORDER BY started_at, id) TO '{}' WITH (FORMAT csv, HEADER)",
        customer.account.uuid(),
        file.display()
    );
    let program = PathBuf::from(std::env::var("TRUNKLINE_TEST_POSTGRES_BIN").unwrap_or_default()).join("psql");
    let begun = Instant::now();
    let output = Command::new(program).args(["--quiet", "--command", &statement, &server.url]).output()?;
    let took = begun.elapsed();
    if !output.status.success() {
        return Err(format!("psql: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let rows = std::fs::read_to_string(&file)?.lines().count() - 1;
    Ok(f64::from(u32::try_from(rows)?) / took.as_secs_f64())
}
