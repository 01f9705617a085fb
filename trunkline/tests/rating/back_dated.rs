//! Several imports, some of their rows back-dated, against a table of what every prefix cost at every time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use rating::{
    Deck, Entry, Mode, Offer, Prefix, Ratio, Tariff, UnixMillis, Upstream, UpstreamState, apply_import, decode_leaf,
    encode_leaves,
};

use crate::samples::{entry, prefix, prefixes, rows, times};

const ACTIVE: UpstreamState = UpstreamState { is_active: true, is_down: false, markup_ppm: 0 };
const TIMES: std::ops::Range<UnixMillis> = -1..25;

/// Decks of an upstream as they are stored: when each was imported, and its leaves.
#[derive(Default)]
struct Imports(Vec<(UnixMillis, Vec<Vec<u8>>)>);

impl Imports {
    fn add(&mut self, file: Vec<Entry>, mode: Mode, at: UnixMillis) {
        let before = self.0.iter().next_back().into_iter().flat_map(|(_, leaves)| leaves);
        let before = before.flat_map(|leaf| decode_leaf(leaf).unwrap());
        let leaves = encode_leaves(apply_import(before, file, mode, at)).map(|leaf| leaf.unwrap().body).collect();
        self.0.push((at, leaves));
    }

    fn latest(&self) -> Arc<Deck> {
        let (at, leaves) = self.0.last().unwrap();
        Arc::new(Deck::with_past(leaves, times(*at, *at)).unwrap())
    }

    /// The tariff of a past time as it is known after the last import.
    fn tariff(&self, at: UnixMillis) -> Tariff<u8> {
        let then = self.0.iter().rfind(|(import, _)| *import <= at);
        let then = then.map(|(at, leaves)| Deck::from_leaves(leaves, times(*at, *at)).unwrap()).unwrap_or_default();
        let upstream = Upstream::new(1, ACTIVE, Ratio::ONE, Arc::new(then)).unwrap();
        Tariff::new(vec![upstream.with_back_dated(self.latest())])
    }

    fn price(&self, number: &str, at: UnixMillis) -> Option<i64> {
        self.tariff(at).sell_rate(prefix(number), at).map(|sell| sell.rate.nanos_per_minute())
    }

    /// Since when the current rate of a prefix counts.
    fn since(&self, digits: &str) -> Option<UnixMillis> {
        let (import, _) = self.0.last().unwrap();
        self.latest().get(prefix(digits), *import).map(|listing| listing.effective_at)
    }
}

#[test]
fn a_back_dated_row_prices_calls_before_its_import() {
    let mut imports = Imports::default();
    imports.add(vec![entry("31", 2, 10)], Mode::Replace, 6);
    let prices = [1, 2, 5, 6].map(|at| imports.price("31201234567", at));
    assert_eq!((prices, imports.since("31")), ([None, Some(10), Some(10), Some(10)], Some(2)));
}

#[test]
fn a_back_dated_row_does_not_change_a_price_that_was_in_force() {
    let mut imports = Imports::default();
    imports.add(vec![entry("31", 4, 10)], Mode::Replace, 4);
    imports.add(vec![entry("31", 2, 20)], Mode::Replace, 6);
    let prices = [1, 2, 3, 4, 5, 6].map(|at| imports.price("31201234567", at));
    assert_eq!(prices, [None, Some(20), Some(20), Some(10), Some(10), Some(20)]);
    assert_eq!(imports.since("31"), Some(6));
}

#[test]
fn a_longer_prefix_counts_from_its_date_although_a_shorter_one_had_a_price() {
    let mut imports = Imports::default();
    imports.add(vec![entry("31", 1, 10)], Mode::Merge, 1);
    imports.add(vec![entry("3120", 3, 20)], Mode::Merge, 6);
    assert_eq!([2, 3, 5, 6].map(|at| imports.price("31201234567", at)), [Some(10), Some(20), Some(20), Some(20)]);
    assert_eq!(imports.price("31101234567", 5), Some(10));
}

#[test]
fn a_back_dated_row_counts_while_a_prefix_was_absent() {
    let mut imports = Imports::default();
    imports.add(vec![entry("31", 1, 10), entry("32", 1, 10)], Mode::Replace, 1);
    imports.add(vec![entry("32", 3, 10)], Mode::Replace, 3);
    imports.add(vec![entry("31", 0, 20), entry("32", 3, 10)], Mode::Replace, 6);
    imports.add(vec![entry("31", 8, 30), entry("32", 3, 10)], Mode::Replace, 8);
    let prices = [0, 1, 2, 3, 5, 6, 8].map(|at| imports.price("31201234567", at));
    assert_eq!(prices, [Some(20), Some(10), Some(10), Some(20), Some(20), Some(20), Some(30)]);
    assert_eq!((imports.since("31"), imports.since("32")), (Some(8), Some(1)));
}

/// What every prefix costs at every time.
type Costs = BTreeMap<(Prefix, UnixMillis), Offer>;

/// The table after an import, by the rules.
fn after(costs: &Costs, file: &[Entry], mode: Mode, import: UnixMillis) -> Costs {
    let prefixes: BTreeSet<Prefix> =
        costs.keys().map(|(prefix, _)| *prefix).chain(file.iter().map(|row| row.prefix)).collect();
    let earliest = file.iter().map(|row| row.effective_at).min().unwrap_or(import).max(import);
    let mut next = Costs::new();
    for prefix in prefixes {
        let rows: Vec<&Entry> = file.iter().filter(|row| row.prefix == prefix).collect();
        let ends = mode == Mode::Replace && rows.is_empty();
        for at in TIMES {
            let before = costs.get(&(prefix, at));
            let row = rows.iter().rfind(|row| row.effective_at <= at).and_then(|row| row.offer.as_ref());
            let cost = match at < import {
                true => before.or(row),
                false if ends && at >= earliest => None,
                false => row.or(before),
            };
            next.extend(cost.map(|cost| ((prefix, at), cost.clone())));
        }
    }
    next
}

fn imports() -> impl Strategy<Value = Vec<(i64, Vec<Entry>, Mode)>> {
    let modes = prop::sample::select(vec![Mode::Replace, Mode::Merge]);
    prop::collection::vec((1_i64..5, rows(), modes), 1..5)
}

proptest! {
    #[test]
    fn every_time_has_its_price_after_every_import(
        files in imports(), numbers in prop::collection::vec(prefixes(5), 1..20),
    ) {
        let (mut imports, mut costs, mut now) = (Imports::default(), Costs::new(), 0);
        for (pause, file, mode) in files {
            now += pause;
            costs = after(&costs, &file, mode, now);
            imports.add(file, mode, now);
            for at in TIMES {
                let tariff = imports.tariff(at);
                let then = || {
                    let costs = costs.iter().filter(|((_, time), _)| *time == at);
                    costs.map(|((prefix, _), offer)| (*prefix, offer))
                };
                for &number in &numbers {
                    let longest = then().rfind(|(prefix, _)| prefix.covers(number));
                    let sell = tariff.sell_rate(number, at).map(|sell| (sell.prefix, sell.source.offer));
                    prop_assert_eq!(sell, longest);
                }
                let sold = tariff.sell_rates(Prefix::FIRST, at).map(|sell| sell.prefix);
                prop_assert!(sold.eq(then().map(|(prefix, _)| prefix)));
            }
            let latest = imports.latest();
            for listing in latest.listings(Prefix::FIRST, now) {
                for at in listing.effective_at..=now {
                    prop_assert_eq!(costs.get(&(listing.prefix, at)), Some(listing.offer));
                }
            }
        }
    }
}
