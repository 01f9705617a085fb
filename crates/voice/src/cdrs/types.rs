//! CDRs in the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::row::CdrRow;
use super::search::{CdrFilter, CdrListRow, END_OF_TIME};
use super::terms::{CallStatus, HungUpBy, Leg};
use crate::fx;
use api::checks::{Checks, Given, must};
use identity::names::Names;
use platform::ledger::TransactionId;
use platform::routing::plans::{PlanBase, PriceRule, RateRule};
use values::{
    AccountId, CallId, Country, Currency, Date, Digits, ExactMoney, Markup, Money, PlanMarkup, RatePlanId,
    RatePlanVersionId, Rfc3339, Text, Time, TrunkId, UpstreamId, text_enum,
};

/// Call detail record: one finished call. CSV and JSONL exports have the same fields in the same order.
#[derive(Serialize, JsonSchema)]
pub struct Cdr {
    /// Id of the CDR, a UUID v7 whose time is `started_at`; for calls of the operator's switches it is the call token.
    pub id: CallId,
    /// SIP Call-ID of the call.
    pub call_id: String,
    /// Direction of the call: `termination` is outbound, `origination` is inbound.
    pub leg: Leg,
    /// When the call began (RFC 3339, UTC).
    pub started_at: Rfc3339,
    /// When the callee answered (RFC 3339, UTC); null if nobody did.
    pub answered_at: Option<Rfc3339>,
    /// When the call ended (RFC 3339, UTC).
    pub ended_at: Option<Rfc3339>,
    /// Seconds from answer to end, where every started second counts; 0 if the call was not answered.
    pub duration_seconds: i64,
    /// Caller as sent, in E.164 form if it is a number; `anonymised` after the retention period.
    pub calling: String,
    /// Called number in E.164 form; `anonymised` after the retention period.
    pub called: String,
    /// Country of the destination (ISO 3166-1 alpha-2); null if the call had no rate.
    pub country: Option<Country>,
    /// Name of the destination, such as "Netherlands, mobile"; null for inbound calls and calls without a rate.
    pub destination_name: Option<String>,
    /// Outcome of the call.
    pub status: CallStatus,
    /// What the customer is charged for the call.
    pub customer_charge: ExactMoney,
    /// Trunk of the call.
    pub trunk_id: TrunkId,
}

/// A CDR in a list.
#[derive(Serialize, JsonSchema)]
pub struct CdrListItem {
    #[serde(flatten)]
    pub cdr: Cdr,
    /// Name of the trunk; null once the trunk is deleted.
    pub trunk_name: Option<String>,
}

impl From<CdrRow> for Cdr {
    fn from(row: CdrRow) -> Self {
        // Who hung up is not shown to customers.
        Cdr::from(list_row(row, None))
    }
}

