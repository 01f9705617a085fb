//! Rates as the API shows them.

use rating::quality::RouteState;
use rating::{Change, Listing, Offer, Prefix, SellRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use api::checks::{Checks, Given, must};
use api::problem::Problem;
use platform::routing::plans::{CustomerPricing, PriceRule};
use platform::routing::policies::RoutingRules;
use values::{AccountId, Country, Currency, Digits, ExactMoney, Money, Rfc3339, Text, Time, UpstreamId, text_enum};

/// A sell rate: the price of calls to a prefix.
#[derive(Serialize, JsonSchema)]
pub struct Rate {
    /// Leading digits of the numbers that the rate applies to, country code first; the longest match decides.
    pub prefix: String,
    /// Country of the destination (ISO 3166-1 alpha-2).
    pub country: Country,
    /// Name of the destination, such as "Netherlands, mobile".
    pub destination_name: String,
    /// Price per minute, without VAT.
    pub rate_per_minute: ExactMoney,
    /// Fee per answered call, in addition to its minutes, without VAT.
    pub connect_fee: ExactMoney,
    /// Billing increment: the duration of a call is rounded up to a multiple of this many seconds.
    pub billing_increment_seconds: u16,
    /// Minimum number of seconds that an answered call is billed for.
    pub minimum_seconds: u16,
    /// When the rate came into force (RFC 3339, UTC).
    pub effective_at: Rfc3339,
    /// When the notice of an increase ends that holds this rate (RFC 3339, UTC); null if no increase is announced.
    pub held_until: Option<Rfc3339>,
}

impl Rate {
    /// The rate of a customer.
    pub fn of(sell: &SellRate<'_, UpstreamId>, pricing: &CustomerPricing, currency: Currency) -> Rate {
        let destination = &sell.source.offer.destination;
        let plan = pricing.plan.as_ref();
        let plan_since = plan.map_or(rating::UnixMillis::MIN, |plan| plan.in_force.since.millis());
        Rate {
            prefix: sell.prefix.to_string(),
            country: country(destination.country),
            destination_name: destination.name.to_string(),
            rate_per_minute: money(sell.rate.nanos_per_minute(), currency),
            connect_fee: money(sell.rate.connect_fee_nanos(), currency),
            billing_increment_seconds: sell.rate.increment_seconds(),
            minimum_seconds: sell.rate.minimum_seconds(),
            effective_at: moment(sell.source.effective_at.max(plan_since)),
            held_until: sell.held.map(|held| moment(held.until)),
        }
    }
}

/// Deck imports accept known countries only, so the fallback is never used.
pub fn country(country: rating::Country) -> Country {
    country.as_str().parse().unwrap_or(Country::UNKNOWN)
}

pub fn money(nanos: i64, currency: Currency) -> ExactMoney {
    ExactMoney(Money::from_nanos(nanos, currency))
}

pub fn moment(millis: rating::UnixMillis) -> Rfc3339 {
    Rfc3339(Time::from_millis(millis))
}

/// Filters for the list of rates, which is sorted by prefix.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateFilters {
    /// Return prefixes that begin with these digits only.
    #[serde(default)]
    pub prefix: Option<Digits>,
    /// Return rates of this country only (ISO 3166-1 alpha-2).
    #[serde(default)]
    pub country: Option<Country>,
    /// Return destinations whose name contains this text only; case does not matter.
    #[serde(default)]
    pub q: Option<Text<1, 100>>,
}

/// The number to look up.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberQuery {
    /// Number to look up, country code first, such as +31201234567.
    pub number: Digits,
}

/// The number to look up, and whose price counts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutesQuery {
    /// Number to look up, country code first, such as +31201234567.
    pub number: Digits,
    /// Customer whose rate plan and notice make the price; without it, the list price counts.
    #[serde(default)]
    pub customer_id: Option<AccountId>,
}

/// Digits as a prefix to look up in decks.
pub fn prefix_of(digits: &Digits) -> Result<Prefix, Problem> {
    digits.as_str().parse().map_err(|_| Problem::internal("digits do not fit in a prefix"))
}

text_enum! {
    /// How a rate changed: the prefix was `added` or `removed`, or its price `increased` or `decreased`.
    pub enum RateChange {
        Added = "added",
        Removed = "removed",
        Increased = "increased",
        Decreased = "decreased",
    }
}

