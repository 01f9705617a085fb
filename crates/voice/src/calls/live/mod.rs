//! Live calls: calls that were allowed and are not over.

mod admin;
mod customer;
mod search;
mod store;

pub use admin::{hang_up, list_live};
pub use customer::list_own;
pub use store::{
    CallIdentity, LiveCall, LiveState, LockedCall, count_live, delete, find_each, insert_each, list_to_hang_up, lock,
    lock_expired, lock_stale, owner_of_trunk, release_statement, save_routes, update,
};

use crate::cdrs::{HungUpBy, KnownCall, MAX_CALL_SECONDS, MAX_CLOCK_SKEW_MILLIS};
use crate::concurrency::SECOND_MILLIS;
use values::Time;

impl LiveCall {
    pub fn known(&self) -> KnownCall<'_> {
        KnownCall {
            id: self.token,
            terms: &self.terms,
            routes: &self.state.routes.0,
            upstream_id: self.state.upstream_id,
            answered_at: self.state.answered_at,
            reserved_seconds: self.state.reserved_seconds,
        }
    }

    /// Who had the switch end it.
    pub fn hung_up_by(&self) -> Option<HungUpBy> {
        self.state.hang_up.then_some(HungUpBy::Team)
    }

    /// Time of the last event by the switch's clock. Before the first event there is only our clock, which may be
    /// ahead.
    pub fn last_event_at(&self) -> Time {
        let (started_at, seen_at) = (self.terms.started_at, self.state.seen_at);
        if seen_at == started_at { Time::from_millis(started_at.millis() - MAX_CLOCK_SKEW_MILLIS) } else { seen_at }
    }

    /// Until when the call was live for certain, within the longest call that is accepted.
    pub fn last_live_at(&self) -> Time {
        let seen_at = self.state.seen_at;
        let answered_at = self.state.answered_at.unwrap_or(seen_at);
        let latest = Time::from_millis(answered_at.millis().saturating_add(MAX_CALL_SECONDS * SECOND_MILLIS));
        seen_at.max(answered_at).min(latest)
    }
}
