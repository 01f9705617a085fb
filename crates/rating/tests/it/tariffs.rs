use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use rating::{Change, Deck, Entry, Moment, Offer, Prefix, Ratio, Sell, Standing, Tariff, TooLarge, Upstream, diff};

use crate::prices::{ratio, rounded};
use crate::samples::{deck, entries, entry, naive_in_force, prefix, prefixes};

pub const ACTIVE: Standing = Standing { active: true, down: false, markup_ppm: 0 };

pub fn tariff(upstreams: Vec<(u32, Standing, Vec<Entry>)>) -> Tariff<u32> {
    let upstream = |(key, standing, entries)| Upstream::new(key, standing, Ratio::ONE, Arc::new(deck(entries)));
    Tariff::new(upstreams.into_iter().map(|it| upstream(it).unwrap()).collect())
}

fn summary(sell: Sell<'_, u32>) -> (String, u32, i64) {
    (sell.prefix.to_string(), sell.upstream, sell.rate.nanos_per_minute())
}

#[test]
fn a_prefix_is_sold_at_the_price_of_the_cheapest_active_upstream() {
    let tariff = tariff(vec![
        (1, ACTIVE, vec![entry("31", 0, 30)]),
        (2, ACTIVE, vec![entry("31", 0, 20)]),
        (3, ACTIVE, vec![entry("31", 0, 20)]),
        (4, Standing { active: false, ..ACTIVE }, vec![entry("31", 0, 10)]),
    ]);
    assert_eq!(tariff.sell(prefix("31201234567"), 0).map(summary), Some(("31".to_owned(), 2, 20)));
}

#[test]
fn health_does_not_change_what_is_sold() {
    let tariff = tariff(vec![
        (1, Standing { down: true, ..ACTIVE }, vec![entry("31", 0, 10)]),
        (2, ACTIVE, vec![entry("31", 0, 20)]),
    ]);
    assert_eq!(tariff.sell(prefix("31"), 0).map(summary), Some(("31".to_owned(), 1, 10)));
}

#[test]
fn each_upstream_prices_by_its_own_longest_match() {
    let tariff = tariff(vec![
        (1, ACTIVE, vec![entry("31", 0, 10), entry("3120", 0, 90)]),
        (2, ACTIVE, vec![entry("31", 0, 40)]),
    ]);
    let sold: Vec<_> = tariff.page(Prefix::FIRST, 10, 0).into_iter().map(summary).collect();
    assert_eq!(sold, [("31".to_owned(), 1, 10), ("3120".to_owned(), 2, 40)]);
    assert_eq!(tariff.sell(prefix("31201234567"), 0).map(summary), Some(("3120".to_owned(), 2, 40)));
    assert_eq!(tariff.sell_at(prefix("3120"), 0).map(summary), Some(("3120".to_owned(), 2, 40)));
    assert_eq!(tariff.sell_at(prefix("312"), 0), None);
}

#[test]
fn the_upstream_that_asks_least_makes_the_price_whatever_its_markup() {
    let marked = |markup_ppm| Standing { markup_ppm, ..ACTIVE };
    let first =
        tariff(vec![(1, marked(1_000_000), vec![entry("31", 0, 10)]), (2, marked(100_000), vec![entry("31", 0, 12)])]);
    assert_eq!(first.sell(prefix("31"), 0).map(summary), Some(("31".to_owned(), 1, 20)));
    let equals = tariff(vec![(1, marked(500_000), vec![entry("31", 0, 10)]), (2, ACTIVE, vec![entry("31", 0, 10)])]);
    assert_eq!(equals.sell(prefix("31"), 0).map(summary), Some(("31".to_owned(), 2, 10)));
}

#[test]
fn exchange_rate_and_markup_are_rounded_once() {
    // 1 ÷ 1.0832 × 1.05 = 0.969350…, and 3 nanos of it 2.908…; rounded twice, 3 → 3 × 1.05 = 3.15.
    let standing = Standing { markup_ppm: 50_000, ..ACTIVE };
    let fx = Ratio::new(10_000, 10_832).unwrap();
    let sold = |nanos| {
        let upstream = Upstream::new(1, standing, fx, Arc::new(deck(vec![entry("31", 0, nanos)]))).unwrap();
        Tariff::new(vec![upstream]).sell(prefix("31"), 0).unwrap().rate.nanos_per_minute()
    };
    assert_eq!(sold(3), 3);
    assert_eq!(sold(10_000_000), 9_693_501);
}

#[test]
fn an_upstream_whose_prices_would_not_fit_is_refused() {
    let deck: Arc<Deck> = Arc::new(deck(vec![entry("31", 0, i64::MAX / 2)]));
    let upstream = |markup_ppm| Upstream::new(1, Standing { markup_ppm, ..ACTIVE }, Ratio::ONE, Arc::clone(&deck));
    assert!(upstream(1_000_000).is_ok());
    assert_eq!(upstream(1_000_001).err(), Some(TooLarge));
    let fx = Ratio::new(u64::MAX, 1).unwrap();
    assert_eq!(Upstream::new(1, ACTIVE, fx, deck).err(), Some(TooLarge));
}

