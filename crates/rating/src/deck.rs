//! The deck in memory: every entry of one upstream's deck, in arrays made for one question, the longest match.
//!
//! ```text
//!   prefixes   3      31     3120   3120       316    49  …   of each entry, sorted
//!   covers     –      0      1      1          1      –   …   the last entry of the nearest that covers it
//!   terms      June   June   June   December   June   May …   since when, and the offer or the end
//!   begins     how many entries come before those that begin with 0, with 1, and so on
//! ```
//!
//! The last prefix that does not stand behind a number either covers it, or one of those that cover that prefix does:
//! whatever stands between a number and a prefix of it begins with that prefix too. So one search finds a place, and a
//! few steps from cover to cover find the longest match among the prefixes that are in force.
//!
//! A table of the first digits, about as long as the deck, says where to search, so only a few prefixes have to be
//! compared.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::leaf::{self, Damaged};
use crate::{Destination, Entry, Listing, Moment, Offer, Prefix};

/// An immutable deck; see the top of this module.
#[derive(Default)]
pub struct Deck {
    prefixes: Vec<Prefix>,
    covers: Vec<u32>,
    terms: Vec<Term>,
    begins: Vec<u32>,
    /// How far a prefix is shifted to leave its place in `begins`.
    begins_shift: u32,
    prefix_count: usize,
    destinations: Vec<Arc<Destination>>,
    most_nanos: i64,
}

struct Term {
    effective_at: Moment,
    /// Nothing for an end.
    offer: Option<Offer>,
}

/// In place of an entry that covers.
const NONE: u32 = u32::MAX;

/// Entries that make no deck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadDeck {
    /// This one does not stand behind the one before it.
    Disorder(Prefix),
    /// More than four thousand million.
    TooMany,
    Damaged(Damaged),
}

impl fmt::Display for BadDeck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadDeck::Disorder(prefix) => write!(f, "the entries are out of order at {prefix}"),
            BadDeck::TooMany => f.write_str("there are too many entries"),
            BadDeck::Damaged(damaged) => damaged.fmt(f),
        }
    }
}

impl std::error::Error for BadDeck {}

impl From<Damaged> for BadDeck {
    fn from(damaged: Damaged) -> BadDeck {
        BadDeck::Damaged(damaged)
    }
}

impl Deck {
    /// Of entries in the order of [`Entry::place`].
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Result<Deck, BadDeck> {
        let mut builder = DeckBuilder::default();
        entries.into_iter().try_for_each(|entry| builder.push(entry))?;
        Ok(builder.finish())
    }

    /// Of leaves in the order of their prefixes.
    pub fn from_leaves<B: AsRef<[u8]>>(leaves: impl IntoIterator<Item = B>) -> Result<Deck, BadDeck> {
        let mut builder = DeckBuilder::default();
        leaves.into_iter().try_for_each(|leaf| builder.push_leaf(leaf.as_ref()))?;
        Ok(builder.finish())
    }

    /// How many prefixes.
    pub fn len(&self) -> usize {
        self.prefix_count
    }

    pub fn is_empty(&self) -> bool {
        self.prefix_count == 0
    }

    pub fn destinations(&self) -> &[Arc<Destination>] {
        &self.destinations
    }

    /// The highest price of a minute or a connection.
    pub(crate) fn most_nanos(&self) -> i64 {
        self.most_nanos
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        let destination = |it: &Arc<Destination>| {
            size_of_val(it) + size_of::<[usize; 2]>() + size_of::<Destination>() + it.name.len()
        };
        size_of_val(self.prefixes.as_slice())
            + size_of_val(self.covers.as_slice())
            + size_of_val(self.terms.as_slice())
            + size_of_val(self.begins.as_slice())
            + self.destinations.iter().map(destination).sum::<usize>()
    }

    /// The longest prefix of `number` that has an offer in force at the moment.
    pub fn find(&self, number: Prefix, at: Moment) -> Option<Listing<&Offer>> {
        let mut last = self.not_behind(number).checked_sub(1)?;
        loop {
            let prefix = *self.prefixes.get(last)?;
            if prefix.covers(number)
                && let Some(listing) = self.in_force(prefix, last, at)
            {
                return Some(listing);
            }
            last = match *self.covers.get(last)? {
                NONE => return None,
                cover => cover as usize,
            };
        }
    }

    /// What is in force for exactly this prefix.
    pub fn at(&self, prefix: Prefix, at: Moment) -> Option<Listing<&Offer>> {
        let last = self.not_behind(prefix).checked_sub(1)?;
        if self.prefixes.get(last) == Some(&prefix) { self.in_force(prefix, last, at) } else { None }
    }

    /// What is in force at the moment, in order, from a prefix on.
    pub fn listings(&self, from: Prefix, at: Moment) -> impl Iterator<Item = Listing<&Offer>> {
        (self.first_from(from)..self.prefixes.len()).filter_map(move |index| {
            let prefix = *self.prefixes.get(index)?;
            let is_last = self.prefixes.get(index + 1) != Some(&prefix);
            if is_last { self.in_force(prefix, index, at) } else { None }
        })
    }

    /// Every entry, in order, from a prefix on.
    pub fn entries(&self, from: Prefix) -> impl Iterator<Item = Entry> {
        let begin = self.first_from(from);
        let prefixes = self.prefixes.iter().skip(begin);
        prefixes.zip(self.terms.iter().skip(begin)).map(|(prefix, term)| Entry {
            prefix: *prefix,
            effective_at: term.effective_at,
            offer: term.offer.clone(),
        })
    }

