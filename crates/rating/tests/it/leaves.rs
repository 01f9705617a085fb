use proptest::prelude::*;
use rating::{Deck, Entry, Leaf, Prefix, decode, leaves};

use crate::samples::{entries, entry};

fn all_leaves(entries: Vec<Entry>) -> Vec<Leaf> {
    leaves(entries.into_iter()).collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_leaf_has_4096_prefixes_and_all_their_entries() {
    let entries: Vec<_> = (0..10_000)
        .flat_map(|index| [entry(&format!("31{index:05}"), 1, 7), entry(&format!("31{index:05}"), 2, index)])
        .collect();
    let leaves = all_leaves(entries.clone());
    assert_eq!(leaves.iter().map(|leaf| leaf.prefixes).collect::<Vec<_>>(), [4096, 4096, 1808]);
    for leaf in &leaves {
        let decoded = decode(&leaf.body).unwrap();
        assert_eq!((decoded[0].prefix, decoded[decoded.len() - 1].prefix), (leaf.first, leaf.last));
    }
    let deck = Deck::from_leaves(leaves.iter().map(|leaf| &leaf.body)).unwrap();
    assert!(deck.entries(Prefix::FIRST).eq(entries));
}

#[test]
fn leaves_are_small() {
    let entries = (0..4096).map(|index| entry(&format!("31{index:05}"), 1_700_000_000_000, index % 50)).collect();
    let leaves = all_leaves(entries);
    assert!(leaves[0].body.len() < 5 * 4096, "{}", leaves[0].body.len());
}

#[test]
fn entries_out_of_order_make_no_leaf() {
    let disorder = vec![entry("32", 0, 1), entry("31", 0, 1)];
    assert!(leaves(disorder.into_iter()).next().unwrap().is_err());
}

#[test]
fn a_leaf_of_an_unknown_version_is_refused() {
    let mut body = all_leaves(vec![entry("31", 0, 1)]).remove(0).body;
    body.truncate(body.len() - 4);
    body[0] = 2;
    let error = decode(&sealed(body)).unwrap_err();
    assert_eq!(error.to_string(), "a leaf of the deck is damaged: its version is unknown");
}

#[test]
fn a_leaf_that_says_two_things_of_one_moment_is_refused() {
    let mut body = all_leaves(vec![entry("31", 0, 1), entry("31", 1, 2)]).remove(0).body;
    body.truncate(body.len() - 4);
    let step = body.len() - 2;
    body[step] = 0;
    let error = decode(&sealed(body)).unwrap_err();
    assert_eq!(error.to_string(), "a leaf of the deck is damaged: a moment is out of order");
}

/// With a checksum that is right, so that nothing but the content speaks against it.
fn sealed(mut content: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&content);
    content.extend(checksum.to_le_bytes());
    content
}

proptest! {
    #[test]
    fn what_is_stored_comes_back(entries in entries()) {
        let decoded: Vec<Entry> =
            all_leaves(entries.clone()).iter().flat_map(|leaf| decode(&leaf.body).unwrap()).collect();
        prop_assert_eq!(decoded, entries);
    }

    #[test]
    fn moments_and_prices_of_any_size_come_back(
        moments in prop::collection::btree_set(any::<i64>(), 1..5), nanos in 0..=i64::MAX,
    ) {
        let entries: Vec<_> = moments.into_iter().map(|moment| entry("123456789012345", moment, nanos)).collect();
        prop_assert_eq!(decode(&all_leaves(entries.clone())[0].body).unwrap(), entries);
    }

    #[test]
    fn a_damaged_leaf_is_an_error(entries in entries(), place in any::<prop::sample::Index>(), flip in 1_u8..) {
        if let Some(leaf) = all_leaves(entries).pop() {
            let mut body = leaf.body;
            let place = place.index(body.len());
            prop_assert!(decode(&body[..place]).is_err());
            body[place] ^= flip;
            prop_assert!(decode(&body).is_err());
        }
    }

    #[test]
    fn content_that_nobody_wrote_is_an_error_or_a_good_deck(
        entries in entries(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        if let Some(leaf) = all_leaves(entries).pop() {
            let mut body = leaf.body;
            body.truncate(body.len() - 4);
            for (place, byte) in changes {
                let place = place.index(body.len());
                body[place] = byte;
            }
            if let Ok(decoded) = decode(&sealed(body)) {
                prop_assert!(Deck::new(decoded).is_ok());
            }
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_good_deck(content in prop::collection::vec(any::<u8>(), 0..60)) {
        let content = [vec![1], content].concat();
        if let Ok(decoded) = decode(&sealed(content)) {
            prop_assert!(Deck::new(decoded).is_ok());
        }
    }
}
