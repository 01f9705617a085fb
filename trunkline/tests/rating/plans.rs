use std::collections::BTreeSet;
use std::sync::Arc;

use num_rational::BigRational;
use proptest::prelude::*;
use rating::{
    Country, DropReason, Increase, Offer, Plan, PlanBase, PlanError, PlanRule, Prefix, PricedBy, Rate, RateError,
    RuleMatch, RulePrice, SellRate, Tariff, UpstreamState, increases,
};

use crate::prices::{ratio, rounded};
use crate::samples::{entry, naive_in_force, prefix, prefixes};
use crate::tariffs::{ACTIVE, Model, models, naive_sell_rate, tariff, tariff_of};

fn rule(matches: RuleMatch, price: RulePrice) -> PlanRule {
    PlanRule { matches, price, connect_fee_nanos: None, increment_seconds: None, minimum_seconds: None }
}

fn by_prefix(digits: &str, price: RulePrice) -> PlanRule {
    rule(RuleMatch::Prefix(prefix(digits)), price)
}

fn plan(base: PlanBase, markup_ppm: i32, rules: Vec<PlanRule>) -> Option<Arc<Plan>> {
    Some(Arc::new(Plan::new(base, markup_ppm, false, rules).unwrap()))
}

fn summary(sell: SellRate<'_, u32>) -> (String, i64, PricedBy) {
    (sell.prefix.to_string(), sell.rate.nanos_per_minute(), sell.by)
}

#[test]
fn the_longest_prefix_decides_then_the_name_then_the_country_then_the_plan() {
    let (netherlands, somewhere) = (Country::new("NL").unwrap(), "Somewhere");
    let rules = vec![
        by_prefix("316", RulePrice::PerMinute(1)),
        by_prefix("31612", RulePrice::PerMinute(2)),
        rule(RuleMatch::Destination(somewhere.into()), RulePrice::PerMinute(3)),
        rule(RuleMatch::Country(netherlands), RulePrice::PerMinute(4)),
    ];
    let plan = Plan::new(PlanBase::List, 0, false, rules).unwrap();
    let decide = |digits, name| plan.decide(prefix(digits), name, netherlands);
    assert_eq!(decide("31612345678", somewhere), PricedBy::Prefix(1));
    assert_eq!(decide("31699999999", somewhere), PricedBy::Prefix(0));
    assert_eq!(decide("31201234567", somewhere), PricedBy::Destination(2));
    assert_eq!(decide("31201234567", "Elsewhere"), PricedBy::Country(3));
    assert_eq!(plan.decide(prefix("49"), "Elsewhere", Country::new("DE").unwrap()), PricedBy::Markup);
}

#[test]
fn the_prefix_of_a_rule_is_sold_only_where_a_deck_covers_it() {
    let rules = vec![by_prefix("3161", RulePrice::PerMinute(7)), by_prefix("49", RulePrice::PerMinute(7))];
    let tariff = tariff(vec![(1, ACTIVE, vec![entry("31", 0, 10), entry("31612", 0, 20)])]);
    let tariff = tariff.with_plan(plan(PlanBase::List, 100_000, rules));
    let sold: Vec<_> = tariff.page(Prefix::FIRST, 10, 0).into_iter().map(summary).collect();
    let expected = [("31", 11, PricedBy::Markup), ("3161", 7, PricedBy::Prefix(0)), ("31612", 7, PricedBy::Prefix(0))];
    assert_eq!(sold, expected.map(|(prefix, nanos, by)| (prefix.to_owned(), nanos, by)));
    assert_eq!(tariff.sell_rate(prefix("3161999"), 0).map(summary), Some(("3161".to_owned(), 7, PricedBy::Prefix(0))));
    assert_eq!(tariff.sell_rate(prefix("49301234"), 0), None);
}

