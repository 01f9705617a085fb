//! Exemplars: for each bucket of a histogram, the last observation that has a trace.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use values::Time;

/// An observation and its trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Exemplar {
    pub trace_id: String,
    pub value: f64,
    pub at: Time,
}

/// The exemplars of a histogram, by its labels. Only traced observations come here.
pub struct Exemplars {
    /// Upper bounds of the buckets, without the last bucket's.
    bounds: &'static [f64],
    of: Mutex<BTreeMap<Vec<String>, Vec<Option<Exemplar>>>>,
}

impl Exemplars {
    pub(super) fn new(bounds: &'static [f64]) -> Exemplars {
        Exemplars { bounds, of: Mutex::default() }
    }

    pub(super) fn set(&self, labels: &[&str], exemplar: Exemplar) {
        let bucket = self.bounds.partition_point(|bound| *bound < exemplar.value);
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let mut of = self.lock();
        let buckets = of.entry(labels).or_insert_with(|| vec![None; self.bounds.len() + 1]);
        if let Some(last) = buckets.get_mut(bucket) {
            *last = Some(exemplar);
        }
    }

    /// Those of one time series, by bucket; none if it has no exemplars.
    pub(super) fn of(&self, labels: &[&str]) -> Vec<Option<Exemplar>> {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        self.lock().get(&labels).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<String>, Vec<Option<Exemplar>>>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exemplar_belongs_to_the_bucket_of_its_value() {
        let exemplars = Exemplars::new(&[1.0, 2.0]);
        let exemplar = |value: f64, at| Exemplar { trace_id: "a".to_owned(), value, at: Time::from_millis(at) };
        for (value, at) in [(0.5, 1), (1.0, 2), (2.1, 3)] {
            exemplars.set(&["x"], exemplar(value, at));
        }
        assert_eq!(exemplars.of(&["x"]), [Some(exemplar(1.0, 2)), None, Some(exemplar(2.1, 3))]);
        assert!(exemplars.of(&["y"]).is_empty());
    }
}
