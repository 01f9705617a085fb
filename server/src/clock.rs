//! The one place that asks the system for the time.
//!
//! A test clock stands beside the system's: it runs on from where it was moved to, and only forward.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::values::Time;

/// The time as the whole service sees it.
#[derive(Clone)]
pub struct Clock {
    /// How far a test has moved the time, in milliseconds; absent on a clock that cannot be moved.
    moved_ms: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Clock { moved_ms: None }
    }

    /// A clock that runs with the system's and can be moved forward.
    pub fn movable() -> Self {
        Clock { moved_ms: Some(Arc::default()) }
    }

    pub fn now(&self) -> Time {
        let moved_ms = self.moved_ms.as_ref().map_or(0, |moved| moved.load(Ordering::Acquire));
        Time::from_millis(system_millis().saturating_add(moved_ms))
    }

    /// Moves the time forward and answers whether this clock can be moved at all.
    pub fn advance(&self, by: Duration) -> bool {
        let Some(moved) = &self.moved_ms else { return false };
        moved.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX / 2), Ordering::AcqRel);
        true
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn system_millis() -> i64 {
    // A system set to before 1970 reads as 1970: tokens and leases then look old, never valid for ever.
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}