impl From<CdrListRow> for Cdr {
    fn from(row: CdrListRow) -> Self {
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

pub fn list_row(cdr: CdrRow, hung_up_by: Option<HungUpBy>) -> CdrListRow {
    let country = country_of(&cdr);
    let CdrRow { id, terms, result } = cdr;
    CdrListRow {
        id,
        account_id: terms.account_id,
        trunk_id: terms.trunk_id,
        upstream_id: result.upstream_id,
        call_id: terms.call_id,
        leg: terms.leg,
        started_at: terms.started_at,
        answered_at: result.answered_at,
        ended_at: result.ended_at,
        duration_seconds: result.duration_seconds,
        calling: terms.calling,
        called: terms.called,
        country,
        destination_name: terms.destination_name,
        status: result.status,
        currency: terms.currency,
        charge: result.charge,
        cost: result.cost,
        hung_up_by,
    }
}

pub fn country_of(cdr: &CdrRow) -> Option<Country> {
    cdr.terms.country.as_deref().and_then(|country| country.parse().ok())
}

pub fn money(nanos: i64, currency: Currency) -> ExactMoney {
    ExactMoney(Money::from_nanos(nanos, currency))
}

/// A CDR with its price.
#[derive(Serialize, JsonSchema)]
pub struct CdrDetail {
    #[serde(flatten)]
    pub cdr: Cdr,
    /// How the charge is computed.
    pub price: CallPrice,
}

text_enum! {
    /// How an amount is rounded to nine decimal places.
    pub enum Rounding {
        /// To the nearest, halves up.
        HalfUp = "half_up",
    }
}

/// How the charge of a call is computed: an answered call costs `connect_fee` plus `rate_per_minute` × `billed_seconds`
/// ÷ 60, rounded once to nine decimal places; any other call costs nothing.
#[derive(Serialize, JsonSchema)]
pub struct CallPrice {
    /// Leading digits of the called number that the rate applies to; null if the call had no rate.
    pub prefix: Option<String>,
    /// What decided the rate; null if the call had no rate.
    pub rule: Option<PriceRule>,
    /// Sell rate per minute when the call began.
    pub rate_per_minute: ExactMoney,
    /// Fee for each answered call.
    pub connect_fee: ExactMoney,
    /// Since when the rate was in force (RFC 3339, UTC); null if the rate cannot be traced to a deck.
    pub effective_at: Option<Rfc3339>,
    /// The fewest seconds that are billed for an answered call.
    pub minimum_seconds: i64,
    /// Step in which seconds beyond the minimum are billed.
    pub billing_increment_seconds: i64,
    /// Seconds that are billed.
    pub billed_seconds: i64,
    /// How the amount is rounded.
    pub rounding: Rounding,
    /// The charge of the call.
    pub charge: ExactMoney,
    /// Transaction in `GET /account/ledger` that has the charge, together with those of other calls; null without a
    /// charge.
    pub ledger_transaction_id: Option<TransactionId>,
}

/// A CDR with cost and margin.
#[derive(Serialize, JsonSchema)]
pub struct AdminCdr {
    /// Id of the CDR, a UUID v7 whose time is `started_at`.
    pub id: CallId,
    /// Account of the call.
    pub account_id: AccountId,
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_name: Option<String>,
    /// SIP Call-ID of the call.
    pub call_id: String,
    /// Upstream that took the call, or that an inbound call came from; null if none did.
    pub upstream_id: Option<UpstreamId>,
    /// Name of the upstream; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_name: Option<String>,
    /// When the call began (RFC 3339, UTC).
    pub started_at: Rfc3339,
    /// Seconds from answer to end, where every started second counts; 0 if the call was not answered.
    pub duration_seconds: i64,
    /// Caller as sent, in E.164 form if it is a number; `anonymised` after the retention period.
    pub calling: String,
    /// Called number in E.164 form; `anonymised` after the retention period.
    pub called: String,
    /// Outcome of the call.
    pub status: CallStatus,
    /// What the upstream charges for the call; 0 if the cost is unknown.
    pub our_cost: ExactMoney,
    /// What the customer is charged for the call.
    pub customer_charge: ExactMoney,
    /// Charge minus cost; may be negative.
    pub margin: ExactMoney,
    /// Who had the switch end the call; null if nobody did.
    pub hung_up_by: Option<HungUpBy>,
}

impl AdminCdr {
    pub fn new(row: CdrListRow, names: &Names) -> AdminCdr {
        AdminCdr {
            id: row.id,
            account_id: row.account_id,
            customer_id: row.account_id.uuid(),
            customer_name: names.get(row.account_id.uuid()),
            call_id: row.call_id,
            upstream_id: row.upstream_id,
            upstream_name: row.upstream_id.and_then(|id| names.get(id.uuid())),
            started_at: Rfc3339(row.started_at),
            duration_seconds: row.duration_seconds,
            calling: row.calling,
            called: row.called,
            status: row.status,
            our_cost: money(row.cost, row.currency),
            customer_charge: money(row.charge, row.currency),
            // Neither is negative, so the difference does not overflow.
            margin: money(row.charge - row.cost, row.currency),
            hung_up_by: row.hung_up_by,
        }
    }
}

/// A CDR with cost, margin, price and the origin of the price.
#[derive(Serialize, JsonSchema)]
pub struct AdminCdrDetail {
    #[serde(flatten)]
    pub cdr: AdminCdr,
    /// Trunk of the call.
    pub trunk_id: TrunkId,
    /// Direction of the call: `termination` is outbound, `origination` is inbound.
    pub leg: Leg,
    /// Country of the destination (ISO 3166-1 alpha-2); null if the call had no rate.
    pub country: Option<Country>,
    /// Name of the destination; null for inbound calls and calls without a rate.
    pub destination_name: Option<String>,
    /// How the charge is computed.
    pub price: CallPrice,
    /// Deck rate that the sell rate follows from; null if the call had no rate or the deck rate cannot be found.
    pub source: Option<PriceSource>,
    /// Rate plan that made the sell rate of the deck rate; null if the customer had none when the call began.
    pub rate_plan: Option<CallPlan>,
    /// Whether the CDR was imported from another switch.
    pub imported: bool,
    /// Whether a person should check the CDR: it was closed without an end event, is longer than its reservation, or
    /// its cost is unknown.
    pub review: bool,
}

/// Deck rate that a sell rate follows from: `rate_per_minute` converted at the exchange rate, plus the markup.
#[derive(Clone, Serialize, JsonSchema)]
pub struct PriceSource {
    /// Upstream whose rate it is; another upstream may have taken the call.
    pub upstream_id: UpstreamId,
    /// Deck of the rate.
    pub deck_id: Option<Uuid>,
    /// Prefix of the deck rate, which may be shorter than that of the sell rate.
    pub prefix: String,
    /// The upstream's rate per minute, in its currency.
    pub rate_per_minute: ExactMoney,
    /// The upstream's fee for each answered call, in its currency.
    pub connect_fee: ExactMoney,
    /// Since when the deck rate was in force (RFC 3339, UTC).
    pub effective_at: Rfc3339,
    /// Markup on the upstream's rate, in percent.
    pub markup_percent: Markup,
    /// Exchange rate that was applied; null if the upstream's currency is the customer's.
    pub exchange_rate: Option<ExchangeRate>,
}

/// Rate plan that priced a call.
#[derive(Clone, Serialize, JsonSchema)]
pub struct CallPlan {
    /// Id of the rate plan.
    pub rate_plan_id: RatePlanId,
    /// Name of the rate plan.
    pub name: Text<1, 100>,
    /// Id of the version of the plan.
    pub version_id: RatePlanVersionId,
    /// Number of the version.
    pub version: i64,
    /// What the markups of the version are added to.
    pub base: PlanBase,
    /// Markup of the version in percent, where no rule applies.
    pub markup_pct: PlanMarkup,
    /// Rule of the version that decided the rate; null if none applies.
    pub rule: Option<RateRule>,
}

/// Exchange rate of a day.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ExchangeRate {
    /// Currency that is converted (ISO 4217).
    pub currency: Currency,
    /// Day of the exchange rate (YYYY-MM-DD).
    pub date: Date,
    /// Units of the currency for one euro.
    pub rate: fx::Rate,
}

/// Filters of the CDR list.
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
    /// Return calls with this SIP Call-ID only.
    #[serde(default)]
    call_id: Option<Text<1, 255>>,
    /// Return calls whose calling number begins with these digits.
    #[serde(default)]
    calling: Option<Digits>,
    /// Return calls whose called number begins with these digits.
    #[serde(default)]
    called: Option<Digits>,
}

