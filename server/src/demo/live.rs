//! Calls that go on: a switch in front of a running service, for as long as somebody wants to watch.
//!
//! It calls only from the networks of the demonstration's companies, which are no part of the internet. On a database of
//! anybody else's it therefore does nothing.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::cast::{COMPANIES, Company};
use super::chance::Chance;
use super::traffic::{Outcome, destination};
use platform::app::StartError;
use values::Time;

/// How long the service may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often a call says that it goes on.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// How often the companies that may call are looked up.
const LOOK_UP: Duration = Duration::from_secs(30);
/// What a pause between two turns counts for at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const EDGE: &str = "edge-demo";

/// A switch with its calls.
pub struct Live {
    http: reqwest::Client,
    service: String,
    secret: String,
    calls_per_minute: f64,
    chance: Chance,
    companies: Vec<&'static Company>,
    looked_up_at: Option<Time>,
    last_turn: Option<Time>,
    calls: Vec<Call>,
}

/// A call that goes on.
struct Call {
    token: String,
    call_id: String,
    upstream_id: Value,
    outcome: Outcome,
    /// When somebody picks up, or it comes to nothing.
    decided_at: Time,
    ends_at: Time,
    is_answered: bool,
    told_at: Time,
}

/// What has happened since the last turn.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Turn {
    pub begun: usize,
    pub refused: usize,
    pub ended: usize,
    pub going_on: usize,
}

impl Live {
    /// A switch of the service at this address of the operations port.
    pub fn new(service: &str, secret: String, calls_per_minute: u32, seed: u64) -> Result<Live, StartError> {
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        Ok(Live {
            http: client.timeout(TIMEOUT).build()?,
            service: service.trim_end_matches('/').to_owned(),
            secret,
            calls_per_minute: f64::from(calls_per_minute),
            chance: Chance::new(seed),
            companies: Vec::new(),
            looked_up_at: None,
            last_turn: None,
            calls: Vec::new(),
        })
    }

    /// Begins, goes on with and ends calls, as far as it is time.
    pub async fn turn(&mut self, now: Time) -> Result<Turn, StartError> {
        if self.looked_up_at.is_none_or(|at| now.since(at) >= LOOK_UP) {
            self.companies = self.look_up().await?;
            self.looked_up_at = Some(now);
        }
        let pause = self.last_turn.map_or(Duration::ZERO, |last| now.since(last).min(LONGEST_PAUSE));
        self.last_turn = Some(now);
        let mut turn = Turn::default();
        for _ in 0..self.chance.about(self.calls_per_minute * pause.as_secs_f64() / 60.0) {
            let Some(company) = self.chance.pick(&self.companies).copied() else { break };
            match self.begin(company, now).await? {
                true => turn.begun += 1,
                false => turn.refused += 1,
            }
        }
        turn.ended = self.go_on(now).await?;
        turn.going_on = self.calls.len();
        Ok(turn)
    }

    /// The companies whose networks the service knows.
    async fn look_up(&self) -> Result<Vec<&'static Company>, StartError> {
        let config = self.heard(self.http.get(format!("{}/switch/config", self.service))).await?;
        let known = |company: &&Company| {
            let networks = config["addresses"].as_array().into_iter().flatten();
            networks.filter_map(|source| source["cidr"].as_str()).any(|cidr| cidr == company.network)
        };
        Ok(COMPANIES.iter().filter(|company| company.calls()).filter(known).collect())
    }

    /// Asks whether a call may begin, and answers so.
    async fn begin(&mut self, company: &'static Company, now: Time) -> Result<bool, StartError> {
        let call_id = self.chance.uuid().to_string();
        let called = destination(company, &mut self.chance).number(&mut self.chance);
        let source = company.network.split('/').next().unwrap_or_default();
        let asked = json!({
            "edge_id": EDGE, "call_id": call_id, "from_tag": "demo", "source_ip": source, "calling": company.phone,
            "called": called,
        });
        let answer = self.heard(self.http.post(format!("{}/switch/authorize", self.service)).json(&asked)).await?;
        let Some(token) = answer["call_token"].as_str() else { return Ok(false) };
        let decided_at = now.plus(Duration::from_millis(self.chance.between(1500, 12_000).unsigned_abs()));
        let outcome = Outcome::draw(company, &mut self.chance);
        let ends_at = decided_at.plus(Duration::from_secs(outcome.talked.unsigned_abs()));
        self.calls.push(Call {
            token: token.to_owned(),
            call_id,
            upstream_id: answer["routes"][0]["upstream_id"].clone(),
            outcome,
            decided_at,
            ends_at,
            is_answered: false,
            told_at: now,
        });
        Ok(true)
    }

    /// Tells what became of the calls, and answers how many are over.
    async fn go_on(&mut self, now: Time) -> Result<usize, StartError> {
        let mut events = Vec::new();
        for call in &mut self.calls {
            events.extend(call.tell(now, &mut self.chance));
        }
        if events.is_empty() {
            return Ok(0);
        }
        let mut hang_up = Vec::new();
        for part in events.chunks(500) {
            let told = self.http.post(format!("{}/switch/events", self.service)).json(&json!({"events": part}));
            let answer = self.heard(told).await?;
            let named = answer["hang_up"].as_array().cloned().unwrap_or_default();
            hang_up.extend(named.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        let before = self.calls.len();
        self.calls.retain(|call| now < call.ends_at);
        for call in self.calls.iter_mut().filter(|call| hang_up.contains(&call.token)) {
            call.ends_at = now;
        }
        Ok(before - self.calls.len())
    }

    async fn heard(&self, request: RequestBuilder) -> Result<Value, StartError> {
        let response = request.bearer_auth(&self.secret).send().await?.error_for_status()?;
        Ok(response.json().await?)
    }
}

impl Call {
    /// What there is to tell of it now.
    fn tell(&mut self, now: Time, chance: &mut Chance) -> Vec<Value> {
        let (token, call_id, upstream_id) = (self.token.clone(), self.call_id.clone(), self.upstream_id.clone());
        let mut event = |kind: &str, at: Time| {
            json!({
                "event_id": chance.uuid(), "type": kind, "call_token": token, "edge_id": EDGE, "call_id": call_id,
                "at": at.millis(), "upstream_id": upstream_id,
            })
        };
        let mut told = Vec::new();
        let is_answered = self.outcome.status == "answered";
        if is_answered && !self.is_answered && self.decided_at <= now {
            told.push(event("answered", self.decided_at));
            (self.is_answered, self.told_at) = (true, now);
        }
        if self.ends_at <= now {
            let mut end = event(if is_answered { "ended" } else { "failed" }, self.ends_at);
            end["status"] = self.outcome.status.into();
            told.push(end);
        } else if self.is_answered && now.since(self.told_at) >= KEEPALIVE {
            told.push(event("keepalive", now));
            self.told_at = now;
        }
        told
    }
}
