//! A deck in memory: all entries of one upstream's deck, in arrays built for longest-prefix match.
//!
//! ```text
//!   tree   3   31   3120   3120   316   49  …   the prefix of each entry and the index of its term, as a [`PrefixTree`]
//!          0   1    0      2      0     3
//!   terms  June   June   December   May  …      effective_at, and the offer or an end
//! ```
//!
//! The prefixes of a destination mostly have the same terms, which are stored once.

use std::collections::HashSet;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::leaf::{self, LeafError};
use crate::tree::{Found, PrefixTree, TooMany, TreeBuilder};
use crate::{DeckTimes, Destination, Entry, Listing, Offer, Prefix, Rate, UnixMillis};

/// An immutable deck; the module describes its layout.
#[derive(Default)]
pub struct Deck {
    tree: PrefixTree,
    terms: Vec<Term>,
    prefix_count: usize,
    destinations: Vec<Arc<Destination>>,
    max_nanos: i64,
}

struct Term {
    effective_at: UnixMillis,
    /// `None` for an end.
    offer: Option<Offer>,
}

/// Why entries or leaves do not form a deck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeckError {
    /// The entry of this prefix does not sort after the previous one.
    OutOfOrder(Prefix),
    /// More than fit into 32 bits.
    TooManyEntries,
    Leaf(LeafError),
}

impl fmt::Display for DeckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeckError::OutOfOrder(prefix) => write!(f, "the entries are out of order at {prefix}"),
            DeckError::TooManyEntries => f.write_str("there are too many entries"),
            DeckError::Leaf(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DeckError {}

impl From<TooMany> for DeckError {
    fn from(_: TooMany) -> DeckError {
        DeckError::TooManyEntries
    }
}

impl From<LeafError> for DeckError {
    fn from(error: LeafError) -> DeckError {
        DeckError::Leaf(error)
    }
}

impl Deck {
    /// Builds a deck from entries in the order of [`Entry::sort_key`].
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Result<Deck, DeckError> {
        let mut builder = DeckBuilder::default();
        entries.into_iter().try_for_each(|entry| builder.push(entry))?;
        Ok(builder.finish())
    }

    /// Builds a deck from its leaves in prefix order, for the time since it came into force.
    pub fn from_leaves<B: AsRef<[u8]>>(
        leaves: impl IntoIterator<Item = B>,
        times: DeckTimes,
    ) -> Result<Deck, DeckError> {
        Deck::build(leaves, times, times.in_force_at)
    }

    /// Builds a deck from its leaves in prefix order, with what it says of the time before.
    pub fn with_past<B: AsRef<[u8]>>(leaves: impl IntoIterator<Item = B>, times: DeckTimes) -> Result<Deck, DeckError> {
        Deck::build(leaves, times, UnixMillis::MIN)
    }

    /// Builds a deck of all entries of these leaves, which are in prefix order.
    pub fn decode<B: AsRef<[u8]>>(leaves: impl IntoIterator<Item = B>) -> Result<Deck, DeckError> {
        let mut builder = DeckBuilder::default();
        for leaf in leaves {
            leaf::decode_leaf(leaf.as_ref())?.into_iter().try_for_each(|entry| builder.push(entry))?;
        }
        Ok(builder.finish())
    }

    fn build<B: AsRef<[u8]>>(
        leaves: impl IntoIterator<Item = B>,
        times: DeckTimes,
        begin: UnixMillis,
    ) -> Result<Deck, DeckError> {
        let mut builder = DeckBuilder::default();
        for leaf in leaves {
            let entries = leaf::read_leaf(leaf.as_ref(), times)?;
            without_past(entries, begin).try_for_each(|entry| builder.push(entry))?;
        }
        Ok(builder.finish())
    }

    /// The number of prefixes.
    pub fn len(&self) -> usize {
        self.prefix_count
    }

    pub fn is_empty(&self) -> bool {
        self.prefix_count == 0
    }

    pub fn destinations(&self) -> &[Arc<Destination>] {
        &self.destinations
    }

    /// The highest price per minute or connect fee.
    pub(crate) fn max_nanos(&self) -> i64 {
        self.max_nanos
    }

    /// Memory used, in bytes.
    pub fn bytes(&self) -> usize {
        let destination = |it: &Arc<Destination>| {
            size_of_val(it) + size_of::<[usize; 2]>() + size_of::<Destination>() + it.name.len()
        };
        self.tree.bytes()
            + size_of_val(self.terms.as_slice())
            + self.destinations.iter().map(destination).sum::<usize>()
    }

    /// Longest-prefix match: the longest prefix of `number` with an offer in force at `at`.
    pub fn find(&self, number: Prefix, at: UnixMillis) -> Option<Listing<&Offer>> {
        let mut longest = self.tree.longest(number);
        while let Some(found) = longest {
            if let Some(listing) = self.in_force(found, at) {
                return Some(listing);
            }
            longest = self.tree.shorter(found);
        }
        None
    }

    /// The prefixes of a number that have entries, longest first.
    pub(crate) fn covering(&self, number: Prefix) -> impl Iterator<Item = Found> {
        self.tree.covering(number)
    }

    /// The times of the last entries of the prefixes of a number.
    pub(crate) fn last_times(&self, number: Prefix) -> impl Iterator<Item = UnixMillis> {
        self.covering(number).filter_map(|found| Some(self.term(found.value)?.effective_at))
    }

    /// The times of all entries of the prefixes of a number.
    pub(crate) fn times(&self, number: Prefix) -> impl Iterator<Item = UnixMillis> {
        let terms = self.covering(number).flat_map(|found| self.tree.values(found));
        terms.filter_map(|term| Some(self.term(term)?.effective_at))
    }

    /// The prefixes that have entries, in order, starting at `from`.
    pub(crate) fn prefixes(&self, from: Prefix) -> impl Iterator<Item = Prefix> {
        self.tree.from(from).map(|found| found.prefix)
    }

    /// The offer in force for exactly this prefix.
    pub fn get(&self, prefix: Prefix, at: UnixMillis) -> Option<Listing<&Offer>> {
        self.in_force(self.tree.get(prefix)?, at)
    }

    /// The offers in force at `at`, in prefix order, starting at `from`.
    pub fn listings(&self, from: Prefix, at: UnixMillis) -> impl Iterator<Item = Listing<&Offer>> {
        self.tree.from(from).filter_map(move |found| self.in_force(found, at))
    }

    /// The offer in force of a prefix.
    pub(crate) fn in_force(&self, found: Found, at: UnixMillis) -> Option<Listing<&Offer>> {
        let mut term = self.term(found.value)?;
        if term.effective_at > at {
            let mut terms = self.tree.values(found).rev().filter_map(|term| self.term(term));
            term = terms.find(|term| term.effective_at <= at)?;
        }
        Some(Listing { prefix: found.prefix, effective_at: term.effective_at, offer: term.offer.as_ref()? })
    }

    fn term(&self, index: u32) -> Option<&Term> {
        self.terms.get(index as usize)
    }
}

impl fmt::Debug for Deck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deck of {} prefixes, {} bytes", self.len(), self.bytes())
    }
}

