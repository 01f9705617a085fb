//! How many requests run at the same time, in total and for one client network.
//!
//! A client with many slow requests (bodies that do not arrive, expensive reads) uses up its own part only.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use platform::limits::network_of;

/// A client network may use a quarter of the total, and at least the minimum.
const CLIENT_PART: usize = 4;
const MIN_PER_CLIENT: usize = 64;
/// Networks with the same hash share a counter; the seed is random, so a client cannot pick one to share.
const COUNTERS: usize = 4096;

pub struct ConcurrencyLimits {
    total: Counter,
    clients: Vec<Counter>,
    seed: u64,
}

/// Which limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitReached {
    Total,
    Client,
}

/// Permission to run one request, until it is dropped.
pub struct Permit<'s> {
    _total: CounterPermit<'s>,
    _client: CounterPermit<'s>,
}

impl ConcurrencyLimits {
    pub fn new(max_requests: usize, seed: u64) -> ConcurrencyLimits {
        let per_client = (max_requests / CLIENT_PART).max(MIN_PER_CLIENT);
        let clients = std::iter::repeat_with(|| Counter::new(per_client)).take(COUNTERS).collect();
        ConcurrencyLimits { total: Counter::new(max_requests), clients, seed }
    }

    pub fn acquire(&self, client: IpAddr) -> Result<Permit<'_>, LimitReached> {
        let total = self.total.acquire().ok_or(LimitReached::Total)?;
        let mut hasher = DefaultHasher::new();
        (self.seed, network_of(client)).hash(&mut hasher);
        let counter = self.clients.get(hasher.finish() as usize % COUNTERS);
        let client = counter.and_then(Counter::acquire).ok_or(LimitReached::Client)?;
        Ok(Permit { _total: total, _client: client })
    }
}

struct Counter {
    in_use: AtomicUsize,
    max: usize,
}

struct CounterPermit<'c>(&'c Counter);

impl Counter {
    fn new(max: usize) -> Counter {
        Counter { in_use: AtomicUsize::new(0), max }
    }

    fn acquire(&self) -> Option<CounterPermit<'_>> {
        let before = self.in_use.fetch_add(1, Ordering::Relaxed);
        let permit = CounterPermit(self);
        (before < self.max).then_some(permit)
    }
}

impl Drop for CounterPermit<'_> {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ONE: &str = "2001:db8:1:2::1";
    const OTHER: &str = "203.0.113.7";

    fn acquire<'s>(limits: &'s ConcurrencyLimits, client: &str) -> Result<Permit<'s>, LimitReached> {
        limits.acquire(client.parse().unwrap())
    }

    #[test]
    fn a_client_network_cannot_exceed_its_part() {
        let limits = ConcurrencyLimits::new(1024, 7);
        let mut held: Vec<_> = (0..256).map(|_| acquire(&limits, ONE).unwrap()).collect();
        assert_eq!(acquire(&limits, "2001:db8:1:2::2").err(), Some(LimitReached::Client));
        acquire(&limits, OTHER).unwrap();
        held.pop();
        acquire(&limits, ONE).unwrap();
        drop(held);
        let all = std::iter::once(&limits.total).chain(&limits.clients);
        assert!(all.map(|counter| counter.in_use.load(Ordering::Relaxed)).all(|in_use| in_use == 0));
    }

    #[test]
    fn a_client_may_use_a_small_total_alone() {
        let limits = ConcurrencyLimits::new(8, 7);
        let held: Vec<_> = (0..8).map(|_| acquire(&limits, ONE).unwrap()).collect();
        assert_eq!(acquire(&limits, OTHER).err(), Some(LimitReached::Total));
        drop(held);
        acquire(&limits, OTHER).unwrap();
    }
}
