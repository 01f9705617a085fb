//! Counts the requests that this node answers, for the dashboards.
//!
//! A request adds to two atomic counters, and an error also to counters by name, so counting is cheap. A flush drains
//! the counts and writes them to the database; if that fails, it restores them.

use std::array;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::StatusCode;

use values::text_enum;

text_enum! {
    /// What is counted.
    pub enum Count {
        /// Responses, by status.
        Status = "status",
        /// Responses, by [`LatencyBucket`].
        Latency = "latency",
        /// Responses with an error status, by endpoint.
        RouteError = "route_error",
        /// Responses with an error status, by the caller's account.
        AccountError = "account_error",
        /// Requests over a rate limit, by endpoint.
        Limited = "limited",
        /// Failed sign-ins, by IP address.
        FailedSignIn = "failed_sign_in",
        /// Rows of the audit log, by action.
        Audit = "audit",
    }
}

/// Maximum number of names between two flushes; further ones are counted as [`OTHERS`].
const MAX_NAMES: usize = 2000;
pub const OTHERS: &str = "others";

const STATUSES: usize = 500;
const FIRST_STATUS: usize = 100;

pub struct RequestStats {
    statuses: [AtomicU64; STATUSES],
    latency: [AtomicU64; LatencyBucket::ALL],
    named: Mutex<Counts>,
}

/// Counts by kind and name. Sorted, so that all nodes update the rows in the same order.
pub type Counts = BTreeMap<(Count, String), u64>;

impl Default for RequestStats {
    fn default() -> RequestStats {
        let (statuses, latency) = (array::from_fn(|_| AtomicU64::new(0)), array::from_fn(|_| AtomicU64::new(0)));
        RequestStats { statuses, latency, named: Mutex::default() }
    }
}

impl RequestStats {
    pub fn record(&self, status: StatusCode, took: Duration) {
        if let Some(count) = self.statuses.get(usize::from(status.as_u16()) - FIRST_STATUS) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(count) = self.latency.get(LatencyBucket::of(took).0) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn count(&self, what: Count, name: String) {
        self.add(&mut self.named.lock().unwrap_or_else(PoisonError::into_inner), what, name, 1);
    }

    fn add(&self, named: &mut Counts, what: Count, name: String, number: u64) {
        let has_room = named.len() < MAX_NAMES || named.contains_key(&(what, name.clone()));
        let name = if has_room { name } else { OTHERS.to_owned() };
        *named.entry((what, name)).or_default() += number;
    }

    /// Returns all counts and resets them to zero.
    pub fn drain(&self) -> Counts {
        let mut counts = std::mem::take(&mut *self.named.lock().unwrap_or_else(PoisonError::into_inner));
        for (index, count) in self.statuses.iter().enumerate() {
            insert_positive(
                &mut counts,
                Count::Status,
                (FIRST_STATUS + index).to_string(),
                count.swap(0, Ordering::Relaxed),
            );
        }
        for (bucket, count) in self.latency.iter().enumerate() {
            insert_positive(&mut counts, Count::Latency, bucket.to_string(), count.swap(0, Ordering::Relaxed));
        }
        counts
    }

    /// Adds counts back that could not be written.
    pub fn restore(&self, counts: Counts) {
        for ((what, name), number) in counts {
            let slot = match (what, name.parse::<usize>()) {
                (Count::Status, Ok(status)) => self.statuses.get(status.saturating_sub(FIRST_STATUS)),
                (Count::Latency, Ok(bucket)) => self.latency.get(bucket),
                _ => None,
            };
            match slot {
                Some(count) => {
                    count.fetch_add(number, Ordering::Relaxed);
                }
                None => {
                    self.add(&mut self.named.lock().unwrap_or_else(PoisonError::into_inner), what, name, number);
                }
            }
        }
    }
}

fn insert_positive(counts: &mut Counts, what: Count, name: String, number: u64) {
    if number > 0 {
        counts.insert((what, name), number);
    }
}

/// A range of durations: eight for each doubling, so the middle of one is within 7% of every duration in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatencyBucket(pub usize);

impl LatencyBucket {
    /// Number of buckets. They span a little over a minute; longer durations are in the last one.
    pub const ALL: usize = 192;
    /// Number of one-microsecond buckets before the first doubling.
    const EXACT: u32 = 8;

    pub fn of(took: Duration) -> LatencyBucket {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let Some(octave) = micros.checked_ilog2().and_then(|log| log.checked_sub(LatencyBucket::EXACT.ilog2())) else {
            return LatencyBucket(micros as usize);
        };
        let within = (micros >> octave) as usize - LatencyBucket::EXACT as usize;
        LatencyBucket(((octave + 1) as usize * LatencyBucket::EXACT as usize + within).min(LatencyBucket::ALL - 1))
    }

    /// The middle of the bucket in milliseconds.
    pub fn millis(self) -> f64 {
        let exact = LatencyBucket::EXACT as usize;
        let (octave, within) = (self.0 / exact, self.0 % exact);
        let micros = match octave.checked_sub(1) {
            None => within as f64,
            Some(octave) => {
                (exact + within) as f64 * f64::powi(2.0, octave as i32) + f64::powi(2.0, octave as i32 - 1) - 0.5
            }
        };
        micros / 1000.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_middle_of_a_bucket_is_close_to_every_duration_in_it(micros in 0_u64..60_000_000) {
            let millis = LatencyBucket::of(Duration::from_micros(micros)).millis();
            let exact = micros as f64 / 1000.0;
            prop_assert!((millis - exact).abs() <= exact * 0.07 + 0.0006, "{micros} µs are {millis} ms");
        }

        #[test]
        fn a_longer_duration_is_never_in_an_earlier_bucket(one in 0_u64..100_000_000, other in 0_u64..100_000_000) {
            let bucket = |micros| LatencyBucket::of(Duration::from_micros(micros)).0;
            prop_assert_eq!(one.cmp(&other) as i8 * bucket(one).cmp(&bucket(other)) as i8 >= 0, true);
        }
    }

    #[test]
    fn restored_counts_are_drained_again() {
        let stats = RequestStats::default();
        stats.record(StatusCode::OK, Duration::from_millis(3));
        stats.record(StatusCode::NOT_FOUND, Duration::from_secs(3600));
        stats.count(Count::RouteError, "GET /trunks".into());
        let drained = stats.drain();
        assert_eq!(drained.len(), 5);
        assert!(stats.drain().is_empty());
        stats.restore(drained.clone());
        assert_eq!(stats.drain(), drained);
    }

    #[test]
    fn the_number_of_names_is_limited() {
        let stats = RequestStats::default();
        for number in 0..2 * MAX_NAMES {
            stats.count(Count::FailedSignIn, number.to_string());
        }
        let drained = stats.drain();
        assert_eq!(drained.len(), MAX_NAMES + 1);
        assert_eq!(drained[&(Count::FailedSignIn, OTHERS.to_owned())], MAX_NAMES as u64);
    }
}
