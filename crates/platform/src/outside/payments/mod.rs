//! The payment provider: it hosts the checkout, keeps the cards and tells us what became of an order.
//!
//! A merchant's life with one is always the same. We open an order under a reference of ours and send the payer to its
//! checkout. The provider then calls back, perhaps twice, late or never, and says little; so a callback is only a
//! reason to fetch the order, which is the truth, and whoever waits for an order also asks now and then by itself.
//! Whatever we ask for carries a reference of ours, and asking again under the same one leads to the same order, charge
//! or refund; so a crash in between costs nothing. Only for a charge nobody may ask twice at the same moment.
//!
//! `sandbox` is the default: a provider of our own, in this process, for trying everything out without money. `revolut`
//! is the Revolut Merchant API.
//! No call here may stand inside a transaction.

mod callback;
pub mod revolut;
pub mod sandbox;

use std::fmt;

use hyper::header::HeaderMap;

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
    /// The scheme of a card.
    pub enum Brand {
        Visa = "visa",
        Mastercard = "mastercard",
        Amex = "amex",
        Other = "other",
    }
}

text_enum! {
    /// Where an order stands.
    pub enum OrderState {
        /// Nobody has paid yet.
        Pending = "pending",
        /// Somebody has, and the banks are at it.
        Processing = "processing",
        Completed = "completed",
        Failed = "failed",
        /// The payer walked away, or stayed away for too long.
        Cancelled = "cancelled",
    }
}

impl OrderState {
    /// Whether the order has come to its end.
    pub const fn is_final(self) -> bool {
        matches!(self, OrderState::Completed | OrderState::Failed | OrderState::Cancelled)
    }
}

text_enum! {
    /// Where a refund stands.
    pub enum RefundState {
        /// The banks are at it.
        Pending = "pending",
        Completed = "completed",
        /// The provider refuses.
        Failed = "failed",
    }
}

/// Who pays.
#[derive(Clone, Debug)]
pub struct Payer {
    pub account: AccountId,
    pub name: String,
    pub email: Email,
    /// What the provider calls this payer, if it has met it before.
    pub provider_customer: Option<String>,
}

/// An order to be paid at the provider's checkout.
#[derive(Clone, Debug)]
pub struct OrderRequest {
    /// Ours, and the same when we ask again.
    pub reference: String,
    /// Without one the card is only shown.
    pub amount: Option<Money>,
    pub payer: Payer,
    /// Whether the provider keeps the card, for us to charge later.
    pub save_card: bool,
    /// Where the payer goes afterwards.
    pub return_url: String,
}

/// A charge of a saved card while its holder is away.
#[derive(Clone)]
pub struct ChargeRequest {
    /// Ours, and the same when we ask again.
    pub reference: String,
    pub amount: Money,
    pub payer: Payer,
    pub card_token: String,
}

/// An order that waits for its payer.
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

/// A card that the provider keeps.
#[derive(Clone, PartialEq, Eq)]
pub struct SavedCard {
    /// What the provider calls it; whoever has our key can charge it by that.
    pub token: String,
    pub card: Card,
}

impl fmt::Debug for SavedCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedCard").field("card", &self.card).finish_non_exhaustive()
    }
}

/// An order as the provider knows it.
#[derive(Clone, Debug)]
pub struct Order {
    pub id: String,
    /// Ours, as we gave it.
    pub reference: String,
    pub state: OrderState,
    pub amount: Option<Money>,
    /// What of it went back.
    pub refunded: Option<Money>,
    /// The card it was paid with, if the provider keeps it.
    pub card: Option<SavedCard>,
    /// What the provider calls the payer.
    pub customer: Option<String>,
    /// Why it failed.
    pub decline: Option<String>,
}

/// A refund as the provider knows it.
#[derive(Clone, Debug)]
pub struct Refund {
    pub id: String,
    pub state: RefundState,
}

/// What a callback says: that something happened to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub order_id: String,
    pub event: String,
}

/// A callback that is not the provider's, or not of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forged(pub &'static str);

/// The provider did not answer as it should; another try may help.
#[derive(Debug)]
pub struct ProviderError(pub String);

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProviderError {}

/// The provider that the settings name.
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

    /// Opens an order, or finds the one opened under this reference before.
    pub async fn open(&self, request: OrderRequest) -> Result<Checkout, ProviderError> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.open(request).await,
            Payments::Revolut(revolut) => revolut.open(request).await,
        }
    }

    /// The order of this id, if the provider knows one.
    pub async fn order(&self, id: &str) -> Result<Option<Order>, ProviderError> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.order(id).await,
            Payments::Revolut(revolut) => revolut.order(id).await,
        }
    }

    /// The order under this reference of ours, if it came to one.
    pub async fn find(&self, reference: &str) -> Result<Option<Order>, ProviderError> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.find(reference).await,
            Payments::Revolut(revolut) => revolut.find(reference).await,
        }
    }

    /// Charges a saved card, once for each reference, if one at a time asks for it. A card that is declined is a failed
    /// order, not an error.
    pub async fn charge(&self, request: ChargeRequest) -> Result<Order, ProviderError> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.charge(request).await,
            Payments::Revolut(revolut) => revolut.charge(request).await,
        }
    }

    /// Sends money of a completed order back, once for each reference and never more than is left of it.
    pub async fn refund(&self, order_id: &str, amount: Money, reference: &str) -> Result<Refund, ProviderError> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.refund(order_id, amount, reference).await,
            Payments::Revolut(revolut) => revolut.refund(order_id, amount, reference).await,
        }
    }

    /// Closes the checkout of an order that nobody has paid; any other order stays as it is.
    pub async fn cancel(&self, order_id: &str) -> Result<(), ProviderError> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.cancel(order_id).await,
            Payments::Revolut(revolut) => revolut.cancel(order_id).await,
        }
    }

    /// What a callback says, if it is the provider's.
    pub fn read_callback(&self, headers: &HeaderMap, body: &[u8], now: Time) -> Result<Notice, Forged> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.read_callback(headers, body, now),
            Payments::Revolut(revolut) => revolut.read_callback(headers, body, now),
        }
    }
}
