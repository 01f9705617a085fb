use std::collections::BTreeSet;

use proptest::prelude::*;
use rating::{Change, Prefix, decode_leaf, diff, encode_leaves, in_force};

use crate::samples::{deck, end, entries, entry, naive_in_force, prefix, prefixes};

#[test]
fn a_difference_has_both_prices() {
    let old = deck(vec![entry("1", 0, 10), entry("2", 0, 10), entry("3", 0, 10), entry("4", 0, 10)]);
    let new = deck(vec![entry("1", 0, 10), entry("2", 0, 11), entry("3", 0, 9), entry("5", 0, 10)]);
    let found: Vec<_> = diff(old.listings(Prefix::FIRST, 0), new.listings(Prefix::FIRST, 0))
        .map(|difference| {
            let nanos = |offer: &rating::Offer| offer.rate.nanos_per_minute();
            let (from, to) = (difference.from.map(|it| nanos(it.offer)), difference.to.map(|it| nanos(it.offer)));
            (difference.prefix.to_string(), difference.change, from, to)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("2".to_owned(), Change::Increased, Some(10), Some(11)),
            ("3".to_owned(), Change::Decreased, Some(10), Some(9)),
            ("4".to_owned(), Change::Removed, Some(10), None),
            ("5".to_owned(), Change::Added, None, Some(10)),
        ]
    );
}

#[test]
fn one_deck_differs_between_two_times() {
    let deck = deck(vec![entry("31", 0, 10), end("31", 5), entry("32", 3, 10)]);
    let changes: Vec<_> = diff(deck.listings(Prefix::FIRST, 0), deck.listings(Prefix::FIRST, 5))
        .map(|difference| (difference.prefix, difference.change))
        .collect();
    assert_eq!(changes, [(prefix("31"), Change::Removed), (prefix("32"), Change::Added)]);
}

#[test]
fn a_page_reads_only_the_leaves_it_covers() {
    let entries = |nanos| (0..40_000).map(move |index| entry(&format!("31{index:05}"), 0, nanos));
    let (old, new): (Vec<_>, Vec<_>) = (encode_leaves(entries(1)).collect(), encode_leaves(entries(2)).collect());
    let mut read = 0;
    let walk = new.iter().flatten().flat_map(|leaf| {
        read += 1;
        decode_leaf(&leaf.body).unwrap()
    });
    let old = old.iter().flatten().flat_map(|leaf| decode_leaf(&leaf.body).unwrap());
    assert_eq!(diff(in_force(old, 0), in_force(walk, 0)).take(100).count(), 100);
    assert_eq!(read, 1);
}

proptest! {
    #[test]
    fn diff_matches_a_naive_comparison(
        old in entries(), new in entries(), before in -1_i64..11, after in -1_i64..11, from in prefixes(4),
    ) {
        let (was, is) = (naive_in_force(&old, before), naive_in_force(&new, after));
        let price = |offer: &rating::Offer| (offer.rate.nanos_per_minute(), offer.rate.connect_fee_nanos());
        let all: BTreeSet<Prefix> = was.keys().chain(is.keys()).copied().filter(|prefix| *prefix >= from).collect();
        let expected: Vec<_> = all.into_iter().filter_map(|prefix| {
            let change = match (was.get(&prefix), is.get(&prefix)) {
                (Some(_), None) => Change::Removed,
                (None, _) => Change::Added,
                (Some((_, was)), Some((_, is))) if price(was) < price(is) => Change::Increased,
                (Some((_, was)), Some((_, is))) if price(was) > price(is) => Change::Decreased,
                _ => return None,
            };
            Some((prefix, change))
        }).collect();
        let tail = |entries: Vec<rating::Entry>| entries.into_iter().filter(move |entry| entry.prefix >= from);
        let streamed: Vec<_> = diff(in_force(tail(old.clone()), before), in_force(tail(new.clone()), after))
            .map(|difference| (difference.prefix, difference.change)).collect();
        prop_assert_eq!(&streamed, &expected);
        let (old, new) = (deck(old), deck(new));
        let in_memory: Vec<_> = diff(old.listings(from, before), new.listings(from, after))
            .map(|difference| (difference.prefix, difference.change)).collect();
        prop_assert_eq!(&in_memory, &expected);
    }
}
