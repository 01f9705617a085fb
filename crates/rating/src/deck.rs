//! A deck in memory: all entries of one upstream's deck, in arrays built for longest-prefix match.
//!
//! ```text
//!   prefixes       3      31     3120   3120       316    49  …   of each entry, sorted
//!   parents        –      0      1      1          1      –   …   the last entry of the next shorter prefix
//!   terms          June   June   June   December   June   May …   effective_at, and the offer or an end
//!   bucket_starts  number of entries before those that begin with 0, with 1, and so on
//! ```
//!
//! The longest match of a number, if any, is the last prefix that does not sort after it, or one of that prefix's
//! parents: everything between a prefix and a number that it covers begins with that prefix too. So one binary search
//! and a few steps from parent to parent find it.
//!
//! `bucket_starts`, at most twice as long as the deck, narrows the binary search to a few prefixes.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::leaf::{self, LeafError};
use crate::{DeckTimes, Destination, Entry, Listing, Offer, Prefix, UnixMillis};

/// An immutable deck; the module describes its layout.
#[derive(Default)]
pub struct Deck {
    prefixes: Vec<Prefix>,
    parents: Vec<u32>,
    terms: Vec<Term>,
    bucket_starts: Vec<u32>,
    /// The right shift from a prefix's code to its index in `bucket_starts`.
    bucket_shift: u32,
    prefix_count: usize,
    destinations: Vec<Arc<Destination>>,
    max_nanos: i64,
}

struct Term {
    effective_at: UnixMillis,
    /// `None` for an end.
    offer: Option<Offer>,
}

/// The parent of an entry without one.
const NO_PARENT: u32 = u32::MAX;

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
        size_of_val(self.prefixes.as_slice())
            + size_of_val(self.parents.as_slice())
            + size_of_val(self.terms.as_slice())
            + size_of_val(self.bucket_starts.as_slice())
            + self.destinations.iter().map(destination).sum::<usize>()
    }

    /// Longest-prefix match: the longest prefix of `number` with an offer in force at `at`.
    pub fn find(&self, number: Prefix, at: UnixMillis) -> Option<Listing<&Offer>> {
        // A loop of its own, twice as fast as `covering`: every call is priced by it.
        let mut last = self.count_up_to(number).checked_sub(1)?;
        loop {
            let prefix = *self.prefixes.get(last)?;
            if prefix.covers(number)
                && let Some(listing) = self.in_force(prefix, last, at)
            {
                return Some(listing);
            }
            last = self.parent(last)?;
        }
    }

    /// The prefixes of a number that have entries, longest first, each with the index of its last entry.
    pub(crate) fn covering(&self, number: Prefix) -> impl Iterator<Item = (Prefix, usize)> {
        let (first, mut visited) = (self.count_up_to(number).checked_sub(1), None);
        std::iter::from_fn(move || {
            loop {
                let last = match visited {
                    None => first?,
                    Some(child) => self.parent(child)?,
                };
                visited = Some(last);
                let prefix = *self.prefixes.get(last)?;
                if prefix.covers(number) {
                    return Some((prefix, last));
                }
            }
        })
    }

    /// The last entry of the next shorter prefix.
    fn parent(&self, index: usize) -> Option<usize> {
        match *self.parents.get(index)? {
            NO_PARENT => None,
            parent => Some(parent as usize),
        }
    }

    /// The times of the last entries of the prefixes of a number.
    pub(crate) fn last_times(&self, number: Prefix) -> impl Iterator<Item = UnixMillis> {
        self.covering(number).filter_map(move |(_, last)| Some(self.terms.get(last)?.effective_at))
    }

    /// The times of all entries of the prefixes of a number.
    pub(crate) fn times(&self, number: Prefix) -> impl Iterator<Item = UnixMillis> {
        self.covering(number).flat_map(move |(prefix, last)| {
            let terms = self.terms.get(self.index_from(prefix)..=last).unwrap_or_default();
            terms.iter().map(|term| term.effective_at)
        })
    }

    /// The prefixes that have entries, in order, starting at `from`.
    pub(crate) fn prefixes(&self, from: Prefix) -> impl Iterator<Item = Prefix> {
        let entries = self.prefixes.get(self.index_from(from)..).unwrap_or_default();
        entries.chunk_by(|one, next| one == next).filter_map(|entries| entries.first().copied())
    }

    /// The offer in force for exactly this prefix.
    pub fn get(&self, prefix: Prefix, at: UnixMillis) -> Option<Listing<&Offer>> {
        let last = self.count_up_to(prefix).checked_sub(1)?;
        if self.prefixes.get(last) == Some(&prefix) { self.in_force(prefix, last, at) } else { None }
    }

    /// The offers in force at `at`, in prefix order, starting at `from`.
    pub fn listings(&self, from: Prefix, at: UnixMillis) -> impl Iterator<Item = Listing<&Offer>> {
        (self.index_from(from)..self.prefixes.len()).filter_map(move |index| {
            let prefix = *self.prefixes.get(index)?;
            let is_last = self.prefixes.get(index + 1) != Some(&prefix);
            if is_last { self.in_force(prefix, index, at) } else { None }
        })
    }

    /// The number of entries whose prefix does not sort after this one.
    fn count_up_to(&self, prefix: Prefix) -> usize {
        let (begin, bucket) = self.bucket(prefix);
        begin + bucket.partition_point(|it| *it <= prefix)
    }

    /// The index of the first entry whose prefix does not sort before this one.
    fn index_from(&self, prefix: Prefix) -> usize {
        let (begin, bucket) = self.bucket(prefix);
        begin + bucket.partition_point(|it| *it < prefix)
    }

    /// The prefixes with the same first digits, and the index of the first of them.
    fn bucket(&self, prefix: Prefix) -> (usize, &[Prefix]) {
        let bucket = (prefix.code() >> self.bucket_shift) as usize;
        let start = |bucket| self.bucket_starts.get(bucket).map_or(0, |start| *start as usize);
        let (begin, end) = (start(bucket), start(bucket + 1));
        (begin, self.prefixes.get(begin..end).unwrap_or_default())
    }

    /// The offer in force of a prefix, given the index of its last entry.
    pub(crate) fn in_force(&self, prefix: Prefix, last: usize, at: UnixMillis) -> Option<Listing<&Offer>> {
        let mut term = self.terms.get(last)?;
        if term.effective_at > at {
            let terms = self.terms.get(self.index_from(prefix)..last)?;
            let begun = terms.partition_point(|term| term.effective_at <= at);
            term = terms.get(begun.checked_sub(1)?)?;
        }
        Some(Listing { prefix, effective_at: term.effective_at, offer: term.offer.as_ref()? })
    }
}

