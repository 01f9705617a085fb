//! Searches CDRs, newest first, at a cost that does not grow with their number.
//!
//! Every page begins at a cursor in time and goes back from there, over the CDRs of an account, of a trunk or of all
//! accounts. Other filters are applied to [`MAX_SCANNED`] CDRs at a time, so a page may be short, even empty, and yet
//! have a next one. A number may have few calls among millions: unless more than [`MAX_SCANNED`] CDRs match the prefix,
//! they are read by number and sorted; if more match, they are frequent enough to be found by time.

mod store;

pub use store::{CdrItem, CdrListRow, HotWindow, TrunkName, each_newest, list_all_ascending, list_ascending};

use uuid::Uuid;

use super::terms::{CallStatus, Leg};
use db::{Conn, DbError};
use values::{AccountId, CallId, Country, Time, TrunkId, UpstreamId};

/// CDRs that are read for one page.
pub const MAX_SCANNED: i64 = 10_000;

/// Later than every call.
pub const END_OF_TIME: Time = Time::from_millis(i64::MAX);

/// Start time and id of a CDR.
pub type CdrCursor = (Time, CallId);

/// Where a cursor lies among the ids of all CDRs, which are in the order of the calls. A cursor without an id lies before
/// all calls of its time.
pub fn position((at, id): CdrCursor) -> CallId {
    if id.uuid().is_nil() { CallId::first_at(at) } else { id }
}

/// Which CDRs to return.
#[derive(Clone, Debug)]
pub struct CdrFilter {
    pub account: Option<AccountId>,
    pub trunk: Option<TrunkId>,
    pub upstream: Option<UpstreamId>,
    pub status: Option<CallStatus>,
    pub leg: Option<Leg>,
    pub country: Option<Country>,
    /// SIP Call-ID.
    pub call_id: Option<String>,
    /// Prefix of the calling number.
    pub calling: Option<String>,
    /// Prefix of the called number.
    pub called: Option<String>,
    pub from: Time,
    /// Exclusive.
    pub to: Time,
}

impl CdrFilter {
    /// Whether a CDR of the range matches the other filters.
    pub fn matches(&self, cdr: &CdrListRow) -> bool {
        self.account.is_none_or(|account| account == cdr.account_id)
            && self.trunk.is_none_or(|trunk| trunk == cdr.trunk_id)
            && self.upstream.is_none_or(|upstream| Some(upstream) == cdr.upstream_id)
            && self.status.is_none_or(|status| status == cdr.status)
            && self.leg.is_none_or(|leg| leg == cdr.leg)
            && self.country.is_none_or(|country| Some(country) == cdr.country)
            && self.call_id.as_ref().is_none_or(|call_id| *call_id == cdr.call_id)
            && self.calling.as_ref().is_none_or(|prefix| cdr.calling.starts_with(prefix.as_str()))
            && self.called.as_ref().is_none_or(|prefix| cdr.called.starts_with(prefix.as_str()))
    }

    fn has_range(&self) -> bool {
        self.from > Time::EPOCH || self.to != END_OF_TIME
    }
}

/// A page of CDRs, and the cursor of the next one.
pub struct CdrPage {
    pub rows: Vec<CdrListRow>,
    pub next: Option<CdrCursor>,
}

