//! Calls that are going on.

mod store;

pub use store::{
    Identity, LiveCall, Progress, Watched, find, in_progress, insert, inserting, lock, lock_vanished, progress, remove,
    was_kept,
};

use rating::Rate;

use db::DbError;
use values::Money;

impl LiveCall {
    /// What it was sold at.
    pub fn rate(&self) -> Result<Rate, DbError> {
        let seconds = |seconds| u16::try_from(seconds).map_err(DbError::other);
        let (increment, minimum) = (seconds(self.increment_seconds)?, seconds(self.minimum_seconds)?);
        Rate::new(self.rate_per_minute, self.connect_fee, increment, minimum).map_err(DbError::other)
    }

    /// The name of its hold.
    pub fn reference(&self) -> String {
        self.token.to_string()
    }

    pub fn money(&self, nanos: i64) -> Money {
        Money::from_nanos(nanos, self.currency)
    }
}
