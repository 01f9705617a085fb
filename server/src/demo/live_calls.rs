//! Live calls: simulates a switch that authorizes calls and sends their events to a running service.
//!
//! Calls come only from the networks of demo companies, which are reserved for documentation. On a database without
//! them it does nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::fixtures::{COMPANIES, Company};
use super::rng::Rng;
use super::traffic::{Outcome, pick_destination};
use platform::app::StartError;
use platform::config::SwitchTls;
use platform::edge;
use platform::http_error;
use values::Time;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How often an answered call sends a keepalive event.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// How often the companies are read from the service.
const COMPANIES_INTERVAL: Duration = Duration::from_secs(30);
/// A longer pause between ticks counts as this much.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// The id of the simulated switch.
pub const EDGE: &str = "edge-demo";

/// A simulated switch with its live calls.
pub struct LiveCalls {
    http: reqwest::Client,
    service: String,
    secret: String,
    calls_per_minute: f64,
    rng: Rng,
    companies: Vec<&'static Company>,
    companies_read_at: Option<Time>,
    last_tick: Option<Time>,
    calls: Vec<Call>,
}

/// A live call.
struct Call {
    token: String,
    call_id: String,
    upstream_id: Value,
    outcome: Outcome,
    /// When it is answered, or fails.
    answer_at: Time,
    ends_at: Time,
    is_answered: bool,
    reported_at: Time,
}

/// What happened in a tick.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct TickSummary {
    pub started: usize,
    /// Denied calls by reason.
    pub denied: BTreeMap<String, usize>,
    pub ended: usize,
    /// Live calls at the end of the tick.
    pub live: usize,
}

impl TickSummary {
    /// Whether a call started, was denied or ended.
    pub fn is_empty(&self) -> bool {
        self.started == 0 && self.denied.is_empty() && self.ended == 0
    }
}

impl fmt::Display for TickSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} started, {} denied", self.started, self.denied.values().sum::<usize>())?;
        if !self.denied.is_empty() {
            let reasons: Vec<String> = self.denied.iter().map(|(reason, calls)| format!("{reason} {calls}")).collect();
            write!(f, " ({})", reasons.join(", "))?;
        }
        write!(f, ", {} ended, {} live", self.ended, self.live)
    }
}

impl LiveCalls {
    /// `service` is the URL of the operations port.
    pub fn new(service: &str, secret: String, calls_per_minute: u32, seed: u64) -> Result<LiveCalls, StartError> {
        Ok(LiveCalls {
            http: edge::http_client(&SwitchTls::default(), REQUEST_TIMEOUT)?,
            service: service.trim_end_matches('/').to_owned(),
            secret,
            calls_per_minute: f64::from(calls_per_minute),
            rng: Rng::new(seed),
            companies: Vec::new(),
            companies_read_at: None,
            last_tick: None,
            calls: Vec::new(),
        })
    }

    /// Uses these certificates.
    pub fn use_tls(&mut self, tls: &SwitchTls) -> Result<(), StartError> {
        self.http = edge::http_client(tls, REQUEST_TIMEOUT)?;
        Ok(())
    }

    /// Starts, continues and ends calls up to now.
    pub async fn tick(&mut self, now: Time) -> Result<TickSummary, StartError> {
        if self.companies_read_at.is_none_or(|at| now.since(at) >= COMPANIES_INTERVAL) {
            self.companies = self.read_companies().await?;
            self.companies_read_at = Some(now);
        }
        let pause = self.last_tick.map_or(Duration::ZERO, |last| now.since(last).min(MAX_PAUSE));
        self.last_tick = Some(now);
        let mut summary = TickSummary::default();
        for _ in 0..self.rng.around(self.calls_per_minute * pause.as_secs_f64() / 60.0) {
            let Some(company) = self.rng.pick(&self.companies).copied() else { break };
            match self.start_call(company, now).await? {
                None => summary.started += 1,
                Some(reason) => *summary.denied.entry(reason).or_default() += 1,
            }
        }
        summary.ended = self.send_events(now).await?;
        summary.live = self.calls.len();
        Ok(summary)
    }

