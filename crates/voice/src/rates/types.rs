//! Rates over the wire.

use rating::{Change, Listing, Offer, Prefix, SellRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use api::problem::Problem;
use values::{Country, Currency, Digits, ExactMoney, Money, Rfc3339, Text, Time, UpstreamId, text_enum};

/// What calls to a prefix cost.
#[derive(Serialize, JsonSchema)]
pub struct Rate {
    /// The first digits of the numbers it is for, country code first; of several the longest counts.
    pub prefix: String,
    pub country: Country,
    pub destination_name: String,
    pub rate_per_minute: ExactMoney,
    /// What an answered call costs beside its minutes.
    pub connect_fee: ExactMoney,
    /// Seconds are billed in steps of these.
    pub billing_increment_seconds: u16,
    /// The least that an answered call is billed for.
    pub minimum_seconds: u16,
    pub effective_at: Rfc3339,
}

impl Rate {
    pub fn of(sell: &SellRate<'_, UpstreamId>, currency: Currency) -> Rate {
        let destination = &sell.source.offer.destination;
        Rate {
            prefix: sell.prefix.to_string(),
            country: country(destination.country),
            destination_name: destination.name.to_string(),
            rate_per_minute: money(sell.rate.nanos_per_minute(), currency),
            connect_fee: money(sell.rate.connect_fee_nanos(), currency),
            billing_increment_seconds: sell.rate.increment_seconds(),
            minimum_seconds: sell.rate.minimum_seconds(),
            effective_at: moment(sell.source.effective_at),
        }
    }
}

/// Decks hold no other countries than there are.
pub fn country(country: rating::Country) -> Country {
    country.as_str().parse().unwrap_or(Country::UNKNOWN)
}

pub fn money(nanos: i64, currency: Currency) -> ExactMoney {
    ExactMoney(Money::from_nanos(nanos, currency))
}

pub fn moment(millis: rating::UnixMillis) -> Rfc3339 {
    Rfc3339(Time::from_millis(millis))
}

/// Which rates; they come in the order of their prefixes.
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberQuery {
    /// Number in international form, such as +31201234567; the plus is optional, and 00 is accepted.
    pub number: Digits,
}

/// A number or its first digits, as decks are searched by them.
pub fn prefix_of(digits: &Digits) -> Result<Prefix, Problem> {
    digits.as_str().parse().map_err(|_| Problem::internal("a prefix has as many digits as there can be"))
}

text_enum! {
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

/// A prefix that costs something else at the second moment than at the first.
#[derive(Serialize, JsonSchema)]
pub struct RateDiffEntry {
    pub prefix: String,
    pub destination_name: String,
    pub change: RateChange,
    /// The minute at the first moment.
    pub from: Option<ExactMoney>,
    /// The minute at the second.
    pub to: Option<ExactMoney>,
    /// The connection at the first moment, and at the second; where the minutes are alike, these decide on the change.
    pub from_connect_fee: Option<ExactMoney>,
    pub to_connect_fee: Option<ExactMoney>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffQuery {
    /// First moment of the comparison (RFC 3339).
    pub from: Rfc3339,
    /// Second moment of the comparison (RFC 3339), not before `from`.
    pub to: Rfc3339,
}

/// What an upstream charges for a prefix.
#[derive(Serialize, JsonSchema)]
pub struct AdminRate {
    pub upstream_id: UpstreamId,
    pub prefix: String,
    pub destination_name: String,
    /// A minute, in the upstream's currency and without markup.
    pub base: ExactMoney,
    pub connect_fee: ExactMoney,
    pub billing_increment_seconds: u16,
    pub minimum_seconds: u16,
    pub effective_at: Rfc3339,
}

impl AdminRate {
    pub fn of(upstream_id: UpstreamId, listing: &Listing<&Offer>, currency: Currency) -> AdminRate {
        let rate = &listing.offer.rate;
        AdminRate {
            upstream_id,
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
    /// Why calls go to an upstream, or do not.
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

/// Who would carry a call to a number.
#[derive(Serialize, JsonSchema)]
pub struct AdminRoutes {
    pub number: String,
    /// The prefix whose price counts; null when the number is not sold.
    pub prefix: Option<String>,
    pub destination_name: Option<String>,
    /// What the customer pays for a minute.
    pub price: Option<ExactMoney>,
    /// What it pays for the connection, and how its seconds are counted.
    pub connect_fee: Option<ExactMoney>,
    pub billing_increment_seconds: Option<u16>,
    pub minimum_seconds: Option<u16>,
    /// Every upstream, the cheapest first.
    pub candidates: Vec<RouteCandidate>,
}

#[derive(Serialize, JsonSchema)]
pub struct RouteCandidate {
    pub upstream_id: UpstreamId,
    pub name: String,
    /// The prefix of its deck that counts.
    pub prefix: Option<String>,
    /// What it asks for a minute, in the currency of the price.
    pub cost: Option<ExactMoney>,
    /// What it asks for the connection, and how it counts seconds.
    pub connect_fee: Option<ExactMoney>,
    pub billing_increment_seconds: Option<u16>,
    pub minimum_seconds: Option<u16>,
    /// What is left of the price of a minute.
    pub margin: Option<ExactMoney>,
    /// Whether calls go there.
    pub kept: bool,
    pub reason: RouteReason,
}