#[test]
fn tariffs_of_two_moments_can_be_compared() {
    let before = tariff(vec![(1, ACTIVE, vec![entry("31", 0, 10), entry("32", 0, 10)])]);
    let after = tariff(vec![(1, Standing { markup_ppm: 200_000, ..ACTIVE }, vec![entry("31", 0, 10)])]);
    let changes: Vec<_> = diff(before.sells(Prefix::FIRST, 0), after.sells(Prefix::FIRST, 5))
        .map(|difference| (difference.prefix, difference.change))
        .collect();
    assert_eq!(changes, [(prefix("31"), Change::Increased), (prefix("32"), Change::Removed)]);
}

/// An upstream as a model sees it: standing, exchange rate, entries.
#[derive(Clone, Debug)]
pub struct Model(pub Standing, (u64, u64), pub Vec<Entry>);

pub fn models() -> impl Strategy<Value = Vec<Model>> {
    let standing = (any::<bool>(), any::<bool>(), 0_u32..=2_000_000).prop_map(|(active, down, markup_ppm)| Standing {
        active,
        down,
        markup_ppm,
    });
    let model =
        (standing, (1_u64..50, 1_u64..50), entries()).prop_map(|(standing, fx, rows)| Model(standing, fx, rows));
    prop::collection::vec(model, 0..4)
}

pub fn tariff_of(models: &[Model], held: impl Fn(&Entry) -> bool) -> Tariff<usize> {
    let upstream = |(key, Model(standing, (up, down), entries)): (usize, &Model)| {
        let deck = deck(entries.iter().filter(|entry| held(entry)).cloned().collect());
        Upstream::new(key, *standing, Ratio::new(*up, *down).unwrap(), Arc::new(deck)).unwrap()
    };
    Tariff::new(models.iter().enumerate().map(upstream).collect())
}

impl Model {
    pub fn longest(&self, number: Prefix, at: Moment) -> Option<(Prefix, Offer)> {
        let in_force = naive_in_force(&self.2, at).into_iter().filter(|(prefix, _)| prefix.covers(number));
        in_force.max_by_key(|(prefix, _)| prefix.digits()).map(|(prefix, (_, offer))| (prefix, offer))
    }

    pub fn nanos(&self, nanos: i64, markup_ppm: u32) -> i64 {
        let factor = ratio(self.1.0, self.1.1) * ratio(1_000_000 + markup_ppm, 1_000_000);
        rounded(factor * ratio(nanos, 1)).unwrap()
    }

    fn at_markup(&self, offer: &Offer, markup_ppm: u32) -> (i64, i64) {
        let nanos = |nanos| self.nanos(nanos, markup_ppm);
        (nanos(offer.rate.nanos_per_minute()), nanos(offer.rate.connect_fee_nanos()))
    }
}

/// The price, the upstream, and the prefix it is sold under.
pub fn naive_sell(models: &[Model], number: Prefix, at: Moment) -> Option<((i64, i64), usize, Prefix)> {
    let active = || models.iter().enumerate().filter(|(_, model)| model.0.active);
    let found = || active().filter_map(|(key, model)| Some((key, model, model.longest(number, at)?)));
    let prefix = found().map(|(_, _, (prefix, _))| prefix).max_by_key(|prefix| prefix.digits())?;
    let cheapest = found()
        .map(|(key, model, (_, offer))| (model.at_markup(&offer, 0), model.at_markup(&offer, model.0.markup_ppm), key))
        .min();
    cheapest.map(|(_, price, key)| (price, key, prefix))
}

fn plain(sell: Sell<'_, usize>) -> ((i64, i64), usize, Prefix) {
    ((sell.rate.nanos_per_minute(), sell.rate.connect_fee_nanos()), sell.upstream, sell.prefix)
}

proptest! {
    #[test]
    fn a_number_is_sold_at_the_price_of_the_upstream_that_asks_least(
        models in models(), number in prefixes(6), at in -1_i64..11,
    ) {
        let tariff = tariff_of(&models, |_| true);
        prop_assert_eq!(tariff.sell(number, at).map(plain), naive_sell(&models, number, at));
    }

    #[test]
    fn a_page_lists_what_any_active_upstream_lists(
        models in models(), from in prefixes(4), limit in 0_usize..30, at in -1_i64..11,
    ) {
        let tariff = tariff_of(&models, |_| true);
        let active = models.iter().filter(|model| model.0.active);
        let sold: BTreeSet<Prefix> = active.flat_map(|model| naive_in_force(&model.2, at).into_keys()).collect();
        let expected: Vec<_> =
            sold.range(from..).take(limit).map(|prefix| naive_sell(&models, *prefix, at).unwrap()).collect();
        let page: Vec<_> = tariff.page(from, limit, at).into_iter().map(plain).collect();
        prop_assert_eq!(page, expected);
    }

    #[test]
    fn a_stretch_and_what_covers_its_beginning_are_enough_for_a_page(
        models in models(), from in prefixes(4), until in prefixes(4), at in -1_i64..11,
    ) {
        let ancestors: Vec<_> = from.ancestors().collect();
        let held = |entry: &Entry| (from..until).contains(&entry.prefix) || ancestors.contains(&entry.prefix);
        let (whole, part) = (tariff_of(&models, |_| true), tariff_of(&models, held));
        let page = |tariff: &Tariff<usize>| -> Vec<_> {
            tariff.sells(from, at).take_while(|sell| sell.prefix < until).map(plain).collect()
        };
        prop_assert_eq!(page(&part), page(&whole));
    }
}
