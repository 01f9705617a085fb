use std::collections::BTreeSet;
use std::sync::Arc;

use num_rational::BigRational;
use proptest::prelude::*;
use rating::{
    Change, Deck, Entry, Offer, Prefix, Ratio, SellRate, Tariff, TooLarge, UnixMillis, Upstream, UpstreamState, diff,
};

use crate::prices::{ratio, rounded};
use crate::samples::{deck, entries, entry, naive_in_force, prefix, prefixes};

pub const ACTIVE: UpstreamState = UpstreamState { is_active: true, is_down: false, markup_ppm: 0 };

pub fn tariff(upstreams: Vec<(u32, UpstreamState, Vec<Entry>)>) -> Tariff<u32> {
    let upstream = |(key, state, entries)| Upstream::new(key, state, Ratio::ONE, Arc::new(deck(entries)));
    Tariff::new(upstreams.into_iter().map(|it| upstream(it).unwrap()).collect())
}

fn summary(sell: SellRate<'_, u32>) -> (String, u32, i64) {
    (sell.prefix.to_string(), sell.upstream, sell.rate.nanos_per_minute())
}

#[test]
fn the_cheapest_active_upstream_sets_the_sell_rate() {
    let tariff = tariff(vec![
        (1, ACTIVE, vec![entry("31", 0, 30)]),
        (2, ACTIVE, vec![entry("31", 0, 20)]),
        (3, ACTIVE, vec![entry("31", 0, 20)]),
        (4, UpstreamState { is_active: false, ..ACTIVE }, vec![entry("31", 0, 10)]),
    ]);
    assert_eq!(tariff.sell_rate(prefix("31201234567"), 0).map(summary), Some(("31".to_owned(), 2, 20)));
}

#[test]
fn an_upstream_that_is_down_still_sets_the_sell_rate() {
    let tariff = tariff(vec![
        (1, UpstreamState { is_down: true, ..ACTIVE }, vec![entry("31", 0, 10)]),
        (2, ACTIVE, vec![entry("31", 0, 20)]),
    ]);
    assert_eq!(tariff.sell_rate(prefix("31"), 0).map(summary), Some(("31".to_owned(), 1, 10)));
}

#[test]
fn each_upstream_competes_with_its_own_longest_match() {
    let tariff = tariff(vec![
        (1, ACTIVE, vec![entry("31", 0, 10), entry("3120", 0, 90)]),
        (2, ACTIVE, vec![entry("31", 0, 40)]),
    ]);
    let sold: Vec<_> = tariff.page(Prefix::FIRST, 10, 0).into_iter().map(summary).collect();
    assert_eq!(sold, [("31".to_owned(), 1, 10), ("3120".to_owned(), 2, 40)]);
    assert_eq!(tariff.sell_rate(prefix("31201234567"), 0).map(summary), Some(("3120".to_owned(), 2, 40)));
    assert_eq!(tariff.sell_rate_at(prefix("3120"), 0).map(summary), Some(("3120".to_owned(), 2, 40)));
    assert_eq!(tariff.sell_rate_at(prefix("312"), 0), None);
}

#[test]
fn the_lowest_cost_sets_the_sell_rate_whatever_the_markup() {
    let marked = |markup_ppm| UpstreamState { markup_ppm, ..ACTIVE };
    let first =
        tariff(vec![(1, marked(1_000_000), vec![entry("31", 0, 10)]), (2, marked(100_000), vec![entry("31", 0, 12)])]);
    assert_eq!(first.sell_rate(prefix("31"), 0).map(summary), Some(("31".to_owned(), 1, 20)));
    let equals = tariff(vec![(1, marked(500_000), vec![entry("31", 0, 10)]), (2, ACTIVE, vec![entry("31", 0, 10)])]);
    assert_eq!(equals.sell_rate(prefix("31"), 0).map(summary), Some(("31".to_owned(), 2, 10)));
}

#[test]
fn exchange_rate_and_markup_are_rounded_once() {
    // 1 ÷ 1.0832 × 1.05 = 0.969350…, and 3 nanos of it 2.908…; rounded twice, 3 → 3 × 1.05 = 3.15.
    let state = UpstreamState { markup_ppm: 50_000, ..ACTIVE };
    let fx = Ratio::new(10_000, 10_832).unwrap();
    let sold = |nanos| {
        let upstream = Upstream::new(1, state, fx, Arc::new(deck(vec![entry("31", 0, nanos)]))).unwrap();
        Tariff::new(vec![upstream]).sell_rate(prefix("31"), 0).unwrap().rate.nanos_per_minute()
    };
    assert_eq!(sold(3), 3);
    assert_eq!(sold(10_000_000), 9_693_501);
}

#[test]
fn an_upstream_whose_prices_do_not_fit_is_an_error() {
    let deck: Arc<Deck> = Arc::new(deck(vec![entry("31", 0, i64::MAX / 2)]));
    let upstream = |markup_ppm| Upstream::new(1, UpstreamState { markup_ppm, ..ACTIVE }, Ratio::ONE, Arc::clone(&deck));
    assert!(upstream(1_000_000).is_ok());
    assert_eq!(upstream(1_000_001).err(), Some(TooLarge));
    let fx = Ratio::new(u64::MAX, 1).unwrap();
    assert_eq!(Upstream::new(1, ACTIVE, fx, deck).err(), Some(TooLarge));
}

