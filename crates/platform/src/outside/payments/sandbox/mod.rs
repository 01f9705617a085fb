//! The sandbox: a payment provider inside this process that moves no money, for development and tests.
//!
//! It behaves like any other provider: it has tables of its own, a checkout where the payer can pay, be declined or
//! cancel, and it sends signed callbacks to the service's webhook over HTTP. The checkout page is in the `billing`
//! crate.
//!
//! - `store`: its tables · `merchant`: charges and refunds · `disputes`: payments that a card's bank disputes
//! - `callback`: its webhooks · `cards`: the test cards

mod callback;
pub mod cards;
mod disputes;
mod merchant;
mod store;

pub use callback::{CALL_BACK, Callbacks, sign};

use std::time::Duration;

use data_encoding::HEXLOWER;
use hyper::header::HeaderMap;
use serde_json::Value;

use super::{
    Card, Checkout, DisputeState, InvalidWebhook, Order, OrderRequest, OrderState, ProviderError, SavedCard,
    WebhookEvent,
};
use crate::crypto::keys::{Keys, Purpose};
use crate::jobs::{JobError, enqueue_at};
use db::{Clock, Conn, Db, DbError, Entropy};
use store::{NewOrder, OrderRow};
use values::{Money, Time};

/// When an unpaid order expires.
const CHECKOUT_TTL: Duration = Duration::from_secs(24 * 3600);

/// What the sandbox needs from the process.
#[derive(Clone)]
pub struct Sandbox {
    pub db: Db,
    pub clock: Clock,
    pub keys: Keys,
    pub http: reqwest::Client,
    /// The origin of its checkout page and of the service's webhook.
    pub public_url: String,
    pub callbacks: Callbacks,
}

impl From<DbError> for ProviderError {
    fn from(error: DbError) -> Self {
        ProviderError(error.to_string())
    }
}

/// An order as its checkout page shows it.
pub struct CheckoutView {
    pub state: OrderState,
    /// The amount to pay; `None` if the card is only verified.
    pub amount: Option<Money>,
    /// The dispute of the payment, if there is one.
    pub dispute: Option<DisputeState>,
    /// Where the payer returns to afterwards.
    pub return_url: String,
}

/// What the payer chose at the checkout.
pub enum Choice {
    Paid { card: Card, number: String, declines_later: bool, is_disputed: bool },
    Declined,
    Cancelled,
}

impl Choice {
    /// The final state of the order.
    fn state(&self) -> OrderState {
        match self {
            Choice::Paid { .. } => OrderState::Completed,
            Choice::Declined => OrderState::Failed,
            Choice::Cancelled => OrderState::Cancelled,
        }
    }
}

/// The states that an order passes through: a card is processed before it is accepted or declined.
fn steps_to(end: OrderState) -> &'static [OrderState] {
    match end {
        OrderState::Completed => &[OrderState::Processing, OrderState::Completed],
        OrderState::Failed => &[OrderState::Processing, OrderState::Failed],
        OrderState::Cancelled => &[OrderState::Cancelled],
        OrderState::Pending | OrderState::Processing => &[],
    }
}

impl OrderRow {
    /// An unpaid order is cancelled when it expires.
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
        let OrderRow { id, reference, fingerprint: paid_with, decline, .. } = self;
        Order { id, reference, state, amount, refunded, card, paid_with, customer, decline }
    }
}

impl Sandbox {
    /// A random id that cannot be guessed: anyone who knows an order's id can pay at its checkout.
    fn random_id(&self) -> String {
        HEXLOWER.encode(&Entropy.bytes::<16>())
    }

