//! The circuit breaker of a route: an upstream that fails for a destination loses its calls at once.
//!
//! ```text
//!   closed ── 5 failures in a row ──> open ── 30 s ──> half-open: one call is let through
//!      ^                               ^                  │ fails: open again
//!      └───────── any success ─────────┴──────────────────┘ no result in 30 s: another call
//! ```

use crate::UnixMillis;

/// Failures in a row that open a breaker.
pub const FAILURES_TO_OPEN: u32 = 5;
/// How long an open breaker waits before it lets a call through, and for the result of that call.
pub const RETRY_MILLIS: i64 = 30_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Breaker {
    Closed { failures: u32 },
    Open { since: UnixMillis },
    HalfOpen { since: UnixMillis },
}

/// A change that others should know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transition {
    Opened,
    /// The call that was let through failed too.
    StillOpen,
    Closed,
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker::Closed { failures: 0 }
    }
}

impl Breaker {
    pub fn fail(&mut self, at: UnixMillis) -> Option<Transition> {
        match *self {
            Breaker::Closed { failures } if failures + 1 < FAILURES_TO_OPEN => {
                *self = Breaker::Closed { failures: failures + 1 };
                None
            }
            Breaker::Closed { .. } => {
                *self = Breaker::Open { since: at };
                Some(Transition::Opened)
            }
            Breaker::HalfOpen { .. } => {
                *self = Breaker::Open { since: at };
                Some(Transition::StillOpen)
            }
            // A call for which it was the last resort.
            Breaker::Open { .. } => None,
        }
    }

    pub fn succeed(&mut self) -> Option<Transition> {
        let was_closed = self.is_closed();
        *self = Breaker::default();
        (!was_closed).then_some(Transition::Closed)
    }

    pub fn is_closed(&self) -> bool {
        matches!(self, Breaker::Closed { .. })
    }

    /// Whether a call may try the route as if it were healthy; of those that ask while the breaker is not closed, one in
    /// 30 seconds.
    pub fn admit(&mut self, now: UnixMillis) -> bool {
        match *self {
            Breaker::Closed { .. } => true,
            Breaker::Open { since } | Breaker::HalfOpen { since } if now - since >= RETRY_MILLIS => {
                *self = Breaker::HalfOpen { since: now };
                true
            }
            Breaker::Open { .. } | Breaker::HalfOpen { .. } => false,
        }
    }
}