/// Drops the entries that are over at a time.
fn without_past(entries: impl Iterator<Item = Entry>, at: UnixMillis) -> impl Iterator<Item = Entry> {
    let mut entries = entries.peekable();
    std::iter::from_fn(move || {
        loop {
            let entry = entries.next()?;
            let has_begun = |entry: &Entry| entry.effective_at <= at;
            let is_superseded = entries.peek().is_some_and(|next| next.prefix == entry.prefix && has_begun(next));
            if !is_superseded && (entry.offer.is_some() || !has_begun(&entry)) {
                return Some(entry);
            }
        }
    })
}

impl Term {
    /// What distinguishes it from other terms of its deck, which has every destination once.
    fn key(&self) -> (UnixMillis, Option<(Rate, *const Destination)>) {
        (self.effective_at, self.offer.as_ref().map(|offer| (offer.rate, Arc::as_ptr(&offer.destination))))
    }
}

/// Builds a deck from entries, pushed in order.
#[derive(Default)]
struct DeckBuilder {
    deck: Deck,
    tree: TreeBuilder,
    /// The indices of the deck's terms. A table with the terms themselves would be larger than the deck.
    terms: HashTable<u32>,
    hasher: RandomState,
    destinations: HashSet<Arc<Destination>, RandomState>,
    /// The destination of the previous entry, and the deck's equal one: a shortcut, since most entries repeat it.
    latest: Option<(Arc<Destination>, Arc<Destination>)>,
    last: Option<(Prefix, UnixMillis)>,
}

impl DeckBuilder {
    fn push(&mut self, entry: Entry) -> Result<(), DeckError> {
        if self.last.is_some_and(|last| last >= entry.sort_key()) {
            return Err(DeckError::OutOfOrder(entry.prefix));
        }
        self.deck.prefix_count += usize::from(self.last.is_none_or(|(prefix, _)| prefix != entry.prefix));
        self.last = Some(entry.sort_key());
        let (prefix, term) = (entry.prefix, self.term(entry)?);
        Ok(self.tree.push(prefix, term)?)
    }

    fn finish(self) -> Deck {
        let mut deck = self.deck;
        deck.tree = self.tree.finish();
        deck.terms.shrink_to_fit();
        deck
    }

    /// The index of the entry's term, which is added unless it is known.
    fn term(&mut self, entry: Entry) -> Result<u32, TooMany> {
        let Entry { effective_at, offer, .. } = entry;
        let offer = offer.map(|Offer { rate, destination }| Offer { rate, destination: self.destination(destination) });
        let term = Term { effective_at, offer };
        let DeckBuilder { deck, terms, hasher, .. } = self;
        let hash = |term: &Term| hasher.hash_one(term.key());
        let is_equal = |known: &u32| deck.term(*known).is_some_and(|known| known.key() == term.key());
        if let Some(known) = terms.find(hash(&term), is_equal) {
            return Ok(*known);
        }
        let added = u32::try_from(deck.terms.len()).map_err(|_| TooMany)?;
        terms.insert_unique(hash(&term), added, |known| deck.term(*known).map_or(0, hash));
        if let Some(offer) = &term.offer {
            let (minute, connect_fee) = offer.rate.price_key();
            deck.max_nanos = deck.max_nanos.max(minute).max(connect_fee);
        }
        deck.terms.push(term);
        Ok(added)
    }

    /// The deck's destination that equals this one, which is added unless it is known.
    fn destination(&mut self, given: Arc<Destination>) -> Arc<Destination> {
        if let Some((latest, known)) = &self.latest
            && Arc::ptr_eq(latest, &given)
        {
            return Arc::clone(known);
        }
        let known = match self.destinations.get(&given) {
            Some(known) => Arc::clone(known),
            None => {
                self.deck.destinations.push(Arc::clone(&given));
                self.destinations.insert(Arc::clone(&given));
                Arc::clone(&given)
            }
        };
        self.latest = Some((given, Arc::clone(&known)));
        known
    }
}
