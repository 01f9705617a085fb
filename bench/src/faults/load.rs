//! What customers and the team do while the service is killed, and what they were told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Interval, interval};

use super::caller::{Caller, Request, told};
use super::chance::Chance;
use crate::Outcome;
use crate::customers::Customer;
use crate::http::{Answer, Client, submit};
use crate::service::{ADMIN, sign_in};
use crate::stock;

/// Several for each customer, who so tops up while the team corrects.
const CALLERS: usize = 24;
const WRITES_A_SECOND: f64 = 50.0;
const NUMBERS: u32 = 20_000;

/// Something that was asked for and answered.
pub struct Deed {
    /// Which of the customers it concerns.
    pub customer: usize,
    pub what: What,
    pub request: Request,
    pub status: u16,
    pub body: Vec<u8>,
}

pub enum What {
    /// By the team; negative when it was taken back.
    Credit {
        cents: i64,
    },
    Topup {
        cents: i64,
        end: End,
    },
    Order,
}

/// How a payer left the checkout.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Paid,
    Declined,
    WalkedAway,
    LeftAlone,
}

#[derive(Default)]
pub struct Done {
    pub deeds: Vec<Deed>,
    pub again: usize,
}

pub struct Load {
    over: Arc<AtomicBool>,
    callers: JoinSet<Outcome<Done>>,
}

/// What there is to order, and for which trunk of each customer.
pub struct Shop {
    group: String,
    trunks: Vec<String>,
}

impl Shop {
    /// One group, with more numbers than will be ordered.
    pub async fn open(public: SocketAddr, customers: &[Customer]) -> Outcome<Shop> {
        let mut client = Client::connect(public).await?;
        let team = sign_in(public, ADMIN).await?;
        stock::bring_in(&mut client, &team, &stock::sheet(1, NUMBERS)?).await?;
        let (mut group, mut trunks) = (None, Vec::new());
        for customer in customers {
            let token = sign_in(public, &customer.email).await?;
            trunks.push(stock::trunk(&mut client, &token).await?);
            group = stock::groups(&mut client, &token).await?.pop();
        }
        Ok(Shop { group: group.ok_or("there is nothing to order")?, trunks })
    }
}

impl Load {
    pub fn begin(public: SocketAddr, customers: &[Customer], shop: &Shop, seed: u64) -> Load {
        let over = Arc::new(AtomicBool::new(false));
        let mut callers = JoinSet::new();
        for number in 0..CALLERS {
            let index = number % customers.len();
            let customer = &customers[index];
            let desk = Desk {
                index,
                customer_id: customer.id.to_string(),
                customer: Caller::new(public, &customer.email),
                team: Caller::new(public, ADMIN),
                order: json!({"inventory_id": shop.group, "trunk_id": shop.trunks[index]}),
                chance: Chance::of(seed, number),
                // What a dead service could not take, the next one gets all at once.
                pace: interval(Duration::from_secs_f64(CALLERS as f64 / WRITES_A_SECOND)),
            };
            callers.spawn(desk.work(over.clone()));
        }
        Load { over, callers }
    }

    /// Lets everybody finish what was begun.
    pub async fn end(self) -> Outcome<Done> {
        self.over.store(true, Ordering::Relaxed);
        let mut all = Done::default();
        for done in self.callers.join_all().await {
            let done = done?;
            all.deeds.extend(done.deeds);
            all.again += done.again;
        }
        Ok(all)
    }
}

/// Where one thing after another is done for one customer.
struct Desk {
    index: usize,
    customer_id: String,
    customer: Caller,
    team: Caller,
    /// What it orders.
    order: Value,
    chance: Chance,
    pace: Interval,
}

impl Desk {
    async fn work(mut self, over: Arc<AtomicBool>) -> Outcome<Done> {
        let mut deeds = Vec::new();
        while !over.load(Ordering::Relaxed) {
            deeds.push(match self.chance.below(20) {
                0..9 => self.credit(1).await?,
                9..12 => self.credit(-1).await?,
                12..15 => self.order().await?,
                _ => self.top_up().await?,
            });
        }
        Ok(Done { deeds, again: self.customer.again + self.team.again })
    }

    async fn credit(&mut self, sign: i64) -> Outcome<Deed> {
        let (key, cents) = (self.chance.key(), sign * (1 + self.chance.below(5_000) as i64));
        let amount = json!({"amount_minor": cents, "currency": "EUR"});
        // The reason is the customer's to read, so the ledger tells which key it belongs to.
        let body = json!({"customer_id": self.customer_id, "amount": amount, "reason": key.to_string()});
        let request = Request { path: "/v1/admin/credits", key, body };
        self.pace.tick().await;
        let answer = self.team.write(&request).await?;
        // What is not there cannot be taken back.
        expect(&answer, if sign < 0 { &[201, 402] } else { &[201] })?;
        Ok(self.deed(What::Credit { cents }, request, answer))
    }

    async fn order(&mut self) -> Outcome<Deed> {
        let request = Request { path: "/v1/numbers/orders", key: self.chance.key(), body: self.order.clone() };
        self.pace.tick().await;
        let answer = self.customer.write(&request).await?;
        // Who has no money gets no number.
        expect(&answer, &[201, 402])?;
        Ok(self.deed(What::Order, request, answer))
    }

    async fn top_up(&mut self) -> Outcome<Deed> {
        let (key, cents) = (self.chance.key(), 100 + self.chance.below(10_000) as i64);
        // Few are left alone, since they stay open for a day.
        let end = match self.chance.below(100) {
            0 => End::LeftAlone,
            1..10 => End::WalkedAway,
            10..20 => End::Declined,
            _ => End::Paid,
        };
        let request =
            Request { path: "/v1/payments/topups", key, body: json!({"amount_minor": cents, "currency": "EUR"}) };
        self.pace.tick().await;
        let answer = self.customer.write(&request).await?;
        // Only so many checkouts may be open, and what a dead service has claimed stays open for a minute.
        expect(&answer, &[201, 409])?;
        if answer.status == 201 {
            self.leave_checkout(&answer, end).await?;
        }
        Ok(self.deed(What::Topup { cents, end }, request, answer))
    }

    async fn leave_checkout(&mut self, opened: &Answer, end: End) -> Outcome<()> {
        let fields = match end {
            End::Paid => "action=pay",
            End::Declined => "action=decline",
            End::WalkedAway => "action=cancel",
            End::LeftAlone => return Ok(()),
        };
        let opened: Value = serde_json::from_slice(&opened.body)?;
        let url = opened["checkout_url"].as_str().ok_or("a top-up without a checkout")?;
        let path = url.find("/sandbox/").and_then(|begin| url.get(begin..)).ok_or("a checkout elsewhere")?;
        self.pace.tick().await;
        expect(&self.customer.ask(|_| submit(path, fields)).await?, &[303])
    }

    fn deed(&self, what: What, request: Request, answer: Answer) -> Deed {
        Deed { customer: self.index, what, request, status: answer.status, body: answer.body }
    }
}

fn expect(answer: &Answer, statuses: &[u16]) -> Outcome<()> {
    if statuses.contains(&answer.status) { Ok(()) } else { Err(told(answer).into()) }
}