#[test]
fn tariffs_of_two_times_can_be_compared() {
    let before = tariff(vec![(1, ACTIVE, vec![entry("31", 0, 10), entry("32", 0, 10)])]);
    let after = tariff(vec![(1, UpstreamState { markup_ppm: 200_000, ..ACTIVE }, vec![entry("31", 0, 10)])]);
    let changes: Vec<_> = diff(before.sell_rates(Prefix::FIRST, 0), after.sell_rates(Prefix::FIRST, 5))
        .map(|difference| (difference.prefix, difference.change))
        .collect();
    assert_eq!(changes, [(prefix("31"), Change::Increased), (prefix("32"), Change::Removed)]);
}

/// A naive upstream: state, exchange rate, entries.
#[derive(Clone, Debug)]
pub struct Model(pub UpstreamState, (u64, u64), pub Vec<Entry>);

pub fn models() -> impl Strategy<Value = Vec<Model>> {
    let state = (any::<bool>(), any::<bool>(), 0_u32..=2_000_000)
        .prop_map(|(is_active, is_down, markup_ppm)| UpstreamState { is_active, is_down, markup_ppm });
    let model = (state, (1_u64..50, 1_u64..50), entries()).prop_map(|(state, fx, rows)| Model(state, fx, rows));
    prop::collection::vec(model, 0..4)
}

pub fn tariff_of(models: &[Model], held: impl Fn(&Entry) -> bool) -> Tariff<usize> {
    let upstream = |(key, Model(state, (up, down), entries)): (usize, &Model)| {
        let deck = deck(entries.iter().filter(|entry| held(entry)).cloned().collect());
        Upstream::new(key, *state, Ratio::new(*up, *down).unwrap(), Arc::new(deck)).unwrap()
    };
    Tariff::new(models.iter().enumerate().map(upstream).collect())
}

impl Model {
    pub fn longest(&self, number: Prefix, at: UnixMillis) -> Option<(Prefix, Offer)> {
        let in_force = naive_in_force(&self.2, at).into_iter().filter(|(prefix, _)| prefix.covers(number));
        in_force.max_by_key(|(prefix, _)| prefix.digits()).map(|(prefix, (_, offer))| (prefix, offer))
    }

    pub fn factor(&self, markup_ppm: u32) -> BigRational {
        ratio(self.1.0, self.1.1) * ratio(1_000_000 + markup_ppm, 1_000_000)
    }

    pub fn nanos(&self, nanos: i64, markup_ppm: u32) -> i64 {
        rounded(self.factor(markup_ppm) * ratio(nanos, 1)).unwrap()
    }

    fn at_markup(&self, offer: &Offer, markup_ppm: u32) -> (i64, i64) {
        let nanos = |nanos| self.nanos(nanos, markup_ppm);
        (nanos(offer.rate.nanos_per_minute()), nanos(offer.rate.connect_fee_nanos()))
    }
}

/// The price, the upstream and the prefix of the sell rate.
pub fn naive_sell_rate(models: &[Model], number: Prefix, at: UnixMillis) -> Option<((i64, i64), usize, Prefix)> {
    let active = || models.iter().enumerate().filter(|(_, model)| model.0.is_active);
    let found = || active().filter_map(|(key, model)| Some((key, model, model.longest(number, at)?)));
    let prefix = found().map(|(_, _, (prefix, _))| prefix).max_by_key(|prefix| prefix.digits())?;
    let cheapest = found()
        .map(|(key, model, (_, offer))| (model.at_markup(&offer, 0), model.at_markup(&offer, model.0.markup_ppm), key))
        .min();
    cheapest.map(|(_, price, key)| (price, key, prefix))
}

fn plain(sell: SellRate<'_, usize>) -> ((i64, i64), usize, Prefix) {
    ((sell.rate.nanos_per_minute(), sell.rate.connect_fee_nanos()), sell.upstream, sell.prefix)
}

proptest! {
    #[test]
    fn the_sell_rate_of_a_number_matches_the_naive_one(
        models in models(), number in prefixes(6), at in -1_i64..11,
    ) {
        let tariff = tariff_of(&models, |_| true);
        prop_assert_eq!(tariff.sell_rate(number, at).map(plain), naive_sell_rate(&models, number, at));
    }

    #[test]
    fn a_page_lists_the_prefixes_of_all_active_upstreams(
        models in models(), from in prefixes(4), limit in 0_usize..30, at in -1_i64..11,
    ) {
        let tariff = tariff_of(&models, |_| true);
        let active = models.iter().filter(|model| model.0.is_active);
        let sold: BTreeSet<Prefix> = active.flat_map(|model| naive_in_force(&model.2, at).into_keys()).collect();
        let expected: Vec<_> =
            sold.range(from..).take(limit).map(|prefix| naive_sell_rate(&models, *prefix, at).unwrap()).collect();
        let page: Vec<_> = tariff.page(from, limit, at).into_iter().map(plain).collect();
        prop_assert_eq!(page, expected);
    }

    #[test]
    fn partial_decks_with_ancestors_give_the_same_page(
        models in models(), from in prefixes(4), until in prefixes(4), at in -1_i64..11,
    ) {
        let ancestors: Vec<_> = from.ancestors().collect();
        let held = |entry: &Entry| (from..until).contains(&entry.prefix) || ancestors.contains(&entry.prefix);
        let (whole, part) = (tariff_of(&models, |_| true), tariff_of(&models, held));
        let page = |tariff: &Tariff<usize>| -> Vec<_> {
            tariff.sell_rates(from, at).take_while(|sell| sell.prefix < until).map(plain).collect()
        };
        prop_assert_eq!(page(&part), page(&whole));
    }
}