impl Checks for CdrFilters {
    fn check(given: &Given<'_>) {
        check_range(given);
    }
}

impl CdrFilters {
    pub fn filter(self, account: AccountId) -> CdrFilter {
        let (from, to) = range(self.from, self.to);
        CdrFilter {
            account: Some(account),
            trunk: self.trunk_id,
            upstream: None,
            status: self.status,
            leg: self.leg,
            country: self.country,
            call_id: self.call_id.map(|call_id| call_id.to_string()),
            calling: self.calling.map(stored_prefix),
            called: self.called.map(stored_prefix),
            from,
            to,
        }
    }
}

/// Filters of the list of all customers' CDRs.
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
    /// Return calls with this SIP Call-ID only.
    #[serde(default)]
    call_id: Option<Text<1, 255>>,
    /// Return calls that started at this time or later (RFC 3339).
    #[serde(default)]
    from: Option<Rfc3339>,
    /// Return calls that started before this time (RFC 3339).
    #[serde(default)]
    to: Option<Rfc3339>,
    /// Return calls whose calling number begins with these digits.
    #[serde(default)]
    calling: Option<Digits>,
    /// Return calls whose called number begins with these digits.
    #[serde(default)]
    called: Option<Digits>,
}

impl Checks for AdminCdrFilters {
    fn check(given: &Given<'_>) {
        check_range(given);
    }
}

impl AdminCdrFilters {
    pub fn filter(self) -> CdrFilter {
        let (from, to) = range(self.from, self.to);
        CdrFilter {
            account: self.account_id,
            trunk: self.trunk_id,
            upstream: self.upstream_id,
            status: self.status,
            leg: self.leg,
            country: self.country,
            call_id: self.call_id.map(|call_id| call_id.to_string()),
            calling: self.calling.map(stored_prefix),
            called: self.called.map(stored_prefix),
            from,
            to,
        }
    }
}

/// The digits as numbers are stored.
fn stored_prefix(digits: Digits) -> String {
    format!("+{digits}")
}

fn check_range(given: &Given<'_>) {
    given.check_with("to", "from", |to: Rfc3339, from: Rfc3339| must(to.0 >= from.0, "must not be before from"));
}

fn range(from: Option<Rfc3339>, to: Option<Rfc3339>) -> (Time, Time) {
    (from.map_or(Time::EPOCH, |from| from.0), to.map_or(END_OF_TIME, |to| to.0))
}
