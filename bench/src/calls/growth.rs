//! What must not cost more with the CDRs: every list, a decision and an import of 1,000 CDRs, on a service with millions
//! of CDRs and on one with a thousand, in turns. Both have 10,000 live calls.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::fixture::{Fixture, post_cdrs};
use super::ingest::{BATCH, MAX_AGE_MILLIS, ndjson};
use super::{authorize, grouped};
use crate::http::{Client, get, post};
use crate::report::{Limit, Line, Spread};
use crate::requests::CONNECTIONS;
use crate::service::{ADMIN, sign_in};
use crate::{Outcome, ROUNDS};

const LIVE_CALLS: usize = 10_000;
/// Of a round, one after the other; the median counts.
const READS: usize = 20;
const DECISIONS: usize = 200;
const IMPORTS: usize = 5;
const MAX_GROWTH: f64 = 1.3;
/// Lists of calls, which have rows of their own.
const LISTS_OF_CALLS: [(&str, &str); 4] =
    [("/cdrs", "cdrs"), ("/calls", "calls"), ("/admin/cdrs", "admin-cdrs"), ("/admin/calls", "admin-calls")];

/// Milliseconds of each round, by what was done.
type Costs = BTreeMap<String, Vec<f64>>;
const DECISION: &str = "decision";
const IMPORT: &str = "import";

/// Measures one engine: `large` has this many CDRs.
pub async fn measure(large: &Fixture, small: &Fixture, cdrs: i64) -> Outcome<Vec<Line>> {
    // Calls must start after the rate deck came into force.
    tokio::time::sleep(Duration::from_millis(MAX_AGE_MILLIS)).await;
    let lists = lists()?;
    let (mut large_side, mut small_side) = (Side::connect(large, &lists).await?, Side::connect(small, &lists).await?);
    // The first round of each is a warm-up and is discarded.
    for round in 0..=ROUNDS {
        large_side.round(round).await?;
        small_side.round(round).await?;
    }
    lines(large, large_side.costs, small_side.costs, cdrs)
}

fn lines(fixture: &Fixture, mut large: Costs, mut small: Costs, cdrs: i64) -> Outcome<Vec<Line>> {
    let beside = format!("{} CDRs, {}; baseline: 1,000 CDRs", grouped(cdrs), fixture.store.engine());
    // Other sizes are other rows.
    let id = |name: &str| format!("{name}-{}-{}", cdrs / 1_000_000, fixture.store.id());
    let limit = Limit::AtMost(MAX_GROWTH, "×");
    let mut lines = Vec::new();
    for (path, name) in LISTS_OF_CALLS {
        let (large, small) = (taken(&mut large, path)?, taken(&mut small, path)?);
        lines.push(Line::cost(format!("`GET /v1{path}`, {beside}"), large, small, limit).id(id(name)));
    }
    for (key, name, what) in
        [(DECISION, "decision", "Decision about a call"), (IMPORT, "import", "Import of 1,000 CDRs")]
    {
        let (large, small) = (taken(&mut large, key)?, taken(&mut small, key)?);
        lines.push(Line::cost(format!("{what}, {beside}"), large, small, limit).id(id(name)));
    }
    let what = format!("{} other lists one after the other, {beside}", large.len());
    lines.push(Line::cost(what, total(&large), total(&small), limit).id(id("lists")));
    let growth =
        |path: &str, costs: &[f64]| Spread::ratio(costs, small.get(path).map(Vec::as_slice).unwrap_or_default()).median;
    let most = large.iter().max_by(|(a, a_costs), (b, b_costs)| growth(a, a_costs).total_cmp(&growth(b, b_costs)));
    let (path, costs) = most.ok_or("there are no other lists")?;
    let small = small.get(path).ok_or("the lists differ")?;
    let mut line =
        Line::cost(format!("The one of them that grows most, {beside}"), costs.clone(), small.clone(), limit);
    line.ours = format!("{}, `{path}`", line.ours);
    lines.push(line.id(id("list")));
    Ok(lines)
}

fn taken(costs: &mut Costs, key: &str) -> Outcome<Vec<f64>> {
    costs.remove(key).ok_or_else(|| format!("{key} was not measured").into())
}

/// All of them together, round by round.
fn total(costs: &Costs) -> Vec<f64> {
    (0..ROUNDS).map(|round| costs.values().filter_map(|costs| costs.get(round)).sum()).collect()
}

