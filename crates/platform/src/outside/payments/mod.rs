//! The payment provider: hosts the checkout, stores cards, and charges and refunds them.
//!
//! The flow is the same for every provider. The service opens an order under its own reference and sends the payer to
//! the provider's checkout. The provider then sends a webhook, perhaps twice, late or never. A webhook only triggers
//! fetching the order, which is authoritative; orders that wait are also polled. Every request carries our reference,
//! and repeating it leads to the same order, charge or refund, so it can be retried after a crash. Only charges of one
//! reference must not run concurrently. Disputes are opened by the card's bank; webhooks tell of them likewise.
//!
//! `sandbox`, the default, is a provider inside this process that moves no money. `revolut` is the Revolut Merchant
//! API. Never call these inside a transaction.

pub mod revolut;
pub mod sandbox;
mod webhook;

use std::fmt;

use hyper::header::HeaderMap;

use db::assert_no_connection_held;
use values::{AccountId, Email, Money, Time, text_enum};

use revolut::Revolut;
use sandbox::Sandbox;

text_enum! {
    /// Name of a payment provider.
    pub enum Provider {
        Sandbox = "sandbox",
        Revolut = "revolut",
    }
}

text_enum! {
    /// Card scheme.
    pub enum Brand {
        Visa = "visa",
        Mastercard = "mastercard",
        Amex = "amex",
        Other = "other",
    }
}

text_enum! {
    /// State of an order at the provider.
    pub enum OrderState {
        /// Not paid yet.
        Pending = "pending",
        /// Paid, and the payment is being processed.
        Processing = "processing",
        Completed = "completed",
        Failed = "failed",
        /// The payer cancelled, or the checkout expired.
        Cancelled = "cancelled",
    }
}

impl OrderState {
    /// Whether the state can no longer change.
    pub const fn is_final(self) -> bool {
        matches!(self, OrderState::Completed | OrderState::Failed | OrderState::Cancelled)
    }
}

text_enum! {
    /// State of a dispute at the provider.
    pub enum DisputeState {
        /// Opened by the card's bank, and not decided.
        Open = "open",
        /// Decided for the merchant.
        Won = "won",
        /// Decided for the card's holder.
        Lost = "lost",
    }
}

text_enum! {
    /// State of a refund at the provider.
    pub enum RefundState {
        /// Being processed.
        Pending = "pending",
        Completed = "completed",
        /// Refused by the provider.
        Failed = "failed",
    }
}

/// The customer who pays.
#[derive(Clone, Debug)]
pub struct Payer {
    pub account: AccountId,
    pub name: String,
    pub email: Email,
    /// The provider's id of this payer, if it has one.
    pub provider_customer: Option<String>,
}

/// An order to be paid at the provider's checkout.
#[derive(Clone, Debug)]
pub struct OrderRequest {
    /// Our reference; the same in a retry.
    pub reference: String,
    /// `None` to verify and save a card without a payment.
    pub amount: Option<Money>,
    pub payer: Payer,
    /// Whether the provider stores the card for later charges.
    pub save_card: bool,
    /// Where the payer returns to after the checkout.
    pub return_url: String,
}

/// A charge of a saved card without its holder (merchant-initiated).
#[derive(Clone)]
pub struct ChargeRequest {
    /// Our reference; the same in a retry.
    pub reference: String,
    pub amount: Money,
    pub payer: Payer,
    pub card_token: String,
}

/// An order with its checkout page.
#[derive(Clone, Debug)]
pub struct Checkout {
    pub order_id: String,
    pub checkout_url: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    pub brand: Brand,
    pub last4: String,
    pub exp_month: i64,
    pub exp_year: i64,
}

/// A card stored at the provider.
#[derive(Clone, PartialEq, Eq)]
pub struct SavedCard {
    /// The provider's id of the card. Secret: with our API key it is enough to charge the card.
    pub token: String,
    pub card: Card,
}

impl fmt::Debug for SavedCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedCard").field("card", &self.card).finish_non_exhaustive()
    }
}

/// An order at the provider.
#[derive(Clone, Debug)]
pub struct Order {
    pub id: String,
    /// Our reference.
    pub reference: String,
    pub state: OrderState,
    pub amount: Option<Money>,
    /// The amount refunded so far.
    pub refunded: Option<Money>,
    /// The card it was paid with, if the provider stored it.
    pub card: Option<SavedCard>,
    /// What tells the card it was paid with from others, whoever pays: the provider's fingerprint, or what comes closest.
    pub paid_with: Option<String>,
    /// The provider's id of the payer.
    pub customer: Option<String>,
    /// Why the payment was declined.
    pub decline: Option<String>,
}

/// A refund at the provider.
#[derive(Clone, Debug)]
pub struct Refund {
    pub id: String,
    pub state: RefundState,
}

