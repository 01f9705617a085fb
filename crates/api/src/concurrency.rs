//! How many requests run at the same time, and how many wait for their bodies, in total and for one client network.
//!
//! A request takes a place among the running ones when it arrives. While it waits for its body it gives that place up
//! for one among the receiving ones, so that slow bodies never keep others from running. A client with many slow
//! requests uses up its own part only, and callers without a token half of the receiving places.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use platform::limits::network_of;

use super::problem::Problem;

/// A client network may use a quarter of the running places, and at least the minimum.
const RUNNING_PART: usize = 4;
const MIN_RUNNING: usize = 64;
/// Its part of the receiving places.
const RECEIVING_PART: usize = 16;
const MIN_RECEIVING: usize = 16;
/// The part of all callers without a token.
const ANONYMOUS_PART: usize = 2;
/// Networks with the same hash share a counter; the seed is random, so a client cannot pick one to share.
const COUNTERS: usize = 4096;

pub struct ConcurrencyLimits {
    running: Places,
    receiving: Places,
    receiving_anonymous: Counter,
    seed: u64,
}

/// Which limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitReached {
    Total,
    Client,
}

impl From<LimitReached> for Problem {
    fn from(limit: LimitReached) -> Problem {
        match limit {
            LimitReached::Total => Problem::unavailable("The service handles too many requests. Retry later."),
            LimitReached::Client => {
                Problem::unavailable("Too many of your requests are running. Wait until some of them end.")
            }
        }
    }
}

impl ConcurrencyLimits {
    pub fn new(max_requests: usize, seed: u64) -> ConcurrencyLimits {
        ConcurrencyLimits {
            running: Places::new(max_requests, (max_requests / RUNNING_PART).max(MIN_RUNNING)),
            receiving: Places::new(max_requests, (max_requests / RECEIVING_PART).max(MIN_RECEIVING)),
            receiving_anonymous: Counter::new((max_requests / ANONYMOUS_PART).max(1)),
            seed,
        }
    }

    /// A place among the running requests.
    pub fn enter(self: &Arc<Self>, client: IpAddr) -> Result<Place, LimitReached> {
        let mut hasher = DefaultHasher::new();
        (self.seed, network_of(client)).hash(&mut hasher);
        let client = hasher.finish() as usize % COUNTERS;
        self.running.take(client)?;
        Ok(Place { limits: self.clone(), client, stage: AtomicU8::new(RUNNING), has_token: AtomicBool::new(false) })
    }

    fn take_receiving(&self, client: usize, is_anonymous: bool) -> Result<(), LimitReached> {
        if is_anonymous && !self.receiving_anonymous.take() {
            return Err(LimitReached::Total);
        }
        self.receiving.take(client).inspect_err(|_| {
            if is_anonymous {
                self.receiving_anonymous.give_back();
            }
        })
    }

    fn give_back_receiving(&self, client: usize, is_anonymous: bool) {
        self.receiving.give_back(client);
        if is_anonymous {
            self.receiving_anonymous.give_back();
        }
    }
}

const RUNNING: u8 = 0;
const RECEIVING: u8 = 1;
const RECEIVING_ANONYMOUSLY: u8 = 2;
/// It found no place and is about to be refused.
const NOWHERE: u8 = 3;

/// The place of one request, until it is dropped.
pub struct Place {
    limits: Arc<ConcurrencyLimits>,
    client: usize,
    stage: AtomicU8,
    has_token: AtomicBool,
}

impl Place {
    /// The caller has a valid token.
    pub fn set_authenticated(&self) {
        self.has_token.store(true, Ordering::Relaxed);
    }

    /// Gives the place among the running requests up while the body is awaited.
    pub fn wait_for_body(&self) -> Result<(), LimitReached> {
        if self.stage.load(Ordering::Relaxed) != RUNNING {
            return Ok(());
        }
        let is_anonymous = !self.has_token.load(Ordering::Relaxed);
        self.limits.take_receiving(self.client, is_anonymous)?;
        self.limits.running.give_back(self.client);
        self.stage.store(if is_anonymous { RECEIVING_ANONYMOUSLY } else { RECEIVING }, Ordering::Relaxed);
        Ok(())
    }

    /// Takes a place among the running requests again: the body has arrived.
    pub fn resume(&self) -> Result<(), LimitReached> {
        if !self.leave_receiving() {
            return Ok(());
        }
        self.limits.running.take(self.client)?;
        self.stage.store(RUNNING, Ordering::Relaxed);
        Ok(())
    }

    /// The same for a request that cannot be refused any more: it runs even if there is no place.
    pub fn resume_anyway(&self) {
        if self.leave_receiving() {
            self.limits.running.take_anyway(self.client);
            self.stage.store(RUNNING, Ordering::Relaxed);
        }
    }

