//! The payment provider: it hosts the checkout, keeps the cards and tells us what became of an order.
//!
//! A merchant's life with one is always the same. We open an order under a reference of ours and send the payer to its
//! checkout. The provider then calls back, perhaps twice, late or never, and says little; so a callback is only a
//! reason to fetch the order, which is the truth, and whoever waits for an order also asks now and then by itself.
//! Opening an order again under the same reference leads to the same order, so a crash in between costs nothing.
//!
//! `sandbox` is the default: a provider of our own, in this process, for trying everything out without money.
//! No call here may stand inside a transaction.

pub mod sandbox;

use std::fmt;

use hyper::header::HeaderMap;

use crate::values::{Email, Time, text_enum};

use sandbox::Sandbox;

text_enum! {
    /// Who handles payments.
    pub enum Provider {
        Sandbox = "sandbox",
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

/// A card to be shown, not charged.
pub struct CardCheck {
    /// Ours, and the same when we ask again.
    pub reference: String,
    pub customer_name: String,
    pub customer_email: Email,
    /// Where the payer goes afterwards.
    pub return_url: String,
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

/// An order as the provider knows it.
#[derive(Clone, Debug)]
pub struct Order {
    pub id: String,
    /// Ours, as we gave it.
    pub reference: String,
    pub state: OrderState,
    /// The card it was paid with.
    pub card: Option<Card>,
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
}

impl Payments {
    pub fn provider(&self) -> Provider {
        match self {
            Payments::Sandbox(_) => Provider::Sandbox,
        }
    }

    /// Opens an order that verifies a card, or finds the one opened under this reference before.
    pub async fn check_card(&self, check: CardCheck) -> Result<Checkout, ProviderError> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.check_card(check).await,
        }
    }

    /// The order of this id, if the provider knows one.
    pub async fn order(&self, id: &str) -> Result<Option<Order>, ProviderError> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.order(id).await,
        }
    }

    /// What a callback says, if it is the provider's.
    pub fn read_callback(&self, headers: &HeaderMap, body: &[u8], now: Time) -> Result<Notice, Forged> {
        match self {
            Payments::Sandbox(sandbox) => sandbox.read_callback(headers, body, now),
        }
    }
}
