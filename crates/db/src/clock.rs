//! The clock: the only place that reads the system time.
//!
//! A test clock can be moved forward and then runs on from there. It may start in the past, so that the demo can play
//! months of history in a minute.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use values::Time;

/// The clock of the service.
#[derive(Clone)]
pub struct Clock {
    /// Offset from the system time; absent on a clock that cannot be moved.
    offset_ms: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// The system clock.
    pub fn system() -> Self {
        Clock { offset_ms: None }
    }

    /// A test clock if `is_movable`, otherwise the system clock.
    pub fn new(is_movable: bool) -> Self {
        if is_movable { Clock::movable() } else { Clock::system() }
    }

    /// A test clock that starts at the system time.
    pub fn movable() -> Self {
        Clock { offset_ms: Some(Arc::default()) }
    }

    /// A test clock that starts `span` before this one.
    pub fn starting_ago(&self, span: Duration) -> Self {
        let lag_ms = i64::try_from(span.as_millis()).unwrap_or(i64::MAX / 2);
        Clock { offset_ms: Some(Arc::new(AtomicI64::new(self.offset().saturating_sub(lag_ms)))) }
    }

    pub fn is_movable(&self) -> bool {
        self.offset_ms.is_some()
    }

    /// Whether it is behind the system time, as only that of a simulation is.
    pub fn is_in_the_past(&self) -> bool {
        self.offset() < 0
    }

    fn offset(&self) -> i64 {
        self.offset_ms.as_ref().map_or(0, |offset| offset.load(Ordering::Acquire))
    }

    pub fn now(&self) -> Time {
        Time::from_millis(system_millis().saturating_add(self.offset()))
    }

    /// Moves the clock forward, if it is movable.
    pub fn advance(&self, by: Duration) {
        if let Some(offset) = &self.offset_ms {
            offset.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX / 2), Ordering::AcqRel);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn system_millis() -> i64 {
    // A system time before 1970 becomes 1970: tokens and leases then look expired, not valid forever.
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_starts_in_the_past_can_catch_up() {
        let span = Duration::from_secs(90 * 24 * 3600);
        let present = Clock::movable();
        present.advance(Duration::from_secs(3600));
        let clock = present.starting_ago(span);
        assert!(clock.is_in_the_past() && !present.is_in_the_past());
        assert!(present.now().since(clock.now()) >= span - Duration::from_secs(60));
        clock.advance(present.now().since(clock.now()));
        assert!(clock.now() >= present.now().minus(Duration::from_secs(60)));
    }
}