#[test]
fn what_a_rule_leaves_out_follows_from_the_base() {
    let mut fixed = by_prefix("31", RulePrice::PerMinute(500));
    let deck_rate = Rate::new(100, 40, 60, 30).unwrap();
    let destination = crate::samples::destination("Somewhere", "NL");
    let row = rating::Entry::new(prefix("31"), 0, Some(Offer { rate: deck_rate, destination }));
    let sold = |rule: &PlanRule| {
        let state = UpstreamState { markup_ppm: 1_000_000, ..ACTIVE };
        let tariff = tariff(vec![(1, state, vec![row.clone()])]);
        tariff.with_plan(plan(PlanBase::Cost, 500_000, vec![rule.clone()])).sell_rate(prefix("31"), 0).unwrap().rate
    };
    assert_eq!(sold(&fixed), Rate::new(500, 60, 60, 30).unwrap());
    fixed.connect_fee_nanos = Some(0);
    fixed.increment_seconds = Some(1);
    fixed.minimum_seconds = Some(0);
    assert_eq!(sold(&fixed), Rate::new(500, 0, 1, 0).unwrap());
    assert_eq!(sold(&by_prefix("31", RulePrice::Markup(-1_000_000))), Rate::new(0, 0, 60, 30).unwrap());
}

#[test]
fn a_plan_below_cost_has_routes_only_if_it_allows_them() {
    let upstreams = || tariff(vec![(1, ACTIVE, vec![entry("31", 0, 10)]), (2, ACTIVE, vec![entry("31", 0, 12)])]);
    let reasons = |tariff: &Tariff<u32>| -> Vec<_> {
        tariff.routes(prefix("31"), 0).candidates.iter().map(|candidate| candidate.drop_reason).collect()
    };
    let over = Some(DropReason::OverPrice);
    assert_eq!(reasons(&upstreams()), [None, over]);
    assert_eq!(reasons(&upstreams().with_plan(plan(PlanBase::List, 200_000, vec![]))), [None, None]);
    assert_eq!(reasons(&upstreams().with_plan(plan(PlanBase::List, -100_000, vec![]))), [over, over]);
    let allowed = Plan::new(PlanBase::List, -100_000, true, vec![]).unwrap();
    assert_eq!(reasons(&upstreams().with_plan(Some(Arc::new(allowed)))), [None, None]);
}

#[test]
fn rules_out_of_bounds_or_given_twice_are_errors() {
    let error = |markup, rules| Plan::new(PlanBase::List, markup, false, rules).err();
    assert_eq!(error(-1_000_001, vec![]), Some(PlanError::Markup));
    let fine = by_prefix("31", RulePrice::Markup(0));
    let below = by_prefix("32", RulePrice::Markup(-1_000_001));
    assert_eq!(error(0, vec![fine.clone(), below]), Some(PlanError::RuleMarkup(1)));
    let negative = by_prefix("32", RulePrice::PerMinute(-1));
    assert_eq!(error(0, vec![negative]), Some(PlanError::RuleRate(0, RateError::Negative)));
    let no_increment = PlanRule { increment_seconds: Some(0), ..fine.clone() };
    assert_eq!(error(0, vec![no_increment]), Some(PlanError::RuleRate(0, RateError::Increment)));
    let country = rule(RuleMatch::Country(Country::new("NL").unwrap()), RulePrice::Markup(0));
    for twice in [fine, country] {
        assert_eq!(error(0, vec![twice.clone(), twice]), Some(PlanError::Duplicate(1)));
    }
}

#[test]
fn exchange_rate_and_both_markups_are_rounded_once() {
    // 10,000,000 ÷ 1.0832 × 1.05 × 0.95 = 9,208,825.7…; the list price is rounded to 9,693,501 first only in the list.
    let state = UpstreamState { markup_ppm: 50_000, ..ACTIVE };
    let deck = Arc::new(crate::samples::deck(vec![entry("31", 0, 10_000_000)]));
    let sold = |fx| {
        let upstream = rating::Upstream::new(1_u32, state, fx, Arc::clone(&deck)).unwrap();
        let tariff = Tariff::new(vec![upstream]).with_plan(plan(PlanBase::List, -50_000, vec![]));
        tariff.sell_rate(prefix("31"), 0).unwrap().rate.nanos_per_minute()
    };
    let exact = |numerator: u64, denominator: u64| {
        let factor = ratio(numerator, denominator) * ratio(1_050_000, 1_000_000) * ratio(950_000, 1_000_000);
        rounded(factor * ratio(10_000_000, 1)).unwrap()
    };
    // The second one has factors that must be reduced to fit.
    for (numerator, denominator) in [(10_000, 10_832), (9_999_999_999_999_937, 9_999_999_999_999_949)] {
        assert_eq!(sold(rating::Ratio::new(numerator, denominator).unwrap()), exact(numerator, denominator));
    }
}