impl From<Change> for RateChange {
    fn from(change: Change) -> Self {
        match change {
            Change::Added => RateChange::Added,
            Change::Removed => RateChange::Removed,
            Change::Increased => RateChange::Increased,
            Change::Decreased => RateChange::Decreased,
        }
    }
}

/// A prefix whose price differs between the two moments.
#[derive(Serialize, JsonSchema)]
pub struct RateDiffEntry {
    /// Leading digits of the numbers that the rate applies to, country code first.
    pub prefix: String,
    /// Name of the destination.
    pub destination_name: String,
    /// How the rate changed; the connect fee decides when the price per minute is the same.
    pub change: RateChange,
    /// Price per minute at the first moment; null when the prefix had no rate.
    pub from: Option<ExactMoney>,
    /// Price per minute at the second moment; null when the prefix has no rate any more.
    pub to: Option<ExactMoney>,
    /// Connect fee at the first moment; null when the prefix had no rate.
    pub from_connect_fee: Option<ExactMoney>,
    /// Connect fee at the second moment; null when the prefix has no rate any more.
    pub to_connect_fee: Option<ExactMoney>,
}

/// The two moments to compare.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffQuery {
    /// First moment of the comparison (RFC 3339).
    pub from: Rfc3339,
    /// Second moment of the comparison (RFC 3339), not before `from`.
    pub to: Rfc3339,
}

impl Checks for DiffQuery {
    fn check(given: &Given<'_>) {
        given.check_with("to", "from", |to: Rfc3339, from: Rfc3339| must(to.0 >= from.0, "must not be before from"));
    }
}

/// A rate of an upstream's deck: what it charges for calls to a prefix.
#[derive(Serialize, JsonSchema)]
pub struct AdminRate {
    /// Upstream whose deck has the rate.
    pub upstream_id: UpstreamId,
    /// Name of the upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_name: Option<String>,
    /// Leading digits of the numbers that the rate applies to, country code first.
    pub prefix: String,
    /// Name of the destination in the deck.
    pub destination_name: String,
    /// Cost per minute in the upstream's currency, without markup.
    pub base: ExactMoney,
    /// Cost per answered call in the upstream's currency, without markup.
    pub connect_fee: ExactMoney,
    /// Billing increment: the duration of a call is rounded up to a multiple of this many seconds.
    pub billing_increment_seconds: u16,
    /// Minimum number of seconds that an answered call is billed for.
    pub minimum_seconds: u16,
    /// When the rate came into force (RFC 3339, UTC).
    pub effective_at: Rfc3339,
}

impl AdminRate {
    pub fn of(upstream_id: UpstreamId, listing: &Listing<&Offer>, currency: Currency) -> AdminRate {
        let rate = &listing.offer.rate;
        AdminRate {
            upstream_id,
            upstream_name: None,
            prefix: listing.prefix.to_string(),
            destination_name: listing.offer.destination.name.to_string(),
            base: money(rate.nanos_per_minute(), currency),
            connect_fee: money(rate.connect_fee_nanos(), currency),
            billing_increment_seconds: rate.increment_seconds(),
            minimum_seconds: rate.minimum_seconds(),
            effective_at: moment(listing.effective_at),
        }
    }
}

/// Filters for the list of upstreams' rates.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminRateFilters {
    /// Return rates of this upstream only.
    #[serde(default)]
    pub upstream_id: Option<UpstreamId>,
    /// Return prefixes that begin with these digits only.
    #[serde(default)]
    pub prefix: Option<Digits>,
    /// Return destinations whose name contains this text only; case does not matter.
    #[serde(default)]
    pub q: Option<Text<1, 100>>,
}

text_enum! {
    /// Why calls are routed to an upstream or not: `cheapest` is the route that costs least; `within_price` is another that
    /// costs no more than the sell rate; `disabled` and `down` are the state of the upstream; `no_rate` and
    /// `no_exchange_rate` mean its cost is unknown; `too_large` means its price cannot be represented; `over_price` is
    /// refused by the margin guard.
    pub enum RouteReason {
        /// It takes the call for the least.
        Cheapest = "cheapest",
        /// It takes the call if cheaper ones do not, and still for no more than the price.
        WithinPrice = "within_price",
        Disabled = "disabled",
        Down = "down",
        NoRate = "no_rate",
        /// There is no exchange rate for its currency.
        NoExchangeRate = "no_exchange_rate",
        /// Its price is too large an amount.
        TooLarge = "too_large",
        /// A call of some length would cost more than the customer pays.
        OverPrice = "over_price",
    }
}