/// The paths of all lists that need neither an id nor a parameter, from the API's description. A report is none: it
/// sums rollups.
fn lists() -> Outcome<Vec<String>> {
    let api: Value = serde_json::from_str(&std::fs::read_to_string("openapi.json")?)?;
    let paths = api["paths"].as_object().ok_or("openapi.json has no paths")?;
    let is_list = |operation: &Value| {
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_page = parameters.iter().any(|parameter| parameter["name"] == "limit");
        is_page && !parameters.iter().any(|parameter| parameter["required"] == true)
    };
    let lists = paths.iter().filter(|(path, item)| is_list(&item["get"]) && !path.contains("/reports/"));
    Ok(lists.map(|(path, _)| path.clone()).collect())
}

/// One of the two services, with what its requests need.
struct Side<'a> {
    fixture: &'a Fixture,
    public: Client,
    ops: Client,
    switch: String,
    trunks: Vec<Uuid>,
    /// Requests of the lists, by path.
    lists: Vec<(String, Vec<u8>)>,
    next: i64,
    costs: Costs,
}

impl<'a> Side<'a> {
    async fn connect(fixture: &'a Fixture, lists: &[String]) -> Outcome<Side<'a>> {
        make_live(fixture).await?;
        let customer = fixture.sign_in(0).await?;
        let team = sign_in(fixture.service.public, ADMIN).await?;
        let request = |path: &String| {
            let token = if path.starts_with("/admin/") { &team } else { &customer };
            (path.clone(), get(&format!("/v1{path}"), Some(token)))
        };
        let mut side = Side {
            fixture,
            public: Client::connect(fixture.service.public).await?,
            ops: Client::connect(fixture.service.ops).await?,
            switch: fixture.service.switch_authorization()?,
            trunks: fixture.trunks(),
            lists: lists.iter().map(request).collect(),
            next: 0,
            costs: Costs::new(),
        };
        side.leave_out_refused().await?;
        Ok(side)
    }

    /// Lists of what is not configured here.
    async fn leave_out_refused(&mut self) -> Outcome<()> {
        for (path, request) in std::mem::take(&mut self.lists) {
            match self.public.send(&request).await?.status {
                200 => self.lists.push((path, request)),
                status => eprintln!("{path} is left out: {status}"),
            }
        }
        Ok(())
    }

    async fn round(&mut self, round: usize) -> Outcome<()> {
        let mut found = Vec::new();
        for (path, request) in &self.lists {
            let mut millis = Vec::new();
            for _ in 0..READS {
                let started = Instant::now();
                let response = self.public.send(request).await?;
                millis.push(millis_since(started));
                if response.status != 200 {
                    return Err(format!("{path}: {}", String::from_utf8_lossy(&response.body)).into());
                }
            }
            found.push((path.clone(), millis));
        }
        let mut millis = Vec::new();
        for number in 0..DECISIONS {
            let source = &self.fixture.customer(number).source;
            let request =
                post("/switch/authorize", &self.switch, &authorize::call(&format!("{round}-{number}"), source));
            let started = Instant::now();
            let response = self.ops.send(&request).await?;
            millis.push(millis_since(started));
            authorize::check(&response)?;
        }
        found.push((DECISION.to_owned(), millis));
        let mut millis = Vec::new();
        for _ in 0..IMPORTS {
            let request = post_cdrs(&self.switch, &ndjson(&self.trunks, &mut self.next)?);
            let started = Instant::now();
            let response = self.ops.send(&request).await?;
            millis.push(millis_since(started));
            let result: Value = serde_json::from_slice(&response.body)?;
            if result["accepted"] != BATCH {
                return Err(format!("{}: {result}", response.status).into());
            }
        }
        found.push((IMPORT.to_owned(), millis));
        if round > 0 {
            for (key, millis) in found {
                self.costs.entry(key).or_default().push(Spread::of(millis).median);
            }
        }
        Ok(())
    }
}

fn millis_since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}

/// Authorizes calls of all customers, which stay live for longer than this takes.
async fn make_live(fixture: &Fixture) -> Outcome<()> {
    let mut tasks = JoinSet::new();
    for connection in 0..CONNECTIONS {
        let mut client = Client::connect(fixture.service.ops).await?;
        let (switch, source) = (fixture.service.switch_authorization()?, fixture.customer(connection).source.clone());
        tasks.spawn(async move {
            for number in (connection..LIVE_CALLS).step_by(CONNECTIONS) {
                let call = authorize::call(&format!("live-{number}"), &source);
                authorize::check(&client.send(&post("/switch/authorize", &switch, &call)).await?)?;
            }
            Outcome::Ok(())
        });
    }
    tasks.join_all().await.into_iter().collect()
}