    pub(super) async fn open(&self, request: OrderRequest) -> Result<Checkout, ProviderError> {
        let now = self.clock.now();
        let order = NewOrder {
            id: self.random_id(),
            reference: request.reference,
            amount: request.amount,
            customer: request.payer.provider_customer.unwrap_or_else(|| self.random_id()),
            customer_name: request.payer.name,
            customer_email: request.payer.email,
            save_card: request.save_card,
            return_url: request.return_url,
            state: OrderState::Pending,
            decline: None,
            fingerprint: None,
            expires_at: now.plus(CHECKOUT_TTL),
            now,
        };
        let order_id = self
            .db
            .tx(order, |conn, order| {
                Box::pin(async move {
                    store::open_order(conn, order).await?;
                    let opened = store::order_by_reference(conn, &order.reference).await?.ok_or(DbError::NotFound)?;
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
        let order = store::order_by_reference(&mut *self.db.read().await?, reference).await?;
        Ok(order.map(|order| order.order(self.clock.now())))
    }

    pub(super) async fn cancel(&self, id: &str) -> Result<(), ProviderError> {
        Ok(self.settle(id.to_owned(), Choice::Cancelled).await?)
    }

    pub(super) fn verify_webhook(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Time,
    ) -> Result<WebhookEvent, InvalidWebhook> {
        callback::verify(&self.keys, headers, body, now)
    }

    /// What the checkout page of an order shows, if the order exists.
    pub async fn checkout(&self, id: &str) -> Result<Option<CheckoutView>, DbError> {
        self.view(&mut *self.db.read().await?, id).await
    }

    /// The same, on a connection of the caller.
    pub async fn view(&self, conn: &mut Conn, id: &str) -> Result<Option<CheckoutView>, DbError> {
        // All ids are hexadecimal; this also keeps NUL, which no database stores, out of the query.
        if !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let Some(order) = store::order(conn, id).await? else { return Ok(None) };
        Ok(Some(CheckoutView {
            state: order.state_at(self.clock.now()),
            amount: order.amount(),
            dispute: store::dispute_of_order(conn, id).await?.map(|dispute| dispute.state),
            return_url: order.return_url,
        }))
    }

    /// Sends a callback; the job that a settled order enqueues.
    pub async fn send_callback(&self, payload: &Value) -> Result<(), JobError> {
        callback::send(self, payload.to_string()).await
    }

    /// Ends an order once, as its payer chose, and enqueues the callbacks.
    pub async fn settle(&self, id: String, choice: Choice) -> Result<(), DbError> {
        let work = (self.clone(), id, choice);
        self.db.tx(work, |conn, (sandbox, id, choice)| Box::pin(sandbox.settle_in(conn, id, choice))).await
    }

    /// The same, in a transaction of the caller.
    pub async fn settle_in(&self, conn: &mut Conn, id: &str, choice: &Choice) -> Result<(), DbError> {
        if !store::settle(conn, id, choice, self.fingerprint(choice).as_deref()).await? {
            return Ok(());
        }
        if let Choice::Paid { card, declines_later, .. } = choice {
            store::save_card(conn, id, &self.random_id(), card, *declines_later).await?;
        }
        self.enqueue_callbacks(conn, id, choice.state()).await?;
        if let Choice::Paid { is_disputed: true, .. } = choice {
            self.open_dispute(conn, id, &self.random_id()).await?;
        }
        Ok(())
    }

    /// Tells the card of a payment from others without revealing its number.
    fn fingerprint(&self, choice: &Choice) -> Option<String> {
        match choice {
            Choice::Paid { number, .. } => {
                Some(HEXLOWER.encode(&self.keys.mac(Purpose::SandboxCard, number.as_bytes())))
            }
            Choice::Declined | Choice::Cancelled => None,
        }
    }

    /// Enqueues the callbacks of an order that just ended.
    async fn enqueue_callbacks(&self, conn: &mut Conn, id: &str, end: OrderState) -> Result<(), DbError> {
        let now = conn.now();
        for (state, run_at) in self.callbacks.plan(steps_to(end), now) {
            enqueue_at(conn, CALL_BACK, callback::payload(id, state), run_at).await?;
        }
        Ok(())
    }
}
