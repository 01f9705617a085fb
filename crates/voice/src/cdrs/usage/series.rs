//! Series from the rows of the rollups: one for each key, the largest first, and at most [`MAX_POINTS`] points.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use crate::cdrs::rollups::{RollupDelta, Sign};
use values::Time;

/// Points of a response.
pub const MAX_POINTS: usize = 5000;

/// Calls by time, oldest first.
pub type Series = Vec<(Time, RollupDelta)>;

/// Calls by key and time.
pub struct Points<K>(HashMap<K, Series>);

/// Series that fit a response, and the sum of the others.
pub struct Folded<K> {
    pub series: Vec<(K, Series)>,
    /// Empty if all series fit.
    pub other: Series,
}

impl<K: Ord + Hash> Points<K> {
    pub fn new() -> Points<K> {
        Points(HashMap::new())
    }

    /// Adds the sums at each of these times or, where the sign is negative, takes them away.
    pub fn add(&mut self, key: K, at: impl IntoIterator<Item = (Time, Sign)>, sums: RollupDelta) {
        let series = self.0.entry(key).or_default();
        for (at, sign) in at {
            let sums = sums.signed(sign);
            // Rollups are read in the order of time, so most times are new and the last.
            match series.binary_search_by_key(&at, |(time, _)| *time) {
                Ok(index) => series.iter_mut().skip(index).take(1).for_each(|(_, known)| known.add(sums)),
                Err(index) => series.insert(index, (at, sums)),
            }
        }
    }

    /// The series with the highest charges, then with the most calls.
    pub fn fold(self) -> Folded<K> {
        let mut ranked = Vec::with_capacity(self.0.len());
        for (key, mut points) in self.0 {
            points.retain(|(_, sums)| *sums != RollupDelta::default());
            let sum = |of: fn(&RollupDelta) -> i64| points.iter().map(|(_, sums)| of(sums)).sum::<i64>();
            if !points.is_empty() {
                ranked.push((Reverse((sum(|one| one.charge), sum(|one| one.attempts))), key, points));
            }
        }
        ranked.sort_unstable_by(|(rank, key, _), (other_rank, other_key, _)| (rank, key).cmp(&(other_rank, other_key)));
        let mut series: Vec<(K, Series)> = ranked.into_iter().map(|(_, key, points)| (key, points)).collect();
        let all: usize = series.iter().map(|(_, points)| points.len()).sum();
        if all <= MAX_POINTS {
            return Folded { series, other: Vec::new() };
        }
        // The others need a point each for as many times as there are.
        let mut times: Vec<Time> = series.iter().flat_map(|(_, points)| points).map(|(at, _)| *at).collect();
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
        for (at, sums) in series.drain(kept..).flat_map(|(_, points)| points) {
            other.entry(at).or_default().add(sums);
        }
        Folded { series, other: other.into_iter().collect() }
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
            let kept = folded.series.iter().flat_map(|(_, points)| points).chain(&folded.other).map(|(_, sums)| sums);
            let (count, sum) = kept.fold((0, 0), |(count, sum), one| (count + 1, sum + one.charge));
            prop_assert!(count <= MAX_POINTS);
            prop_assert_eq!(sum, charge);
        }
    }
}
