//! Finds where one price list is dearer than another, for the notice that customers get of it.

use crate::diff::pair;
use crate::{Prefix, Priced, Rate, Tariff, UnixMillis};

/// A prefix whose rate is higher in any part: price per minute, connect fee, increment or minimum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Increase {
    pub prefix: Prefix,
    pub from: Rate,
    pub to: Rate,
}

/// The prefixes at which numbers cost more in the second tariff than in the first, in order. A prefix that only one of
/// them lists is compared with what the other one charges for its numbers. What was not sold before is no increase.
pub fn increases<K: Ord + Copy>(old: &Tariff<K>, new: &Tariff<K>, at: UnixMillis) -> impl Iterator<Item = Increase> {
    let mut before = old.sell_rates(Prefix::FIRST, at).peekable();
    let mut after = new.sell_rates(Prefix::FIRST, at).peekable();
    let pairs = std::iter::from_fn(move || pair(&mut before, &mut after));
    pairs.filter_map(move |(from, to)| {
        let prefix = to.as_ref().or(from.as_ref())?.prefix();
        let from = from.or_else(|| old.sell_rate(prefix, at))?.rate;
        let to = to.or_else(|| new.sell_rate(prefix, at))?.rate;
        to.exceeds(&from).then_some(Increase { prefix, from, to })
    })
}
