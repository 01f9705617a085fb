//! Counters with one label.

use std::sync::OnceLock;

use prometheus::{IntCounter, IntCounterVec};

/// Maximum values of a label that have their own counter; further ones share [`OTHERS`].
const MAX_VALUES: usize = 32;
const OTHERS: &str = "other";

/// Counters by label value. The values come from the code, never from a caller, and are looked up without a lock.
pub struct Counters {
    all: IntCounterVec,
    known: [OnceLock<(&'static str, IntCounter)>; MAX_VALUES],
    others: OnceLock<IntCounter>,
}

impl Counters {
    pub(super) fn new(all: IntCounterVec) -> Counters {
        Counters { all, known: [const { OnceLock::new() }; MAX_VALUES], others: OnceLock::new() }
    }

    pub fn of(&self, value: &'static str) -> &IntCounter {
        for entry in &self.known {
            let (known, counter) = entry.get_or_init(|| (value, self.all.with_label_values(&[value])));
            if *known == value {
                return counter;
            }
        }
        self.others.get_or_init(|| self.all.with_label_values(&[OTHERS]))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use prometheus::Opts;

    use super::*;

    #[test]
    fn values_beyond_the_maximum_share_one_counter() {
        let counters = Counters::new(IntCounterVec::new(Opts::new("things", "Things."), &["kind"]).unwrap());
        let values: Vec<&'static str> =
            (0..MAX_VALUES + 2).map(|number| &*Box::leak(number.to_string().into_boxed_str())).collect();
        for _ in 0..3 {
            for value in &values {
                counters.of(value).inc();
            }
        }
        assert!(values[..MAX_VALUES].iter().all(|value| counters.of(value).get() == 3));
        assert_eq!(counters.all.with_label_values(&[OTHERS]).get(), 6);
    }
}