text_enum! {
    /// State of a route: `healthy`; `demoted` below the floor; `open` while its circuit breaker is; `half_open` while one
    /// call tries whether it recovered. One that is not healthy is tried last.
    pub enum RouteHealth {
        Healthy = "healthy",
        Demoted = "demoted",
        Open = "open",
        HalfOpen = "half_open",
    }
}

impl From<RouteState> for RouteHealth {
    fn from(state: RouteState) -> Self {
        match state {
            RouteState::Healthy => RouteHealth::Healthy,
            RouteState::Demoted(_) => RouteHealth::Demoted,
            RouteState::Open => RouteHealth::Open,
            RouteState::HalfOpen => RouteHealth::HalfOpen,
        }
    }
}

/// The sell rate for a number and the upstreams that could take a call to it.
#[derive(Serialize, JsonSchema)]
pub struct AdminRoutes {
    /// The number in E.164 form.
    pub number: String,
    /// Prefix of the sell rate that applies; null when the number is not sold.
    pub prefix: Option<String>,
    /// Name of the destination; null when the number is not sold.
    pub destination_name: Option<String>,
    /// Price per minute that the customer pays; null when the number is not sold.
    pub price: Option<ExactMoney>,
    /// Fee per answered call that the customer pays; null when the number is not sold.
    pub connect_fee: Option<ExactMoney>,
    /// Billing increment of the sell rate in seconds; null when the number is not sold.
    pub billing_increment_seconds: Option<u16>,
    /// Minimum number of seconds billed to the customer; null when the number is not sold.
    pub minimum_seconds: Option<u16>,
    /// What decided the price; null when the number is not sold.
    pub rule: Option<PriceRule>,
    /// When the notice of an increase ends that holds the price (RFC 3339, UTC); null if none does. Until then, upstreams
    /// that cost more get no calls.
    pub held_until: Option<Rfc3339>,
    /// How the routes to the number are ordered.
    pub routing: RoutingRules,
    /// Every upstream, cheapest first, with the reason why it is a route or not. `place` is the order in which calls try
    /// them.
    pub candidates: Vec<RouteCandidate>,
}

/// An upstream that was considered for a call.
#[derive(Serialize, JsonSchema)]
pub struct RouteCandidate {
    /// Id of the upstream.
    pub upstream_id: UpstreamId,
    /// Name of the upstream.
    pub name: String,
    /// Prefix of the upstream's deck that matches; null when it has no rate for the number.
    pub prefix: Option<String>,
    /// Cost per minute, in the currency of the price; null when it is unknown.
    pub cost: Option<ExactMoney>,
    /// Cost per answered call, in the currency of the price; null when it is unknown.
    pub connect_fee: Option<ExactMoney>,
    /// Billing increment of the upstream's rate in seconds; null when it has none.
    pub billing_increment_seconds: Option<u16>,
    /// Minimum number of seconds that the upstream bills; null when it has no rate.
    pub minimum_seconds: Option<u16>,
    /// Price per minute minus cost per minute; null when either is unknown.
    pub margin: Option<ExactMoney>,
    /// Whether calls are routed to the upstream.
    pub kept: bool,
    /// Why calls are routed to the upstream or not.
    pub reason: RouteReason,
    /// Place of the route in the next call, from 1; null if calls are not routed to the upstream.
    pub place: Option<i64>,
    /// State of the route; null if calls are not routed to the upstream.
    pub state: Option<RouteHealth>,
    /// Calls to the destination that this upstream was tried for in the last 15 minutes.
    pub attempts: i64,
    /// Answered ones of these attempts, from 0 to 1; null without attempts.
    pub asr: Option<f64>,
    /// Average duration of the answered calls that ended in these minutes, in seconds; null if there is none.
    pub acd_seconds: Option<i64>,
    /// Average post-dial delay in milliseconds; null if it is unknown.
    pub pdd_ms: Option<i64>,
    /// Why the route has its place, in words.
    pub explanation: String,
}
