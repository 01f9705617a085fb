use std::collections::BTreeSet;

use proptest::prelude::*;
use rating::{Changes, Entry, Mode, Offer, Prefix, UnixMillis, apply_import};

use crate::samples::{back_dated, end, entries, entry, naive_in_force, prefix, rows};

fn imported(old: Vec<Entry>, file: Vec<Entry>, mode: Mode, at: UnixMillis) -> (Vec<Entry>, Changes) {
    let mut next_deck = apply_import(old, file, mode, at);
    let new = next_deck.by_ref().collect();
    (new, next_deck.changes())
}

fn replaced(old: Vec<Entry>, file: Vec<Entry>, at: UnixMillis) -> Vec<Entry> {
    imported(old, file, Mode::Replace, at).0
}

#[test]
fn what_the_old_deck_would_have_said_of_changed_prefixes_is_kept() {
    let old = vec![entry("31", 1, 10), entry("31", 7, 12), entry("32", 1, 10), entry("33", 1, 10)];
    let file = vec![entry("31", 5, 20), entry("32", 1, 10), entry("34", 0, 5)];
    let kept = |old: Vec<Entry>, file: Vec<Entry>| {
        let mut next_deck = apply_import(old, file, Mode::Replace, 5);
        assert!(next_deck.by_ref().count() > 0);
        next_deck.into_replaced()
    };
    let expected = [entry("31", 1, 10), entry("31", 7, 12), entry("33", 1, 10), end("34", 5)];
    assert_eq!(kept(old, file.clone()), expected);
    // A first deck replaces nothing.
    assert_eq!(kept(Vec::new(), file), []);
}

#[test]
fn a_future_row_keeps_the_old_price_until_then() {
    let new = replaced(vec![entry("31", 1, 10), entry("31", 7, 12)], vec![entry("31", 9, 20)], 5);
    assert_eq!(new, [entry("31", 1, 10), entry("31", 7, 12), entry("31", 9, 20)]);
}

#[test]
fn a_past_row_counts_where_the_prefix_had_no_price_and_from_the_import_on() {
    let new = replaced(vec![entry("31", 4, 10)], vec![entry("31", 2, 20)], 5);
    assert_eq!(new, [back_dated("31", 2, 20), entry("31", 5, 20)]);
    let old = vec![entry("31", 1, 10), end("31", 3)];
    let new = replaced(old, vec![entry("31", 0, 20)], 5);
    assert_eq!(new, [back_dated("31", 0, 20), back_dated("31", 3, 20)]);
}

#[test]
fn all_past_rows_count_if_the_prefix_had_no_price() {
    let file = vec![entry("31", 1, 10), entry("31", 3, 30), entry("31", 8, 80)];
    assert_eq!(replaced(Vec::new(), file, 5), [back_dated("31", 1, 10), back_dated("31", 3, 30), entry("31", 8, 80)]);
}

#[test]
fn a_row_with_the_price_in_force_continues_it() {
    assert_eq!(replaced(vec![entry("31", 2, 10)], vec![entry("31", 4, 10)], 5), [entry("31", 2, 10)]);
    assert_eq!(replaced(vec![entry("31", 2, 10)], vec![entry("31", 1, 10)], 5), [back_dated("31", 1, 10)]);
}

#[test]
fn past_prices_that_an_earlier_deck_has_are_left_out() {
    let old = vec![back_dated("31", 1, 10), entry("31", 3, 20), entry("31", 5, 30)];
    assert_eq!(replaced(old, vec![entry("31", 7, 40)], 7), [back_dated("31", 1, 10), entry("31", 7, 40)]);
    let old = vec![entry("31", 1, 10), entry("31", 3, 20), end("31", 5), entry("31", 6, 30)];
    let new = [entry("31", 1, 10), end("31", 5), entry("31", 6, 30), entry("31", 7, 40)];
    assert_eq!(replaced(old, vec![entry("31", 7, 40)], 7), new);
}

#[test]
fn an_import_counts_from_its_first_back_dated_price() {
    let counts_from = |old, file| {
        let mut next_deck = apply_import(old, file, Mode::Merge, 5);
        next_deck.by_ref().for_each(drop);
        next_deck.counts_from()
    };
    assert_eq!(counts_from(Vec::new(), vec![entry("31", 5, 10)]), None);
    assert_eq!(counts_from(vec![entry("31", 1, 10)], vec![entry("31", 3, 20)]), None);
    assert_eq!(counts_from(vec![entry("31", 1, 10)], vec![entry("31", 3, 20), entry("32", 2, 20)]), Some(2));
    assert_eq!(counts_from(vec![entry("31", 1, 10), end("31", 4)], vec![entry("31", 3, 20)]), Some(4));
}

#[test]
fn later_entries_of_the_old_deck_are_dropped_after_a_row() {
    let old = vec![entry("31", 1, 10), entry("31", 6, 11), entry("31", 9, 12)];
    assert_eq!(
        replaced(old, vec![entry("31", 7, 20)], 5),
        [entry("31", 1, 10), entry("31", 6, 11), entry("31", 7, 20)]
    );
}

