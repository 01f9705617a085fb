//! What a deck is made of: entries, which say what a prefix costs from a moment on, or that it ends.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::{Prefix, Rate};

/// Milliseconds since 1970.
pub type Moment = i64;

/// Two capital letters. Whether there is such a country is for others to say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Country([u8; 2]);

impl Country {
    /// Small letters are taken for capitals.
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

/// Where a prefix leads: "Netherlands, mobile".
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Destination {
    pub name: Box<str>,
    pub country: Country,
}

/// What is offered: a destination, which many offers share, at a rate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Offer {
    pub rate: Rate,
    pub destination: Arc<Destination>,
}

/// From `effective_at` on a prefix costs this; without an offer it is known no longer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub prefix: Prefix,
    pub effective_at: Moment,
    pub offer: Option<Offer>,
}

impl Entry {
    /// The order of entries in a deck. No two have the same place.
    pub fn place(&self) -> (Prefix, Moment) {
        (self.prefix, self.effective_at)
    }
}

/// A prefix with the offer that is in force for it, borrowed from a deck or owned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listing<O> {
    pub prefix: Prefix,
    pub effective_at: Moment,
    pub offer: O,
}

/// What has a place in a list of prices.
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