/// The index that a search reads along: by time, within a Call-ID or a trunk, or by number.
#[derive(Clone, Copy)]
enum Scan<'f> {
    AllAccounts,
    Account(AccountId),
    Trunk(AccountId, TrunkId),
    CallId(&'f str),
    Called(AccountId, &'f str),
    Calling(AccountId, &'f str),
}

/// Returns a page after a cursor, or from the newest CDR.
pub async fn page(
    conn: &mut Conn,
    filter: &CdrFilter,
    after: Option<CdrCursor>,
    limit: usize,
) -> Result<CdrPage, DbError> {
    let cursor = after.unwrap_or((filter.to, CallId::new(Uuid::nil())));
    // One row more than the page tells whether there is a next one.
    let fetch = i64::try_from(limit).unwrap_or(i64::MAX - 1) + 1;
    if let Some(scan) = scan_by_number(conn, filter, cursor).await? {
        return Ok(cut(store::list(conn, &scan, filter, cursor, MAX_SCANNED + 1, fetch).await?, limit));
    }
    let scan = scan_by_time(conn, filter).await?;
    if !has_more_filters(filter, scan) {
        let rows = match scan {
            Scan::Account(_) | Scan::AllAccounts if is_newest(filter, after, limit) => {
                store::list_newest(conn, filter.account, fetch).await?
            }
            _ => store::list(conn, &scan, filter, cursor, fetch, fetch).await?,
        };
        return Ok(cut(rows, limit));
    }
    let rows = store::list(conn, &scan, filter, cursor, MAX_SCANNED, fetch).await?;
    if rows.len() > limit {
        return Ok(cut(rows, limit));
    }
    // CDRs that arrive between the two statements move the last cursor up; no row may be returned twice.
    let returned = rows.last().map(cursor_of);
    let last = store::last_scanned(conn, &scan, filter, cursor, MAX_SCANNED).await?;
    let next = last.map(|last| returned.map_or(last, |returned| returned.min(last)));
    Ok(CdrPage { rows, next })
}

/// The account whose newest CDRs, without any other condition, are the page; none if it is another page.
pub fn newest_of(filter: &CdrFilter, after: Option<CdrCursor>, limit: usize) -> Option<AccountId> {
    let account = filter.account.filter(|_| filter.trunk.is_none() && filter.call_id.is_none())?;
    let is_all = !has_more_filters(filter, Scan::Account(account)) && is_newest(filter, after, limit);
    is_all.then_some(account)
}

/// Whether a page begins with the newest CDR and is short enough for [`store::list_newest`].
fn is_newest(filter: &CdrFilter, after: Option<CdrCursor>, limit: usize) -> bool {
    let is_short = i64::try_from(limit).is_ok_and(|limit| limit < store::MAX_NEWEST);
    after.is_none() && !filter.has_range() && is_short
}

/// A page of these rows, the last of which may be one too many.
fn cut(mut rows: Vec<CdrListRow>, limit: usize) -> CdrPage {
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(cursor_of);
    CdrPage { rows, next }
}

fn cursor_of(row: &CdrListRow) -> CdrCursor {
    (row.started_at, row.id)
}

/// A scan by number, if the filter has one that few enough CDRs match.
async fn scan_by_number<'f>(
    conn: &mut Conn,
    filter: &'f CdrFilter,
    cursor: CdrCursor,
) -> Result<Option<Scan<'f>>, DbError> {
    let Some(account) = filter.account.filter(|_| filter.call_id.is_none()) else { return Ok(None) };
    let called = filter.called.as_deref().map(|prefix| Scan::Called(account, prefix));
    let calling = filter.calling.as_deref().map(|prefix| Scan::Calling(account, prefix));
    for scan in called.into_iter().chain(calling) {
        if store::count(conn, &scan, filter, cursor, MAX_SCANNED + 1).await? <= MAX_SCANNED {
            return Ok(Some(scan));
        }
    }
    Ok(None)
}

async fn scan_by_time<'f>(conn: &mut Conn, filter: &'f CdrFilter) -> Result<Scan<'f>, DbError> {
    if let Some(call_id) = &filter.call_id {
        return Ok(Scan::CallId(call_id));
    }
    let account = match (filter.account, filter.trunk) {
        (None, Some(trunk)) => store::trunk_account(conn, trunk).await?,
        (account, _) => account,
    };
    Ok(match (account, filter.trunk) {
        (Some(account), Some(trunk)) => Scan::Trunk(account, trunk),
        (Some(account), None) => Scan::Account(account),
        (None, _) => Scan::AllAccounts,
    })
}

/// Whether the scan may return CDRs that do not match.
fn has_more_filters(filter: &CdrFilter, scan: Scan<'_>) -> bool {
    let is_trunk_left = filter.trunk.is_some() && !matches!(scan, Scan::Trunk(..));
    let is_account_left = filter.account.is_some() && matches!(scan, Scan::CallId(_));
    is_trunk_left
        || is_account_left
        || filter.upstream.is_some()
        || filter.status.is_some()
        || filter.leg.is_some()
        || filter.country.is_some()
        || filter.calling.is_some()
        || filter.called.is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_with_a_prefix_sort_between_it_and_after_prefix(
            prefix in "[+a-z0-9]{1,8}", rest in "[ -~é]{0,8}", other in "[+a-z0-9]{1,8}"
        ) {
            let (within, end) = (format!("{prefix}{rest}"), store::after_prefix(&prefix));
            prop_assert!(prefix <= within && within < end);
            let lies_between = prefix <= other && other < end;
            prop_assert_eq!(other.starts_with(&prefix), lies_between);
        }
    }
}
