//! The load during an upgrade: what customers, the team and a switch send, and what was acknowledged.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use db::Clock;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::balancer::{Balancer, Caller, Port};
use super::nodes::Users;
use crate::Outcome;
use crate::calls::{post_cdrs, send_json};
use crate::faults::{Rng, describe};
use crate::http::{Client, get, post};
use crate::service::sign_in;

const WORKERS: usize = 16;
/// Between two operations of a worker.
const PACE: Duration = Duration::from_millis(200);
/// Everything that the load writes is named by this and a UUID.
pub const PREFIX: &str = "upgrade-";

/// Who sends requests.
pub struct Actors {
    pub customers: Vec<Arc<Customer>>,
    admin: String,
    switch: String,
}

/// A customer with a trunk for calls from one address.
pub struct Customer {
    pub email: String,
    account: String,
    token: String,
    trunk: String,
    source: String,
}

impl Actors {
    /// Signs all in, and gives each customer a trunk; `switch` is the Authorization header of a switch.
    pub async fn prepare(public: SocketAddr, users: &Users, switch: String) -> Outcome<Actors> {
        let mut client = Client::connect(public).await?;
        let mut customers = Vec::new();
        for (number, email) in users.customers.iter().enumerate() {
            let token = sign_in(public, email).await?;
            let me: Value = serde_json::from_slice(&client.send(&get("/v1/me", Some(&token))).await?.body)?;
            let trunk = json!({"name": "Upgrade", "zone": "eu-west", "channel_cap": 1000});
            let trunk = text(&send_json(&mut client, "POST", "/v1/trunks", &token, &trunk).await?, "id")?;
            let source = format!("8.8.4.{}", number + 1);
            let path = format!("/v1/trunks/{trunk}/ip-allow-list");
            send_json(&mut client, "POST", &path, &token, &json!({"cidr": source})).await?;
            let account = text(&me["account"], "id")?;
            customers.push(Arc::new(Customer { email: email.clone(), account, token, trunk, source }));
        }
        Ok(Actors { customers, admin: sign_in(public, &users.admin).await?, switch })
    }
}

/// What was sent, and what was acknowledged. Acknowledged writes are listed with the index of their customer.
#[derive(Default)]
pub struct Tally {
    pub requests: usize,
    /// Requests that found a node that accepted no connection, and were sent to another.
    pub refused: usize,
    pub failures: Vec<String>,
    pub credits: Vec<(usize, String)>,
    pub tickets: Vec<(usize, String)>,
    pub replies: usize,
    pub calls: Vec<(usize, String)>,
    pub imports: Vec<(usize, String)>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.requests += other.requests;
        self.refused += other.refused;
        self.failures.extend(other.failures);
        self.credits.extend(other.credits);
        self.tickets.extend(other.tickets);
        self.replies += other.replies;
        self.calls.extend(other.calls);
        self.imports.extend(other.imports);
    }
}

pub struct Load {
    stop: Arc<AtomicBool>,
    workers: JoinSet<Tally>,
}

impl Load {
    pub fn start(balancer: &Arc<Balancer>, actors: &Actors, seed: u64) -> Load {
        let (stop, mut workers) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        for number in 0..WORKERS {
            let index = number % actors.customers.len();
            let mut pace = interval(PACE);
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let worker = Worker {
                index,
                customer: actors.customers[index].clone(),
                admin: actors.admin.clone(),
                switch: actors.switch.clone(),
                api: Caller::new(balancer, Port::Api),
                operations: Caller::new(balancer, Port::Operations),
                rng: Rng::for_worker(seed, number),
                pace,
                tally: Tally::default(),
            };
            workers.spawn(worker.run(stop.clone()));
        }
        Load { stop, workers }
    }

    /// Stops the load; operations in progress are completed.
    pub async fn end(self) -> Outcome<Tally> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Tally::default();
        for tally in self.workers.join_all().await {
            all.add(tally);
        }
        if all.requests == 0 { Err("nothing was sent".into()) } else { Ok(all) }
    }
}

/// Performs one operation after another, of one customer.
struct Worker {
    index: usize,
    customer: Arc<Customer>,
    admin: String,
    switch: String,
    api: Caller,
    operations: Caller,
    rng: Rng,
    pace: Interval,
    tally: Tally,
}

impl Worker {
    async fn run(mut self, stop: Arc<AtomicBool>) -> Tally {
        while !stop.load(Ordering::Relaxed) {
            self.pace.tick().await;
            let outcome = match self.rng.below(12) {
                0..3 => self.read("/v1/me").await,
                3..5 => self.read("/v1/cdrs?limit=50").await,
                5..8 => self.credit().await,
                8 => self.open_ticket().await,
                9..11 => self.call().await,
                _ => self.import().await,
            };
            if let Err(failure) = outcome {
                self.tally.failures.push(failure.to_string());
            }
        }
        self.tally.refused = self.api.refused + self.operations.refused;
        self.tally
    }