    /// The demo companies whose networks are on an allow-list of the service.
    async fn read_companies(&self) -> Result<Vec<&'static Company>, StartError> {
        let config = self.send(self.http.get(format!("{}/switch/config", self.service))).await?;
        let known = |company: &&Company| {
            let networks = config["addresses"].as_array().into_iter().flatten();
            networks.filter_map(|source| source["cidr"].as_str()).any(|cidr| cidr == company.network)
        };
        Ok(COMPANIES.iter().filter(|company| company.makes_calls()).filter(known).collect())
    }

    /// Asks to authorize a call, and returns why it is denied.
    async fn start_call(&mut self, company: &'static Company, now: Time) -> Result<Option<String>, StartError> {
        let call_id = self.rng.uuid().to_string();
        let called = pick_destination(company, &mut self.rng).number(&mut self.rng);
        let source = company.network.split('/').next().unwrap_or_default();
        let request = json!({
            "edge_id": EDGE, "call_id": call_id, "from_tag": "demo", "source_ip": source, "calling": company.phone,
            "called": called,
        });
        let answer = self.send(self.http.post(format!("{}/switch/authorize", self.service)).json(&request)).await?;
        let Some(token) = answer["call_token"].as_str() else {
            return Ok(Some(answer["reason"].as_str().unwrap_or("no reason").to_owned()));
        };
        let answer_at = now.plus(Duration::from_millis(self.rng.between(1500, 12_000).unsigned_abs()));
        let outcome = Outcome::random(company, &mut self.rng);
        let ends_at = answer_at.plus(Duration::from_secs(outcome.answered_seconds.unsigned_abs()));
        self.calls.push(Call {
            token: token.to_owned(),
            call_id,
            upstream_id: answer["routes"][0]["upstream_id"].clone(),
            outcome,
            answer_at,
            ends_at,
            is_answered: false,
            reported_at: now,
        });
        Ok(None)
    }

    /// Sends the events of all calls, and returns how many calls ended.
    async fn send_events(&mut self, now: Time) -> Result<usize, StartError> {
        let mut events = Vec::new();
        for call in &mut self.calls {
            events.extend(call.next_events(now, &mut self.rng));
        }
        if events.is_empty() {
            return Ok(0);
        }
        let mut hang_up = Vec::new();
        for part in events.chunks(500) {
            let request = self.http.post(format!("{}/switch/events", self.service)).json(&json!({"events": part}));
            let answer = self.send(request).await?;
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

    async fn send(&self, request: RequestBuilder) -> Result<Value, StartError> {
        let response = request.bearer_auth(&self.secret).send().await.and_then(reqwest::Response::error_for_status);
        Ok(response.map_err(http_error::reason)?.json().await.map_err(http_error::reason)?)
    }
}

impl Call {
    /// The events that are due.
    fn next_events(&mut self, now: Time, rng: &mut Rng) -> Vec<Value> {
        let (token, call_id, upstream_id) = (self.token.clone(), self.call_id.clone(), self.upstream_id.clone());
        let mut event = |kind: &str, at: Time| {
            json!({
                "event_id": rng.uuid(), "type": kind, "call_token": token, "edge_id": EDGE, "call_id": call_id,
                "at": at.millis(), "upstream_id": upstream_id,
            })
        };
        let mut events = Vec::new();
        let is_answered = self.outcome.status == "answered";
        if is_answered && !self.is_answered && self.answer_at <= now {
            events.push(event("answered", self.answer_at));
            (self.is_answered, self.reported_at) = (true, now);
        }
        if self.ends_at <= now {
            let mut end = event(if is_answered { "ended" } else { "failed" }, self.ends_at);
            end["status"] = self.outcome.status.into();
            events.push(end);
        } else if self.is_answered && now.since(self.reported_at) >= KEEPALIVE {
            events.push(event("keepalive", now));
            self.reported_at = now;
        }
        events
    }
}
