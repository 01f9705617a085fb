use proptest::prelude::*;
use rating::{Deck, Entry, Leaf, Prefix, decode_leaf, encode_leaves};

use crate::samples::{entries, entry};

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
    for leaf in &leaves {
        let decoded = decode_leaf(&leaf.body).unwrap();
        assert_eq!((decoded[0].prefix, decoded[decoded.len() - 1].prefix), (leaf.first, leaf.last));
    }
    let deck = Deck::from_leaves(leaves.iter().map(|leaf| &leaf.body)).unwrap();
    assert!(deck.entries(Prefix::FIRST).eq(entries));
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
    body[0] = 2;
    let error = decode_leaf(&with_checksum(body)).unwrap_err();
    assert_eq!(error.to_string(), "corrupt deck leaf: unknown version");
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
    fn encoded_entries_decode_to_the_same(entries in entries()) {
        let decoded: Vec<Entry> =
            all_leaves(entries.clone()).iter().flat_map(|leaf| decode_leaf(&leaf.body).unwrap()).collect();
        prop_assert_eq!(decoded, entries);
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
    fn any_bytes_are_an_error_or_a_valid_deck(content in prop::collection::vec(any::<u8>(), 0..60)) {
        let content = [vec![1], content].concat();
        if let Ok(decoded) = decode_leaf(&with_checksum(content)) {
            prop_assert!(Deck::new(decoded).is_ok());
        }
    }
}
