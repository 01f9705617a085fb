//! Quotes a call before it begins: its sell rate, the upstreams that may take it, and what they charge. The charge of a
//! finished call is computed in `write::end`.

use rating::{Prefix, Rate, Routes};
use serde::{Deserialize, Serialize};

use identity::balance::CURRENCY;
use platform::routing::plans::CustomerPricing;
use platform::routing::tariff::Tariff;
use platform::routing::upstreams::Gateways;
use values::{E164, RatePlanVersionId, Time, UpstreamId};

/// The sell rate of a number and its destination.
#[derive(Clone, Debug)]
pub struct Sale {
    pub rate: Rate,
    pub prefix: String,
    pub destination_name: String,
    pub country: String,
    /// Whose rate the sell rate follows from.
    pub upstream: UpstreamId,
    /// The version of the customer's plan; none for the list price.
    pub plan_version: Option<RatePlanVersionId>,
}

/// An upstream that may take a call, and its rate: per minute, connect fee, increment and minimum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    pub upstream_id: UpstreamId,
    pub dispatcher_group_id: i64,
    cost: (i64, i64, u16, u16),
    /// The switch reported that it did not take the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_failed: bool,
}

impl Route {
    /// Cost per minute, in nanos.
    pub fn nanos_per_minute(&self) -> i64 {
        self.cost.0
    }

    /// Cost of a call of this duration, in nanos.
    pub fn cost(&self, seconds: u32) -> i64 {
        let (minute, fee, increment, minimum) = self.cost;
        let price = Rate::new(minute, fee, increment, minimum).map(|rate| rate.price(seconds));
        price.ok().and_then(Result::ok).unwrap_or(0)
    }
}

/// The prices of a number in a tariff.
#[derive(Clone, Debug)]
pub struct Quote {
    pub sale: Sale,
    /// Upstreams that may take the call: cheapest first, unless the authorization has reordered them.
    pub routes: Vec<Route>,
    /// Rates of all upstreams, also of those that may not take the call.
    costs: Vec<(UpstreamId, Rate)>,
}

impl Quote {
    /// The upstream that took a call: the reported one, or else the first route.
    pub fn upstream(&self, reported: Option<UpstreamId>) -> Option<UpstreamId> {
        reported.or_else(|| self.routes.first().map(|route| route.upstream_id))
    }

    /// Puts the routes into another order, given by their indices.
    pub fn reorder(&mut self, order: &[usize]) {
        self.routes = order.iter().filter_map(|index| self.routes.get(*index).cloned()).collect();
    }

    /// Cost of a call of this duration by an upstream, in nanos; none if the upstream has no rate for the number.
    pub fn cost(&self, upstream: UpstreamId, seconds: u32) -> Option<i64> {
        let (_, rate) = self.costs.iter().find(|(id, _)| *id == upstream)?;
        rate.price(seconds).ok()
    }
}

/// The prices of a number for a customer; none if no active upstream has a rate for it.
pub fn quote(
    tariff: &Tariff,
    pricing: &CustomerPricing,
    gateways: &Gateways,
    is_down: impl Fn(UpstreamId) -> bool,
    number: &E164,
    at: Time,
) -> Option<Quote> {
    let number = Prefix::of_number(number.as_str())?;
    let prices = pricing.apply(tariff.prices(CURRENCY, is_down));
    let found = prices.tariff.routes(number, at.millis());
    let sell = found.price.as_ref()?;
    let destination = &sell.source.offer.destination;
    let sale = Sale {
        rate: sell.rate,
        prefix: sell.prefix.to_string(),
        destination_name: destination.name.to_string(),
        country: destination.country.as_str().to_owned(),
        upstream: sell.upstream,
        plan_version: pricing.plan.as_ref().map(|plan| plan.in_force.version_id),
    };
    let costs = found.candidates.iter().filter_map(|one| Some((one.upstream, one.cost?.1))).collect();
    Some(Quote { sale, routes: routes(&found, gateways), costs })
}

fn routes(found: &Routes<'_, UpstreamId>, gateways: &Gateways) -> Vec<Route> {
    let usable = found.candidates.iter().filter(|candidate| candidate.drop_reason.is_none());
    usable
        .filter_map(|candidate| {
            let (_, rate) = candidate.cost?;
            let upstream = gateways.find(candidate.upstream)?;
            let cost =
                (rate.nanos_per_minute(), rate.connect_fee_nanos(), rate.increment_seconds(), rate.minimum_seconds());
            let dispatcher_group_id = upstream.dispatcher_group_id;
            Some(Route { upstream_id: candidate.upstream, dispatcher_group_id, cost, has_failed: false })
        })
        .collect()
}

/// Parses a number as dialled: with a plus, with 00, or with neither.
pub fn parse_dialled(text: &str) -> Option<E164> {
    let digits = text.strip_prefix('+').or_else(|| text.strip_prefix("00")).unwrap_or(text);
    format!("+{digits}").parse().ok()
}

/// The caller as stored: a number in E.164 form, anything else as sent.
pub fn normalize_caller(text: Option<&str>) -> String {
    let text = text.unwrap_or_default();
    match parse_dialled(text) {
        Some(number) => number.to_string(),
        None if text.is_empty() => "anonymous".to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_accepted_with_plus_with_00_or_with_neither() {
        for text in ["+31201234567", "0031201234567", "31201234567"] {
            assert_eq!(parse_dialled(text).map(|number| number.to_string()).as_deref(), Some("+31201234567"), "{text}");
        }
        for text in ["", "+", "0201234567", "+0201234567", "31 20 1234567", "3120", "1234567890123456", "++31201234567"]
        {
            assert_eq!(parse_dialled(text), None, "{text}");
        }
    }

    #[test]
    fn a_caller_that_is_not_a_number_is_stored_as_sent() {
        assert_eq!(normalize_caller(Some("0031201234567")), "+31201234567");
        assert_eq!(normalize_caller(Some("reception")), "reception");
        assert_eq!(normalize_caller(Some("")), "anonymous");
        assert_eq!(normalize_caller(None), "anonymous");
    }
}