/// A dispute of a paid order: the card's bank asks for its money back.
#[derive(Clone, Debug)]
pub struct Dispute {
    pub id: String,
    pub order_id: String,
    pub state: DisputeState,
    pub amount: Money,
}

/// A verified webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEvent {
    pub subject: WebhookSubject,
    pub event: String,
}

/// What a webhook is about, by the provider's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookSubject {
    Order(String),
    Dispute(String),
}

impl WebhookSubject {
    pub fn id(&self) -> &str {
        match self {
            WebhookSubject::Order(id) | WebhookSubject::Dispute(id) => id,
        }
    }
}

/// A webhook that failed verification, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidWebhook(pub &'static str);

/// The provider is unreachable or gave no valid response; a retry may help.
#[derive(Debug)]
pub struct ProviderError(pub String);

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProviderError {}

/// The provider that the settings select.
#[derive(Clone)]
pub enum Payments {
    Sandbox(Sandbox),
    Revolut(Revolut),
}

impl Payments {
    pub fn provider(&self) -> Provider {
        match self {
            Payments::Sandbox(_) => Provider::Sandbox,
            Payments::Revolut(_) => Provider::Revolut,
        }
    }

    /// Opens an order, or returns the existing one of this reference.
    pub async fn open(&self, request: OrderRequest) -> Result<Checkout, ProviderError> {
        assert_no_connection_held();
        match self {
            Payments::Sandbox(sandbox) => sandbox.open(request).await,
            Payments::Revolut(revolut) => revolut.open(request).await,
        }
    }

    /// The order with this id, if it exists.
    pub async fn order(&self, id: &str) -> Result<Option<Order>, ProviderError> {
        assert_no_connection_held();
        match self {
            Payments::Sandbox(sandbox) => sandbox.order(id).await,
            Payments::Revolut(revolut) => revolut.order(id).await,
        }
    }

    /// The order with this reference of ours, if it exists.
    pub async fn find(&self, reference: &str) -> Result<Option<Order>, ProviderError> {
        assert_no_connection_held();
        match self {
            Payments::Sandbox(sandbox) => sandbox.find(reference).await,
            Payments::Revolut(revolut) => revolut.find(reference).await,
        }
    }

    /// Charges a saved card once per reference, provided that calls with one reference do not overlap. A declined card
    /// is a failed order, not an error.
    pub async fn charge(&self, request: ChargeRequest) -> Result<Order, ProviderError> {
        assert_no_connection_held();
        match self {
            Payments::Sandbox(sandbox) => sandbox.charge(request).await,
            Payments::Revolut(revolut) => revolut.charge(request).await,
        }
    }

    /// Refunds part of a completed order, once per reference and never more than is left of it.
    pub async fn refund(&self, order_id: &str, amount: Money, reference: &str) -> Result<Refund, ProviderError> {
        assert_no_connection_held();
        match self {
            Payments::Sandbox(sandbox) => sandbox.refund(order_id, amount, reference).await,
            Payments::Revolut(revolut) => revolut.refund(order_id, amount, reference).await,
        }
    }

    /// The refund with this reference, if it was made.
    pub async fn find_refund(&self, reference: &str) -> Result<Option<Refund>, ProviderError> {
        assert_no_connection_held();
        match self {
            Payments::Sandbox(sandbox) => sandbox.find_refund(reference).await,
            Payments::Revolut(revolut) => revolut.find_refund(reference).await,
        }
    }

    /// Cancels an unpaid order; any other order is left unchanged.
    pub async fn cancel(&self, order_id: &str) -> Result<(), ProviderError> {
        assert_no_connection_held();
        match self {
            Payments::Sandbox(sandbox) => sandbox.cancel(order_id).await,
            Payments::Revolut(revolut) => revolut.cancel(order_id).await,
        }
    }

    /// The dispute with this id, if it exists.
    pub async fn dispute(&self, id: &str) -> Result<Option<Dispute>, ProviderError> {
        assert_no_connection_held();
        match self {
            Payments::Sandbox(sandbox) => sandbox.dispute(id).await,
            Payments::Revolut(revolut) => revolut.dispute(id).await,
        }
    }

    /// Disputes that were opened since then, at most a page of them.
    pub async fn disputes_since(&self, since: Time) -> Result<Vec<Dispute>, ProviderError> {
        assert_no_connection_held();
        match self {
            Payments::Sandbox(sandbox) => sandbox.disputes_since(since).await,
            Payments::Revolut(revolut) => revolut.disputes_since(since).await,
        }
    }

    /// Verifies a webhook's signature and age, and parses it.
    pub fn verify_webhook(&self, headers: &HeaderMap, body: &[u8], now: Time) -> Result<WebhookEvent, InvalidWebhook> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.verify_webhook(headers, body, now),
            Payments::Revolut(revolut) => revolut.verify_webhook(headers, body, now),
        }
    }
}
