//! Searches live calls, newest first.
//!
//! A page reads the calls of an account, or all, in their order and applies the other filters to at most [`MAX_SCANNED`]
//! of them, so it may be short, even empty, and yet have a next one.

use super::store::{self, Along, LiveListRow};
use crate::cdrs::Leg;
use db::{Conn, DbError};
use values::{AccountId, CallId, Time, TrunkId, UpstreamId};

/// Live calls that are read for one page.
const MAX_SCANNED: usize = 10_000;
/// Live calls that one statement reads where some may not match.
const BATCH: usize = 500;

/// Start time and token of a live call.
pub type LiveCursor = (Time, CallId);

/// Which live calls to return.
#[derive(Clone, Debug, Default)]
pub struct LiveFilter {
    pub account: Option<AccountId>,
    pub trunk: Option<TrunkId>,
    pub upstream: Option<UpstreamId>,
    pub leg: Option<Leg>,
    /// Prefix of the called number.
    pub called: Option<String>,
}

impl LiveFilter {
    /// The index to read along, and whether other filters remain.
    fn along(&self) -> (Along, bool) {
        let has_others = self.trunk.is_some() || self.upstream.is_some() || self.leg.is_some() || self.called.is_some();
        (self.account.map_or(Along::All, Along::Account), has_others)
    }

    fn matches(&self, call: &LiveListRow) -> bool {
        self.account.is_none_or(|account| account == call.account_id)
            && self.trunk.is_none_or(|trunk| trunk == call.trunk_id)
            && self.upstream.is_none_or(|upstream| Some(upstream) == call.upstream_id)
            && self.leg.is_none_or(|leg| leg == call.leg)
            && self.called.as_ref().is_none_or(|prefix| call.called.starts_with(prefix.as_str()))
    }
}

/// A page of live calls before a cursor, and the cursor of the next one.
pub async fn page(
    conn: &mut Conn,
    filter: &LiveFilter,
    before: LiveCursor,
    limit: usize,
) -> Result<(Vec<LiveListRow>, Option<LiveCursor>), DbError> {
    let (along, has_more_filters) = filter.along();
    // One row more than the page tells whether there is a next one.
    let batch = if has_more_filters { BATCH } else { limit + 1 };
    let (mut found, mut cursor, mut scanned): (Vec<LiveListRow>, _, _) = (Vec::new(), before, 0);
    loop {
        let calls = store::list(conn, along, cursor, i64::try_from(batch).unwrap_or(i64::MAX)).await?;
        let is_last = calls.len() < batch;
        scanned += calls.len();
        for call in calls {
            let at = (call.started_at, call.token);
            if filter.matches(&call) {
                if found.len() == limit {
                    return Ok((found, Some(cursor)));
                }
                found.push(call);
            }
            cursor = at;
        }
        if is_last {
            return Ok((found, None));
        }
        if scanned >= MAX_SCANNED {
            return Ok((found, Some(cursor)));
        }
    }
}