#[test]
fn an_increase_is_found_in_any_part_and_under_prefixes_of_either_side() {
    let list = || tariff(vec![(1, ACTIVE, vec![entry("31", 0, 10), entry("32", 0, 10)])]);
    let found = |old: Option<Arc<Plan>>, new: Option<Arc<Plan>>| -> Vec<String> {
        let (old, new) = (list().with_plan(old), list().with_plan(new));
        increases(&old, &new, 0).map(|Increase { prefix, .. }| prefix.to_string()).collect()
    };
    let dear = |digits| plan(PlanBase::List, 0, vec![by_prefix(digits, RulePrice::PerMinute(11))]);
    assert!(found(None, None).is_empty());
    assert_eq!(found(None, dear("316")), ["316"]);
    assert!(found(dear("316"), None).is_empty());
    // What a cheap rule covered costs more without it.
    assert_eq!(found(plan(PlanBase::List, 0, vec![by_prefix("316", RulePrice::PerMinute(9))]), None), ["316"]);
    assert_eq!(found(None, plan(PlanBase::List, 100_000, vec![])), ["31", "32"]);
    let cheaper_but_longer = PlanRule { increment_seconds: Some(60), ..by_prefix("32", RulePrice::PerMinute(1)) };
    assert_eq!(found(None, plan(PlanBase::List, -100_000, vec![cheaper_but_longer])), ["32"]);
    assert!(found(None, plan(PlanBase::List, -100_000, vec![by_prefix("49", RulePrice::PerMinute(99))])).is_empty());
}

fn rules() -> impl Strategy<Value = Vec<PlanRule>> {
    let matches = prop_oneof![
        4 => prefixes(5).prop_map(RuleMatch::Prefix),
        1 => prop::sample::select(vec!["Here", "There", "Nowhere"]).prop_map(|name| RuleMatch::Destination(name.into())),
        1 => prop::sample::select(vec!["NL", "IE", "DE"])
            .prop_map(|code| RuleMatch::Country(Country::new(code).unwrap())),
    ];
    let price = prop_oneof![
        (-1_000_000_i32..=3_000_000).prop_map(RulePrice::Markup),
        (0_i64..100).prop_map(RulePrice::PerMinute),
    ];
    let parts = (price, prop::option::of(0_i64..10), prop::option::of(1_u16..=60), prop::option::of(0_u16..=60));
    prop::collection::btree_map(matches, parts, 0..12).prop_map(|rules| {
        let rule = |(matches, (price, connect_fee_nanos, increment_seconds, minimum_seconds))| PlanRule {
            matches,
            price,
            connect_fee_nanos,
            increment_seconds,
            minimum_seconds,
        };
        rules.into_iter().map(rule).collect()
    })
}

fn bases() -> impl Strategy<Value = PlanBase> {
    prop::sample::select(vec![PlanBase::List, PlanBase::Cost])
}

/// Reads the rules as they are written: of those that match, the first by kind and then by length.
fn naive_rule<'r>(rules: &'r [PlanRule], number: Prefix, offer: &Offer) -> Option<&'r PlanRule> {
    let rank = |rule: &&PlanRule| match &rule.matches {
        RuleMatch::Prefix(prefix) => prefix.covers(number).then(|| 2 + prefix.digits()),
        RuleMatch::Destination(name) => (*name == offer.destination.name).then_some(1),
        RuleMatch::Country(country) => (*country == offer.destination.country).then_some(0),
    };
    rules.iter().filter(|rule| rank(rule).is_some()).max_by_key(rank)
}

/// Rate and prefix of a number by a plan.
fn naive_price(
    models: &[Model],
    (base, markup_ppm, rules): (PlanBase, i32, &[PlanRule]),
    number: Prefix,
    at: i64,
) -> Option<(Rate, Prefix)> {
    let (_, key, sold_at) = naive_sell_rate(models, number, at)?;
    let (_, offer) = models[key].longest(number, at)?;
    let rule = naive_rule(rules, number, &offer);
    let of_plan: BigRational = match rule.map(|rule| rule.price) {
        Some(RulePrice::Markup(ppm)) => ratio(1_000_000 + ppm, 1_000_000),
        _ => ratio(1_000_000 + markup_ppm, 1_000_000),
    };
    let of_base = match base {
        PlanBase::List => models[key].factor(models[key].0.markup_ppm),
        PlanBase::Cost => models[key].factor(0),
    };
    let marked_up = |nanos: i64| rounded(&of_base * &of_plan * ratio(nanos, 1)).unwrap();
    let minute = match rule.map(|rule| rule.price) {
        Some(RulePrice::PerMinute(nanos)) => nanos,
        _ => marked_up(offer.rate.nanos_per_minute()),
    };
    let fee = rule.and_then(|rule| rule.connect_fee_nanos);
    let fee = fee.unwrap_or_else(|| marked_up(offer.rate.connect_fee_nanos()));
    let increment = rule.and_then(|rule| rule.increment_seconds).unwrap_or(offer.rate.increment_seconds());
    let minimum = rule.and_then(|rule| rule.minimum_seconds).unwrap_or(offer.rate.minimum_seconds());
    let prefix = match rule.map(|rule| &rule.matches) {
        Some(RuleMatch::Prefix(prefix)) if prefix.digits() > sold_at.digits() => *prefix,
        _ => sold_at,
    };
    Some((Rate::new(minute, fee, increment, minimum).unwrap(), prefix))
}

