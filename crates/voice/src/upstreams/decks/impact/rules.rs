//! What a new deck does to the calls of the last days, in numbers.
//!
//! Rollups know destinations, not prefixes. So the cost of a destination is scaled by what a call of its average length
//! costs by the new deck and by the old one, averaged over the prefixes that are sold as this destination. Charges stay
//! what customers paid.

use std::collections::HashMap;

use rating::{Deck, Prefix, Tariff, UnixMillis};
use serde::{Deserialize, Serialize};
use values::{AccountId, UpstreamId};

use super::store::RouteCalls;
use crate::cdrs::CustomerCalls;

/// Country and name.
pub type Destination = (String, String);

/// The calls to a destination that the upstream took, now and with the new deck. Money in nanos, for all days together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DestinationChange {
    pub country: String,
    pub destination_name: String,
    pub seconds: i64,
    pub charge: i64,
    pub cost: i64,
    /// `None` if the new deck has no rate, or none could be compared.
    pub new_cost: Option<i64>,
    /// The cost of all upstreams.
    pub total_cost: i64,
}

impl DestinationChange {
    pub fn change(&self) -> i64 {
        self.new_cost.map_or(0, |new| new.saturating_sub(self.cost))
    }

    /// Whether the calls would cost more than they brought in.
    pub fn is_below_cost(&self) -> bool {
        self.new_cost.is_some_and(|new| new > self.charge)
    }

    /// Whether it is the new deck that makes it so.
    pub fn falls_below_cost(&self) -> bool {
        self.is_below_cost() && self.cost <= self.charge
    }

    /// The new cost of a customer's calls, of which the upstream took its share.
    fn new_cost_of(&self, cost: i64) -> Option<i64> {
        if self.total_cost <= 0 {
            return None;
        }
        let change = i128::from(self.new_cost?) - i128::from(self.cost);
        let new = i128::from(cost) + i128::from(cost) * change / i128::from(self.total_cost);
        i64::try_from(new).ok()
    }
}

/// What a customer would pay and cost, for its destinations that would be sold below cost.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CustomerChange {
    pub customer_id: AccountId,
    pub destinations: i64,
    pub charge: i64,
    pub cost: i64,
    pub new_cost: i64,
}

/// Sums over the prefixes of a destination.
#[derive(Default)]
struct Compared {
    old: i128,
    new: i128,
}

/// Compares the decks for every destination that was called.
pub fn compare(
    calls: Vec<RouteCalls>,
    tariff: &Tariff<UpstreamId>,
    (old, new): (&Deck, &Deck),
    (now, settled): (UnixMillis, UnixMillis),
) -> Vec<DestinationChange> {
    let mut sums: HashMap<Destination, (u32, Compared)> = calls
        .iter()
        .map(|calls| {
            let average = calls.seconds / calls.answered.max(1);
            let average = u32::try_from(average).unwrap_or_default().max(1);
            ((calls.country.clone(), calls.destination_name.clone()), (average, Compared::default()))
        })
        .collect();
    for sell in tariff.sell_rates(Prefix::FIRST, now) {
        let destination = &sell.source.offer.destination;
        let key = (destination.country.as_str().to_owned(), destination.name.to_string());
        let Some((average, compared)) = sums.get_mut(&key) else { continue };
        let price = |deck: &Deck| deck.find(sell.prefix, settled)?.offer.rate.price(*average).ok();
        if let (Some(old), Some(new)) = (price(old), price(new)) {
            compared.old += i128::from(old);
            compared.new += i128::from(new);
        }
    }
    let change = |calls: RouteCalls| {
        let key = (calls.country.clone(), calls.destination_name.clone());
        let compared = sums.get(&key).map(|(_, compared)| compared).filter(|compared| compared.old > 0);
        let new_cost = compared.and_then(|it| i64::try_from(i128::from(calls.cost) * it.new / it.old).ok());
        DestinationChange {
            country: calls.country,
            destination_name: calls.destination_name,
            seconds: calls.seconds,
            charge: calls.charge,
            cost: calls.cost,
            new_cost,
            total_cost: calls.total_cost,
        }
    };
    calls.into_iter().map(change).collect()
}

