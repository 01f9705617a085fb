//! What differs between two lists of prices, of decks or of tariffs, at two moments.
//!
//! Both sides are walked at once, prefix by prefix, and nothing is kept. So each may come from wherever it lies, leaf
//! by leaf, and a page of the differences costs no more than the stretch it covers.

use std::cmp::Ordering;
use std::iter::Peekable;

use crate::{Entry, Listing, Moment, Offer, Prefix, Priced, Rate};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    Added,
    Removed,
    Increased,
    Decreased,
}

impl Change {
    /// By the price of a minute; where that is the same, by the connect fee.
    pub fn between(from: &Rate, to: &Rate) -> Option<Change> {
        match to.order().cmp(&from.order()) {
            Ordering::Greater => Some(Change::Increased),
            Ordering::Less => Some(Change::Decreased),
            Ordering::Equal => None,
        }
    }
}

/// A prefix that does not cost the same on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference<A, B> {
    pub prefix: Prefix,
    pub change: Change,
    pub from: Option<A>,
    pub to: Option<B>,
}

/// What differs, in the order of the prefixes, in which both sides come.
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

/// The next prefix, from whichever side has it.
fn pair<A: Priced, B: Priced>(
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

/// Of a deck's entries, which come in their order, those that are in force at the moment.
pub fn in_force(entries: impl IntoIterator<Item = Entry>, at: Moment) -> impl Iterator<Item = Listing<Offer>> {
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
