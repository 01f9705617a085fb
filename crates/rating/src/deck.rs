//! A deck in memory: all entries of one upstream's deck, in arrays built for longest-prefix match.
//!
//! ```text
//!   tree   3      31     3120   3120       316    49  …   the prefix of each entry, as a [`PrefixTree`]
//!   terms  June   June   June   December   June   May …   effective_at, and the offer or an end
//! ```

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::leaf::{self, LeafError};
use crate::tree::{PrefixTree, TooMany, TreeBuilder};
use crate::{DeckTimes, Destination, Entry, Listing, Offer, Prefix, UnixMillis};

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
        while let Some((prefix, last)) = longest {
            if let Some(listing) = self.in_force(prefix, last, at) {
                return Some(listing);
            }
            longest = self.tree.shorter(last);
        }
        None
    }

    /// The prefixes of a number that have entries, longest first, each with the index of its last entry.
    pub(crate) fn covering(&self, number: Prefix) -> impl Iterator<Item = (Prefix, usize)> {
        self.tree.covering(number)
    }

    /// The times of the last entries of the prefixes of a number.
    pub(crate) fn last_times(&self, number: Prefix) -> impl Iterator<Item = UnixMillis> {
        self.covering(number).filter_map(move |(_, last)| Some(self.terms.get(last)?.effective_at))
    }

    /// The times of all entries of the prefixes of a number.
    pub(crate) fn times(&self, number: Prefix) -> impl Iterator<Item = UnixMillis> {
        self.covering(number).flat_map(move |(prefix, last)| {
            let terms = self.terms.get(self.tree.index_from(prefix)..=last).unwrap_or_default();
            terms.iter().map(|term| term.effective_at)
        })
    }

    /// The prefixes that have entries, in order, starting at `from`.
    pub(crate) fn prefixes(&self, from: Prefix) -> impl Iterator<Item = Prefix> {
        self.tree.from(from).map(|(prefix, _)| prefix)
    }

    /// The offer in force for exactly this prefix.
    pub fn get(&self, prefix: Prefix, at: UnixMillis) -> Option<Listing<&Offer>> {
        self.in_force(prefix, self.tree.last(prefix)?, at)
    }

    /// The offers in force at `at`, in prefix order, starting at `from`.
    pub fn listings(&self, from: Prefix, at: UnixMillis) -> impl Iterator<Item = Listing<&Offer>> {
        self.tree.from(from).filter_map(move |(prefix, last)| self.in_force(prefix, last, at))
    }

    /// The offer in force of a prefix, given the index of its last entry.
    pub(crate) fn in_force(&self, prefix: Prefix, last: usize, at: UnixMillis) -> Option<Listing<&Offer>> {
        let mut term = self.terms.get(last)?;
        if term.effective_at > at {
            let terms = self.terms.get(self.tree.index_from(prefix)..last)?;
            let begun = terms.partition_point(|term| term.effective_at <= at);
            term = terms.get(begun.checked_sub(1)?)?;
        }
        Some(Listing { prefix, effective_at: term.effective_at, offer: term.offer.as_ref()? })
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

/// Builds a deck from entries, pushed in order.
#[derive(Default)]
struct DeckBuilder {
    deck: Deck,
    tree: TreeBuilder,
    destinations: HashSet<Arc<Destination>, RandomState>,
    /// The destination of the previous entry, as given and as stored: a shortcut, since most entries repeat it.
    latest: Option<(Arc<Destination>, Arc<Destination>)>,
    last: Option<(Prefix, UnixMillis)>,
}

impl DeckBuilder {
    fn push(&mut self, entry: Entry) -> Result<(), DeckError> {
        if self.last.is_some_and(|last| last >= entry.sort_key()) {
            return Err(DeckError::OutOfOrder(entry.prefix));
        }
        self.tree.push(entry.prefix)?;
        self.deck.prefix_count += usize::from(self.last.is_none_or(|(prefix, _)| prefix != entry.prefix));
        self.last = Some(entry.sort_key());
        let offer = entry.offer.map(|offer| self.intern(offer));
        self.deck.terms.push(Term { effective_at: entry.effective_at, offer });
        Ok(())
    }

    fn finish(self) -> Deck {
        let mut deck = self.deck;
        deck.tree = self.tree.finish();
        deck.terms.shrink_to_fit();
        deck
    }

    /// Replaces the destination by an equal one that is already stored.
    fn intern(&mut self, offer: Offer) -> Offer {
        let (minute, connect_fee) = offer.rate.price_key();
        self.deck.max_nanos = self.deck.max_nanos.max(minute).max(connect_fee);
        if let Some((given, stored)) = &self.latest
            && Arc::ptr_eq(given, &offer.destination)
        {
            return Offer { rate: offer.rate, destination: Arc::clone(stored) };
        }
        let given = offer.destination;
        let stored = match self.destinations.get(&given) {
            Some(known) => Arc::clone(known),
            None => {
                self.destinations.insert(Arc::clone(&given));
                self.deck.destinations.push(Arc::clone(&given));
                Arc::clone(&given)
            }
        };
        self.latest = Some((given, Arc::clone(&stored)));
        Offer { rate: offer.rate, destination: stored }
    }
}
