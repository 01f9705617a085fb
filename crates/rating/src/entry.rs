//! The entries of a deck: what a prefix costs from a time on, or that it ends.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::{Prefix, Rate};

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type UnixMillis = i64;

/// Two capital letters. It is not checked against ISO 3166-1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Country([u8; 2]);

impl Country {
    /// Accepts lower case too.
    pub fn new(code: &str) -> Option<Country> {
        let letters: [u8; 2] = code.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_alphabetic).then(|| Country(letters.map(|letter| letter.to_ascii_uppercase())))
    }

    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A destination such as "Netherlands, mobile".
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Destination {
    pub name: Box<str>,
    pub country: Country,
}

/// A rate for a destination. Many offers share a destination.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Offer {
    pub rate: Rate,
    pub destination: Arc<Destination>,
}

/// The offer of a prefix from `effective_at` on; `None` ends the prefix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub prefix: Prefix,
    pub effective_at: UnixMillis,
    pub offer: Option<Offer>,
    /// It begins before the import of its row. No earlier deck has it, so later decks keep it.
    pub is_back_dated: bool,
}

impl Entry {
    pub fn new(prefix: Prefix, effective_at: UnixMillis, offer: Option<Offer>) -> Entry {
        Entry { prefix, effective_at, offer, is_back_dated: false }
    }

    /// The order of entries in a deck. Keys are unique within a deck.
    pub fn sort_key(&self) -> (Prefix, UnixMillis) {
        (self.prefix, self.effective_at)
    }
}

/// A prefix with the offer in force for it, borrowed from a deck or owned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listing<O> {
    pub prefix: Prefix,
    pub effective_at: UnixMillis,
    pub offer: O,
}

/// A prefix with a rate, from a deck or a tariff.
pub trait Priced {
    fn prefix(&self) -> Prefix;
    fn rate(&self) -> &Rate;
}

impl<O: Borrow<Offer>> Priced for Listing<O> {
    fn prefix(&self) -> Prefix {
        self.prefix
    }

    fn rate(&self) -> &Rate {
        &self.offer.borrow().rate
    }
}
