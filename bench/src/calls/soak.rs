//! A soak: 60 operations a second for half an hour. Latency must not grow with the data, and memory must stop growing.
//!
//! Half of the operations are calls (authorize, answer, end), the others what customers do meanwhile. Every operation
//! has its moment; its latency counts from then, also if the service is late with those before it.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use db::Clock;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::fixture::{Fixture, request};
use super::store::Store;
use crate::http::{Client, Response, get, post};
use crate::report::{Limit, Line};
use crate::{Outcome, on_one_thread};

const MINUTES: u64 = 30;
/// Compared: the first and the last part of the soak.
const PART: Duration = Duration::from_secs(5 * 60);
/// Each performs one operation a second.
const WORKERS: u32 = 60;
const SECOND: Duration = Duration::from_secs(1);
/// An access token is valid for longer.
const SIGN_IN_AGAIN: Duration = Duration::from_secs(8 * 60);
/// Memory is compared from here on: the caches of the database are full.
const WARM: Duration = Duration::from_secs(10 * 60);
const MEMORY_CHECK: Duration = Duration::from_secs(10);

/// A latency in milliseconds or a size in MiB.
struct Sample {
    at: Duration,
    value: f64,
}

/// Runs the soak; `arguments` may set its length: `--minutes 10`.
pub fn run(work: &Path, arguments: &[String]) -> Outcome<Vec<Line>> {
    let minutes = match arguments {
        [] => MINUTES,
        [option, minutes] if option == "--minutes" => minutes.parse()?,
        _ => return Err("usage: soak [--minutes N]".into()),
    };
    let length = Duration::from_secs(60 * minutes);
    on_one_thread(async {
        let folder = tempfile::TempDir::new_in(work)?;
        let fixture = Fixture::prepare(work, Store::Sqlite(folder.path().join("soak.db"))).await?;
        soak(&fixture, length).await
    })
}

async fn soak(fixture: &Fixture, length: Duration) -> Outcome<Vec<Line>> {
    let (latencies, memory, started) = (RefCell::default(), RefCell::default(), Instant::now());
    let workers = (0..WORKERS).map(|number| Worker { fixture, number, started, length, latencies: &latencies }.run());
    let load = futures_util::future::try_join_all(workers);
    tokio::try_join!(load, watch_memory(fixture, started, length, &memory))?;
    let (latencies, memory) = (latencies.into_inner(), memory.into_inner());
    print_progress(&latencies, &memory, length);
    Ok(lines(&latencies, &memory, length))
}

async fn watch_memory(
    fixture: &Fixture,
    started: Instant,
    length: Duration,
    memory: &RefCell<Vec<Sample>>,
) -> Outcome<()> {
    while started.elapsed() < length {
        tokio::time::sleep(MEMORY_CHECK).await;
        memory.borrow_mut().push(Sample { at: started.elapsed(), value: fixture.service.resident_mib()? });
    }
    Ok(())
}

struct Worker<'a> {
    fixture: &'a Fixture,
    number: u32,
    started: Instant,
    length: Duration,
    latencies: &'a RefCell<Vec<Sample>>,
}

impl Worker<'_> {
    /// Workers with an even number make calls, the others are customers at the API.
    async fn run(self) -> Outcome<()> {
        let (mut next, mut turn) = (self.started + SECOND * self.number / WORKERS, 0);
        let mut caller = Caller::connect(self.fixture, self.number).await?;
        while next.duration_since(self.started) < self.length {
            sleep_until(next).await;
            let response =
                if self.number.is_multiple_of(2) { caller.call(turn).await? } else { caller.browse(turn).await? };
            if !(200..300).contains(&response.status) {
                return Err(format!("{}: {}", response.status, String::from_utf8_lossy(&response.body)).into());
            }
            let sample = Sample { at: next.duration_since(self.started), value: next.elapsed().as_secs_f64() * 1000.0 };
            self.latencies.borrow_mut().push(sample);
            (next, turn) = (next + SECOND, turn + 1);
        }
        Ok(())
    }
}

/// A switch and a customer, with a connection each.
struct Caller<'a> {
    fixture: &'a Fixture,
    number: u32,
    ops: Client,
    public: Client,
    switch: String,
    token: String,
    signed_in: Instant,
    call_token: Value,
}

