//! What this node has answered since it was last written down.
//!
//! Every request adds to two counters of the process and, when it is refused, to one that has a name; so watching costs
//! a request next to nothing. Whoever writes the numbers down takes them, and gives them back if that fails.

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
        /// Answers, by status.
        Status = "status",
        /// How long answers took, by step of [`Step`].
        Latency = "latency",
        /// Refused and failed requests, by endpoint.
        RouteError = "route_error",
        /// The same, by the caller's account.
        AccountError = "account_error",
        /// Requests over a limit, by endpoint.
        Limited = "limited",
        /// Sign-ins that failed, by address.
        FailedSignIn = "failed_sign_in",
        /// Rows of the audit log, by action.
        Audit = "audit",
    }
}

/// Different names that are counted apart until the next writing down; what comes on top is counted under this one.
const NAMES_AT_MOST: usize = 2000;
pub const OTHERS: &str = "others";

const STATUSES: usize = 500;
const FIRST_STATUS: usize = 100;

pub struct Traffic {
    statuses: [AtomicU64; STATUSES],
    latency: [AtomicU64; Step::ALL],
    named: Mutex<Counts>,
}

/// Numbers by what they count, in one order for everybody who writes them down.
pub type Counts = BTreeMap<(Count, String), u64>;

impl Default for Traffic {
    fn default() -> Traffic {
        let (statuses, latency) = (array::from_fn(|_| AtomicU64::new(0)), array::from_fn(|_| AtomicU64::new(0)));
        Traffic { statuses, latency, named: Mutex::default() }
    }
}

impl Traffic {
    pub fn answered(&self, status: StatusCode, took: Duration) {
        if let Some(count) = self.statuses.get(usize::from(status.as_u16()) - FIRST_STATUS) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(count) = self.latency.get(Step::of(took).0) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn count(&self, what: Count, name: String) {
        self.add(&mut self.named.lock().unwrap_or_else(PoisonError::into_inner), what, name, 1);
    }

    fn add(&self, named: &mut Counts, what: Count, name: String, number: u64) {
        let is_room = named.len() < NAMES_AT_MOST || named.contains_key(&(what, name.clone()));
        let name = if is_room { name } else { OTHERS.to_owned() };
        *named.entry((what, name)).or_default() += number;
    }

    /// All there is, which is then no longer here.
    pub fn take(&self) -> Counts {
        let mut counts = std::mem::take(&mut *self.named.lock().unwrap_or_else(PoisonError::into_inner));
        for (index, count) in self.statuses.iter().enumerate() {
            keep(&mut counts, Count::Status, (FIRST_STATUS + index).to_string(), count.swap(0, Ordering::Relaxed));
        }
        for (step, count) in self.latency.iter().enumerate() {
            keep(&mut counts, Count::Latency, step.to_string(), count.swap(0, Ordering::Relaxed));
        }
        counts
    }

    /// What could not be written down.
    pub fn give_back(&self, counts: Counts) {
        for ((what, name), number) in counts {
            let place = match (what, name.parse::<usize>()) {
                (Count::Status, Ok(status)) => self.statuses.get(status.saturating_sub(FIRST_STATUS)),
                (Count::Latency, Ok(step)) => self.latency.get(step),
                _ => None,
            };
            match place {
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

fn keep(counts: &mut Counts, what: Count, name: String, number: u64) {
    if number > 0 {
        counts.insert((what, name), number);
    }
}

/// A range of durations: eight to each doubling, so that its middle is within seven per cent of all in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step(pub usize);

impl Step {
    /// Up to a little over a minute; whatever takes longer is in the last.
    pub const ALL: usize = 192;
    /// The steps of whole microseconds before the first doubling.
    const EXACT: u32 = 8;

    pub fn of(took: Duration) -> Step {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let Some(octave) = micros.checked_ilog2().and_then(|log| log.checked_sub(Step::EXACT.ilog2())) else {
            return Step(micros as usize);
        };
        let within = (micros >> octave) as usize - Step::EXACT as usize;
        Step(((octave + 1) as usize * Step::EXACT as usize + within).min(Step::ALL - 1))
    }

    /// The middle of the range, in milliseconds.
    pub fn millis(self) -> f64 {
        let exact = Step::EXACT as usize;
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
        fn a_step_stands_for_what_is_in_it(micros in 0_u64..60_000_000) {
            let millis = Step::of(Duration::from_micros(micros)).millis();
            let exact = micros as f64 / 1000.0;
            prop_assert!((millis - exact).abs() <= exact * 0.07 + 0.0006, "{micros} µs are {millis} ms");
        }

        #[test]
        fn who_takes_longer_is_in_no_earlier_step(one in 0_u64..100_000_000, other in 0_u64..100_000_000) {
            let step = |micros| Step::of(Duration::from_micros(micros)).0;
            prop_assert_eq!(one.cmp(&other) as i8 * step(one).cmp(&step(other)) as i8 >= 0, true);
        }
    }

    #[test]
    fn what_is_given_back_is_taken_again() {
        let traffic = Traffic::default();
        traffic.answered(StatusCode::OK, Duration::from_millis(3));
        traffic.answered(StatusCode::NOT_FOUND, Duration::from_secs(3600));
        traffic.count(Count::RouteError, "GET /trunks".into());
        let taken = traffic.take();
        assert_eq!(taken.len(), 5);
        assert!(traffic.take().is_empty());
        traffic.give_back(taken.clone());
        assert_eq!(traffic.take(), taken);
    }

    #[test]
    fn names_without_end_take_memory_with_an_end() {
        let traffic = Traffic::default();
        for number in 0..2 * NAMES_AT_MOST {
            traffic.count(Count::FailedSignIn, number.to_string());
        }
        let taken = traffic.take();
        assert_eq!(taken.len(), NAMES_AT_MOST + 1);
        assert_eq!(taken[&(Count::FailedSignIn, OTHERS.to_owned())], NAMES_AT_MOST as u64);
    }
}
