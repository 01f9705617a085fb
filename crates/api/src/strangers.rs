//! Failures of requests that nobody signed in for: counted and logged, not in the audit log.
//!
//! Whoever can reach the service can cause any number of them, and each row of the audit log waits for the one before
//! it. A failed sign-in that names a user is in the audit log: lock-outs and rate limits bound how many there are.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::context::RequestCtx;
use values::Time;

/// At most one line of the log in this time; it says how many were left out.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

static LOG: Throttle = Throttle { next_ms: AtomicI64::new(0), left_out: AtomicU64::new(0) };

/// Counts and logs the failure of an action.
pub(super) fn count_failure(ctx: &RequestCtx, action: &'static str, reason: &str) {
    ctx.app.metrics.requests.unattributed_failures.of(action).inc();
    if let Some(left_out) = LOG.admit(ctx.now) {
        tracing::warn!(action, reason, ip = %ctx.ip, left_out, "request of an unknown caller failed");
    }
}

struct Throttle {
    /// When the next line may be logged, in Unix milliseconds.
    next_ms: AtomicI64,
    left_out: AtomicU64,
}

impl Throttle {
    /// How many lines were left out before this one, if it may be logged.
    fn admit(&self, now: Time) -> Option<u64> {
        let next = self.next_ms.load(Ordering::Relaxed);
        let following = now.plus(LOG_INTERVAL).millis();
        let is_due = now.millis() >= next || next > following;
        if is_due && self.next_ms.compare_exchange(next, following, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return Some(self.left_out.swap(0, Ordering::Relaxed));
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_ten_seconds_says_how_many_were_left_out() {
        let throttle = Throttle { next_ms: AtomicI64::new(0), left_out: AtomicU64::new(0) };
        let at = Time::from_millis;
        assert_eq!(throttle.admit(at(50_000)), Some(0));
        assert_eq!((throttle.admit(at(50_000)), throttle.admit(at(59_999))), (None, None));
        assert_eq!(throttle.admit(at(60_000)), Some(2));
        // The clock was set back.
        assert_eq!(throttle.admit(at(1_000)), Some(0));
    }
}
