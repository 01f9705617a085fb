//! The deck in memory: every prefix of one upstream with its entries, in arrays made for one question, the longest
//! match.
//!
//! ```text
//!   prefixes   3      31     3120   316    49  …       sorted; every 64th again in `samples`
//!   slots      –,0    0,1    1,2    1,4    –,5 …       the nearest prefix that covers it, and where its terms begin
//!   terms      2024-01-01 #0   2024-03-01 #7   2024-06-01 end …
//!   offers     #0 …                                    each different one once
//! ```
//!
//! The last prefix that does not stand behind a number either covers it, or one of those that cover that prefix does:
//! whatever stands between a number and a prefix of it begins with that prefix too. So one search finds a place, and a
//! few steps from cover to cover find the longest match among the prefixes that are in force.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::leaf::{self, Damaged};
use crate::{Destination, Entry, Listing, Moment, Offer, Prefix};

/// An immutable deck; see the top of this module.
#[derive(Default)]
pub struct Deck {
    prefixes: Vec<Prefix>,
    samples: Vec<Prefix>,
    slots: Vec<Slot>,
    terms: Vec<Term>,
    offers: Vec<Offer>,
    destinations: Vec<Arc<Destination>>,
    most_nanos: i64,
}

#[derive(Clone, Copy)]
struct Slot {
    /// The index of the nearest prefix that covers this one, or [`NONE`].
    cover: u32,
    first_term: u32,
}

#[derive(Clone, Copy)]
struct Term {
    effective_at: Moment,
    /// The index of the offer, or [`NONE`] for an end.
    offer: u32,
}

const NONE: u32 = u32::MAX;
/// So few that the samples of a million prefixes stay in a processor's cache, so near that the rest is a short search.
const SAMPLED: usize = 64;

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
        self.prefixes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    pub fn destinations(&self) -> &[Arc<Destination>] {
        &self.destinations
    }

    /// Every different offer, in no order that means anything.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// The highest price of a minute or a connection.
    pub(crate) fn most_nanos(&self) -> i64 {
        self.most_nanos
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        let texts: usize = self.destinations.iter().map(|destination| destination.name.len() + 16).sum();
        size_of_val(self.prefixes.as_slice())
            + size_of_val(self.samples.as_slice())
            + size_of_val(self.slots.as_slice())
            + size_of_val(self.terms.as_slice())
            + size_of_val(self.offers.as_slice())
            + self.destinations.len() * (size_of::<Arc<Destination>>() + size_of::<Destination>())
            + texts
    }

    /// The longest prefix of `number` that has an offer in force at the moment.
    pub fn find(&self, number: Prefix, at: Moment) -> Option<Listing<&Offer>> {
        let mut index = self.not_behind(number).checked_sub(1)?;
        loop {
            let prefix = *self.prefixes.get(index)?;
            if prefix.covers(number)
                && let Some(listing) = self.in_force(index, at)
            {
                return Some(listing);
            }
            index = match self.slots.get(index)?.cover {
                NONE => return None,
                cover => cover as usize,
            };
        }
    }

    /// What is in force for exactly this prefix.
    pub fn at(&self, prefix: Prefix, at: Moment) -> Option<Listing<&Offer>> {
        let index = self.not_behind(prefix).checked_sub(1)?;
        (self.prefixes.get(index) == Some(&prefix)).then(|| self.in_force(index, at)).flatten()
    }

    /// What is in force at the moment, in order, from a prefix on.
    pub fn listings(&self, from: Prefix, at: Moment) -> impl Iterator<Item = Listing<&Offer>> {
        (self.index_from(from)..self.len()).filter_map(move |index| self.in_force(index, at))
    }

    /// Every entry, in order, from a prefix on.
    pub fn entries(&self, from: Prefix) -> impl Iterator<Item = Entry> {
        (self.index_from(from)..self.len()).flat_map(move |index| {
            let prefix = self.prefixes.get(index).copied().unwrap_or(from);
            self.terms_of(index).iter().map(move |term| Entry {
                prefix,
                effective_at: term.effective_at,
                offer: self.offers.get(term.offer as usize).cloned(),
            })
        })
    }

    /// How many prefixes are not behind this one.
    fn not_behind(&self, prefix: Prefix) -> usize {
        let begin = self.samples.partition_point(|sample| *sample <= prefix).saturating_sub(1) * SAMPLED;
        let end = (begin + SAMPLED).min(self.prefixes.len());
        let near = self.prefixes.get(begin..end).unwrap_or_default();
        begin + near.partition_point(|near| *near <= prefix)
    }

    fn index_from(&self, prefix: Prefix) -> usize {
        let not_behind = self.not_behind(prefix);
        match not_behind.checked_sub(1).and_then(|index| self.prefixes.get(index)) {
            Some(found) if *found == prefix => not_behind - 1,
            _ => not_behind,
        }
    }

    fn terms_of(&self, index: usize) -> &[Term] {
        let begin = self.slots.get(index).map_or(self.terms.len(), |slot| slot.first_term as usize);
        let end = self.slots.get(index + 1).map_or(self.terms.len(), |slot| slot.first_term as usize);
        self.terms.get(begin..end).unwrap_or_default()
    }

    fn in_force(&self, index: usize, at: Moment) -> Option<Listing<&Offer>> {
        let terms = self.terms_of(index);
        let begun = terms.partition_point(|term| term.effective_at <= at);
        let term = terms.get(begun.checked_sub(1)?)?;
        let offer = self.offers.get(term.offer as usize)?;
        Some(Listing { prefix: *self.prefixes.get(index)?, effective_at: term.effective_at, offer })
    }
}

