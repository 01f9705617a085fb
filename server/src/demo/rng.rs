//! Repeatable random numbers: the same seed gives the same demo data.

use uuid::Uuid;

/// SplitMix64.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to just below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From `min` to just below `end`.
    pub fn between(&mut self, min: i64, end: i64) -> i64 {
        min + (self.fraction() * (end - min) as f64) as i64
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.between(0, items.len() as i64) as usize)
    }

    /// True with this probability.
    pub fn chance(&mut self, percent: i64) -> bool {
        self.between(0, 100) < percent
    }

    /// A whole number whose mean is `expected`.
    pub fn around(&mut self, expected: f64) -> i64 {
        (expected + self.fraction()).floor() as i64
    }

    /// An exponentially distributed duration of at least 1.
    pub fn duration(&mut self, mean: f64) -> i64 {
        (-(1.0 - self.fraction()).ln() * mean).ceil().max(1.0) as i64
    }

    pub fn digits(&mut self, count: usize) -> String {
        (0..count).map(|_| char::from(b'0' + (self.next() % 10) as u8)).collect()
    }

    /// A UUID v4, for idempotency keys and call ids.
    pub fn uuid(&mut self) -> Uuid {
        let bytes = (u128::from(self.next()) << 64 | u128::from(self.next())).to_be_bytes();
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Rng;

    proptest! {
        #[test]
        fn numbers_are_within_bounds_and_repeatable(seed: u64, min in -1000i64..1000, span in 1i64..1000) {
            let (mut one, mut other) = (Rng::new(seed), Rng::new(seed));
            let drawn = one.between(min, min + span);
            prop_assert!((min..min + span).contains(&drawn));
            prop_assert_eq!(drawn, other.between(min, min + span));
            prop_assert_eq!(one.uuid(), other.uuid());
            prop_assert!(one.duration(90.0) >= 1);
            prop_assert!((2..=3).contains(&one.around(2.5)));
        }
    }
}
