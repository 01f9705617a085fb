//! The one place that asks the system for the time.
//!
//! A test clock stands beside the system's: it runs on from where it was moved to, and only forward. It may begin in the
//! past, so that a history can be lived through in a minute.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use values::Time;

/// The time as the whole service sees it.
#[derive(Clone)]
pub struct Clock {
    /// How far the time lies from the system's, in milliseconds; absent on a clock that cannot be offset.
    offset_ms: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Clock { offset_ms: None }
    }

    /// The clock that settings ask for.
    pub fn new(is_movable: bool) -> Self {
        if is_movable { Clock::movable() } else { Clock::system() }
    }

    /// A clock that runs with the system's and can be moved forward.
    pub fn movable() -> Self {
        Clock { offset_ms: Some(Arc::default()) }
    }

    /// The same, but it begins so long ago.
    pub fn starting_ago(span: Duration) -> Self {
        let lag_ms = i64::try_from(span.as_millis()).unwrap_or(i64::MAX / 2);
        Clock { offset_ms: Some(Arc::new(AtomicI64::new(-lag_ms))) }
    }

    /// How far the time lies behind the system's.
    pub fn lag(&self) -> Duration {
        let offset_ms = self.offset_ms.as_ref().map_or(0, |offset| offset.load(Ordering::Acquire));
        Duration::from_millis(offset_ms.min(0).unsigned_abs())
    }

    pub fn now(&self) -> Time {
        let offset_ms = self.offset_ms.as_ref().map_or(0, |offset| offset.load(Ordering::Acquire));
        Time::from_millis(system_millis().saturating_add(offset_ms))
    }

    /// Moves the time forward and answers whether this clock can be moved at all.
    pub fn advance(&self, by: Duration) -> bool {
        let Some(offset) = &self.offset_ms else { return false };
        offset.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX / 2), Ordering::AcqRel);
        true
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn system_millis() -> i64 {
    // A system set to before 1970 reads as 1970: tokens and leases then look old, never valid for ever.
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_begins_in_the_past_catches_up_with_the_system() {
        let span = Duration::from_secs(90 * 24 * 3600);
        let clock = Clock::starting_ago(span);
        assert_eq!(clock.lag(), span);
        assert!(clock.now().plus(span) >= Clock::system().now().minus(Duration::from_secs(60)));
        assert!(clock.advance(span));
        assert_eq!(clock.lag(), Duration::ZERO);
    }
}
