//! What a price change means for the calls of a customer, in numbers.
//!
//! Rollups know destinations, not prefixes or single calls. So what the calls to a destination were charged is scaled by
//! the price of a call of their average length, after the change and before it, over the prefixes of the destination
//! that are sold at both times.

use std::collections::HashMap;

use rating::Rate;
use serde::{Deserialize, Serialize};

use crate::cdrs::{CustomerCalls, Days};
use values::{Invalid, Stored};

/// Destinations that are kept, those with the largest change first.
const MAX_KEPT: usize = 100;

/// The rates of prefixes that share increment and minimum, added up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct RateSum {
    increment: u16,
    minimum: u16,
    minute: i64,
    connect_fee: i64,
}

impl RateSum {
    /// The price of one call to each of the prefixes, in nanos.
    fn price(&self, seconds: u32) -> i128 {
        let rate = Rate::new(self.minute, self.connect_fee, self.increment, self.minimum);
        rate.ok().and_then(|rate| rate.price(seconds).ok()).unwrap_or_default().into()
    }
}

/// A destination some of whose prices change, with its rates at both times.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChangedDestination {
    pub country: String,
    pub name: String,
    /// Prefixes that are sold at both times.
    prefixes: i64,
    before: Vec<RateSum>,
    after: Vec<RateSum>,
}

impl ChangedDestination {
    pub fn new(country: &str, name: &str) -> ChangedDestination {
        ChangedDestination { country: country.to_owned(), name: name.to_owned(), ..ChangedDestination::default() }
    }

    /// Adds a prefix that is sold at both times.
    pub fn add(&mut self, before: &Rate, after: &Rate) {
        self.prefixes += 1;
        for (sums, rate) in [(&mut self.before, before), (&mut self.after, after)] {
            let (increment, minimum) = (rate.increment_seconds(), rate.minimum_seconds());
            let (minute, connect_fee) = (rate.nanos_per_minute(), rate.connect_fee_nanos());
            match sums.iter_mut().find(|sum| (sum.increment, sum.minimum) == (increment, minimum)) {
                Some(sum) => {
                    sum.minute = sum.minute.saturating_add(minute);
                    sum.connect_fee = sum.connect_fee.saturating_add(connect_fee);
                }
                None => sums.push(RateSum { increment, minimum, minute, connect_fee }),
            }
        }
    }

    /// What calls would be charged after the change; `None` if they are not sold any more.
    fn charge_after(&self, calls: &CustomerCalls) -> Option<i64> {
        if self.prefixes == 0 {
            return None;
        }
        let average = u32::try_from(calls.seconds / calls.answered.max(1)).unwrap_or_default().max(1);
        let price = |sums: &[RateSum]| -> i128 { sums.iter().map(|sum| sum.price(average)).sum() };
        let (before, after) = (price(&self.before), price(&self.after));
        let charge = match before {
            // What was free has no charge that could be scaled.
            0 => i128::from(calls.answered) * after / i128::from(self.prefixes),
            _ => i128::from(calls.charge) * after / before,
        };
        Some(i64::try_from(charge).unwrap_or(i64::MAX))
    }
}

/// The calls of a customer, as they were charged and as they would be. Money in nanos.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Impact {
    /// The period of the calls, in milliseconds.
    pub from: i64,
    pub to: i64,
    /// Answered calls to destinations that are sold after the change.
    pub calls: i64,
    pub seconds: i64,
    pub before: i64,
    pub after: i64,
    /// Answered calls to destinations that are not.
    pub unsold_calls: i64,
    /// Those whose prices change.
    pub destinations: Vec<DestinationImpact>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DestinationImpact {
    pub country: String,
    pub name: String,
    pub calls: i64,
    pub seconds: i64,
    pub before: i64,
    /// `None` if the destination is not sold any more.
    pub after: Option<i64>,
}

impl DestinationImpact {
    fn change(&self) -> i64 {
        self.after.unwrap_or_default().saturating_sub(self.before)
    }
}

impl Impact {
    pub fn of(calls: Vec<CustomerCalls>, days: Days, changed: &[ChangedDestination]) -> Impact {
        let changed: HashMap<_, _> =
            changed.iter().map(|one| ((one.country.as_str(), one.name.as_str()), one)).collect();
        let (from, to) = days.period();
        let mut impact = Impact { from: from.millis(), to: to.millis(), ..Impact::default() };
        for calls in calls.into_iter().filter(|calls| calls.answered > 0) {
            let changed = changed.get(&(calls.country.as_str(), calls.destination_name.as_str()));
            let after = changed.map_or(Some(calls.charge), |changed| changed.charge_after(&calls));
            match after {
                Some(after) => {
                    impact.calls += calls.answered;
                    impact.seconds = impact.seconds.saturating_add(calls.seconds);
                    impact.before = impact.before.saturating_add(calls.charge);
                    impact.after = impact.after.saturating_add(after);
                }
                None => impact.unsold_calls += calls.answered,
            }
            if changed.is_some() {
                impact.destinations.push(DestinationImpact {
                    country: calls.country,
                    name: calls.destination_name,
                    calls: calls.answered,
                    seconds: calls.seconds,
                    before: calls.charge,
                    after,
                });
            }
        }
        impact.destinations.sort_by_key(|one| -one.change().saturating_abs());
        impact.destinations.truncate(MAX_KEPT);
        impact
    }
}

impl Stored for Impact {
    type Raw = String;

    fn to_raw(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        serde_json::from_str(&raw).map_err(|error| Invalid(error.to_string().into()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use values::Time;

    use super::*;

    fn rate(minute: i64, increment: u16) -> Rate {
        Rate::new(minute, 0, increment, 0).unwrap()
    }

    fn calls(name: &str, answered: i64, seconds: i64, charge: i64) -> CustomerCalls {
        let (country, destination_name) = ("NL".to_owned(), name.to_owned());
        CustomerCalls { country, destination_name, answered, seconds, charge, cost: 0 }
    }

    #[test]
    fn charges_are_scaled_by_the_price_of_an_average_call() {
        let mut dearer = ChangedDestination::new("NL", "Mobile");
        dearer.add(&rate(100, 1), &rate(150, 1));
        dearer.add(&rate(100, 1), &rate(100, 1));
        // Thirty seconds are billed as a minute.
        let mut coarser = ChangedDestination::new("NL", "Fixed");
        coarser.add(&rate(100, 1), &rate(100, 60));
        let removed = ChangedDestination::new("NL", "Satellite");
        let called = vec![
            calls("Mobile", 10, 600, 1000),
            calls("Fixed", 4, 120, 200),
            calls("Satellite", 1, 60, 9000),
            calls("Paid", 1, 60, 70),
            calls("Unanswered", 0, 0, 0),
        ];
        let impact = Impact::of(called, Days::before(Time::EPOCH), &[dearer, coarser, removed]);
        assert_eq!((impact.calls, impact.seconds, impact.unsold_calls), (15, 780, 1));
        assert_eq!((impact.before, impact.after), (1270, 1250 + 400 + 70));
        let of: Vec<_> = impact.destinations.iter().map(|one| (one.name.as_str(), one.after)).collect();
        assert_eq!(of, [("Satellite", None), ("Mobile", Some(1250)), ("Fixed", Some(400))]);
    }

    #[test]
    fn what_was_free_is_priced_anew() {
        let mut free = ChangedDestination::new("NL", "Free");
        free.add(&Rate::FREE, &rate(60, 1));
        let impact = Impact::of(vec![calls("Free", 3, 90, 0)], Days::before(Time::EPOCH), &[free]);
        assert_eq!((impact.before, impact.after), (0, 90));
    }
}