    /// How many entries have a prefix that does not stand behind this one.
    fn not_behind(&self, prefix: Prefix) -> usize {
        let (begin, near) = self.near(prefix);
        begin + near.partition_point(|it| *it <= prefix)
    }

    /// The index of the first entry at or behind a prefix.
    fn first_from(&self, prefix: Prefix) -> usize {
        let (begin, near) = self.near(prefix);
        begin + near.partition_point(|it| *it < prefix)
    }

    /// Those that share the first digits with a prefix, and how many come before them.
    fn near(&self, prefix: Prefix) -> (usize, &[Prefix]) {
        let place = (prefix.code() >> self.begins_shift) as usize;
        let begin = |place| self.begins.get(place).map_or(0, |begin| *begin as usize);
        let (begin, end) = (begin(place), begin(place + 1));
        (begin, self.prefixes.get(begin..end).unwrap_or_default())
    }

    /// Of a prefix whose last entry is given.
    fn in_force(&self, prefix: Prefix, last: usize, at: Moment) -> Option<Listing<&Offer>> {
        let mut term = self.terms.get(last)?;
        if term.effective_at > at {
            let terms = self.terms.get(self.first_from(prefix)..last)?;
            let begun = terms.partition_point(|term| term.effective_at <= at);
            term = terms.get(begun.checked_sub(1)?)?;
        }
        Some(Listing { prefix, effective_at: term.effective_at, offer: term.offer.as_ref()? })
    }
}

impl Deck {
    /// By as many digits as keep the table within twice the length of the deck.
    fn index_first_digits(&mut self) {
        let digits = (2 * self.prefixes.len()).checked_ilog2().unwrap_or(0) / 4;
        self.begins_shift = 4 * (Prefix::MOST_DIGITS - digits.min(Prefix::MOST_DIGITS));
        let places = 1 << (4 * digits);
        self.begins = Vec::with_capacity(places + 1);
        let (mut before, mut rest) = (0, self.prefixes.iter().peekable());
        for place in 0..=places as u64 {
            while rest.next_if(|prefix| prefix.code() >> self.begins_shift < place).is_some() {
                before += 1;
            }
            self.begins.push(before);
        }
    }
}

impl fmt::Debug for Deck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deck of {} prefixes, {} bytes", self.len(), self.bytes())
    }
}

/// Takes entries one after the other, or whole leaves, and makes a deck of them.
#[derive(Default)]
pub struct DeckBuilder {
    deck: Deck,
    /// The last entries so far of the prefixes that cover what comes next, the nearest last.
    open: Vec<u32>,
    destinations: HashSet<Arc<Destination>, RandomState>,
    /// The destination of the entry before, as it came and as it is kept: mostly the next one's too.
    latest: Option<(Arc<Destination>, Arc<Destination>)>,
    last: Option<(Prefix, Moment)>,
}

impl DeckBuilder {
    pub fn push(&mut self, entry: Entry) -> Result<(), BadDeck> {
        if self.last.is_some_and(|last| last >= entry.place()) {
            return Err(BadDeck::Disorder(entry.prefix));
        }
        let place = u32::try_from(self.deck.terms.len()).ok().filter(|place| *place != NONE).ok_or(BadDeck::TooMany)?;
        if self.last.is_some_and(|(prefix, _)| prefix == entry.prefix) {
            self.open.pop();
        } else {
            self.deck.prefix_count += 1;
        }
        let prefixes = &self.deck.prefixes;
        let is_past = |open: &mut u32| !prefixes.get(*open as usize).is_some_and(|cover| cover.covers(entry.prefix));
        while self.open.pop_if(is_past).is_some() {}
        self.deck.covers.push(self.open.last().copied().unwrap_or(NONE));
        self.open.push(place);
        self.last = Some(entry.place());
        let offer = entry.offer.map(|offer| self.shared(offer));
        self.deck.prefixes.push(entry.prefix);
        self.deck.terms.push(Term { effective_at: entry.effective_at, offer });
        Ok(())
    }

    pub fn push_leaf(&mut self, leaf: &[u8]) -> Result<(), BadDeck> {
        leaf::decode(leaf)?.into_iter().try_for_each(|entry| self.push(entry))
    }

    pub fn finish(self) -> Deck {
        let mut deck = self.deck;
        deck.prefixes.shrink_to_fit();
        deck.covers.shrink_to_fit();
        deck.terms.shrink_to_fit();
        deck.index_first_digits();
        deck
    }

    /// The same offer, with a destination that equal ones share.
    fn shared(&mut self, offer: Offer) -> Offer {
        let (minute, connect_fee) = offer.rate.order();
        self.deck.most_nanos = self.deck.most_nanos.max(minute).max(connect_fee);
        if let Some((given, kept)) = &self.latest
            && Arc::ptr_eq(given, &offer.destination)
        {
            return Offer { rate: offer.rate, destination: Arc::clone(kept) };
        }
        let given = offer.destination;
        let kept = match self.destinations.get(&given) {
            Some(known) => Arc::clone(known),
            None => {
                self.destinations.insert(Arc::clone(&given));
                self.deck.destinations.push(Arc::clone(&given));
                Arc::clone(&given)
            }
        };
        self.latest = Some((given, Arc::clone(&kept)));
        Offer { rate: offer.rate, destination: kept }
    }
}
