//! The deck in memory: every entry of one upstream's deck, in arrays made for one question, the longest match.
//!
//! ```text
//!   prefixes   3       31      3120        3120        316     49  …     of each entry, sorted
//!   covers     –       0       1           1           1       –   …     the last entry of the nearest that covers it
//!   terms      June    June    June        December    June    May …     since when, and the offer or the end
//!   index      every 16th of the prefixes, every 16th of those, and so on
//! ```
//!
//! The last prefix that does not stand behind a number either covers it, or one of those that cover that prefix does:
//! whatever stands between a number and a prefix of it begins with that prefix too. So one search finds a place, and a
//! few steps from cover to cover find the longest match among the prefixes that are in force.
//!
//! What counts for speed is how often memory is waited for. The index stays in the processor's caches, so a search
//! waits once for a stretch of the prefixes and once for the term.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::leaf::{self, Damaged};
use crate::{Destination, Entry, Listing, Moment, Offer, Prefix};

/// An immutable deck; see the top of this module.
#[derive(Default)]
pub struct Deck {
    prefixes: Vec<Prefix>,
    covers: Vec<u32>,
    terms: Vec<Term>,
    /// The finest level first.
    index: Vec<Vec<Prefix>>,
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
/// How many prefixes have one in the level above: two lines of a cache.
const FANOUT: usize = 16;

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
        let level = |level: &Vec<Prefix>| size_of_val(level.as_slice());
        let destination =
            |it: &Arc<Destination>| size_of_val(it) + size_of::<[usize; 2]>() + size_of_val(&**it) + it.name.len();
        level(&self.prefixes)
            + size_of_val(self.covers.as_slice())
            + size_of_val(self.terms.as_slice())
            + self.index.iter().map(level).sum::<usize>()
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
        self.count(|it| it <= prefix)
    }

    /// The index of the first entry at or behind a prefix.
    fn first_from(&self, prefix: Prefix) -> usize {
        self.count(|it| it < prefix)
    }

    /// How many entries come before the first whose prefix is not so. Down the levels, a stretch of each: the one that
    /// begins with the last prefix that is so in the level above.
    fn count(&self, is_so: impl Fn(Prefix) -> bool) -> usize {
        let mut count = 1_usize;
        for level in self.index.iter().rev().chain([&self.prefixes]) {
            let Some(last) = count.checked_sub(1) else { return 0 };
            let (whole, rest) = level.as_chunks::<FANOUT>();
            count = last * FANOUT
                + match whole.get(last) {
                    Some(stretch) => stretch.iter().filter(|it| is_so(**it)).count(),
                    None => rest.iter().filter(|it| is_so(**it)).count(),
                };
        }
        count
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
    destinations: HashSet<Arc<Destination>>,
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
        let mut below = &deck.prefixes;
        let mut index = Vec::new();
        while below.len() > FANOUT {
            index.push(below.iter().copied().step_by(FANOUT).collect());
            below = index.last().unwrap_or(&deck.prefixes);
        }
        deck.index = index;
        deck
    }

    /// The same offer, with a destination that equal ones share.
    fn shared(&mut self, offer: Offer) -> Offer {
        let (minute, connect_fee) = offer.rate.order();
        self.deck.most_nanos = self.deck.most_nanos.max(minute).max(connect_fee);
        if let Some(known) = self.destinations.get(&offer.destination) {
            return Offer { rate: offer.rate, destination: Arc::clone(known) };
        }
        self.destinations.insert(Arc::clone(&offer.destination));
        self.deck.destinations.push(Arc::clone(&offer.destination));
        offer
    }
}
