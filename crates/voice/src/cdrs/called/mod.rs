//! What a customer called in the last days, by destination, from the rollups.

mod store;

pub use store::{CustomerCalls, calls_of};

use values::Time;

/// Days whose calls count.
pub const DAYS: i64 = 30;
/// Hours of a slot of the rollups of days.
pub const DAY_SPAN: i64 = 24;
const HOUR_MILLIS: i64 = 3_600_000;

/// Whole UTC days as the rollups count them, in hours since 1970; the end is exclusive.
#[derive(Clone, Copy, Debug)]
pub struct Days {
    pub start: i64,
    pub end: i64,
}

impl Days {
    /// The 30 days before today.
    pub fn before(now: Time) -> Days {
        let today = now.millis().div_euclid(DAY_SPAN * HOUR_MILLIS) * DAY_SPAN;
        Days { start: today - DAYS * DAY_SPAN, end: today }
    }

    /// When the first day begins and when the last one ends.
    pub fn period(self) -> (Time, Time) {
        (Time::from_millis(self.start * HOUR_MILLIS), Time::from_millis(self.end * HOUR_MILLIS))
    }
}