impl<'a> Caller<'a> {
    async fn connect(fixture: &'a Fixture, number: u32) -> Outcome<Caller<'a>> {
        Ok(Caller {
            fixture,
            number,
            ops: Client::connect(fixture.service.ops).await?,
            public: Client::connect(fixture.service.public).await?,
            switch: fixture.service.switch_authorization()?,
            token: fixture.sign_in(number as usize).await?,
            signed_in: Instant::now(),
            call_token: Value::Null,
        })
    }

    /// One step of a call: authorize, answer, end.
    async fn call(&mut self, turn: usize) -> Outcome<Response> {
        let now = Clock::system().now().millis();
        let event = |kind: &str, token: &Value| {
            json!({"edge_id": "edge-1", "events": [
                {"event_id": format!("{kind}-{}-{turn}", self.number), "type": kind, "call_token": token, "at": now}]})
        };
        let (path, body) = match turn % 3 {
            0 => (
                "/switch/authorize",
                json!({
                    "edge_id": "edge-1", "call_id": format!("soak-{}-{turn}", self.number), "from_tag": "t",
                    "source_ip": self.fixture.customer(self.number as usize).source,
                    "calling": "+31201111111", "called": format!("+3120{}", 1_000_000 + turn),
                }),
            ),
            1 => ("/switch/events", event("answered", &self.call_token)),
            _ => ("/switch/events", event("ended", &self.call_token)),
        };
        let response = self.ops.send(&post(path, &self.switch, &body)).await?;
        let answer: Value = serde_json::from_slice(&response.body)?;
        if turn.is_multiple_of(3) {
            self.call_token = answer["call_token"].clone();
        } else if answer["accepted"] != 1 {
            return Err(format!("an event was not accepted: {answer}").into());
        }
        Ok(response)
    }

    /// What a customer does: mostly reads, sometimes an audited write.
    async fn browse(&mut self, turn: usize) -> Outcome<Response> {
        if self.signed_in.elapsed() > SIGN_IN_AGAIN {
            self.token = self.fixture.sign_in(self.number as usize).await?;
            self.signed_in = Instant::now();
        }
        let path = match turn % 10 {
            0 | 3 | 6 => "/v1/cdrs?limit=50",
            1 | 5 => "/v1/account/balance",
            2 => "/v1/account/ledger?limit=50",
            4 => "/v1/cdrs/summary",
            7 => "/v1/me",
            8 => "/v1/trunks",
            _ => {
                let path = format!("/v1/trunks/{}", self.fixture.customer(self.number as usize).trunk);
                let body = json!({"name": format!("Main {turn}")});
                return Ok(self.public.send(&request("PATCH", &path, &self.token, &body)).await?);
            }
        };
        Ok(self.public.send(&get(path, Some(&self.token))).await?)
    }
}

fn lines(latencies: &[Sample], memory: &[Sample], length: Duration) -> Vec<Line> {
    let (first, last) =
        (between(latencies, Duration::ZERO, PART), between(latencies, length.saturating_sub(PART), length));
    let growth = |part: usize| percentile(&last, part) / percentile(&first, part);
    let latency = |what, part: usize| {
        let text = |sorted: &[f64]| format!("{:.2} ms", percentile(sorted, part));
        let mut line = Line::alone(what, text(&last), text(&first), growth(part), Limit::AtMost(1.5, "×"));
        line.ratio = format!("{:.2}×", growth(part));
        line
    };
    let warm = percentile(&between(memory, WARM.min(length / 2), WARM.min(length / 2) + PART), 50);
    let end = percentile(&between(memory, length.saturating_sub(PART), length + MEMORY_CHECK), 50);
    let mut resident = Line::alone(
        "Memory in the last 5 minutes of a soak; baseline: after 10 minutes",
        format!("{end:.1} MiB"),
        format!("{warm:.1} MiB"),
        end / warm,
        Limit::AtMost(1.1, "×"),
    );
    resident.ratio = format!("{:.2}×", end / warm);
    vec![
        latency("p50 in the last 5 minutes of a soak at 60 operations a second; baseline: the first 5 minutes", 50),
        latency("p99 in the last 5 minutes of a soak at 60 operations a second; baseline: the first 5 minutes", 99),
        resident,
    ]
}

/// Prints a line for every five minutes.
fn print_progress(latencies: &[Sample], memory: &[Sample], length: Duration) {
    let mut from = Duration::ZERO;
    while from < length {
        let (millis, mib) = (between(latencies, from, from + PART), between(memory, from, from + PART));
        println!(
            "minute {:>2}: {} operations, p50 {:.2} ms, p99 {:.2} ms, memory {:.1} MiB",
            from.as_secs() / 60,
            millis.len(),
            percentile(&millis, 50),
            percentile(&millis, 99),
            percentile(&mib, 50),
        );
        from += PART;
    }
}

/// Values of the time between, sorted.
fn between(samples: &[Sample], from: Duration, to: Duration) -> Vec<f64> {
    let mut values: Vec<f64> =
        samples.iter().filter(|sample| (from..to).contains(&sample.at)).map(|sample| sample.value).collect();
    values.sort_by(f64::total_cmp);
    values
}

pub fn percentile(sorted: &[f64], part: usize) -> f64 {
    sorted.get(sorted.len() * part / 100).copied().unwrap_or(f64::NAN)
}