    fn leave_receiving(&self) -> bool {
        let stage = self.stage.load(Ordering::Relaxed);
        let is_receiving = matches!(stage, RECEIVING | RECEIVING_ANONYMOUSLY);
        if is_receiving {
            self.stage.store(NOWHERE, Ordering::Relaxed);
            self.limits.give_back_receiving(self.client, stage == RECEIVING_ANONYMOUSLY);
        }
        is_receiving
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if *self.stage.get_mut() == RUNNING {
            self.limits.running.give_back(self.client);
        } else {
            self.leave_receiving();
        }
    }
}

/// Places of one kind.
struct Places {
    total: Counter,
    clients: Vec<Counter>,
}

impl Places {
    fn new(total: usize, per_client: usize) -> Places {
        let clients = std::iter::repeat_with(|| Counter::new(per_client)).take(COUNTERS).collect();
        Places { total: Counter::new(total), clients }
    }

    fn take(&self, client: usize) -> Result<(), LimitReached> {
        if !self.total.take() {
            return Err(LimitReached::Total);
        }
        if self.clients.get(client).is_some_and(Counter::take) {
            return Ok(());
        }
        self.total.give_back();
        Err(LimitReached::Client)
    }

    fn take_anyway(&self, client: usize) {
        for counter in std::iter::once(&self.total).chain(self.clients.get(client)) {
            counter.in_use.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn give_back(&self, client: usize) {
        self.total.give_back();
        if let Some(counter) = self.clients.get(client) {
            counter.give_back();
        }
    }
}

struct Counter {
    in_use: AtomicUsize,
    max: usize,
}

impl Counter {
    fn new(max: usize) -> Counter {
        Counter { in_use: AtomicUsize::new(0), max }
    }

    fn take(&self) -> bool {
        let is_free = self.in_use.fetch_add(1, Ordering::Relaxed) < self.max;
        if !is_free {
            self.give_back();
        }
        is_free
    }

    fn give_back(&self) {
        self.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ONE: &str = "2001:db8:1:2::1";
    const OTHER: &str = "203.0.113.7";

    fn limits(max_requests: usize) -> Arc<ConcurrencyLimits> {
        Arc::new(ConcurrencyLimits::new(max_requests, 7))
    }

    fn enter(limits: &Arc<ConcurrencyLimits>, client: &str) -> Result<Place, LimitReached> {
        limits.enter(client.parse().unwrap())
    }

    fn is_unused(limits: &ConcurrencyLimits) -> bool {
        let ConcurrencyLimits { running, receiving, receiving_anonymous, .. } = limits;
        let counters =
            [running, receiving].into_iter().flat_map(|places| std::iter::once(&places.total).chain(&places.clients));
        counters.chain([receiving_anonymous]).all(|counter| counter.in_use.load(Ordering::Relaxed) == 0)
    }

    #[test]
    fn a_client_network_cannot_exceed_its_part() {
        let limits = limits(1024);
        let mut held: Vec<_> = (0..256).map(|_| enter(&limits, ONE).unwrap()).collect();
        assert_eq!(enter(&limits, "2001:db8:1:2::2").err(), Some(LimitReached::Client));
        enter(&limits, OTHER).unwrap();
        held.pop();
        enter(&limits, ONE).unwrap();
        drop(held);
        assert!(is_unused(&limits));
    }

    #[test]
    fn a_client_may_use_a_small_total_alone() {
        let limits = limits(8);
        let held: Vec<_> = (0..8).map(|_| enter(&limits, ONE).unwrap()).collect();
        assert_eq!(enter(&limits, OTHER).err(), Some(LimitReached::Total));
        drop(held);
        enter(&limits, OTHER).unwrap();
    }

    #[test]
    fn requests_that_wait_for_their_bodies_take_no_running_place() {
        let limits = limits(1024);
        let waiting: Vec<_> = (0..64).map(|_| enter(&limits, ONE).unwrap()).collect();
        waiting.iter().for_each(|place| place.wait_for_body().unwrap());
        let running: Vec<_> = (0..256).map(|_| enter(&limits, ONE).unwrap()).collect();
        assert_eq!(running[0].wait_for_body(), Err(LimitReached::Client));
        // The body has arrived, and the client has no running place left.
        assert_eq!(waiting[0].resume(), Err(LimitReached::Client));
        waiting[1].resume_anyway();
        drop(running);
        waiting[2].resume().unwrap();
        drop(waiting);
        assert!(is_unused(&limits));
    }

    #[test]
    fn callers_without_a_token_leave_half_of_the_receiving_places() {
        let limits = limits(1024);
        let from = |number: usize| enter(&limits, &format!("203.0.113.{}", number % 16)).unwrap();
        let anonymous: Vec<_> = (0..512).map(from).collect();
        anonymous.iter().for_each(|place| place.wait_for_body().unwrap());
        let next = enter(&limits, OTHER).unwrap();
        assert_eq!(next.wait_for_body(), Err(LimitReached::Total));
        next.set_authenticated();
        next.wait_for_body().unwrap();
        drop((anonymous, next));
        assert!(is_unused(&limits));
    }
}