impl Deck {
    /// Uses as many digits as keep the table within twice the length of the deck.
    fn build_buckets(&mut self) {
        let digits = (2 * self.prefixes.len()).checked_ilog2().unwrap_or(0) / 4;
        self.bucket_shift = 4 * (Prefix::MAX_DIGITS - digits.min(Prefix::MAX_DIGITS));
        let buckets = 1 << (4 * digits);
        self.bucket_starts = Vec::with_capacity(buckets + 1);
        let (mut before, mut rest) = (0, self.prefixes.iter().peekable());
        for bucket in 0..=buckets as u64 {
            while rest.next_if(|prefix| prefix.code() >> self.bucket_shift < bucket).is_some() {
                before += 1;
            }
            self.bucket_starts.push(before);
        }
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
    /// Indices of the latest entries of the prefixes that may cover the next entry, longest last.
    open: Vec<u32>,
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
        let index = u32::try_from(self.deck.terms.len()).ok().filter(|index| *index != NO_PARENT);
        let index = index.ok_or(DeckError::TooManyEntries)?;
        if self.last.is_some_and(|(prefix, _)| prefix == entry.prefix) {
            self.open.pop();
        } else {
            self.deck.prefix_count += 1;
        }
        let prefixes = &self.deck.prefixes;
        let is_past = |open: &mut u32| !prefixes.get(*open as usize).is_some_and(|cover| cover.covers(entry.prefix));
        while self.open.pop_if(is_past).is_some() {}
        self.deck.parents.push(self.open.last().copied().unwrap_or(NO_PARENT));
        self.open.push(index);
        self.last = Some(entry.sort_key());
        let offer = entry.offer.map(|offer| self.intern(offer));
        self.deck.prefixes.push(entry.prefix);
        self.deck.terms.push(Term { effective_at: entry.effective_at, offer });
        Ok(())
    }

    fn finish(self) -> Deck {
        let mut deck = self.deck;
        deck.prefixes.shrink_to_fit();
        deck.parents.shrink_to_fit();
        deck.terms.shrink_to_fit();
        deck.build_buckets();
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
