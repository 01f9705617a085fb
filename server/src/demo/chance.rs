//! Chance that can be had again: the same seed, the same world.

use uuid::Uuid;

/// SplitMix64: small, even, and the same on every machine.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A share of the whole, from 0 to just below 1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From the first to just before the second.
    pub fn between(&mut self, least: i64, beyond: i64) -> i64 {
        least + (self.share() * (beyond - least) as f64) as i64
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.between(0, of.len() as i64) as usize)
    }

    /// Something that happens so often in a hundred times.
    pub fn happens(&mut self, percent: i64) -> bool {
        self.between(0, 100) < percent
    }

    /// A whole number that is on average this one.
    pub fn about(&mut self, expected: f64) -> i64 {
        (expected + self.share()).floor() as i64
    }

    /// A length whose mean is this: many short ones, few long ones.
    pub fn length(&mut self, mean: f64) -> i64 {
        (-(1.0 - self.share()).ln() * mean).ceil().max(1.0) as i64
    }

    pub fn digits(&mut self, count: usize) -> String {
        (0..count).map(|_| char::from(b'0' + (self.next() % 10) as u8)).collect()
    }

    /// An id of version 4, such as keys and calls have.
    pub fn uuid(&mut self) -> Uuid {
        let bytes = (u128::from(self.next()) << 64 | u128::from(self.next())).to_be_bytes();
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_is_drawn_lies_within_its_bounds_and_comes_again(seed: u64, least in -1000i64..1000, span in 1i64..1000) {
            let (mut one, mut other) = (Chance::new(seed), Chance::new(seed));
            let drawn = one.between(least, least + span);
            prop_assert!((least..least + span).contains(&drawn));
            prop_assert_eq!(drawn, other.between(least, least + span));
            prop_assert_eq!(one.uuid(), other.uuid());
            prop_assert!(one.length(90.0) >= 1);
            prop_assert!((2..=3).contains(&one.about(2.5)));
        }
    }
}
