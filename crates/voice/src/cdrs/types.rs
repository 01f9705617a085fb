//! Records of calls over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::search::{CdrRow, FOREVER, Wanted, number_prefix};
use crate::calls::{CallStatus, Leg};
use crate::fx;
use api::problem::Problem;
use platform::ledger::TransactionId;
use values::{
    AccountId, CallId, Country, Currency, Date, ExactMoney, Markup, Money, Rfc3339, Text, Time, TrunkId, UpstreamId,
    text_enum,
};

/// A call that is over. Exports have the same fields in the same order.
#[derive(Serialize, JsonSchema)]
pub struct Cdr {
    pub id: CallId,
    /// The call's SIP Call-ID.
    pub call_id: String,
    pub leg: Leg,
    pub started_at: Rfc3339,
    pub answered_at: Option<Rfc3339>,
    pub ended_at: Option<Rfc3339>,
    /// From answer to end.
    pub duration_seconds: i64,
    /// As the caller sent it; it need not be a number.
    pub calling: String,
    pub called: String,
    pub country: Option<Country>,
    pub destination_name: Option<String>,
    pub status: CallStatus,
    pub customer_charge: ExactMoney,
    pub trunk_id: TrunkId,
}

impl From<CdrRow> for Cdr {
    fn from(row: CdrRow) -> Self {
        Cdr {
            id: row.id,
            call_id: row.call_id,
            leg: row.leg,
            started_at: Rfc3339(row.started_at),
            answered_at: row.answered_at.map(Rfc3339),
            ended_at: row.ended_at.map(Rfc3339),
            duration_seconds: row.duration_seconds,
            calling: row.calling,
            called: row.called,
            country: row.country,
            destination_name: row.destination_name,
            status: row.status,
            customer_charge: money(row.charge, row.currency),
            trunk_id: row.trunk_id,
        }
    }
}

pub fn money(nanos: i64, currency: Currency) -> ExactMoney {
    ExactMoney(Money::from_nanos(nanos, currency))
}

/// A call with what its charge follows from.
#[derive(Serialize, JsonSchema)]
pub struct CdrDetail {
    #[serde(flatten)]
    pub cdr: Cdr,
    pub price: CallPrice,
}

text_enum! {
    /// How an amount that is no whole billionth is rounded.
    pub enum Rounding {
        HalfUp = "half_up",
    }
}

/// Why a call cost what it cost. An answered call costs `connect_fee`, and `rate_per_minute` × `billed_seconds` ÷ 60
/// rounded once, to the billionth; any other costs nothing.
#[derive(Serialize, JsonSchema)]
pub struct CallPrice {
    /// The first digits of the called number that its rate is for; null when the call had no rate.
    pub prefix: Option<String>,
    pub rate_per_minute: ExactMoney,
    pub connect_fee: ExactMoney,
    /// Since when the rate held that counted when the call began.
    pub effective_at: Option<Rfc3339>,
    /// The least that is billed for.
    pub minimum_seconds: i64,
    /// Beyond that, seconds are billed in steps of these.
    pub billing_increment_seconds: i64,
    pub billed_seconds: i64,
    pub rounding: Rounding,
    pub charge: ExactMoney,
    /// The line of `GET /account/ledger` that took it, with other calls; null when nothing was charged.
    pub ledger_transaction_id: Option<TransactionId>,
}

/// A call as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminCdr {
    pub id: CallId,
    pub account_id: AccountId,
    pub call_id: String,
    /// Who carried it; null when nobody did.
    pub upstream_id: Option<UpstreamId>,
    pub started_at: Rfc3339,
    pub duration_seconds: i64,
    pub calling: String,
    pub called: String,
    pub status: CallStatus,
    pub our_cost: ExactMoney,
    pub customer_charge: ExactMoney,
    pub margin: ExactMoney,
}

impl From<CdrRow> for AdminCdr {
    fn from(row: CdrRow) -> Self {
        AdminCdr {
            id: row.id,
            account_id: row.account_id,
            call_id: row.call_id,
            upstream_id: row.upstream_id,
            started_at: Rfc3339(row.started_at),
            duration_seconds: row.duration_seconds,
            calling: row.calling,
            called: row.called,
            status: row.status,
            our_cost: money(row.cost, row.currency),
            customer_charge: money(row.charge, row.currency),
            // Neither is below zero, so the difference fits.
            margin: money(row.charge - row.cost, row.currency),
        }
    }
}

/// A call as the team sees it, with where its price comes from.
#[derive(Serialize, JsonSchema)]
pub struct AdminCdrDetail {
    #[serde(flatten)]
    pub cdr: AdminCdr,
    pub trunk_id: TrunkId,
    pub leg: Leg,
    pub country: Option<Country>,
    pub destination_name: Option<String>,
    pub price: CallPrice,
    /// The row of a deck that the rate follows from; null when the call had none.
    pub source: Option<PriceSource>,
    /// Whether it came as a line of another switch.
    pub imported: bool,
    /// Whether a person should look at it.
    pub review: bool,
}

