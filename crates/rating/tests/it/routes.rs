use proptest::prelude::*;
use rating::{Dropped, Rate, Standing};

use crate::samples::{entry, prefix, prefixes};
use crate::tariffs::{ACTIVE, models, tariff, tariff_of};

#[test]
fn candidates_come_by_cost_with_the_reason_why_each_is_passed_over() {
    let markup = Standing { markup_ppm: 500_000, ..ACTIVE };
    let tariff = tariff(vec![
        (1, markup, vec![entry("31", 0, 20)]),
        (2, Standing { down: true, ..markup }, vec![entry("31", 0, 25)]),
        (3, Standing { active: false, ..markup }, vec![entry("31", 0, 10)]),
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
        .map(|it| (it.upstream, it.cost.map(|(_, rate)| rate.nanos_per_minute()), it.dropped))
        .collect();
    assert_eq!(
        candidates,
        [
            (3, Some(10), Some(Dropped::Disabled)),
            (1, Some(20), None),
            (2, Some(25), Some(Dropped::Down)),
            (5, Some(30), None),
            (6, Some(31), Some(Dropped::OverPrice)),
            (4, None, Some(Dropped::NoRate)),
        ]
    );
}

#[test]
fn a_number_that_nobody_sells_has_no_route() {
    let tariff = tariff(vec![(1, Standing { active: false, ..ACTIVE }, vec![entry("31", 0, 20)]), (2, ACTIVE, vec![])]);
    let routes = tariff.routes(prefix("31201234567"), 0);
    assert_eq!(routes.price, None);
    assert!(routes.candidates.iter().all(|candidate| candidate.dropped.is_some()));
}

/// Whether any call costs more than it earns: a very long one, or one within the time in which all steps have met.
fn is_ever_over(cost: &Rate, price: &Rate) -> bool {
    let exact = |rate: &Rate, seconds| {
        rate.nanos_per_minute() * i64::from(rate.billed_seconds(seconds)) + rate.connect_fee_nanos() * 60
    };
    cost.nanos_per_minute() > price.nanos_per_minute()
        || (1..4000).any(|seconds| exact(cost, seconds) > exact(price, seconds))
}

#[test]
fn a_route_must_not_cost_more_for_the_way_it_counts_seconds() {
    let by = |minute, fee, increment, minimum| Rate::new(minute, fee, increment, minimum).unwrap();
    let price = by(60, 0, 1, 1);
    assert!(by(60, 0, 1, 1).is_within(&price));
    assert!(by(59, 0, 1, 1).is_within(&price));
    // A call of a second would cost a minute.
    assert!(!by(30, 0, 60, 60).is_within(&price));
    assert!(!by(30, 0, 1, 60).is_within(&price));
    assert!(!by(30, 1, 1, 1).is_within(&price));
    assert!(by(60, 0, 1, 1).is_within(&by(60, 0, 60, 60)));
    // What a dear connection earns is there at once, and a dear minute eats it up in the end.
    assert!(by(30, 0, 60, 60).is_within(&by(60, 30, 1, 1)));
    assert!(!by(61, 0, 1, 1).is_within(&by(60, 1_000_000_000, 1, 1)));
    // Steps that do not fit into each other.
    assert!(!by(60, 0, 7, 7).is_within(&by(60, 0, 6, 7)));
    assert!(by(50, 0, 7, 7).is_within(&by(70, 0, 6, 7)));
}

proptest! {
    #[test]
    fn no_route_is_kept_that_costs_more_than_it_earns(models in models(), number in prefixes(6), at in -1_i64..11) {
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
                _ if !model.0.active => Some(Dropped::Disabled),
                _ if model.0.down => Some(Dropped::Down),
                (Some((_, cost)), Some(price)) => is_ever_over(&cost, &price.rate).then_some(Dropped::OverPrice),
                _ => Some(Dropped::NoRate),
            };
            prop_assert_eq!(candidate.dropped, expected);
        }
    }

    #[test]
    fn the_upstream_that_makes_the_price_is_kept_while_it_is_up(
        models in models(), number in prefixes(6), at in 0_i64..11,
    ) {
        let tariff = tariff_of(&models, |_| true);
        let routes = tariff.routes(number, at);
        if let Some(price) = routes.price {
            let candidate = routes.candidates.iter().find(|it| it.upstream == price.upstream).unwrap();
            prop_assert_eq!(candidate.dropped, models[price.upstream].0.down.then_some(Dropped::Down));
        }
    }
}
