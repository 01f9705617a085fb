use std::collections::BTreeSet;

use proptest::prelude::*;
use rating::{Deck, Entry, Leaf, Prefix, decode_leaf, encode_leaves, read_leaf};

use crate::samples::{end, entries, entry, naive_in_force, times};

fn all_leaves(entries: Vec<Entry>) -> Vec<Leaf> {
    encode_leaves(entries.into_iter()).collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_leaf_holds_4096_prefixes_with_all_their_entries() {
    let entries: Vec<_> = (0..10_000)
        .flat_map(|index| [entry(&format!("31{index:05}"), 1, 7), entry(&format!("31{index:05}"), 2, index)])
        .collect();
    let leaves = all_leaves(entries.clone());
    assert_eq!(leaves.iter().map(|leaf| leaf.prefixes).collect::<Vec<_>>(), [4096, 4096, 1808]);
    let mut all = Vec::new();
    for leaf in &leaves {
        let decoded = decode_leaf(&leaf.body).unwrap();
        assert_eq!((decoded[0].prefix, decoded[decoded.len() - 1].prefix), (leaf.first, leaf.last));
        all.extend(decoded);
    }
    assert_eq!(all, entries);
}

#[test]
fn a_prefix_takes_less_than_five_bytes_in_a_leaf() {
    let entries = (0..4096).map(|index| entry(&format!("31{index:05}"), 1_700_000_000_000, index % 50)).collect();
    let leaves = all_leaves(entries);
    assert!(leaves[0].body.len() < 5 * 4096, "{}", leaves[0].body.len());
}

#[test]
fn entries_out_of_order_are_rejected() {
    let disorder = vec![entry("32", 0, 1), entry("31", 0, 1)];
    assert!(encode_leaves(disorder.into_iter()).next().unwrap().is_err());
}

#[test]
fn an_unknown_leaf_version_is_rejected() {
    let mut body = all_leaves(vec![entry("31", 0, 1)]).remove(0).body;
    body.truncate(body.len() - 4);
    body[0] = 3;
    let error = decode_leaf(&with_checksum(body)).unwrap_err();
    assert_eq!(error.to_string(), "corrupt deck leaf: unknown version");
}

#[test]
fn a_leaf_of_version_1_has_no_back_dated_entries() {
    let entries = vec![entry("31", 0, 1), end("31", 1), entry("32", 1, 2)];
    let mut body = all_leaves(entries.clone()).remove(0).body;
    body.truncate(body.len() - 4);
    body[0] = 1;
    // The second offer was number 2, and is 3.
    assert_eq!(body.pop(), Some(3));
    body.push(2);
    assert_eq!(decode_leaf(&with_checksum(body)).unwrap(), entries);
}

#[test]
fn what_begins_before_a_deck_is_in_force_begins_then() {
    let leaf = all_leaves(vec![
        entry("31", 3, 10),
        entry("31", 5, 20),
        entry("32", 2, 10),
        end("32", 5),
        entry("33", 5, 10),
        entry("33", 6, 20),
        entry("33", 8, 30),
        entry("34", 7, 10),
    ]);
    let entries: Vec<Entry> = read_leaf(&leaf[0].body, times(5, 7)).unwrap().collect();
    assert_eq!(
        entries,
        [
            entry("31", 3, 10),
            entry("31", 7, 20),
            entry("32", 2, 10),
            end("32", 7),
            entry("33", 7, 20),
            entry("33", 8, 30),
            entry("34", 7, 10),
        ]
    );
}

#[test]
fn a_leaf_with_two_entries_of_one_time_is_rejected() {
    let mut body = all_leaves(vec![entry("31", 0, 1), entry("31", 1, 2)]).remove(0).body;
    body.truncate(body.len() - 4);
    let step = body.len() - 2;
    body[step] = 0;
    let error = decode_leaf(&with_checksum(body)).unwrap_err();
    assert_eq!(error.to_string(), "corrupt deck leaf: an effective time is out of order");
}

/// Appends a valid checksum, so that only the content can be wrong.
fn with_checksum(mut content: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&content);
    content.extend(checksum.to_le_bytes());
    content
}

proptest! {
    #[test]
    fn encoded_entries_decode_to_the_same(mut entries in entries(), back_dated in any::<u64>()) {
        for (index, entry) in entries.iter_mut().enumerate() {
            entry.is_back_dated = entry.offer.is_some() && back_dated >> (index % 64) & 1 == 1;
        }
        let decoded: Vec<Entry> =
            all_leaves(entries.clone()).iter().flat_map(|leaf| decode_leaf(&leaf.body).unwrap()).collect();
        prop_assert_eq!(decoded, entries);
    }

    #[test]
    fn a_deck_leaves_out_what_is_over(entries in entries(), over in -1_i64..11, at in -1_i64..11) {
        let leaves = all_leaves(entries.clone());
        let deck = Deck::from_leaves(leaves.iter().map(|leaf| &leaf.body), times(over, over)).unwrap();
        let in_force = naive_in_force(&entries, at.max(over));
        let listed: Vec<Prefix> = deck.listings(Prefix::FIRST, at.max(over)).map(|listing| listing.prefix).collect();
        prop_assert_eq!(listed, in_force.into_keys().collect::<Vec<_>>());
        let later = entries.iter().filter(|entry| entry.effective_at > over).map(|entry| entry.prefix);
        let needed: BTreeSet<Prefix> = naive_in_force(&entries, over).into_keys().chain(later).collect();
        prop_assert_eq!(deck.len(), needed.len());
    }

    #[test]
    fn times_and_prices_of_any_size_decode_to_the_same(
        times in prop::collection::btree_set(any::<i64>(), 1..5), nanos in 0..=i64::MAX,
    ) {
        let entries: Vec<_> = times.into_iter().map(|time| entry("123456789012345", time, nanos)).collect();
        prop_assert_eq!(decode_leaf(&all_leaves(entries.clone())[0].body).unwrap(), entries);
    }

    #[test]
    fn a_corrupt_leaf_is_an_error(entries in entries(), index in any::<prop::sample::Index>(), flip in 1_u8..) {
        if let Some(leaf) = all_leaves(entries).pop() {
            let mut body = leaf.body;
            let index = index.index(body.len());
            prop_assert!(decode_leaf(&body[..index]).is_err());
            body[index] ^= flip;
            prop_assert!(decode_leaf(&body).is_err());
        }
    }

    #[test]
    fn changed_content_is_an_error_or_a_valid_deck(
        entries in entries(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        if let Some(leaf) = all_leaves(entries).pop() {
            let mut body = leaf.body;
            body.truncate(body.len() - 4);
            for (index, byte) in changes {
                let index = index.index(body.len());
                body[index] = byte;
            }
            if let Ok(decoded) = decode_leaf(&with_checksum(body)) {
                prop_assert!(Deck::new(decoded).is_ok());
            }
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_valid_deck(version in 1_u8..=2, content in prop::collection::vec(any::<u8>(), 0..60)) {
        let content = [vec![version], content].concat();
        if let Ok(decoded) = decode_leaf(&with_checksum(content)) {
            prop_assert!(Deck::new(decoded).is_ok());
        }
    }
}
