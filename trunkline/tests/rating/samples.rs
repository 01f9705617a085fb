//! Sample decks: short prefixes of few digits, so that they cover each other, and times close together.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use rating::{Country, Deck, DeckTimes, Destination, Entry, Offer, Prefix, Rate, UnixMillis};

pub fn prefix(digits: &str) -> Prefix {
    digits.parse().unwrap()
}

pub fn destination(name: &str, country: &str) -> Arc<Destination> {
    Arc::new(Destination { name: name.into(), country: Country::new(country).unwrap() })
}

/// An offer at `nanos` per minute, billed by the second.
pub fn offer(nanos: i64) -> Offer {
    Offer { rate: Rate::new(nanos, 0, 1, 0).unwrap(), destination: destination("Somewhere", "NL") }
}

pub fn entry(digits: &str, effective_at: UnixMillis, nanos: i64) -> Entry {
    Entry::new(prefix(digits), effective_at, Some(offer(nanos)))
}

/// An entry from before the import of its row.
pub fn back_dated(digits: &str, effective_at: UnixMillis, nanos: i64) -> Entry {
    Entry { is_back_dated: true, ..entry(digits, effective_at, nanos) }
}

pub fn end(digits: &str, effective_at: UnixMillis) -> Entry {
    Entry::new(prefix(digits), effective_at, None)
}

pub fn times(made_at: UnixMillis, in_force_at: UnixMillis) -> DeckTimes {
    DeckTimes { made_at, in_force_at }
}

pub fn deck(entries: Vec<Entry>) -> Deck {
    Deck::new(entries).unwrap()
}

/// Prefixes of the digits 0, 1 and 9: the first, a middle and the last digit.
pub fn prefixes(most_digits: usize) -> impl Strategy<Value = Prefix> {
    prop::collection::vec(prop::sample::select(vec!['0', '1', '9']), 1..=most_digits)
        .prop_map(|digits| prefix(&digits.iter().collect::<String>()))
}

pub fn rates() -> impl Strategy<Value = Rate> {
    (0_i64..20, 0_i64..2, 1_u16..=60, 0_u16..=60)
        .prop_map(|(minute, connect, increment, minimum)| Rate::new(minute, connect, increment, minimum).unwrap())
}

pub fn offers() -> impl Strategy<Value = Offer> {
    let names = prop::sample::select(vec!["Here", "There", "Éire; \"mobile\", other"]);
    (rates(), names, prop::sample::select(vec!["NL", "IE"]))
        .prop_map(|(rate, name, country)| Offer { rate, destination: destination(name, country) })
}

/// Entries in order, with ends.
pub fn entries() -> impl Strategy<Value = Vec<Entry>> {
    entries_of(prop::option::weighted(0.8, offers()).boxed())
}

/// Rows of a file: each with an offer.
pub fn rows() -> impl Strategy<Value = Vec<Entry>> {
    entries_of(offers().prop_map(Some).boxed())
}

fn entries_of(offers: BoxedStrategy<Option<Offer>>) -> impl Strategy<Value = Vec<Entry>> {
    prop::collection::btree_map((prefixes(4), 0_i64..10), offers, 0..40).prop_map(|entries| {
        let entry = |((prefix, effective_at), offer)| Entry::new(prefix, effective_at, offer);
        entries.into_iter().map(entry).collect()
    })
}

/// The offers in force: of each prefix the last entry that has begun, unless it is an end.
pub fn naive_in_force(entries: &[Entry], at: UnixMillis) -> BTreeMap<Prefix, (UnixMillis, Offer)> {
    let mut in_force = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.effective_at <= at) {
        match &entry.offer {
            Some(offer) => in_force.insert(entry.prefix, (entry.effective_at, offer.clone())),
            None => in_force.remove(&entry.prefix),
        };
    }
    in_force
}
