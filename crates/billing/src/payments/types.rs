//! Request and response types of top-ups.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::rules::PaymentStatus;
use super::store::PaymentRow;
use api::checks::{Checks, Given, must};
use api::problem::Problem;
use platform::app::App;
use values::{Currency, Invalid, Money, PaymentId, Rfc3339, Text, text_enum};

text_enum! {
    /// Currency of a top-up; only EUR is accepted.
    pub enum TopupCurrency {
        Eur = "EUR",
    }
}

text_enum! {
    /// Status of a new top-up; always `pending`.
    pub enum NewTopupStatus {
        Pending = "pending",
    }
}

/// A top-up to start.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopupLiveRequest {
    /// Amount to pay in cents, from 100 (1 euro) to 100000000 (a million euros).
    #[schemars(range(min = 100, max = 100_000_000))]
    pub amount_minor: i64,
    /// Currency of the amount; must be EUR.
    #[serde(rename = "currency")]
    pub _currency: TopupCurrency,
    /// URL to send the payer to after the checkout; its origin must be one that the operator allows. Without it, the
    /// portal.
    #[serde(default)]
    pub return_url: Option<Text<1, 2000>>,
}

impl Checks for TopupLiveRequest {
    fn check(given: &Given<'_>) {
        check_return_url(given);
    }
}

/// Refuses a URL to return to whose origin the operator does not allow.
pub fn check_return_url(given: &Given<'_>) {
    given.check("return_url", |url: Text<1, 2000>| {
        must(given.settings.return_url(&url).is_some(), "must be a URL of an allowed return origin")
    });
}

/// Where the payer returns to: the URL in normal form, or the portal.
pub fn return_url(app: &App, given: Option<&Text<1, 2000>>) -> Result<String, Problem> {
    match given {
        Some(url) => app.settings.return_url(url).ok_or_else(|| Problem::internal("the return URL was not checked")),
        None => Ok(format!("{}/", app.public_url)),
    }
}

/// A top-up that waits for its payer at the checkout.
#[derive(Serialize, JsonSchema)]
pub struct TopupLiveResponse {
    /// The payment provider's order id of the top-up; `GET /payments/topups/{id}` accepts it.
    pub topup_id: String,
    /// Checkout page to open in a browser; it expires after 24 hours.
    #[schemars(url)]
    pub checkout_url: String,
    /// Amount to pay, in cents.
    pub amount_minor: i64,
    /// Currency of the amount.
    pub currency: TopupCurrency,
    /// Always `pending`; poll the top-up or wait for the `topup.completed` notification.
    pub status: NewTopupStatus,
}

/// Filters of the list of top-ups.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopupFilters {
    /// Return top-ups in this status only.
    #[serde(default)]
    pub status: Option<PaymentStatus>,
    /// Return top-ups created at this time or later (RFC 3339).
    #[serde(default)]
    pub from: Option<Rfc3339>,
    /// Return top-ups created before this time (RFC 3339).
    #[serde(default)]
    pub to: Option<Rfc3339>,
}

/// A payment that raises the balance: a top-up at a checkout, or an auto-recharge.
#[derive(Serialize, JsonSchema)]
pub struct Topup {
    /// Id of the top-up.
    pub id: PaymentId,
    /// Amount of the payment, in cents.
    pub amount_minor: i64,
    /// Currency of the amounts.
    pub currency: Currency,
    /// Status of the payment.
    pub status: PaymentStatus,
    /// Checkout page of a top-up in `pending`, to open in a browser; null otherwise.
    #[schemars(url)]
    pub checkout_url: Option<String>,
    /// Balance right after the money was credited, in cents; null until then.
    pub balance_after_minor: Option<i64>,
    /// When the top-up was created (RFC 3339, UTC).
    pub initiated_at: Rfc3339,
    /// When the payment was completed (RFC 3339, UTC); null until then.
    pub completed_at: Option<Rfc3339>,
}

impl From<PaymentRow> for Topup {
    fn from(row: PaymentRow) -> Self {
        let amount = row.money().unwrap_or(Money::zero(Currency::EUR));
        let currency = amount.currency();
        Topup {
            id: row.id,
            amount_minor: amount.minor(),
            currency,
            status: row.status,
            checkout_url: row.checkout_url.filter(|_| row.status == PaymentStatus::Pending),
            balance_after_minor: row.balance_after.map(|nanos| Money::from_nanos(nanos, currency).minor()),
            initiated_at: Rfc3339(row.created_at),
            completed_at: row.completed_at.map(Rfc3339),
        }
    }
}

/// A top-up by its id or by the provider's order id.
pub struct TopupId(String);

impl TopupId {
    const MAX_LENGTH: usize = 100;

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Our id, if the text can be one.
    pub fn payment_id(&self) -> Option<PaymentId> {
        self.0.parse().ok()
    }
}

impl FromStr for TopupId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_valid =
            (1..=TopupId::MAX_LENGTH).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_valid {
            Ok(TopupId(text.to_owned()))
        } else {
            Err(Invalid::because("must be 1 to 100 printable ASCII characters"))
        }
    }
}

impl JsonSchema for TopupId {
    fn schema_name() -> Cow<'static, str> {
        "TopupId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "minLength": 1, "maxLength": TopupId::MAX_LENGTH,
            "description": "Id of a top-up, or the `topup_id` that creating it returned.",
        })
    }
}