/// What an upstream asked, and what became of it: `rate_per_minute` at the exchange rate, and the markup on top.
#[derive(Clone, Serialize, JsonSchema)]
pub struct PriceSource {
    /// Whose price it is; another upstream may have carried the call.
    pub upstream_id: UpstreamId,
    pub deck_id: Option<Uuid>,
    /// The row's own prefix, which may be shorter than the one that is sold.
    pub prefix: String,
    /// What the upstream asks, in its currency.
    pub rate_per_minute: ExactMoney,
    pub connect_fee: ExactMoney,
    pub effective_at: Rfc3339,
    pub markup_percent: Markup,
    /// Null when the upstream's currency is the customer's.
    pub exchange_rate: Option<ExchangeRate>,
}

/// What a euro was worth.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ExchangeRate {
    pub currency: Currency,
    pub date: Date,
    pub rate: fx::Rate,
}

/// Which calls.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CdrFilters {
    /// Return calls that started at this time or later (RFC 3339).
    #[serde(default)]
    from: Option<Rfc3339>,
    /// Return calls that started before this time (RFC 3339).
    #[serde(default)]
    to: Option<Rfc3339>,
    /// Return calls of this trunk only.
    #[serde(default)]
    trunk_id: Option<TrunkId>,
    /// Return calls with this outcome only.
    #[serde(default)]
    status: Option<CallStatus>,
    /// Return outbound (`termination`) or inbound (`origination`) calls only.
    #[serde(default)]
    leg: Option<Leg>,
    /// Return calls to this country only (ISO 3166-1 alpha-2).
    #[serde(default)]
    country: Option<Country>,
    /// Return calls whose calling number begins with this; the plus is optional, and 00 is accepted.
    #[serde(default)]
    calling: Option<Text<1, 128>>,
    /// Return calls whose called number begins with this; the plus is optional, and 00 is accepted.
    #[serde(default)]
    called: Option<Text<1, 128>>,
}

impl CdrFilters {
    pub fn wanted(self, account: AccountId) -> Result<Wanted, Problem> {
        let (from, to) = range(self.from, self.to)?;
        Ok(Wanted {
            account: Some(account),
            trunk: self.trunk_id,
            upstream: None,
            status: self.status,
            leg: self.leg,
            country: self.country,
            calling: self.calling.map(|text| number_prefix(&text)),
            called: self.called.map(|text| number_prefix(&text)),
            from,
            to,
        })
    }
}

/// Which calls of which customers.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminCdrFilters {
    /// Return calls of this account only.
    #[serde(default)]
    account_id: Option<AccountId>,
    /// Return calls that this upstream terminated only.
    #[serde(default)]
    upstream_id: Option<UpstreamId>,
    /// Return calls of this trunk only.
    #[serde(default)]
    trunk_id: Option<TrunkId>,
    /// Return calls with this outcome only.
    #[serde(default)]
    status: Option<CallStatus>,
    /// Return outbound (`termination`) or inbound (`origination`) calls only.
    #[serde(default)]
    leg: Option<Leg>,
    /// Return calls to this country only (ISO 3166-1 alpha-2).
    #[serde(default)]
    country: Option<Country>,
    /// Return calls that started at this time or later (RFC 3339).
    #[serde(default)]
    from: Option<Rfc3339>,
    /// Return calls that started before this time (RFC 3339).
    #[serde(default)]
    to: Option<Rfc3339>,
    /// Return calls whose calling number begins with this; the plus is optional, and 00 is accepted.
    #[serde(default)]
    calling: Option<Text<1, 128>>,
    /// Return calls whose called number begins with this; the plus is optional, and 00 is accepted.
    #[serde(default)]
    called: Option<Text<1, 128>>,
}

impl AdminCdrFilters {
    pub fn wanted(self) -> Result<Wanted, Problem> {
        let (from, to) = range(self.from, self.to)?;
        Ok(Wanted {
            account: self.account_id,
            trunk: self.trunk_id,
            upstream: self.upstream_id,
            status: self.status,
            leg: self.leg,
            country: self.country,
            calling: self.calling.map(|text| number_prefix(&text)),
            called: self.called.map(|text| number_prefix(&text)),
            from,
            to,
        })
    }
}

fn range(from: Option<Rfc3339>, to: Option<Rfc3339>) -> Result<(Time, Time), Problem> {
    let from = from.map_or(Time::EPOCH, |from| from.0);
    let to = to.map_or(FOREVER, |to| to.0);
    if to < from { Err(Problem::invalid("to", "must not be before from")) } else { Ok((from, to)) }
}
