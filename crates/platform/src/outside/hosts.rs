//! Addresses of host names that customers and the team enter as SIP targets, for decisions about calls.
//!
//! A decision cannot wait for a slow name server: a lookup runs in a task of its own, one per name, and whoever asks
//! waits for it for half a second at most. Its result is kept for half a minute, a failure for five seconds. If a
//! lookup fails or is late, the last result counts for ten more minutes. Callers check the addresses each time, so an
//! old result is as safe as a new one.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

use super::fetch::Resolver;
use db::assert_no_connection_held;
use values::Time;

/// How long a caller waits; shorter than a switch waits for its decision.
const MAX_WAIT: Duration = Duration::from_millis(500);
/// How long a lookup may take.
const MAX_LOOKUP: Duration = Duration::from_secs(10);
const FRESH: Duration = Duration::from_secs(30);
const FAILED: Duration = Duration::from_secs(5);
const USABLE: Duration = Duration::from_secs(600);
const MAX_LOOKUPS: usize = 32;
const MAX_NAMES: usize = 10_000;
const SIP_PORT: u16 = 5060;

/// A name that has no address, or whose address did not come in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unresolved;

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the host name was not resolved")
    }
}

impl std::error::Error for Unresolved {}

#[derive(Default)]
struct Known {
    /// The last result, and when it came.
    addresses: Option<(Arc<[IpAddr]>, Time)>,
    /// When the next lookup may begin.
    fresh_until: Option<Time>,
    /// Closes when the lookup that is under way ends.
    lookup: Option<watch::Receiver<()>>,
}

#[derive(Clone)]
pub struct Hosts {
    resolver: Resolver,
    names: Arc<Mutex<BTreeMap<String, Known>>>,
    lookups: Arc<Semaphore>,
}

impl Hosts {
    pub fn new(resolver: Resolver) -> Hosts {
        Hosts { resolver, names: Arc::default(), lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }

    /// The addresses of a name, never none.
    pub async fn resolve(&self, name: &str, now: Time) -> Result<Arc<[IpAddr]>, Unresolved> {
        assert_no_connection_held();
        if let Some(mut lookup) = self.begin(name, now) {
            // An error says that the lookup is over.
            let _ = tokio::time::timeout(MAX_WAIT, lookup.changed()).await;
        }
        let names = self.names();
        let addresses = names.get(name).and_then(|known| known.addresses.as_ref());
        let usable = addresses.filter(|(_, at)| now < at.plus(USABLE)).map(|(addresses, _)| Arc::clone(addresses));
        usable.ok_or(Unresolved)
    }

    /// The lookup to wait for, if what is known is not fresh.
    fn begin(&self, name: &str, now: Time) -> Option<watch::Receiver<()>> {
        let mut names = self.names();
        if !names.contains_key(name) && names.len() >= MAX_NAMES {
            names.retain(|_, known| known.lookup.is_some() || known.fresh_until.is_some_and(|until| now < until));
            if names.len() >= MAX_NAMES {
                return None;
            }
        }
        let known = names.entry(name.to_owned()).or_default();
        if known.lookup.is_some() || known.fresh_until.is_some_and(|until| now < until) {
            return known.lookup.clone();
        }
        let Ok(place) = Arc::clone(&self.lookups).try_acquire_owned() else { return None };
        let (end, lookup) = watch::channel(());
        known.lookup = Some(lookup.clone());
        let (hosts, name) = (self.clone(), name.to_owned());
        tokio::spawn(async move {
            let found = tokio::time::timeout(MAX_LOOKUP, (hosts.resolver)(name.clone(), SIP_PORT)).await;
            let found = found.ok().and_then(Result::ok).filter(|addresses| !addresses.is_empty());
            hosts.end(name, found, now);
            drop((end, place));
        });
        Some(lookup)
    }

    fn end(&self, name: String, found: Option<Vec<IpAddr>>, now: Time) {
        let mut names = self.names();
        let known = names.entry(name).or_default();
        known.lookup = None;
        known.fresh_until = Some(now.plus(if found.is_some() { FRESH } else { FAILED }));
        if let Some(addresses) = found {
            let canonical: Vec<IpAddr> = addresses.iter().map(IpAddr::to_canonical).collect();
            known.addresses = Some((canonical.into(), now));
        }
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn at(seconds: u64) -> Time {
        Time::EPOCH.plus(Duration::from_secs(seconds))
    }

    /// Answers with these, one after the other, and then with errors.
    fn hosts(answers: &'static [&'static [&'static str]]) -> (Hosts, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let resolver: Resolver = Arc::new(move |_, _| {
            let number = counter.fetch_add(1, Ordering::SeqCst);
            let answer = answers.get(number).map(|texts| texts.iter().map(|text| text.parse().unwrap()).collect());
            Box::pin(async move { answer.ok_or_else(|| io::Error::other("no answer")) })
        });
        (Hosts::new(resolver), asked)
    }

    #[tokio::test]
    async fn a_result_is_kept_and_then_looked_up_again() {
        let (hosts, asked) = hosts(&[&["192.0.2.1"], &["::ffff:192.0.2.2"]]);
        for (seconds, address, times) in [(0, "192.0.2.1", 1), (29, "192.0.2.1", 1), (30, "192.0.2.2", 2)] {
            let found = hosts.resolve("pbx.example", at(seconds)).await.unwrap();
            assert_eq!(*found, [address.parse::<IpAddr>().unwrap()]);
            assert_eq!(asked.load(Ordering::SeqCst), times);
        }
        // The server fails from now on.
        assert!(hosts.resolve("pbx.example", at(100)).await.is_ok());
        assert_eq!(hosts.resolve("pbx.example", at(631)).await, Err(Unresolved));
    }

    #[tokio::test]
    async fn a_failure_is_remembered_for_a_moment() {
        let (hosts, asked) = hosts(&[&[]]);
        for (seconds, times) in [(0, 1), (4, 1), (5, 2)] {
            assert_eq!(hosts.resolve("pbx.example", at(seconds)).await, Err(Unresolved));
            assert_eq!(asked.load(Ordering::SeqCst), times);
        }
    }

    #[tokio::test]
    async fn nobody_waits_for_a_slow_server_and_it_is_asked_once() {
        let (asked, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (counter, waiting) = (Arc::clone(&asked), Arc::clone(&answer));
        let hosts = Hosts::new(Arc::new(move |_, _| {
            counter.fetch_add(1, Ordering::SeqCst);
            let waiting = Arc::clone(&waiting);
            Box::pin(async move {
                let _place = waiting.acquire().await.unwrap();
                Ok(vec!["192.0.2.1".parse().unwrap()])
            })
        }));
        let answers = futures_util::future::join_all((0..20).map(|_| hosts.resolve("slow.example", at(0)))).await;
        assert!(answers.iter().all(|answer| *answer == Err(Unresolved)));
        answer.add_permits(1);
        assert!(hosts.resolve("slow.example", at(3)).await.is_ok());
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
}
