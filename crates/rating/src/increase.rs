//! Compares what numbers cost by two tariffs: all prefixes, or those that are dearer.

use crate::diff::pair;
use crate::{Prefix, Priced, Rate, SellRate, Tariff, UnixMillis};

/// What the numbers of a prefix cost by either tariff; `None` where they are not sold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compared<'t, K> {
    pub prefix: Prefix,
    pub from: Option<SellRate<'t, K>>,
    pub to: Option<SellRate<'t, K>>,
}

/// The prefixes that either tariff lists, in order, starting at `from`. A prefix that only one of them lists is compared
/// with what the other one charges for its numbers.
pub fn compare<'t, K: Ord + Copy>(
    (old, new): (&'t Tariff<K>, &'t Tariff<K>),
    (old_at, new_at): (UnixMillis, UnixMillis),
    from: Prefix,
) -> impl Iterator<Item = Compared<'t, K>> {
    let mut before = old.sell_rates(from, old_at).peekable();
    let mut after = new.sell_rates(from, new_at).peekable();
    std::iter::from_fn(move || {
        let (from, to) = pair(&mut before, &mut after)?;
        let prefix = to.as_ref().or(from.as_ref())?.prefix();
        let (from, to) = (from.or_else(|| old.sell_rate(prefix, old_at)), to.or_else(|| new.sell_rate(prefix, new_at)));
        Some(Compared { prefix, from, to })
    })
}

/// A prefix whose rate is higher in any part: price per minute, connect fee, increment or minimum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Increase {
    pub prefix: Prefix,
    pub from: Rate,
    pub to: Rate,
}

/// The prefixes at which numbers cost more in the second tariff than in the first, in order. What was not sold before is
/// no increase.
pub fn increases<'t, K: Ord + Copy>(
    old: &'t Tariff<K>,
    new: &'t Tariff<K>,
    at: UnixMillis,
) -> impl Iterator<Item = Increase> {
    compare((old, new), (at, at), Prefix::FIRST).filter_map(|Compared { prefix, from, to }| {
        let (from, to) = (from?.rate, to?.rate);
        to.exceeds(&from).then_some(Increase { prefix, from, to })
    })
}
