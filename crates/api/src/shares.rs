//! How many requests are in work, in all and for one caller. Whoever keeps many waiting, by bodies that do not come or
//! by asking for much at once, uses up its own share and leaves the others theirs.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use platform::limits::network_of;

/// Nobody has more than this part of all places, though as many as a busy client needs.
const PART: usize = 4;
const AT_LEAST: usize = 64;
/// Callers that meet in one share it; which do, only the seed tells.
const COUNTERS: usize = 4096;

pub struct Shares {
    all: Counter,
    each: Vec<Counter>,
    seed: u64,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// All places are taken.
    All,
    /// This caller has taken its share.
    Share,
}

/// A place, given back when dropped.
pub struct Place<'s> {
    _of_all: Taken<'s>,
    _of_share: Taken<'s>,
}

impl Shares {
    pub fn of(places: usize, seed: u64) -> Shares {
        let share = (places / PART).max(AT_LEAST);
        let each = std::iter::repeat_with(|| Counter::up_to(share)).take(COUNTERS).collect();
        Shares { all: Counter::up_to(places), each, seed }
    }

    pub fn take(&self, caller: IpAddr) -> Result<Place<'_>, Full> {
        let of_all = self.all.take().ok_or(Full::All)?;
        let mut hasher = DefaultHasher::new();
        (self.seed, network_of(caller)).hash(&mut hasher);
        let counter = self.each.get(hasher.finish() as usize % COUNTERS);
        let of_share = counter.and_then(Counter::take).ok_or(Full::Share)?;
        Ok(Place { _of_all: of_all, _of_share: of_share })
    }
}

/// How many are taken, and how many may be.
struct Counter {
    taken: AtomicUsize,
    at_most: usize,
}

/// One that is counted until it is dropped.
struct Taken<'c>(&'c Counter);

impl Counter {
    fn up_to(at_most: usize) -> Counter {
        Counter { taken: AtomicUsize::new(0), at_most }
    }

    fn take(&self) -> Option<Taken<'_>> {
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        let taken = Taken(self);
        (before < self.at_most).then_some(taken)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ONE: &str = "2001:db8:1:2::1";
    const OTHER: &str = "203.0.113.7";

    fn take<'s>(shares: &'s Shares, caller: &str) -> Result<Place<'s>, Full> {
        shares.take(caller.parse().unwrap())
    }

    #[test]
    fn a_network_has_its_share_and_no_more_until_it_gives_some_back() {
        let shares = Shares::of(1024, 7);
        let mut held: Vec<_> = (0..256).map(|_| take(&shares, ONE).unwrap()).collect();
        assert_eq!(take(&shares, "2001:db8:1:2::2").err(), Some(Full::Share));
        take(&shares, OTHER).unwrap();
        held.pop();
        take(&shares, ONE).unwrap();
        drop(held);
        let all = std::iter::once(&shares.all).chain(&shares.each);
        assert!(all.map(|counter| counter.taken.load(Ordering::Relaxed)).all(|taken| taken == 0));
    }

    #[test]
    fn where_there_are_few_places_anybody_may_have_them() {
        let shares = Shares::of(8, 7);
        let held: Vec<_> = (0..8).map(|_| take(&shares, ONE).unwrap()).collect();
        assert_eq!(take(&shares, OTHER).err(), Some(Full::All));
        drop(held);
        take(&shares, OTHER).unwrap();
    }
}