    async fn read(&mut self, path: &str) -> Outcome<()> {
        let request = get(path, Some(&self.customer.token));
        self.send(Port::Api, path, &request, 200).await.map(drop)
    }

    /// The team credits a cent; the reason is shown in the ledger.
    async fn credit(&mut self) -> Outcome<()> {
        let reason = self.name();
        let amount = json!({"amount_minor": 1, "currency": "EUR"});
        let body = json!({"customer_id": self.customer.account, "amount": amount, "reason": reason});
        self.write("/v1/admin/credits", &self.admin.clone(), &body).await?;
        self.tally.credits.push((self.index, reason));
        Ok(())
    }

    /// A customer opens a ticket and the team replies, which sends a mail.
    async fn open_ticket(&mut self) -> Outcome<()> {
        let subject = self.name();
        let body = json!({"subject": subject, "body": "Which version is this?"});
        let ticket = self.write("/v1/tickets", &self.customer.token.clone(), &body).await?;
        self.tally.tickets.push((self.index, subject));
        let path = format!("/v1/admin/tickets/{}/messages", text(&ticket, "id")?);
        self.write(&path, &self.admin.clone(), &json!({"body": "The next one."})).await?;
        self.tally.replies += 1;
        Ok(())
    }

    /// A call through the switch, from its authorization to its end.
    async fn call(&mut self) -> Outcome<()> {
        let call_id = self.name();
        let call = json!({
            "edge_id": "edge-1", "call_id": call_id, "from_tag": "t", "source_ip": self.customer.source,
            "calling": "+31201111111", "called": "+31201234567",
        });
        let decision = self.report("/switch/authorize", &call).await?;
        let Some(token) = decision["call_token"].as_str() else {
            return Err(format!("a call was refused: {decision}").into());
        };
        for kind in ["answered", "ended"] {
            let at = Clock::system().now().millis();
            let event = json!({"event_id": self.name(), "type": kind, "call_token": token, "at": at});
            let answer = self.report("/switch/events", &json!({"edge_id": "edge-1", "events": [event]})).await?;
            if answer["accepted"] != 1 {
                return Err(format!("an event was not accepted: {answer}").into());
            }
        }
        self.tally.calls.push((self.index, call_id));
        Ok(())
    }

    /// The CDR of a call that another switch carried.
    async fn import(&mut self) -> Outcome<()> {
        let (call_id, now) = (self.name(), Clock::system().now().millis());
        let line = json!({
            "call_id": call_id, "leg": "termination", "trunk_id": self.customer.trunk, "calling": "+31201111111",
            "called": "+31201234567", "started_at": now - 3000, "answered_at": now - 2000, "ended_at": now - 1000,
            "status": "answered",
        });
        let request = post_cdrs(&self.switch, &format!("{line}\n"));
        let answer = self.send(Port::Operations, "/switch/cdrs", &request, 200).await?;
        if answer["accepted"] != 1 {
            return Err(format!("a CDR was not accepted: {answer}").into());
        }
        self.tally.imports.push((self.index, call_id));
        Ok(())
    }

    /// A request of a switch.
    async fn report(&mut self, path: &str, body: &Value) -> Outcome<Value> {
        let request = post(path, &self.switch, body);
        self.send(Port::Operations, path, &request, 200).await
    }

    /// A write with an idempotency key, which creates something.
    async fn write(&mut self, path: &str, token: &str, body: &Value) -> Outcome<Value> {
        let key = self.rng.idempotency_key();
        let header = format!("Authorization: Bearer {token}\r\nIdempotency-Key: {key}\r\n");
        self.send(Port::Api, path, &post(path, &header, body), 201).await
    }

    /// Sends a request once; its response must have this status.
    async fn send(&mut self, port: Port, path: &str, request: &[u8], status: u16) -> Outcome<Value> {
        self.tally.requests += 1;
        let caller = match port {
            Port::Api => &mut self.api,
            Port::Operations => &mut self.operations,
        };
        let response = caller.send(request).await.map_err(|error| format!("{path}: {error}"))?;
        if response.status != status {
            return Err(format!("{path}: {}", describe(&response)).into());
        }
        Ok(serde_json::from_slice(&response.body)?)
    }

    fn name(&mut self) -> String {
        format!("{PREFIX}{}", self.rng.idempotency_key())
    }
}

/// A field of a response.
fn text(value: &Value, field: &str) -> Outcome<String> {
    Ok(value[field].as_str().ok_or_else(|| format!("no {field} in {value}"))?.to_owned())
}
