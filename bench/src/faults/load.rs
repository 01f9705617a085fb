//! The load while the service is killed: operations of customers and the team, and the responses they got.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Interval, interval};

use super::client::{Request, RetryClient, describe};
use super::rng::Rng;
use crate::Outcome;
use crate::customers::Customer;
use crate::http::{Client, Response, post_form};
use crate::inventory;
use crate::service::{ADMIN, sign_in};

/// Several per customer, so that top-ups and corrections of one account run concurrently.
const WORKERS: usize = 24;
const WRITES_PER_SECOND: f64 = 50.0;
const NUMBERS: u32 = 20_000;

/// A write and its final response.
pub struct Operation {
    /// Index of the customer.
    pub customer: usize,
    pub action: Action,
    pub request: Request,
    pub status: u16,
    pub body: Vec<u8>,
}

pub enum Action {
    /// By the team; a negative amount is a correction.
    Credit {
        cents: i64,
    },
    Topup {
        cents: i64,
        end: CheckoutEnd,
    },
    Order,
}

/// How the payer leaves the checkout.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CheckoutEnd {
    Paid,
    Declined,
    Cancelled,
    Abandoned,
}

#[derive(Default)]
pub struct LoadResult {
    pub operations: Vec<Operation>,
    pub retried: usize,
}

pub struct Load {
    stop: Arc<AtomicBool>,
    workers: JoinSet<Outcome<LoadResult>>,
}

/// The inventory group to order from, and a trunk of each customer.
pub struct Catalog {
    group: String,
    trunks: Vec<String>,
}

impl Catalog {
    /// Imports one group with more numbers than will be ordered.
    pub async fn create(public: SocketAddr, customers: &[Customer]) -> Outcome<Catalog> {
        let mut client = Client::connect(public).await?;
        let team = sign_in(public, ADMIN).await?;
        inventory::import(&mut client, &team, &inventory::csv(1, NUMBERS)?).await?;
        let (mut group, mut trunks) = (None, Vec::new());
        for customer in customers {
            let token = sign_in(public, &customer.email).await?;
            trunks.push(inventory::create_trunk(&mut client, &token).await?);
            group = inventory::list_groups(&mut client, &token).await?.pop();
        }
        Ok(Catalog { group: group.ok_or("the inventory is empty")?, trunks })
    }
}

impl Load {
    pub fn start(public: SocketAddr, customers: &[Customer], catalog: &Catalog, seed: u64) -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let mut workers = JoinSet::new();
        for number in 0..WORKERS {
            let index = number % customers.len();
            let customer = &customers[index];
            let worker = Worker {
                index,
                customer_id: customer.id.to_string(),
                customer: RetryClient::new(public, &customer.email),
                team: RetryClient::new(public, ADMIN),
                order: json!({"inventory_id": catalog.group, "trunk_id": catalog.trunks[index]}),
                rng: Rng::for_worker(seed, number),
                // Writes missed while the service is down are sent in a burst when it is back.
                pace: interval(Duration::from_secs_f64(WORKERS as f64 / WRITES_PER_SECOND)),
            };
            workers.spawn(worker.run(stop.clone()));
        }
        Load { stop, workers }
    }

    /// Stops the load; operations in progress are completed.
    pub async fn end(self) -> Outcome<LoadResult> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = LoadResult::default();
        for result in self.workers.join_all().await {
            let result = result?;
            all.operations.extend(result.operations);
            all.retried += result.retried;
        }
        Ok(all)
    }
}

/// Performs one operation after another for one customer.
struct Worker {
    index: usize,
    customer_id: String,
    customer: RetryClient,
    team: RetryClient,
    /// Body of its number orders.
    order: Value,
    rng: Rng,
    pace: Interval,
}

impl Worker {
    async fn run(mut self, stop: Arc<AtomicBool>) -> Outcome<LoadResult> {
        let mut operations = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            operations.push(match self.rng.below(20) {
                0..9 => self.credit(1).await?,
                9..12 => self.credit(-1).await?,
                12..15 => self.order().await?,
                _ => self.top_up().await?,
            });
        }
        Ok(LoadResult { operations, retried: self.customer.retried + self.team.retried })
    }

    async fn credit(&mut self, sign: i64) -> Outcome<Operation> {
        let (key, cents) = (self.rng.idempotency_key(), sign * (1 + self.rng.below(5_000) as i64));
        let amount = json!({"amount_minor": cents, "currency": "EUR"});
        // The reason is shown in the ledger, which links the ledger line to this request.
        let body = json!({"customer_id": self.customer_id, "amount": amount, "reason": key.to_string()});
        let request = Request { path: "/v1/admin/credits", key, body };
        self.pace.tick().await;
        let response = self.team.write(&request).await?;
        // A correction may exceed the balance.
        expect_status(&response, if sign < 0 { &[201, 402] } else { &[201] })?;
        Ok(self.operation(Action::Credit { cents }, request, response))
    }

    async fn order(&mut self) -> Outcome<Operation> {
        let request = Request { path: "/v1/numbers/orders", key: self.rng.idempotency_key(), body: self.order.clone() };
        self.pace.tick().await;
        let response = self.customer.write(&request).await?;
        // 402: the balance does not cover the order.
        expect_status(&response, &[201, 402])?;
        Ok(self.operation(Action::Order, request, response))
    }

    async fn top_up(&mut self) -> Outcome<Operation> {
        let (key, cents) = (self.rng.idempotency_key(), 100 + self.rng.below(10_000) as i64);
        // Few are abandoned, since their checkouts stay open for a day.
        let end = match self.rng.below(100) {
            0 => CheckoutEnd::Abandoned,
            1..10 => CheckoutEnd::Cancelled,
            10..20 => CheckoutEnd::Declined,
            _ => CheckoutEnd::Paid,
        };
        let request =
            Request { path: "/v1/payments/topups", key, body: json!({"amount_minor": cents, "currency": "EUR"}) };
        self.pace.tick().await;
        let response = self.customer.write(&request).await?;
        // 409: too many open checkouts; those claimed by a killed service stay open for a minute.
        expect_status(&response, &[201, 409])?;
        if response.status == 201 {
            self.leave_checkout(&response, end).await?;
        }
        Ok(self.operation(Action::Topup { cents, end }, request, response))
    }

    async fn leave_checkout(&mut self, opened: &Response, end: CheckoutEnd) -> Outcome<()> {
        let fields = match end {
            CheckoutEnd::Paid => "action=pay",
            CheckoutEnd::Declined => "action=decline",
            CheckoutEnd::Cancelled => "action=cancel",
            CheckoutEnd::Abandoned => return Ok(()),
        };
        let opened: Value = serde_json::from_slice(&opened.body)?;
        let url = opened["checkout_url"].as_str().ok_or("the top-up has no checkout_url")?;
        let path =
            url.find("/sandbox/").and_then(|begin| url.get(begin..)).ok_or("the checkout is not in the sandbox")?;
        self.pace.tick().await;
        expect_status(&self.customer.send(|_| post_form(path, fields)).await?, &[303])
    }

    fn operation(&self, action: Action, request: Request, response: Response) -> Operation {
        Operation { customer: self.index, action, request, status: response.status, body: response.body }
    }
}

fn expect_status(response: &Response, statuses: &[u16]) -> Outcome<()> {
    if statuses.contains(&response.status) { Ok(()) } else { Err(describe(response).into()) }
}
