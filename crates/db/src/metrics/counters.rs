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
    /// These values are there at 0 from the start. Otherwise a counter begins with its first event, which Prometheus does
    /// not see as an increase.
    pub(super) fn new(all: IntCounterVec, values: &[&'static str]) -> Counters {
        let counters = Counters { all, known: [const { OnceLock::new() }; MAX_VALUES], others: OnceLock::new() };
        for &value in values {
            counters.of(value);
        }
        counters
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
    use prometheus::core::Collector;

    use super::*;

    fn things(values: &[&'static str]) -> Counters {
        Counters::new(IntCounterVec::new(Opts::new("things", "Things."), &["kind"]).unwrap(), values)
    }

    #[test]
    fn known_values_are_there_before_they_are_counted() {
        let counters = things(&["one", "two"]);
        let series = || counters.all.collect().iter().map(|family| family.get_metric().len()).sum::<usize>();
        assert_eq!(series(), 2);
        counters.of("one").inc();
        assert_eq!((series(), counters.of("one").get(), counters.of("two").get()), (2, 1, 0));
    }

    #[test]
    fn values_beyond_the_maximum_share_one_counter() {
        let counters = things(&[]);
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
