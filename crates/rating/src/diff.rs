//! Compares two price lists (decks or tariffs, at one time or two) prefix by prefix.
//!
//! Both sides are streamed in prefix order and nothing is buffered. So each side can be read leaf by leaf, and a page
//! of differences reads only the leaves that it covers.

use std::cmp::Ordering;
use std::iter::Peekable;

use crate::{Entry, Listing, Offer, Prefix, Priced, Rate, UnixMillis};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    Added,
    Removed,
    Increased,
    Decreased,
}

impl Change {
    /// By price per minute, then by connect fee. `None` if both are equal.
    pub fn between(from: &Rate, to: &Rate) -> Option<Change> {
        match to.price_key().cmp(&from.price_key()) {
            Ordering::Greater => Some(Change::Increased),
            Ordering::Less => Some(Change::Decreased),
            Ordering::Equal => None,
        }
    }
}

/// A prefix whose price differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference<A, B> {
    pub prefix: Prefix,
    pub change: Change,
    pub from: Option<A>,
    pub to: Option<B>,
}

/// The differences in prefix order. Both sides must be in prefix order.
pub fn diff<A, B>(
    old: impl IntoIterator<Item = A>,
    new: impl IntoIterator<Item = B>,
) -> impl Iterator<Item = Difference<A, B>>
where
    A: Priced,
    B: Priced,
{
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    std::iter::from_fn(move || {
        loop {
            let (from, to) = pair(&mut old, &mut new)?;
            let (prefix, change) = match (&from, &to) {
                (Some(from), Some(to)) => (to.prefix(), Change::between(from.rate(), to.rate())),
                (Some(from), None) => (from.prefix(), Some(Change::Removed)),
                (None, to) => (to.as_ref()?.prefix(), Some(Change::Added)),
            };
            if let Some(change) = change {
                return Some(Difference { prefix, change, from, to });
            }
        }
    })
}

/// The next prefix, from one side or both.
pub(crate) fn pair<A: Priced, B: Priced>(
    old: &mut Peekable<impl Iterator<Item = A>>,
    new: &mut Peekable<impl Iterator<Item = B>>,
) -> Option<(Option<A>, Option<B>)> {
    let prefix = match (old.peek(), new.peek()) {
        (Some(old), Some(new)) => old.prefix().min(new.prefix()),
        (Some(old), None) => old.prefix(),
        (None, new) => new?.prefix(),
    };
    Some((old.next_if(|old| old.prefix() == prefix), new.next_if(|new| new.prefix() == prefix)))
}

/// The listings in force at a time, from a deck's entries in order.
pub fn in_force(entries: impl IntoIterator<Item = Entry>, at: UnixMillis) -> impl Iterator<Item = Listing<Offer>> {
    let mut entries = entries.into_iter().peekable();
    std::iter::from_fn(move || {
        loop {
            let first = entries.next()?;
            let prefix = first.prefix;
            let mut last = Some(first).filter(|entry| entry.effective_at <= at);
            while let Some(entry) = entries.next_if(|entry| entry.prefix == prefix) {
                last = Some(entry).filter(|entry| entry.effective_at <= at).or(last);
            }
            if let Some(Entry { effective_at, offer: Some(offer), .. }) = last {
                return Some(Listing { prefix, effective_at, offer });
            }
        }
    })
}
