//! Which accounts changed something at this node just now. Their lists are read from the primary for as long as a
//! replica may be behind, so that whoever changed something sees it.
//!
//! What is changed at one node and listed at another may be missing for that long; docs/scaling.md says so.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use values::{AccountId, Time};

/// When full, it is cleared, and for a while every account counts as one that changed something.
const MAX_ACCOUNTS: usize = 10_000;
/// How old the measurement of a replica may be, and a little more.
const MARGIN: Duration = Duration::from_secs(2);

pub struct RecentWrites {
    /// How long a write is recent.
    window: Duration,
    writes: Mutex<Writes>,
}

#[derive(Default)]
struct Writes {
    last: HashMap<AccountId, Time>,
    cleared_at: Option<Time>,
}

impl RecentWrites {
    /// For a replica that may be this far behind.
    pub fn new(max_lag: Duration) -> RecentWrites {
        RecentWrites { window: max_lag.saturating_add(MARGIN), writes: Mutex::default() }
    }

    pub fn note(&self, account: AccountId, now: Time) {
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        if writes.last.len() >= MAX_ACCOUNTS && !writes.last.contains_key(&account) {
            writes.last.retain(|_, at| self.is_recent(*at, now));
            if writes.last.len() >= MAX_ACCOUNTS {
                writes.last.clear();
                writes.cleared_at = Some(now);
            }
        }
        writes.last.insert(account, now);
    }

    pub fn has(&self, account: AccountId, now: Time) -> bool {
        let writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let last = writes.last.get(&account).max(writes.cleared_at.as_ref());
        last.is_some_and(|at| self.is_recent(*at, now))
    }

    fn is_recent(&self, at: Time, now: Time) -> bool {
        at > now || now.since(at) <= self.window
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn account(number: usize) -> AccountId {
        AccountId::new(Uuid::from_u128(number as u128))
    }

    #[test]
    fn a_write_is_recent_for_as_long_as_a_replica_may_be_behind() {
        let (writes, at) = (RecentWrites::new(Duration::from_secs(8)), Time::from_seconds);
        writes.note(account(1), at(100));
        assert!(writes.has(account(1), at(100)) && writes.has(account(1), at(110)));
        assert!(!writes.has(account(1), at(111)) && !writes.has(account(2), at(100)));
    }

    #[test]
    fn with_more_accounts_than_there_is_room_for_everybody_reads_from_the_primary() {
        let (writes, at) = (RecentWrites::new(Duration::from_secs(8)), Time::from_seconds);
        for number in 0..MAX_ACCOUNTS {
            writes.note(account(number), at(100));
        }
        assert!(!writes.has(account(MAX_ACCOUNTS + 1), at(105)));
        writes.note(account(MAX_ACCOUNTS), at(105));
        assert!(writes.has(account(MAX_ACCOUNTS + 1), at(105)) && writes.has(account(0), at(115)));
        assert!(!writes.has(account(0), at(116)));

        for number in 0..2 * MAX_ACCOUNTS {
            writes.note(account(number), at(200 + 100 * (number / MAX_ACCOUNTS) as i64));
        }
        assert!(!writes.has(account(0), at(300)), "what is no longer recent makes room");
    }
}
