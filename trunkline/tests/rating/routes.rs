use proptest::prelude::*;
use rating::{DropReason, Rate, UpstreamState};

use crate::samples::{entry, prefix, prefixes};
use crate::tariffs::{ACTIVE, models, tariff, tariff_of};

#[test]
fn candidates_are_sorted_by_cost_with_drop_reasons() {
    let markup = UpstreamState { markup_ppm: 500_000, ..ACTIVE };
    let tariff = tariff(vec![
        (1, markup, vec![entry("31", 0, 20)]),
        (2, UpstreamState { is_down: true, ..markup }, vec![entry("31", 0, 25)]),
        (3, UpstreamState { is_active: false, ..markup }, vec![entry("31", 0, 10)]),
        (4, markup, vec![entry("32", 0, 1)]),
        (5, markup, vec![entry("31", 0, 30)]),
        (6, markup, vec![entry("31", 0, 1), entry("3120", 0, 31)]),
    ]);
    let routes = tariff.routes(prefix("31201234567"), 0);
    let price = routes.price.unwrap();
    assert_eq!((price.upstream, price.prefix, price.rate.nanos_per_minute()), (1, prefix("3120"), 30));
    let candidates: Vec<_> = routes
        .candidates
        .iter()
        .map(|it| (it.upstream, it.cost.map(|(_, rate)| rate.nanos_per_minute()), it.drop_reason))
        .collect();
    assert_eq!(
        candidates,
        [
            (3, Some(10), Some(DropReason::Disabled)),
            (1, Some(20), None),
            (2, Some(25), Some(DropReason::Down)),
            (5, Some(30), None),
            (6, Some(31), Some(DropReason::OverPrice)),
            (4, None, Some(DropReason::NoRate)),
        ]
    );
}

#[test]
fn a_number_without_a_sell_rate_has_no_route() {
    let tariff =
        tariff(vec![(1, UpstreamState { is_active: false, ..ACTIVE }, vec![entry("31", 0, 20)]), (2, ACTIVE, vec![])]);
    let routes = tariff.routes(prefix("31201234567"), 0);
    assert_eq!(routes.price, None);
    assert!(routes.candidates.iter().all(|candidate| candidate.drop_reason.is_some()));
}

/// Whether any call costs more than its price: a very long one, or one within a common multiple of the increments.
fn can_exceed(cost: &Rate, price: &Rate) -> bool {
    let exact = |rate: &Rate, seconds| {
        rate.nanos_per_minute() * i64::from(rate.billed_seconds(seconds)) + rate.connect_fee_nanos() * 60
    };
    cost.nanos_per_minute() > price.nanos_per_minute()
        || (1..4000).any(|seconds| exact(cost, seconds) > exact(price, seconds))
}

#[test]
fn the_margin_guard_compares_increment_minimum_and_connect_fee() {
    let by = |minute, fee, increment, minimum| Rate::new(minute, fee, increment, minimum).unwrap();
    let price = by(60, 0, 1, 1);
    assert!(by(60, 0, 1, 1).is_within(&price));
    assert!(by(59, 0, 1, 1).is_within(&price));
    // A call of one second would cost a minute.
    assert!(!by(30, 0, 60, 60).is_within(&price));
    assert!(!by(30, 0, 1, 60).is_within(&price));
    assert!(!by(30, 1, 1, 1).is_within(&price));
    assert!(by(60, 0, 1, 1).is_within(&by(60, 0, 60, 60)));
    // A connect fee covers the first minute; no connect fee covers a higher minute price forever.
    assert!(by(30, 0, 60, 60).is_within(&by(60, 30, 1, 1)));
    assert!(!by(61, 0, 1, 1).is_within(&by(60, 1_000_000_000, 1, 1)));
    // Increments that are not multiples of each other.
    assert!(!by(60, 0, 7, 7).is_within(&by(60, 0, 6, 7)));
    assert!(by(50, 0, 7, 7).is_within(&by(70, 0, 6, 7)));
}

proptest! {
    #[test]
    fn the_margin_guard_drops_routes_that_can_cost_more_than_the_sell_rate(
        models in models(), number in prefixes(6), at in -1_i64..11,
    ) {
        let tariff = tariff_of(&models, |_| true);
        let routes = tariff.routes(number, at);
        prop_assert_eq!(routes.candidates.len(), models.len());
        let minute = |(_, rate): (_, Rate)| rate.nanos_per_minute();
        prop_assert!(routes.candidates.is_sorted_by_key(|it| (it.cost.is_none(), it.cost.map(minute))));
        for candidate in routes.candidates {
            let model = &models[candidate.upstream];
            let cost = model.longest(number, at).map(|(_, offer)| {
                (model.nanos(offer.rate.nanos_per_minute(), 0), model.nanos(offer.rate.connect_fee_nanos(), 0))
            });
            prop_assert_eq!(candidate.cost.map(|(_, rate)| (rate.nanos_per_minute(), rate.connect_fee_nanos())), cost);
            let expected = match (candidate.cost, &routes.price) {
                _ if !model.0.is_active => Some(DropReason::Disabled),
                _ if model.0.is_down => Some(DropReason::Down),
                (Some((_, cost)), Some(price)) => can_exceed(&cost, &price.rate).then_some(DropReason::OverPrice),
                _ => Some(DropReason::NoRate),
            };
            prop_assert_eq!(candidate.drop_reason, expected);
        }
    }

    #[test]
    fn the_upstream_that_sets_the_price_is_a_route_while_it_is_up(
        models in models(), number in prefixes(6), at in 0_i64..11,
    ) {
        let tariff = tariff_of(&models, |_| true);
        let routes = tariff.routes(number, at);
        if let Some(price) = routes.price {
            let candidate = routes.candidates.iter().find(|it| it.upstream == price.upstream).unwrap();
            prop_assert_eq!(candidate.drop_reason, models[price.upstream].0.is_down.then_some(DropReason::Down));
        }
    }
}
