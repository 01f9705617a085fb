use proptest::prelude::*;
use rating::{Deck, DeckError, Prefix};

use crate::samples::{deck, end, entries, entry, naive_in_force, prefix, prefixes};

#[test]
fn the_longest_match_wins_even_if_a_shorter_one_is_cheaper() {
    let deck = deck(vec![entry("31", 0, 10), entry("3120", 0, 90), entry("32", 0, 20)]);
    let nanos = |number| deck.find(prefix(number), 0).map(|found| found.offer.rate.nanos_per_minute());
    assert_eq!(nanos("31201234567"), Some(90));
    assert_eq!(nanos("3120"), Some(90));
    assert_eq!(nanos("312"), Some(10));
    assert_eq!(nanos("3"), None);
    assert_eq!(nanos("33"), None);
}

#[test]
fn a_shorter_prefix_matches_before_the_longer_one_begins_or_after_it_ends() {
    let deck = deck(vec![entry("31", 0, 10), entry("3120", 5, 90), end("3120", 9), entry("3120", 12, 95)]);
    let found = |at| deck.find(prefix("31201234567"), at).map(|found| (found.prefix, found.effective_at));
    assert_eq!(found(-1), None);
    assert_eq!(found(4), Some((prefix("31"), 0)));
    assert_eq!(found(5), Some((prefix("3120"), 5)));
    assert_eq!(found(8), Some((prefix("3120"), 5)));
    assert_eq!(found(9), Some((prefix("31"), 0)));
    assert_eq!(found(12), Some((prefix("3120"), 12)));
}

#[test]
fn entries_out_of_order_are_rejected() {
    let disorder = |entries| Deck::new(entries).err();
    assert_eq!(disorder(vec![entry("32", 0, 1), entry("31", 0, 1)]), Some(DeckError::OutOfOrder(prefix("31"))));
    assert_eq!(disorder(vec![entry("31", 0, 1), entry("31", 0, 2)]), Some(DeckError::OutOfOrder(prefix("31"))));
    assert_eq!(disorder(vec![entry("31", 1, 1), entry("31", 0, 2)]), Some(DeckError::OutOfOrder(prefix("31"))));
}

#[test]
fn a_deck_takes_less_than_100_bytes_per_prefix_and_shares_destinations() {
    let deck = deck((0..500).map(|index| entry(&format!("31{index:03}"), 0, index % 5)).collect());
    assert_eq!((deck.len(), deck.destinations().len()), (500, 1));
    assert!(deck.bytes() < 100 * deck.len(), "{deck:?}");
}

#[test]
fn an_empty_deck_matches_nothing() {
    let deck = deck(Vec::new());
    assert!(deck.is_empty());
    assert!(deck.find(prefix("31"), 0).is_none());
    assert_eq!(deck.listings(Prefix::FIRST, 0).count(), 0);
}

proptest! {
    #[test]
    fn find_returns_the_longest_match_in_force(
        entries in entries(), numbers in prop::collection::vec(prefixes(6), 1..20), at in -1_i64..11,
    ) {
        let deck = deck(entries.clone());
        let in_force = naive_in_force(&entries, at);
        for number in numbers {
            let longest = in_force.iter().filter(|(prefix, _)| prefix.covers(number)).max_by_key(|(p, _)| p.digits());
            let found = deck.find(number, at);
            prop_assert_eq!(
                found.map(|found| (found.prefix, found.effective_at, found.offer.clone())),
                longest.map(|(prefix, (effective_at, offer))| (*prefix, *effective_at, offer.clone()))
            );
            let exact = deck.get(number, at).map(|found| (found.effective_at, found.offer.clone()));
            prop_assert_eq!(exact, in_force.get(&number).cloned());
        }
    }

    #[test]
    fn listings_start_at_any_prefix(entries in entries(), from in prefixes(5), at in -1_i64..11) {
        let deck = deck(entries.clone());
        let listed: Vec<_> = deck.listings(from, at).map(|listing| listing.prefix).collect();
        let in_force: Vec<_> = naive_in_force(&entries, at).into_keys().filter(|prefix| *prefix >= from).collect();
        prop_assert_eq!(listed, in_force);
    }

    #[test]
    fn a_large_deck_finds_the_longest_match(step in 1_usize..50, number in "[0-9]{1,8}") {
        let numbers: Vec<String> = (10_000..30_000).step_by(step).map(|number| number.to_string()).collect();
        let deck = deck(numbers.iter().map(|digits| entry(digits, 0, 1)).collect());
        let found = deck.find(prefix(&number), 0).map(|found| found.prefix.to_string());
        prop_assert_eq!(found.as_ref(), numbers.iter().find(|digits| number.starts_with(digits.as_str())));
    }
}
