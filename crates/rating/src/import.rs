//! Applies a file of rates to the deck in force. An import never changes past prices.
//!
//! The result is a complete new deck: for each prefix the entry in force at the import and all later ones.
//!
//! - A row with a future date leaves the old price in force until then. A row with a past date takes effect at the
//!   import and keeps its date. From the date of its first row on, old entries of a prefix are dropped.
//! - [`Mode::Replace`]: a prefix that is not in the file ends at the earliest date in the file, but not before the
//!   import. [`Mode::Merge`]: it stays as it is.
//!
//! [`Changes`] counts each prefix once: its price in the old and the new deck when every row of the file is in force.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::vec;

use crate::{Change, Entry, Offer, Prefix, UnixMillis};

/// What happens to prefixes that are not in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Replace,
    Merge,
}

/// Numbers of prefixes by how an import changes their price.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    pub added: u64,
    pub removed: u64,
    pub increased: u64,
    pub decreased: u64,
    pub unchanged: u64,
}

/// Iterates over the entries of the new deck in order; after the last one, [`NextDeck::changes`] is complete.
/// `previous` is empty for the first import. Both inputs must be in the order of [`Entry::sort_key`].
pub fn apply_import<P>(previous: P, file: Vec<Entry>, mode: Mode, at: UnixMillis) -> NextDeck<P::IntoIter>
where
    P: IntoIterator<Item = Entry>,
{
    let dates = || file.iter().map(|entry| entry.effective_at);
    let earliest = dates().min().unwrap_or(at).max(at);
    let latest = dates().max().unwrap_or(at).max(at);
    NextDeck {
        absent_end: (mode == Mode::Replace).then_some(earliest),
        settled: latest,
        at,
        previous: previous.into_iter().peekable(),
        file: file.into_iter().peekable(),
        ready: VecDeque::new(),
        changes: Changes::default(),
    }
}

/// The entries of the deck after an import; see [`apply_import`].
pub struct NextDeck<P: Iterator<Item = Entry>> {
    at: UnixMillis,
    /// The time when every row of the file is in force.
    settled: UnixMillis,
    /// When prefixes that are not in the file end.
    absent_end: Option<UnixMillis>,
    previous: Peekable<P>,
    file: Peekable<vec::IntoIter<Entry>>,
    ready: VecDeque<Entry>,
    changes: Changes,
}

impl<P: Iterator<Item = Entry>> NextDeck<P> {
    /// The changes of the prefixes seen so far; complete once the iterator is exhausted.
    pub fn changes(&self) -> Changes {
        self.changes
    }

    fn import_prefix(&mut self, prefix: Prefix) {
        let old = take_prefix(&mut self.previous, prefix);
        let rows = take_prefix(&mut self.file, prefix);
        let before = offer_at(&old, self.settled).cloned();
        let new = self.next_entries(prefix, old, rows);
        let after = offer_at(&new, self.settled);
        let counter = match (&before, after) {
            (None, None) => None,
            (Some(_), None) => Some(&mut self.changes.removed),
            (None, Some(_)) => Some(&mut self.changes.added),
            (Some(before), Some(after)) => Some(match Change::between(&before.rate, &after.rate) {
                Some(Change::Increased) => &mut self.changes.increased,
                Some(Change::Decreased) => &mut self.changes.decreased,
                _ => &mut self.changes.unchanged,
            }),
        };
        if let Some(counter) = counter {
            *counter += 1;
        }
        self.ready.extend(new);
    }

    /// The new entries of one prefix: the one in force at the import and all later ones.
    fn next_entries(&self, prefix: Prefix, old: Vec<Entry>, rows: Vec<Entry>) -> Vec<Entry> {
        let until = rows.first().map(|row| row.effective_at.max(self.at)).or(self.absent_end);
        let ends = rows.is_empty() && until.is_some();
        let mut new = self.without_past(old);
        if let Some(until) = until {
            new.retain(|entry| entry.effective_at.max(self.at) < until);
            if ends && !new.is_empty() {
                new.push(Entry { prefix, effective_at: until, offer: None });
            }
        }
        new.extend(self.without_past(rows));
        without_redundant_ends(new)
    }

    /// Drops superseded entries: of those that have begun, only the last stays.
    fn without_past(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        let begun = entries.partition_point(|entry| entry.effective_at <= self.at);
        entries.drain(..begun.saturating_sub(1));
        entries
    }
}

impl<P: Iterator<Item = Entry>> Iterator for NextDeck<P> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while self.ready.is_empty() {
            let prefix = match (self.previous.peek(), self.file.peek()) {
                (Some(old), Some(row)) => old.prefix.min(row.prefix),
                (Some(one), None) | (None, Some(one)) => one.prefix,
                (None, None) => return None,
            };
            self.import_prefix(prefix);
        }
        self.ready.pop_front()
    }
}

fn take_prefix<I: Iterator<Item = Entry>>(entries: &mut Peekable<I>, prefix: Prefix) -> Vec<Entry> {
    std::iter::from_fn(|| entries.next_if(|entry| entry.prefix == prefix)).collect()
}

fn offer_at(entries: &[Entry], at: UnixMillis) -> Option<&Offer> {
    entries.iter().rev().find(|entry| entry.effective_at <= at)?.offer.as_ref()
}

/// Drops ends that do not follow an offer.
fn without_redundant_ends(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut has_offer = false;
    entries.retain(|entry| {
        let keep = has_offer || entry.offer.is_some();
        has_offer = entry.offer.is_some();
        keep
    });
    entries
}