impl fmt::Debug for Deck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deck of {} prefixes, {} offers, {} bytes", self.len(), self.offers.len(), self.bytes())
    }
}

/// Takes entries one after the other, or whole leaves, and makes a deck of them.
#[derive(Default)]
pub struct DeckBuilder {
    deck: Deck,
    /// The indices of the prefixes that cover what comes next, the nearest last.
    covers: Vec<u32>,
    offers: HashMap<Offer, u32>,
    destinations: HashSet<Arc<Destination>>,
    last: Option<(Prefix, Moment)>,
}

impl DeckBuilder {
    pub fn push(&mut self, entry: Entry) -> Result<(), BadDeck> {
        if self.last.is_some_and(|last| last >= entry.place()) {
            return Err(BadDeck::Disorder(entry.prefix));
        }
        if self.last.is_none_or(|(prefix, _)| prefix != entry.prefix) {
            self.begin(entry.prefix)?;
        }
        self.last = Some(entry.place());
        let offer = entry.offer.map_or(Ok(NONE), |offer| self.shared(offer))?;
        self.deck.terms.push(Term { effective_at: entry.effective_at, offer });
        Ok(())
    }

    pub fn push_leaf(&mut self, leaf: &[u8]) -> Result<(), BadDeck> {
        leaf::decode(leaf)?.into_iter().try_for_each(|entry| self.push(entry))
    }

    pub fn finish(self) -> Deck {
        let mut deck = self.deck;
        deck.samples = deck.prefixes.iter().copied().step_by(SAMPLED).collect();
        deck.prefixes.shrink_to_fit();
        deck.slots.shrink_to_fit();
        deck.terms.shrink_to_fit();
        deck.offers.shrink_to_fit();
        deck
    }

    fn begin(&mut self, prefix: Prefix) -> Result<(), BadDeck> {
        let covering = |index: &u32| self.deck.prefixes.get(*index as usize).is_some_and(|cover| cover.covers(prefix));
        while self.covers.pop_if(|index| !covering(index)).is_some() {}
        let slot =
            Slot { cover: self.covers.last().copied().unwrap_or(NONE), first_term: index(self.deck.terms.len())? };
        self.covers.push(index(self.deck.prefixes.len())?);
        self.deck.slots.push(slot);
        self.deck.prefixes.push(prefix);
        Ok(())
    }

    /// The index of an offer equal to this one.
    fn shared(&mut self, offer: Offer) -> Result<u32, BadDeck> {
        if let Some(known) = self.offers.get(&offer) {
            return Ok(*known);
        }
        let destination = match self.destinations.get(&offer.destination) {
            Some(known) => Arc::clone(known),
            None => {
                self.destinations.insert(Arc::clone(&offer.destination));
                self.deck.destinations.push(Arc::clone(&offer.destination));
                offer.destination
            }
        };
        let offer = Offer { rate: offer.rate, destination };
        let index = index(self.deck.offers.len())?;
        let (minute, connect_fee) = offer.rate.order();
        self.deck.most_nanos = self.deck.most_nanos.max(minute).max(connect_fee);
        self.deck.offers.push(offer.clone());
        self.offers.insert(offer, index);
        Ok(index)
    }
}

/// One that is not [`NONE`].
fn index(length: usize) -> Result<u32, BadDeck> {
    u32::try_from(length).ok().filter(|index| *index != NONE).ok_or(BadDeck::TooMany)
}
