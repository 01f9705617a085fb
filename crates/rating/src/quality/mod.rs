//! Quality of routes: how an upstream does for a destination, and the order of routes that follows from it.
//!
//! ```text
//!   results of calls ──┬── Window: counts per minute ── Counts: ASR, ACD, PDD ── Floor ── Demotion ──┐
//!                      └── Breaker: failures in a row ────────────────────────────────────────────────┴── order
//! ```
//!
//! Nothing here adds or removes a route: a demoted or broken one goes to the end of the list and stays a last resort.
//! Routes that the margin guard dropped are not given to [`order`], so no order brings them back.

mod breaker;
mod floor;
mod order;
mod window;

pub use breaker::{Breaker, FAILURES_TO_OPEN, RETRY_MILLIS, Transition};
pub use floor::{Demotion, Floor, PROBE_EVERY, PROBES_TO_RECOVER, Shortfall};
pub use order::{BALANCED_BAND_PERCENT, Policy, RankedRoute, RouteState, Rules, order};
pub use window::{Counts, MINUTE_MILLIS, WINDOW_MINUTES, Window, minute_of};

/// What a result says about the upstream that was tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Answered,
    /// The upstream did its part: the callee is busy, absent or unknown.
    Reached,
    /// Nothing certain: the caller gave up, or the upstream refused this one call.
    Unclear,
    /// The upstream failed: it answered 408 or 5xx, or not at all.
    Failed,
}

impl Outcome {
    /// The outcome of an attempt that was not answered. Whoever has heard ringing has reached the callee.
    pub fn of_failure(sip_code: Option<i64>, has_rung: bool) -> Outcome {
        match sip_code {
            Some(487) if !has_rung => Outcome::Unclear,
            _ if has_rung => Outcome::Reached,
            Some(408 | 500..=599) => Outcome::Failed,
            Some(404 | 410 | 480 | 484 | 486 | 600 | 603 | 604 | 607) => Outcome::Reached,
            _ => Outcome::Unclear,
        }
    }
}
