//! A payment provider of our own, for trying everything out without money.
//!
//! It is a peer like any other: it keeps its own books (`store`), hosts a checkout, where a person chooses to pay, to be
//! declined or to walk away, and calls the service back over HTTP with a signature (`callback`). It only happens to
//! live in the same process. `cards` knows the test numbers. The checkout's page is a feature of its own.

mod callback;
pub mod cards;
mod store;

pub use callback::{CALL_BACK, Callbacks, sign};

use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use hyper::header::HeaderMap;
use serde_json::Value;
use tokio::sync::Notify;

use super::{Card, CardCheck, Checkout, Forged, Notice, Order, OrderState, ProviderError};
use crate::clock::Clock;
use crate::db::{Db, DbError};
use crate::entropy::Entropy;
use crate::jobs::{JobError, NewJob, enqueue};
use crate::keys::Keys;
use crate::values::Time;
use store::OrderRow;

/// How long a checkout waits for its payer.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// What the sandbox needs of the process it lives in.
#[derive(Clone)]
pub struct Sandbox {
    pub db: Db,
    pub clock: Clock,
    pub entropy: Entropy,
    pub keys: Keys,
    pub jobs_waker: Arc<Notify>,
    pub http: reqwest::Client,
    /// Where its page and the merchant's callback are reached.
    pub public_url: String,
    pub callbacks: Callbacks,
}

impl From<DbError> for ProviderError {
    fn from(error: DbError) -> Self {
        ProviderError(error.to_string())
    }
}

/// An order as its checkout shows it.
pub struct Offer {
    pub state: OrderState,
    /// Where the payer goes afterwards.
    pub return_url: String,
}

/// How a payer leaves the checkout.
pub enum Choice {
    Paid { card: Card, declines_later: bool },
    Declined,
    Cancelled,
}

impl Choice {
    /// How the order ends.
    fn state(&self) -> OrderState {
        match self {
            Choice::Paid { .. } => OrderState::Completed,
            Choice::Declined => OrderState::Failed,
            Choice::Cancelled => OrderState::Cancelled,
        }
    }

    /// What the order goes through: a card that is shown is looked at before it is accepted or declined.
    fn states(&self) -> &'static [OrderState] {
        match self {
            Choice::Paid { .. } => &[OrderState::Processing, OrderState::Completed],
            Choice::Declined => &[OrderState::Processing, OrderState::Failed],
            Choice::Cancelled => &[OrderState::Cancelled],
        }
    }
}

impl OrderRow {
    /// A payer who stays away for too long has walked away.
    fn state_at(&self, now: Time) -> OrderState {
        if self.state == OrderState::Pending && self.expires_at <= now { OrderState::Cancelled } else { self.state }
    }

    fn order(self, now: Time) -> Order {
        let state = self.state_at(now);
        let card = match (self.brand, self.last4, self.exp_month, self.exp_year) {
            (Some(brand), Some(last4), Some(exp_month), Some(exp_year)) => {
                Some(Card { brand, last4, exp_month, exp_year })
            }
            _ => None,
        };
        Order { id: self.id, reference: self.reference, state, card }
    }
}

impl Sandbox {
    pub(super) async fn check_card(&self, check: CardCheck) -> Result<Checkout, ProviderError> {
        // Whoever knows the id may answer the checkout: it must not be guessed.
        let id = HEXLOWER.encode(&self.entropy.bytes::<16>());
        let now = self.clock.now();
        let order_id = self
            .db
            .tx((id, check, now), |conn, (id, check, now)| {
                Box::pin(store::open_order(conn, id, check, *now, now.plus(PATIENCE)))
            })
            .await?;
        let checkout_url = format!("{}/sandbox/checkout/{order_id}", self.public_url);
        Ok(Checkout { order_id, checkout_url })
    }

    pub(super) async fn order(&self, id: &str) -> Result<Option<Order>, ProviderError> {
        let order = store::order(&mut *self.db.read().await?, id).await?;
        Ok(order.map(|order| order.order(self.clock.now())))
    }

    pub(super) fn read_callback(&self, headers: &HeaderMap, body: &[u8], now: Time) -> Result<Notice, Forged> {
        callback::read(&self.keys, headers, body, now)
    }

    /// What the checkout of an order has to show, if there is one.
    pub async fn offer(&self, id: &str) -> Result<Option<Offer>, DbError> {
        // No engine stores NUL, and no id of ours has anything but these.
        if !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let order = store::order(&mut *self.db.read().await?, id).await?;
        Ok(order.map(|order| Offer { state: order.state_at(self.clock.now()), return_url: order.return_url }))
    }

    /// Calls the merchant back, as the job that a settled order leaves says.
    pub async fn call_back(&self, payload: &Value) -> Result<(), JobError> {
        callback::send(self, payload.to_string()).await
    }

    /// Ends an order the way its payer chose, once, and tells the merchant.
    pub async fn settle(&self, id: String, choice: Choice) -> Result<(), DbError> {
        let now = self.clock.now();
        self.db
            .tx((self.clone(), id, choice, now), |conn, (sandbox, id, choice, now)| {
                Box::pin(async move {
                    if !store::settle(conn, id, choice, *now).await? {
                        return Ok(());
                    }
                    for (state, run_at) in sandbox.callbacks.plan(choice.states(), *now) {
                        let payload = callback::payload(id, state);
                        let job = NewJob { id: sandbox.entropy.uuid(*now), kind: CALL_BACK, payload, run_at };
                        enqueue(conn, &job).await?;
                    }
                    Ok::<_, DbError>(())
                })
            })
            .await?;
        self.jobs_waker.notify_one();
        Ok(())
    }
}
