//! Applies a file of rates to the deck in force. An import never changes a price that was in force.
//!
//! The result is a complete new deck: for each prefix what was known of its past, its current rate and later ones.
//!
//! - A row with a future date leaves the old price in force until then. From the date of its first row on, but not
//!   before the import, old entries of a prefix are dropped.
//! - A row with a past date replaces the old price at the import. Before that it counts from its date on where the
//!   prefix had no price. `effective_at` is the time since when it counts without a break.
//! - A row with the offer that is in force continues it.
//! - A row without an offer ends its prefix at its date, but not before the import.
//! - [`Mode::Replace`]: a prefix that is not in the file ends at the earliest date in the file, but not before the
//!   import. [`Mode::Merge`]: it stays as it is.
//!
//! The past of a prefix says when it had a price, and holds the offers of back-dated rows, because these are in no
//! earlier deck. Other past offers are left out if an offer precedes them: the price of then is that of the deck in
//! force then.
//!
//! What the old deck would have said from the import on of the prefixes that change is kept too: customers with a
//! [`Notice`](crate::Notice) pay it for a while if the new price is higher.
//!
//! [`Changes`] counts each prefix once: its price in the old and the new deck when every row of the file is in force.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::vec;

use crate::timeline::Timeline;
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

/// The prefix whose price per minute rises most, in parts, with its prices in nanos.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SteepestRise {
    pub prefix: Prefix,
    pub from_nanos: i64,
    pub to_nanos: i64,
}

impl SteepestRise {
    /// Whether this rise is steeper: by parts, one from zero is the steepest.
    fn is_steeper(&self, other: &SteepestRise) -> bool {
        let parts = |rise: &SteepestRise, by: &SteepestRise| i128::from(rise.to_nanos) * i128::from(by.from_nanos);
        parts(self, other) > parts(other, self)
    }
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
    let mut previous = previous.into_iter().peekable();
    NextDeck {
        replaced: previous.peek().map(|_| Vec::new()),
        absent_end: (mode == Mode::Replace).then_some(earliest),
        settled: latest,
        counts_from: None,
        at,
        previous,
        file: file.into_iter().peekable(),
        ready: VecDeque::new(),
        changes: Changes::default(),
        steepest: None,
    }
}

/// The entries of the deck after an import; see [`apply_import`].
pub struct NextDeck<P: Iterator<Item = Entry>> {
    at: UnixMillis,
    /// The time when every row of the file is in force.
    settled: UnixMillis,
    /// When prefixes that are not in the file end.
    absent_end: Option<UnixMillis>,
    counts_from: Option<UnixMillis>,
    previous: Peekable<P>,
    file: Peekable<vec::IntoIter<Entry>>,
    ready: VecDeque<Entry>,
    changes: Changes,
    steepest: Option<SteepestRise>,
    /// None if there is no old deck.
    replaced: Option<Vec<Entry>>,
}

impl<P: Iterator<Item = Entry>> NextDeck<P> {
    /// The changes of the prefixes seen so far; complete once the iterator is exhausted.
    pub fn changes(&self) -> Changes {
        self.changes
    }

    /// When the first back-dated row begins to count, if any counts before the import. Complete once the iterator is
    /// exhausted.
    pub fn counts_from(&self) -> Option<UnixMillis> {
        self.counts_from
    }

    /// The steepest rise of a price so far; complete once the iterator is exhausted.
    pub fn steepest_rise(&self) -> Option<SteepestRise> {
        self.steepest
    }

    /// What the old deck would have said from the import on of the prefixes that change, in order: one that it did not
    /// have has an end. Nothing if there was no old deck. Complete once the iterator is exhausted.
    pub fn into_replaced(self) -> Vec<Entry> {
        self.replaced.unwrap_or_default()
    }

    fn import_prefix(&mut self, prefix: Prefix) {
        let old = take_prefix(&mut self.previous, prefix);
        let rows = take_prefix(&mut self.file, prefix);
        let before = offer_at(&old, self.settled).cloned();
        let new = self.next_entries(prefix, &old, &rows);
        let after = offer_at(&new, self.settled);
        if let (Some(before), Some(after)) = (&before, after) {
            let (from_nanos, to_nanos) = (before.rate.nanos_per_minute(), after.rate.nanos_per_minute());
            let rise = SteepestRise { prefix, from_nanos, to_nanos };
            if to_nanos > from_nanos && self.steepest.is_none_or(|steepest| rise.is_steeper(&steepest)) {
                self.steepest = Some(rise);
            }
        }
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
        if let Some(replaced) = &mut self.replaced
            && !offers_since(&old, self.at).eq(offers_since(&new, self.at))
        {
            let before = since(&old, self.at);
            replaced.extend(before.iter().map(|entry| Entry { is_back_dated: false, ..entry.clone() }));
            if before.is_empty() {
                replaced.push(Entry::new(prefix, self.at, None));
            }
        }
        self.ready.extend(new);
    }

    /// The new entries of one prefix.
    fn next_entries(&mut self, prefix: Prefix, old: &[Entry], rows: &[Entry]) -> Vec<Entry> {
        let at = self.at;
        let (past, later) = old.split_at(old.partition_point(|entry| entry.effective_at < at));
        let mut new = Timeline::past(prefix, past, rows, at);
        let until = rows.first().map(|row| row.effective_at.max(at)).or(self.absent_end);
        new.extend(later.iter().filter(|entry| until.is_none_or(|until| entry.effective_at < until)).cloned());
        let (begun, future) = rows.split_at(rows.partition_point(|row| row.effective_at <= at));
        if let Some(row) = begun.last() {
            new.push_current(row, at);
        }
        new.extend(future.iter().cloned());
        if let Some(until) = until.filter(|_| rows.is_empty()) {
            new.end(until);
        }
        self.counts_from = [self.counts_from, new.counts_from].into_iter().flatten().min();
        new.finish(at)
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

/// What the entries of a prefix say from a time on: the one in force then, and the later ones.
fn since(entries: &[Entry], at: UnixMillis) -> &[Entry] {
    let begun = entries.partition_point(|entry| entry.effective_at <= at);
    entries.get(begun.saturating_sub(1)..).unwrap_or_default()
}

/// The offers of a prefix from a time on, each with when it begins.
fn offers_since(entries: &[Entry], at: UnixMillis) -> impl Iterator<Item = (UnixMillis, Option<&Offer>)> {
    let entries = since(entries, at).iter().skip_while(|entry| entry.offer.is_none());
    entries.map(move |entry| (entry.effective_at.max(at), entry.offer.as_ref()))
}

fn offer_at(entries: &[Entry], at: UnixMillis) -> Option<&Offer> {
    entries.iter().rev().find(|entry| entry.effective_at <= at)?.offer.as_ref()
}