/// What a customer's calls would cost where they would be sold below cost; `None` if nowhere.
pub fn customer_below_cost(
    customer_id: AccountId,
    calls: &[CustomerCalls],
    changes: &HashMap<Destination, DestinationChange>,
) -> Option<CustomerChange> {
    let mut sum = CustomerChange { customer_id, destinations: 0, charge: 0, cost: 0, new_cost: 0 };
    for calls in calls {
        let key = (calls.country.clone(), calls.destination_name.clone());
        let Some(new_cost) = changes.get(&key).and_then(|change| change.new_cost_of(calls.cost)) else { continue };
        if new_cost > calls.charge {
            sum.destinations += 1;
            sum.charge = sum.charge.saturating_add(calls.charge);
            sum.cost = sum.cost.saturating_add(calls.cost);
            sum.new_cost = sum.new_cost.saturating_add(new_cost);
        }
    }
    (sum.destinations > 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::*;
    use rating::{Country, Entry, Offer, Rate, Ratio, Upstream, UpstreamState};

    fn deck(rates: &[(&str, &str, i64)]) -> Deck {
        let entry = |(prefix, name, nanos): &(&str, &str, i64)| {
            let destination = rating::Destination { name: (*name).into(), country: Country::new("NL").unwrap() };
            let offer = Offer { rate: Rate::new(*nanos, 0, 1, 1).unwrap(), destination: Arc::new(destination) };
            Entry::new(prefix.parse().unwrap(), 0, Some(offer))
        };
        Deck::new(rates.iter().map(entry)).unwrap()
    }

    fn tariff(rates: &[(&str, &str, i64)]) -> Tariff<UpstreamId> {
        let state = UpstreamState { is_active: true, is_down: false, markup_ppm: 100_000 };
        let id = UpstreamId::new(uuid::Uuid::from_u128(1));
        Tariff::new(vec![Upstream::new(id, state, Ratio::ONE, Arc::new(deck(rates))).unwrap()])
    }

    fn calls(name: &str, charge: i64, cost: i64) -> RouteCalls {
        let (country, destination_name) = ("NL".to_owned(), name.to_owned());
        RouteCalls { country, destination_name, answered: 10, seconds: 600, charge, cost, total_cost: 2 * cost }
    }

    #[test]
    fn the_cost_of_a_destination_is_scaled_by_the_prices_of_its_prefixes() {
        let old = [("31", "Fixed", 100), ("316", "Mobile", 1000), ("3168", "Mobile", 1000), ("32", "Belgium", 50)];
        let new = [("31", "Fixed", 100), ("316", "Mobile", 1500), ("3168", "Mobile", 1000)];
        let called = ["Fixed", "Mobile", "Belgium", "Elsewhere"].map(|name| calls(name, 1100, 1000));
        let changes = compare(called.into(), &tariff(&old), (&deck(&old), &deck(&new)), (0, 0));
        let costs: Vec<Option<i64>> = changes.iter().map(|change| change.new_cost).collect();
        assert_eq!(costs, [Some(1000), Some(1250), None, None]);
        assert!(changes[1].falls_below_cost() && !changes[0].is_below_cost() && !changes[2].is_below_cost());
    }

    #[test]
    fn a_customer_bears_the_share_of_the_upstream_in_its_destinations() {
        let old = [("31", "Fixed", 1000)];
        let called = vec![calls("Fixed", 5000, 1000)];
        let changes = compare(called, &tariff(&old), (&deck(&old), &deck(&[("31", "Fixed", 2000)])), (0, 0));
        let changes: HashMap<Destination, DestinationChange> = changes
            .into_iter()
            .map(|change| ((change.country.clone(), change.destination_name.clone()), change))
            .collect();
        let of = |charge, cost| {
            let (country, destination_name) = ("NL".into(), "Fixed".into());
            CustomerCalls { country, destination_name, answered: 1, seconds: 60, charge, cost }
        };
        let customer = AccountId::new(uuid::Uuid::from_u128(2));
        // The upstream took half of the calls, so the cost of all rises by half.
        let below = customer_below_cost(customer, &[of(149, 100)], &changes).unwrap();
        assert_eq!((below.destinations, below.charge, below.cost, below.new_cost), (1, 149, 100, 150));
        assert_eq!(customer_below_cost(customer, &[of(150, 100)], &changes), None);
    }
}
