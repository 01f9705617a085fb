//! The order of a call's routes: by cost, unless a policy, the floor or a circuit breaker says otherwise.
//!
//! Everything comes from memory. Most calls go to destinations whose routes are all healthy and ordered by cost: for
//! them nothing is looked up.

use rating::Prefix;
use rating::quality::Rules;

use super::Attempt;
use platform::routing::policies::RoutingRules;

pub fn order_routes(attempt: &mut Attempt) {
    let Attempt { app, called: Ok(called), quote: Some(quote), now, .. } = attempt else { return };
    if quote.routes.len() < 2 {
        return;
    }
    let Some(number) = Prefix::of_number(called.as_str()) else { return };
    let destination = quote.sale.destination_name.as_str();
    let policies = app.routing_policies.latest();
    let rules = match &policies {
        Some(policies) => policies.of(number, destination).0,
        None => Rules::from(&RoutingRules::default()),
    };
    let routes = quote.routes.iter().map(|route| (route.upstream_id, route.nanos_per_minute()));
    if let Some(order) = app.route_quality.order(destination, &rules, routes, *now) {
        quote.reorder(&order);
    }
}
