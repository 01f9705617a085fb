//! Top-ups over the wire.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::rules::PaymentStatus;
use super::store::PaymentRow;
use values::{Currency, Invalid, Money, PaymentId, Rfc3339, text_enum};

text_enum! {
    /// What can be paid with.
    pub enum OnlyEuro {
        Eur = "EUR",
    }
}

text_enum! {
    /// A top-up that was just begun waits for its payer.
    pub enum OnlyPending {
        Pending = "pending",
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopupLiveRequest {
    /// In cents; a million euros at most.
    #[schemars(range(min = 100, max = 100_000_000))]
    pub amount_minor: i64,
    #[serde(rename = "currency")]
    pub _currency: OnlyEuro,
}

#[derive(Serialize, JsonSchema)]
pub struct TopupLiveResponse {
    /// The provider's name for it; `GET /payments/topups/{id}` takes it too.
    pub topup_id: String,
    /// Where to pay; open it in a browser. Open for a day.
    #[schemars(url)]
    pub checkout_url: String,
    pub amount_minor: i64,
    pub currency: OnlyEuro,
    pub status: OnlyPending,
}

#[derive(Serialize, JsonSchema)]
pub struct Topup {
    pub id: PaymentId,
    pub amount_minor: i64,
    pub currency: Currency,
    pub status: PaymentStatus,
    /// Null until the money is in the ledger.
    pub balance_after_minor: Option<i64>,
    pub initiated_at: Rfc3339,
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
            balance_after_minor: row.balance_after.map(|nanos| Money::from_nanos(nanos, currency).minor()),
            initiated_at: Rfc3339(row.created_at),
            completed_at: row.completed_at.map(Rfc3339),
        }
    }
}

/// A top-up by our id or by the provider's.
pub struct EitherId(String);

impl EitherId {
    const LONGEST: usize = 100;

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Ours, if it can be one.
    pub fn ours(&self) -> Option<PaymentId> {
        self.0.parse().ok()
    }
}

impl FromStr for EitherId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let sound = (1..=EitherId::LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if sound { Ok(EitherId(text.to_owned())) } else { Err(Invalid::because("is no id")) }
    }
}

impl JsonSchema for EitherId {
    fn schema_name() -> Cow<'static, str> {
        "TopupId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "minLength": 1, "maxLength": EitherId::LONGEST,
            "description": "Id of a top-up, or the provider's `topup_id`.",
        })
    }
}
