//! The impact of an import in the API.

use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::{DAYS, Impact};
use crate::upstreams::decks::hold::HoldReason;
use crate::upstreams::decks::store::ImportRow;
use crate::upstreams::decks::types::{DeckImportId, DeckImportStatus};
use identity::balance::CURRENCY;
use identity::names::Names;
use values::{Currency, ExactMoney, Money};

/// What a rate deck import changes, weighted by the calls of the 30 UTC days before it that the upstream took.
#[derive(Serialize, JsonSchema)]
pub struct DeckImpact {
    /// Import that the impact is of.
    pub import_id: DeckImportId,
    /// Status of the import.
    pub status: DeckImportStatus,
    /// Whether the import only reports what it would change.
    pub dry_run: bool,
    /// Why the import was held; empty if it was not.
    pub held_for: Vec<HoldReason>,
    /// Numbers of prefixes by how their rate changes.
    pub prefixes: PrefixChanges,
    /// Prefix whose rate rises most in percent; null if none rises.
    pub steepest_rise: Option<RateRise>,
    /// Number of days whose calls count.
    pub days: i64,
    /// Minutes per day of the calls that are compared.
    pub minutes_per_day: f64,
    /// Cost per day of these calls.
    pub cost_per_day: ExactMoney,
    /// How much this cost changes per day; negative if the deck is cheaper.
    pub cost_change_per_day: ExactMoney,
    /// Number of destinations that would be sold below cost at the prices that customers paid.
    pub destinations_below_cost: i64,
    /// Number of destinations with calls that the deck has no rate for, or that could not be compared.
    pub destinations_without_rate: i64,
    /// Number of customers that would be sold some destination below cost.
    pub customers_below_cost: i64,
    /// Up to 100 destinations with calls: first those below cost, then by the size of the change.
    pub destinations: Vec<DeckDestinationImpact>,
    /// Up to 100 customers with destinations below cost, those with the largest loss first.
    pub customers: Vec<DeckCustomerImpact>,
}

/// Numbers of prefixes by how their rate changes.
#[derive(Serialize, JsonSchema)]
pub struct PrefixChanges {
    /// Prefixes that get a rate.
    pub added: u64,
    /// Prefixes that lose their rate.
    pub removed: u64,
    /// Prefixes that become more expensive.
    pub increased: u64,
    /// Prefixes that become cheaper.
    pub decreased: u64,
    /// Prefixes whose rate stays.
    pub unchanged: u64,
}

/// The rise of a rate.
#[derive(Serialize, JsonSchema)]
pub struct RateRise {
    /// Prefix.
    pub prefix: String,
    /// Rate per minute before, in the upstream's currency.
    pub from: ExactMoney,
    /// Rate per minute after, in the upstream's currency.
    pub to: ExactMoney,
    /// Rise in percent, with two decimals; null if the rate was zero.
    pub percent: Option<f64>,
}

/// A destination with calls that the upstream took.
#[derive(Serialize, JsonSchema)]
pub struct DeckDestinationImpact {
    /// Country code of the destination.
    pub country: String,
    /// Name of the destination.
    pub destination_name: String,
    /// Minutes of the calls, all days together.
    pub minutes: f64,
    /// What customers paid for the calls.
    pub charge: ExactMoney,
    /// What the calls cost.
    pub cost: ExactMoney,
    /// What they would cost by the new deck; null if it has no rate, or none could be compared.
    pub new_cost: Option<ExactMoney>,
    /// Whether they would cost more than customers paid.
    pub below_cost: bool,
}

/// A customer with destinations that would be sold below cost.
#[derive(Serialize, JsonSchema)]
pub struct DeckCustomerImpact {
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer.
    pub customer_name: Option<String>,
    /// Number of its destinations that would be sold below cost.
    pub destinations: i64,
    /// What it paid for calls there, all days together.
    pub charge: ExactMoney,
    /// What these calls cost.
    pub cost: ExactMoney,
    /// What they would cost by the new deck.
    pub new_cost: ExactMoney,
}

impl DeckImpact {
    pub fn new(import: ImportRow, impact: Impact, currency: Currency, names: &Names) -> DeckImpact {
        let Impact { added, removed, increased, decreased, unchanged, .. } = impact;
        let change = impact.new_cost.saturating_sub(impact.cost);
        DeckImpact {
            import_id: import.id,
            status: import.status,
            dry_run: import.dry_run,
            held_for: import.held_for.map(|reasons| reasons.0).unwrap_or_default(),
            prefixes: PrefixChanges { added, removed, increased, decreased, unchanged },
            steepest_rise: impact.steepest.map(|(prefix, from, to)| RateRise::new(prefix, (from, to), currency)),
            days: DAYS,
            minutes_per_day: minutes(impact.seconds) / DAYS as f64,
            cost_per_day: money(impact.cost / DAYS),
            cost_change_per_day: money(change / DAYS),
            destinations_below_cost: impact.destinations_below_cost,
            destinations_without_rate: impact.destinations_without_rate,
            customers_below_cost: impact.customers_below_cost,
            destinations: impact
                .destinations
                .into_iter()
                .map(|it| DeckDestinationImpact {
                    below_cost: it.is_below_cost(),
                    country: it.country,
                    destination_name: it.destination_name,
                    minutes: minutes(it.seconds),
                    charge: money(it.charge),
                    cost: money(it.cost),
                    new_cost: it.new_cost.map(money),
                })
                .collect(),
            customers: impact
                .customers
                .into_iter()
                .map(|it| DeckCustomerImpact {
                    customer_id: it.customer_id.uuid(),
                    customer_name: names.get(it.customer_id.uuid()),
                    destinations: it.destinations,
                    charge: money(it.charge),
                    cost: money(it.cost),
                    new_cost: money(it.new_cost),
                })
                .collect(),
        }
    }
}

impl RateRise {
    #[expect(clippy::cast_precision_loss, reason = "a percentage is rounded")]
    fn new(prefix: String, (from, to): (i64, i64), currency: Currency) -> RateRise {
        let percent = (from > 0).then(|| ((to - from) as f64 / from as f64 * 10_000.0).round() / 100.0);
        let money = |nanos| ExactMoney(Money::from_nanos(nanos, currency));
        RateRise { prefix, from: money(from), to: money(to), percent }
    }
}

fn money(nanos: i64) -> ExactMoney {
    ExactMoney(Money::from_nanos(nanos, CURRENCY))
}

#[expect(clippy::cast_precision_loss, reason = "seconds of calls stay far below 2^53")]
fn minutes(seconds: i64) -> f64 {
    seconds as f64 / 60.0
}
