//! Which traces are sent to the collector.

/// A share of the traces, chosen by their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// The traces are sent whose id has at least this value in its last 56 bits, which are random by the W3C's rules.
    threshold: u64,
    /// Whether a caller's sampled flag decides about the caller's trace.
    follows_parent: bool,
}

/// The number of values of 56 bits.
const VALUES: u64 = 1 << 56;

impl Sampler {
    /// `ratio` is from 0 to 1.
    pub fn new(ratio: f64, follows_parent: bool) -> Sampler {
        let share = (ratio.clamp(0.0, 1.0) * VALUES as f64) as u64;
        Sampler { threshold: VALUES - share, follows_parent }
    }

    pub(super) fn samples(self, trace_id: &[u8; 16], parent_is_sampled: Option<bool>) -> bool {
        match parent_is_sampled.filter(|_| self.follows_parent) {
            Some(is_sampled) => is_sampled,
            None => u128::from_be_bytes(*trace_id) % u128::from(VALUES) >= u128::from(self.threshold),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(last: u64) -> [u8; 16] {
        u128::from(last).to_be_bytes()
    }

    #[test]
    fn a_share_of_the_trace_ids_is_sampled() {
        let quarter = Sampler::new(0.25, true);
        let threshold = VALUES / 4 * 3;
        assert!(quarter.samples(&id(threshold), None) && quarter.samples(&id(u64::MAX), None));
        assert!(!quarter.samples(&id(threshold - 1), None) && !quarter.samples(&id(VALUES), None));
        for last in [0, 1, threshold, u64::MAX] {
            assert!(Sampler::new(1.0, true).samples(&id(last), None));
            assert!(!Sampler::new(0.0, true).samples(&id(last), None));
        }
    }

    #[test]
    fn the_caller_decides_only_about_its_own_trace() {
        for parent in [true, false] {
            assert_eq!(Sampler::new(0.0, true).samples(&id(0), Some(parent)), parent);
            assert!(Sampler::new(1.0, false).samples(&id(0), Some(parent)));
        }
    }
}
