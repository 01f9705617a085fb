//! How one deck follows another: an import never changes what was, only what is to come.
//!
//! From the deck in force, the rows of a file and the moment of the import comes a whole new deck, which holds for each
//! prefix what is in force at that moment and what follows.
//!
//! - A row of the future leaves the old price in force until then. A row of the past counts from the import on, and
//!   shows its own date. From a prefix's first row on, whatever the old deck had planned for it is void.
//! - [`Mode::Replace`]: a prefix that the file does not name ends with the earliest date in the file, but not before
//!   the import. [`Mode::Merge`]: it stays as it is.
//!
//! What changes is counted once for each prefix, by what the old deck and the new one say of the moment at which every
//! row of the file has come into force.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::vec;

use crate::{Change, Entry, Moment, Offer, Prefix};

/// What happens to a prefix that the file does not name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Replace,
    Merge,
}

/// How many prefixes an import touches, and how.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    pub added: u64,
    pub removed: u64,
    pub increased: u64,
    pub decreased: u64,
    pub unchanged: u64,
}

/// The entries of the deck that follows `previous` (which is empty for the first), in order, and after the last one
/// the [`Changes`]. Both `previous` and `file` come in the order of [`Entry::place`].
pub fn succeed<P>(previous: P, file: Vec<Entry>, mode: Mode, at: Moment) -> Succession<P::IntoIter>
where
    P: IntoIterator<Item = Entry>,
{
    let moments = || file.iter().map(|entry| entry.effective_at);
    let earliest = moments().min().unwrap_or(at).max(at);
    let latest = moments().max().unwrap_or(at).max(at);
    Succession {
        unnamed_end: (mode == Mode::Replace).then_some(earliest),
        settled: latest,
        at,
        previous: previous.into_iter().peekable(),
        file: file.into_iter().peekable(),
        ready: VecDeque::new(),
        changes: Changes::default(),
    }
}

/// See [`succeed`].
pub struct Succession<P: Iterator<Item = Entry>> {
    at: Moment,
    /// When every row of the file is in force.
    settled: Moment,
    /// When a prefix ends that the file does not name.
    unnamed_end: Option<Moment>,
    previous: Peekable<P>,
    file: Peekable<vec::IntoIter<Entry>>,
    ready: VecDeque<Entry>,
    changes: Changes,
}

impl<P: Iterator<Item = Entry>> Succession<P> {
    /// Of the prefixes that have been passed: of all of them when there is no entry left.
    pub fn changes(&self) -> Changes {
        self.changes
    }

    fn pass(&mut self, prefix: Prefix) {
        let old = group(&mut self.previous, prefix);
        let rows = group(&mut self.file, prefix);
        let before = last_by(&old, self.settled).cloned();
        let new = self.follow(prefix, old, rows);
        let after = last_by(&new, self.settled);
        let counted = match (&before, after) {
            (None, None) => None,
            (Some(_), None) => Some(&mut self.changes.removed),
            (None, Some(_)) => Some(&mut self.changes.added),
            (Some(before), Some(after)) => Some(match Change::between(&before.rate, &after.rate) {
                Some(Change::Increased) => &mut self.changes.increased,
                Some(Change::Decreased) => &mut self.changes.decreased,
                _ => &mut self.changes.unchanged,
            }),
        };
        if let Some(counted) = counted {
            *counted += 1;
        }
        self.ready.extend(new);
    }

    /// What is in force at the import and what follows, of one prefix.
    fn follow(&self, prefix: Prefix, old: Vec<Entry>, rows: Vec<Entry>) -> Vec<Entry> {
        let until = rows.first().map(|row| row.effective_at.max(self.at)).or(self.unnamed_end);
        let ends = rows.is_empty() && until.is_some();
        let mut new = self.still_to_count(old);
        if let Some(until) = until {
            new.retain(|entry| entry.effective_at.max(self.at) < until);
            if ends && !new.is_empty() {
                new.push(Entry { prefix, effective_at: until, offer: None });
            }
        }
        new.extend(self.still_to_count(rows));
        without_idle_ends(new)
    }

    /// Without what is over: of the entries that have begun, only the last.
    fn still_to_count(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        let begun = entries.partition_point(|entry| entry.effective_at <= self.at);
        entries.drain(..begun.saturating_sub(1));
        entries
    }
}

impl<P: Iterator<Item = Entry>> Iterator for Succession<P> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while self.ready.is_empty() {
            let prefix = match (self.previous.peek(), self.file.peek()) {
                (Some(old), Some(row)) => old.prefix.min(row.prefix),
                (Some(one), None) | (None, Some(one)) => one.prefix,
                (None, None) => return None,
            };
            self.pass(prefix);
        }
        self.ready.pop_front()
    }
}

fn group<I: Iterator<Item = Entry>>(entries: &mut Peekable<I>, prefix: Prefix) -> Vec<Entry> {
    std::iter::from_fn(|| entries.next_if(|entry| entry.prefix == prefix)).collect()
}

fn last_by(entries: &[Entry], at: Moment) -> Option<&Offer> {
    entries.iter().rev().find(|entry| entry.effective_at <= at)?.offer.as_ref()
}

/// An end says nothing where there is no offer before it.
fn without_idle_ends(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut offered = false;
    entries.retain(|entry| {
        let keep = offered || entry.offer.is_some();
        offered = entry.offer.is_some();
        keep
    });
    entries
}
