//! Series from the rows of the rollups: one for each key, the largest first, and at most [`MAX_POINTS`] points.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::cdrs::rollups::{RollupDelta, Sign};
use values::Time;

/// Points of a response.
pub const MAX_POINTS: usize = 5000;

/// Calls by key and time.
pub struct Points<K>(BTreeMap<K, BTreeMap<Time, RollupDelta>>);

/// Series that fit a response, and the sum of the others.
pub struct Folded<K> {
    pub series: Vec<(K, BTreeMap<Time, RollupDelta>)>,
    /// Empty if all series fit.
    pub other: BTreeMap<Time, RollupDelta>,
}

impl<K: Ord> Points<K> {
    pub fn new() -> Points<K> {
        Points(BTreeMap::new())
    }

    /// Adds the sums at each of these times or, where the sign is negative, takes them away.
    pub fn add(&mut self, key: K, at: impl IntoIterator<Item = (Time, Sign)>, sums: RollupDelta) {
        let series = self.0.entry(key).or_default();
        for (at, sign) in at {
            series.entry(at).or_default().add(sums.signed(sign));
        }
    }

    /// The series with the highest charges, then with the most calls.
    pub fn fold(self) -> Folded<K> {
        let mut series: Vec<(K, BTreeMap<Time, RollupDelta>)> = self.0.into_iter().collect();
        for (_, points) in &mut series {
            points.retain(|_, sums| *sums != RollupDelta::default());
        }
        series.retain(|(_, points)| !points.is_empty());
        series.sort_by_key(|(_, points)| {
            let sum = |of: fn(&RollupDelta) -> i64| points.values().map(of).sum::<i64>();
            Reverse((sum(|one| one.charge), sum(|one| one.attempts)))
        });
        let all: usize = series.iter().map(|(_, points)| points.len()).sum();
        if all <= MAX_POINTS {
            return Folded { series, other: BTreeMap::new() };
        }
        // The others need a point each for as many times as there are.
        let mut times: Vec<Time> = series.iter().flat_map(|(_, points)| points.keys().copied()).collect();
        times.sort_unstable();
        times.dedup();
        let mut room = MAX_POINTS.saturating_sub(times.len());
        let fitting = series.iter().take_while(|(_, points)| {
            let fits = points.len() <= room;
            room = room.saturating_sub(points.len());
            fits
        });
        let kept = fitting.count();
        let mut other: BTreeMap<Time, RollupDelta> = BTreeMap::new();
        for (_, points) in series.drain(kept..) {
            for (at, sums) in points {
                other.entry(at).or_default().add(sums);
            }
        }
        Folded { series, other }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_response_has_too_many_points(keys in 1usize..60, times in 1i64..200, step in 1i64..9) {
            let (mut points, mut charge) = (Points::new(), 0);
            for key in 0..keys {
                for at in 0..times {
                    let sums = RollupDelta { attempts: 1, charge: step * (at % 7), ..RollupDelta::default() };
                    charge += sums.charge;
                    points.add(key, [(Time::from_millis(at), Sign::Plus)], sums);
                }
            }
            let folded = points.fold();
            let kept = folded.series.iter().flat_map(|(_, points)| points.values()).chain(folded.other.values());
            let (count, sum) = kept.fold((0, 0), |(count, sum), one| (count + 1, sum + one.charge));
            prop_assert!(count <= MAX_POINTS);
            prop_assert_eq!(sum, charge);
        }
    }
}
