//! Notice of increases: a price that a new deck raises holds until the customer has known of it for long enough.
//!
//! A deck that replaces another one leaves a [`Replacement`]: what the deck before would have said of the prefixes that
//! it changes. So the price of a number at a time can be computed as if that deck had not come. What a customer was
//! promised follows from these prices, from the first replacement whose notice is not over to the deck in force: a price
//! takes the place of the promised one unless any part of it is higher and comes from a deck whose notice is not over.
//!
//! ```text
//!   before the first replacement   0.010   promised
//!   after it                       0.020   higher, so it counts when the notice of the first replacement ends
//!   after the second one           0.015   higher than promised too; 0.010 until then, and 0.015 from then on
//! ```
//!
//! Only decks are replaced here: exchange rates, markups and plans are those of the time, on both sides of the comparison.

use std::sync::Arc;

use crate::{Deck, DeckError, Entry, Prefix, UnixMillis};

/// How long customers know of an increase before it counts; by default not at all.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Notice {
    /// Since when, and how long in milliseconds; in order. The first one also counts before its time.
    steps: Arc<[(UnixMillis, UnixMillis)]>,
}

impl Notice {
    pub const DAY_MILLIS: UnixMillis = 86_400_000;

    /// A notice of this many milliseconds.
    pub fn new(millis: UnixMillis) -> Notice {
        Notice { steps: Arc::new([(UnixMillis::MIN, millis)]) }
    }

    pub fn of_days(days: i64) -> Notice {
        Notice::new(days.saturating_mul(Notice::DAY_MILLIS))
    }

    /// A notice that has changed: since when, and how long in milliseconds. What was announced before a change keeps the
    /// notice of then.
    pub fn changing(mut steps: Vec<(UnixMillis, UnixMillis)>) -> Notice {
        steps.sort_unstable();
        Notice { steps: steps.into() }
    }

    /// The longer of two notices at every time.
    pub fn longer(&self, other: &Notice) -> Notice {
        let times = self.steps.iter().chain(&*other.steps).map(|(since, _)| *since);
        Notice::changing(times.map(|since| (since, self.length(since).max(other.length(since)))).collect())
    }

    /// Whether any increase ever needs notice.
    pub fn is_any(&self) -> bool {
        self.longest() > 0
    }

    /// When an increase counts that is announced at a time.
    pub fn end(&self, announced_at: UnixMillis) -> UnixMillis {
        announced_at.saturating_add(self.length(announced_at))
    }

    fn length(&self, at: UnixMillis) -> UnixMillis {
        let begun = self.steps.partition_point(|(since, _)| *since <= at).max(1);
        self.steps.get(begun - 1).map_or(0, |(_, millis)| *millis)
    }

    fn longest(&self) -> UnixMillis {
        self.steps.iter().map(|(_, millis)| *millis).max().unwrap_or(0)
    }
}

/// A deck that took the place of another one.
#[derive(Clone, Debug)]
pub struct Replacement<K> {
    pub upstream: K,
    /// When the new deck came into force, and customers were told.
    pub at: UnixMillis,
    /// Its increases need no notice.
    pub is_waived: bool,
    /// What the deck before would have said since then, of the prefixes that the new one changes; see
    /// [`NextDeck::into_replaced`](crate::NextDeck::into_replaced).
    pub before: Arc<Deck>,
}

impl<K> Replacement<K> {
    /// Whether its increases do not count yet.
    pub(crate) fn is_bound(&self, at: UnixMillis, notice: &Notice) -> bool {
        !self.is_waived && notice.end(self.at) > at
    }
}

/// Why a customer pays another price than the decks in force say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// The price follows from the decks that were in force at this time.
    pub as_of: UnixMillis,
    /// When the notice ends that holds it.
    pub until: UnixMillis,
}

/// The replacements of all upstreams whose notice may not be over.
#[derive(Debug)]
pub struct Replacements<K> {
    /// In order of time.
    all: Vec<Replacement<K>>,
    /// When the rates of a prefix were changed: each of its entries is a time in `all`, without an offer.
    changes: Deck,
}

impl<K> Default for Replacements<K> {
    fn default() -> Self {
        Replacements { all: Vec::new(), changes: Deck::default() }
    }
}

impl<K> Replacements<K> {
    pub fn new(mut all: Vec<Replacement<K>>) -> Result<Replacements<K>, DeckError> {
        all.sort_by_key(|one| one.at);
        let changed = |one: &Replacement<K>| {
            let at = one.at;
            one.before.prefixes(Prefix::FIRST).map(move |prefix| (prefix, at)).collect::<Vec<_>>()
        };
        let mut changes: Vec<(Prefix, UnixMillis)> = all.iter().flat_map(changed).collect();
        changes.sort_unstable();
        changes.dedup();
        let changes = Deck::new(changes.into_iter().map(|(prefix, at)| Entry::new(prefix, at, None)))?;
        Ok(Replacements { all, changes })
    }

    /// In order of time.
    pub fn all(&self) -> &[Replacement<K>] {
        &self.all
    }

    /// Memory used, in bytes.
    pub fn bytes(&self) -> usize {
        self.changes.bytes() + self.all.iter().map(|one| size_of_val(one) + one.before.bytes()).sum::<usize>()
    }

    /// Whether some change of a number may not count yet: one search, which mostly finds nothing.
    pub(crate) fn may_hold(&self, number: Prefix, at: UnixMillis, notice: &Notice) -> bool {
        let longest = notice.longest();
        !self.all.is_empty() && self.changes.last_times(number).any(|changed| changed.saturating_add(longest) > at)
    }

    /// The changes of a number, oldest first, from the first one that does not count yet.
    pub(crate) fn pending(&self, number: Prefix, at: UnixMillis, notice: &Notice) -> Vec<&Replacement<K>> {
        let mut times: Vec<UnixMillis> = self.changes.times(number).collect();
        times.sort_unstable();
        times.dedup();
        let of_time = |time: UnixMillis| {
            let first = self.all.partition_point(|one| one.at < time);
            self.all.iter().skip(first).take_while(move |one| one.at == time)
        };
        times.into_iter().flat_map(of_time).skip_while(|one| !one.is_bound(at, notice)).collect()
    }

    /// The prefixes that were changed, in order, starting at `from`.
    pub(crate) fn prefixes(&self, from: Prefix) -> impl Iterator<Item = Prefix> {
        self.changes.prefixes(from)
    }
}