proptest! {
    #[test]
    fn the_price_by_a_plan_matches_a_naive_reading_of_its_rules(
        models in models(), base in bases(), markup in -1_000_000_i32..=2_000_000, rules in rules(),
        number in prefixes(6), at in -1_i64..11,
    ) {
        let plan = Arc::new(Plan::new(base, markup, false, rules.clone()).unwrap());
        let tariff = tariff_of(&models, |_| true).with_plan(Some(Arc::clone(&plan)));
        let sold = tariff.sell_rate(number, at);
        let expected = naive_price(&models, (base, markup, &rules), number, at);
        prop_assert_eq!(sold.as_ref().map(|sell| (sell.rate, sell.prefix)), expected);
        if let Some(sell) = sold {
            let won = naive_rule(&rules, number, sell.source.offer);
            prop_assert_eq!(sell.by.rule().map(|rule| &plan.rules()[rule]), won);
            // The prefix alone leads to the same rule, so a call can be priced again without its number.
            let destination = &sell.source.offer.destination;
            prop_assert_eq!(plan.decide(sell.prefix, &destination.name, destination.country), sell.by);
        }
    }

    #[test]
    fn the_list_of_a_plan_has_its_prefixes_and_prices_every_number(
        models in models(), base in bases(), rules in rules(), from in prefixes(4), number in prefixes(6),
        at in -1_i64..11,
    ) {
        let plan = Arc::new(Plan::new(base, 0, false, rules.clone()).unwrap());
        let tariff = tariff_of(&models, |_| true).with_plan(Some(plan));
        let active = models.iter().filter(|model| model.0.is_active);
        let listed = active.flat_map(|model| naive_in_force(&model.2, at).into_keys());
        let of_rules = rules.iter().filter_map(|rule| match rule.matches {
            RuleMatch::Prefix(prefix) => naive_sell_rate(&models, prefix, at).map(|_| prefix),
            _ => None,
        });
        let sold: BTreeSet<Prefix> = listed.chain(of_rules).collect();
        let page: Vec<_> = tariff.sell_rates(from, at).map(|sell| sell.prefix).collect();
        prop_assert_eq!(page, sold.range(from..).copied().collect::<Vec<_>>());
        let longest = sold.iter().filter(|prefix| prefix.covers(number)).max_by_key(|prefix| prefix.digits());
        let by_list = longest.and_then(|prefix| tariff.sell_rate_at(*prefix, at));
        prop_assert_eq!(tariff.sell_rate(number, at), by_list);
    }

    #[test]
    fn a_range_of_a_plan_needs_only_the_decks_of_that_range(
        models in models(), rules in rules(), from in prefixes(4), until in prefixes(4), at in -1_i64..11,
    ) {
        let ancestors: Vec<_> = from.ancestors().collect();
        let held = |entry: &rating::Entry| (from..until).contains(&entry.prefix) || ancestors.contains(&entry.prefix);
        let plan = Arc::new(Plan::new(PlanBase::List, 0, false, rules).unwrap());
        let page = |tariff: Tariff<usize>| -> Vec<_> {
            let tariff = tariff.with_plan(Some(Arc::clone(&plan)));
            let sells = tariff.sell_rates(from, at).take_while(|sell| sell.prefix < until);
            sells.map(|sell| (sell.prefix, sell.rate, sell.by)).collect()
        };
        prop_assert_eq!(page(tariff_of(&models, held)), page(tariff_of(&models, |_| true)));
    }
}
