//! What a call is sold at, who may carry it, and what that costs us.

use rating::{Prefix, Rate, Routes};
use serde::{Deserialize, Serialize};

use identity::balance::CURRENCY;
use platform::routing::tariff::Tariff;
use platform::routing::upstreams::Gateways;
use values::{E164, Time, UpstreamId};

/// What a call is sold at.
#[derive(Clone, Debug)]
pub struct Sale {
    pub rate: Rate,
    pub prefix: String,
    pub destination_name: String,
    pub country: String,
    /// Whose price it is.
    pub upstream: UpstreamId,
}

/// An upstream that may carry a call, and what it asks: the minute, the connection, increment and minimum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    pub upstream_id: UpstreamId,
    pub dispatcher_group_id: i64,
    cost: (i64, i64, u16, u16),
}

impl Route {
    /// What it asks for a call of so many seconds.
    pub fn cost(&self, seconds: u32) -> i64 {
        let (minute, fee, increment, minimum) = self.cost;
        let price = Rate::new(minute, fee, increment, minimum).map(|rate| rate.price(seconds));
        price.ok().and_then(Result::ok).unwrap_or(0)
    }
}

/// What a number costs, by the tariff of a moment.
#[derive(Clone, Debug)]
pub struct Quote {
    pub sale: Sale,
    /// Who may carry it, the cheapest first.
    pub routes: Vec<Route>,
    /// What every upstream would ask, whether or not it may carry it.
    costs: Vec<(UpstreamId, Rate)>,
}

impl Quote {
    /// Who carried a call: the upstream that is named, or else the first choice.
    pub fn carrier(&self, named: Option<UpstreamId>) -> Option<UpstreamId> {
        named.or_else(|| self.routes.first().map(|route| route.upstream_id))
    }

    /// What an upstream would ask for a call of so many seconds; nothing if it has no price for it.
    pub fn cost(&self, upstream: UpstreamId, seconds: u32) -> Option<i64> {
        let (_, rate) = self.costs.iter().find(|(id, _)| *id == upstream)?;
        rate.price(seconds).ok()
    }
}

/// What is asked for a number; nothing if it is not sold.
pub fn quote(
    tariff: &Tariff,
    gateways: &Gateways,
    is_down: impl Fn(UpstreamId) -> bool,
    number: &E164,
    at: Time,
) -> Option<Quote> {
    let number = Prefix::of_number(number.as_str())?;
    let prices = tariff.prices(CURRENCY, is_down);
    let found = prices.tariff.routes(number, at.millis());
    let sell = found.price.as_ref()?;
    let destination = &sell.source.offer.destination;
    let sale = Sale {
        rate: sell.rate,
        prefix: sell.prefix.to_string(),
        destination_name: destination.name.to_string(),
        country: destination.country.as_str().to_owned(),
        upstream: sell.upstream,
    };
    let costs = found.candidates.iter().filter_map(|one| Some((one.upstream, one.cost?.1))).collect();
    Some(Quote { sale, routes: kept(&found, gateways), costs })
}

fn kept(found: &Routes<'_, UpstreamId>, gateways: &Gateways) -> Vec<Route> {
    let routes = found.candidates.iter().filter(|candidate| candidate.drop_reason.is_none());
    routes
        .filter_map(|candidate| {
            let (_, rate) = candidate.cost?;
            let carrier = gateways.find(candidate.upstream)?;
            let cost =
                (rate.nanos_per_minute(), rate.connect_fee_nanos(), rate.increment_seconds(), rate.minimum_seconds());
            let dispatcher_group_id = carrier.dispatcher_group_id;
            Some(Route { upstream_id: candidate.upstream, dispatcher_group_id, cost })
        })
        .collect()
}

/// A number as callers dial it: with a plus, with 00, or with neither.
pub fn dialled(text: &str) -> Option<E164> {
    let digits = text.strip_prefix('+').or_else(|| text.strip_prefix("00")).unwrap_or(text);
    format!("+{digits}").parse().ok()
}

/// What is shown of a caller: a number in one form, anything else as it came.
pub fn caller(text: Option<&str>) -> String {
    let text = text.unwrap_or_default();
    match dialled(text) {
        Some(number) => number.to_string(),
        None if text.is_empty() => "anonymous".to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_dialled_in_three_ways_and_in_no_other() {
        for text in ["+31201234567", "0031201234567", "31201234567"] {
            assert_eq!(dialled(text).map(|number| number.to_string()).as_deref(), Some("+31201234567"), "{text}");
        }
        for text in ["", "+", "0201234567", "+0201234567", "31 20 1234567", "3120", "1234567890123456", "++31201234567"]
        {
            assert_eq!(dialled(text), None, "{text}");
        }
    }

    #[test]
    fn a_caller_without_a_number_is_shown_as_it_came() {
        assert_eq!(caller(Some("0031201234567")), "+31201234567");
        assert_eq!(caller(Some("reception")), "reception");
        assert_eq!(caller(Some("")), "anonymous");
        assert_eq!(caller(None), "anonymous");
    }
}
