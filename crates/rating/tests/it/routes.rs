use proptest::prelude::*;
use rating::{Dropped, Standing};

use crate::samples::{entry, prefix, prefixes};
use crate::tariffs::{ACTIVE, models, naive_sell, tariff, tariff_of};

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

proptest! {
    #[test]
    fn no_route_is_kept_that_costs_more_than_it_earns(models in models(), number in prefixes(6), at in -1_i64..11) {
        let tariff = tariff_of(&models, |_| true);
        let routes = tariff.routes(number, at);
        prop_assert_eq!(routes.candidates.len(), models.len());
        let minute = |(_, rate): (_, rating::Rate)| rate.nanos_per_minute();
        prop_assert!(routes.candidates.is_sorted_by_key(|it| (it.cost.is_none(), it.cost.map(minute))));
        for candidate in routes.candidates {
            let model = &models[candidate.upstream];
            let cost = model.longest(number, at).map(|(_, offer)| {
                (model.nanos(offer.rate.nanos_per_minute(), 0), model.nanos(offer.rate.connect_fee_nanos(), 0))
            });
            prop_assert_eq!(candidate.cost.map(|(_, rate)| (rate.nanos_per_minute(), rate.connect_fee_nanos())), cost);
            let expected = match (cost, naive_sell(&models, number, at)) {
                _ if !model.0.active => Some(Dropped::Disabled),
                _ if model.0.down => Some(Dropped::Down),
                (Some(cost), Some((price, _, _))) => {
                    (cost.0 > price.0 || cost.1 > price.1).then_some(Dropped::OverPrice)
                }
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
