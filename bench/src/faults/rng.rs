//! Seeded pseudo-random numbers (SplitMix64).

use std::time::Duration;

use uuid::Uuid;

#[derive(Clone)]
pub struct Rng(u64);

impl Rng {
    pub const fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// An independent generator for each worker that shares a seed.
    pub fn for_worker(seed: u64, number: usize) -> Rng {
        let mut parent = Rng::new(seed ^ (number as u64 + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93));
        Rng(parent.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end` exclusive; `end` is small enough for the modulo bias not to matter.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub fn up_to(&mut self, max: Duration) -> Duration {
        max.mul_f64(self.below(10_000) as f64 / 10_000.0)
    }

    pub fn idempotency_key(&mut self) -> Uuid {
        let random = (u128::from(self.next()) << 64) | u128::from(self.next());
        uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid()
    }
}