#[test]
fn an_absent_prefix_ends_at_the_earliest_date_or_stays_on_merge() {
    let old = || vec![entry("31", 1, 10), entry("32", 1, 10), entry("32", 8, 11)];
    let file = || vec![entry("31", 7, 20), entry("31", 9, 20)];
    let (new, changes) = imported(old(), file(), Mode::Replace, 5);
    assert_eq!(new, [entry("31", 1, 10), entry("31", 7, 20), entry("31", 9, 20), entry("32", 1, 10), end("32", 7),]);
    assert_eq!(changes, Changes { removed: 1, increased: 1, ..Changes::default() });

    let (new, changes) = imported(old(), file(), Mode::Merge, 5);
    assert_eq!(new[3..], [entry("32", 1, 10), entry("32", 8, 11)]);
    assert_eq!(changes, Changes { unchanged: 1, increased: 1, ..Changes::default() });
}

#[test]
fn a_deck_keeps_when_a_prefix_had_a_price() {
    let new = replaced(vec![entry("32", 1, 10)], vec![entry("31", 2, 20)], 5);
    assert_eq!(new, [back_dated("31", 2, 20), entry("32", 1, 10), end("32", 5)]);
    let old = vec![entry("31", 1, 10), end("31", 3), entry("32", 1, 10), end("32", 3), entry("32", 9, 10)];
    assert_eq!(imported(old.clone(), Vec::new(), Mode::Merge, 5).0, old);
}

#[test]
fn importing_the_same_deck_changes_nothing() {
    let old = vec![entry("31", 1, 10), entry("32", 1, 20)];
    let (new, changes) = imported(old.clone(), old.clone(), Mode::Replace, 5);
    assert_eq!((new, changes), (old, Changes { unchanged: 2, ..Changes::default() }));
}

/// The offer of one prefix by the rules, at a time from the import on.
fn expected(
    prefix: Prefix,
    old: &[Entry],
    file: &[Entry],
    mode: Mode,
    import: UnixMillis,
    at: UnixMillis,
) -> Option<Offer> {
    let mut rows = file.iter().filter(|row| row.prefix == prefix).peekable();
    let is_in_file = rows.peek().is_some();
    if let Some(row) = rows.rfind(|row| row.effective_at <= at) {
        return row.offer.clone();
    }
    let earliest = file.iter().map(|row| row.effective_at).min().unwrap_or(import);
    let ended = mode == Mode::Replace && !is_in_file && at >= earliest.max(import);
    if ended { None } else { naive_in_force(old, at).remove(&prefix).map(|(_, offer)| offer) }
}

proptest! {
    #[test]
    fn the_new_deck_follows_the_rules_at_every_time(
        old in entries(), file in rows(), import in 0_i64..10, replace in any::<bool>(),
    ) {
        let mode = if replace { Mode::Replace } else { Mode::Merge };
        let (new, changes) = imported(old.clone(), file.clone(), mode, import);
        prop_assert!(new.is_sorted_by(|one, next| one.sort_key() < next.sort_key()));

        let prefixes: BTreeSet<Prefix> = old.iter().chain(&file).map(|entry| entry.prefix).collect();
        for at in import..12 {
            let mut in_force = naive_in_force(&new, at);
            for &prefix in &prefixes {
                let offer = in_force.remove(&prefix).map(|(_, offer)| offer);
                prop_assert_eq!(offer, expected(prefix, &old, &file, mode, import, at));
            }
            prop_assert!(in_force.is_empty());
        }

        let settled = file.iter().map(|row| row.effective_at).max().unwrap_or(import).max(import);
        let (before, after) = (naive_in_force(&old, settled), naive_in_force(&new, settled));
        let price = |offer: &Offer| (offer.rate.nanos_per_minute(), offer.rate.connect_fee_nanos());
        let mut counted = Changes::default();
        for prefix in prefixes {
            match (before.get(&prefix), after.get(&prefix)) {
                (None, None) => {}
                (None, Some(_)) => counted.added += 1,
                (Some(_), None) => counted.removed += 1,
                (Some((_, from)), Some((_, to))) if price(from) < price(to) => counted.increased += 1,
                (Some((_, from)), Some((_, to))) if price(from) > price(to) => counted.decreased += 1,
                _ => counted.unchanged += 1,
            }
        }
        prop_assert_eq!(changes, counted);
    }

    #[test]
    fn the_new_deck_has_no_superseded_entries(old in entries(), file in rows(), import in 0_i64..10) {
        let new = replaced(old, file, import);
        for entries in new.chunk_by(|one, next| one.prefix == next.prefix) {
            prop_assert!(entries[0].offer.is_some());
            prop_assert!(entries.windows(2).all(|pair| pair[0].offer.is_some() || pair[1].offer.is_some()));
            let current = entries.iter().rposition(|entry| entry.effective_at <= import).unwrap_or(0);
            let past = entries[..current].windows(2).filter(|pair| pair.iter().all(|entry| entry.offer.is_some()));
            prop_assert!(past.map(|pair| &pair[1]).all(|entry| entry.is_back_dated));
        }
    }
}

#[test]
fn changes_are_complete_once_the_iterator_is_exhausted() {
    let mut next_deck = apply_import(Vec::new(), vec![entry("31", 0, 1), entry("32", 0, 1)], Mode::Replace, 5);
    assert_eq!(next_deck.next().map(|entry| entry.prefix), Some(prefix("31")));
    assert_eq!(next_deck.changes().added, 1);
    assert_eq!(next_deck.by_ref().count(), 1);
    assert_eq!(next_deck.changes().added, 2);
}
