//! A payment provider of our own, for trying everything out without money.
//!
//! It is a peer like any other: it keeps its own books (`store`), hosts a checkout, where a person chooses to pay, to be
//! declined or to walk away, lets the merchant charge saved cards and send money back (`merchant`), and calls the
//! service back over HTTP with a signature (`callback`). It only happens to live in the same process. `cards` knows the
//! test numbers. The checkout's page is a feature of its own.

mod callback;
pub mod cards;
mod merchant;
mod store;

pub use callback::{CALL_BACK, Callbacks, sign};

use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use hyper::header::HeaderMap;
use serde_json::Value;
use tokio::sync::Notify;

use super::{Card, Checkout, Forged, Notice, Order, OrderRequest, OrderState, ProviderError, SavedCard};
use crate::clock::Clock;
use crate::crypto::keys::Keys;
use crate::entropy::Entropy;
use crate::jobs::{JobError, NewJob, enqueue};
use db::{Conn, Db, DbError};
use store::{NewOrder, OrderRow};
use values::{Money, Time};

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
    /// What is to be paid; nothing when the card is only shown.
    pub amount: Option<Money>,
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
}

/// What an order goes through to its end: a card that is shown is looked at before it is accepted or declined.
fn steps_to(end: OrderState) -> &'static [OrderState] {
    match end {
        OrderState::Completed => &[OrderState::Processing, OrderState::Completed],
        OrderState::Failed => &[OrderState::Processing, OrderState::Failed],
        OrderState::Cancelled => &[OrderState::Cancelled],
        OrderState::Pending | OrderState::Processing => &[],
    }
}

impl OrderRow {
    /// A payer who stays away for too long has walked away.
    fn state_at(&self, now: Time) -> OrderState {
        if self.state == OrderState::Pending && self.expires_at <= now { OrderState::Cancelled } else { self.state }
    }

    fn amount(&self) -> Option<Money> {
        Some(Money::from_nanos(self.amount?, self.currency?))
    }

    fn order(self, now: Time) -> Order {
        let (state, amount) = (self.state_at(now), self.amount());
        let refunded = self.currency.map(|currency| Money::from_nanos(self.refunded, currency));
        let card = match (self.card_token, self.brand, self.last4, self.exp_month, self.exp_year) {
            (Some(token), Some(brand), Some(last4), Some(exp_month), Some(exp_year)) => {
                Some(SavedCard { token, card: Card { brand, last4, exp_month, exp_year } })
            }
            _ => None,
        };
        let customer = Some(self.customer).filter(|customer| !customer.is_empty());
        Order { id: self.id, reference: self.reference, state, amount, refunded, card, customer, decline: self.decline }
    }
}

impl Sandbox {
    /// A name that nobody can guess: whoever knows an order's may answer its checkout.
    fn fresh_name(&self) -> String {
        HEXLOWER.encode(&self.entropy.bytes::<16>())
    }

    pub(super) async fn open(&self, request: OrderRequest) -> Result<Checkout, ProviderError> {
        let now = self.clock.now();
        let order = NewOrder {
            id: self.fresh_name(),
            reference: request.reference,
            amount: request.amount,
            customer: request.payer.provider_customer.unwrap_or_else(|| self.fresh_name()),
            customer_name: request.payer.name,
            customer_email: request.payer.email,
            save_card: request.save_card,
            return_url: request.return_url,
            state: OrderState::Pending,
            decline: None,
            expires_at: now.plus(PATIENCE),
            now,
        };
        let order_id = self
            .db
            .tx(order, |conn, order| {
                Box::pin(async move {
                    store::open_order(conn, order).await?;
                    let opened = store::order_of(conn, &order.reference).await?.ok_or(DbError::NotFound)?;
                    Ok::<_, DbError>(opened.id)
                })
            })
            .await?;
        let checkout_url = format!("{}/sandbox/checkout/{order_id}", self.public_url);
        Ok(Checkout { order_id, checkout_url })
    }

    pub(super) async fn order(&self, id: &str) -> Result<Option<Order>, ProviderError> {
        let order = store::order(&mut *self.db.read().await?, id).await?;
        Ok(order.map(|order| order.order(self.clock.now())))
    }

    pub(super) async fn find(&self, reference: &str) -> Result<Option<Order>, ProviderError> {
        let order = store::order_of(&mut *self.db.read().await?, reference).await?;
        Ok(order.map(|order| order.order(self.clock.now())))
    }

    pub(super) async fn cancel(&self, id: &str) -> Result<(), ProviderError> {
        Ok(self.settle(id.to_owned(), Choice::Cancelled).await?)
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
        Ok(order.map(|order| Offer {
            state: order.state_at(self.clock.now()),
            amount: order.amount(),
            return_url: order.return_url,
        }))
    }

    /// Calls the merchant back, as the job that a settled order leaves says.
    pub async fn call_back(&self, payload: &Value) -> Result<(), JobError> {
        callback::send(self, payload.to_string()).await
    }

    /// Ends an order the way its payer chose, once, and tells the merchant.
    pub async fn settle(&self, id: String, choice: Choice) -> Result<(), DbError> {
        let (now, token) = (self.clock.now(), self.fresh_name());
        self.db
            .tx((self.clone(), id, choice, token, now), |conn, (sandbox, id, choice, token, now)| {
                Box::pin(async move {
                    if !store::settle(conn, id, choice, *now).await? {
                        return Ok(());
                    }
                    if let Choice::Paid { card, declines_later } = choice {
                        store::keep_card(conn, id, token, card, *declines_later, *now).await?;
                    }
                    sandbox.tell(conn, id, choice.state(), *now).await
                })
            })
            .await?;
        self.jobs_waker.notify_one();
        Ok(())
    }

    /// Tells the merchant how an order went to its end just now.
    async fn tell(&self, conn: &mut Conn, id: &str, end: OrderState, now: Time) -> Result<(), DbError> {
        for (state, run_at) in self.callbacks.plan(steps_to(end), now) {
            let payload = callback::payload(id, state);
            enqueue(conn, &NewJob { id: self.entropy.uuid(now), kind: CALL_BACK, payload, run_at }).await?;
        }
        Ok(())
    }
}
