//! `GET /admin/dashboard/operational`.

use std::time::Duration;

use super::store::{self, Bucket, Named, Span};
use super::types::{
    AccountCount, ActionCount, AuditVolume, Errors, Latency, OperationalDashboard, Requests, RouteCount, StatusCount,
    TimeBucket, Window, WindowQuery,
};
use super::{flush_traffic, window_start};
use api::answer::Report;
use api::context::ReadCtx;
use api::input::Query;
use api::problem::Problem;
use platform::request_stats::{Count, LatencyBucket};
use values::{AccountId, Time, UnixMillis};

/// Entries of a list in the response.
pub(super) const MAX_ENTRIES: i64 = 50;
/// More than there are statuses, latency steps or actions.
const ALL: i64 = 1000;
/// The first status that is an error, as text, as in the sums.
const FIRST_ERROR: &str = "400";

impl Window {
    fn length(self) -> Duration {
        Duration::from_secs(match self {
            Window::Hour => 3600,
            Window::Day => 24 * 3600,
            Window::Week => 7 * 24 * 3600,
        })
    }
}

pub async fn operational(
    ctx: ReadCtx,
    Query(query): Query<WindowQuery>,
) -> Result<Report<OperationalDashboard>, Problem> {
    let ReadCtx { conn, request } = ctx;
    // This connection's snapshot is older than the flush below.
    drop(conn);
    flush_traffic(&request.app).await?;
    let mut conn = request.app.db.read().await?;
    let since = window_start(request.now, query.window.length());
    let statuses = store::by_name(&mut conn, since, Count::Status, ALL).await?;
    let requests = Requests {
        total: total(&statuses),
        ts_buckets: filled(since, request.now, store::by_time(&mut conn, since, Count::Status, "").await?),
        by_status: by_status(&statuses),
    };
    let failed = store::by_time(&mut conn, since, Count::Status, FIRST_ERROR).await?;
    let errors = Errors {
        total: failed.iter().map(|bucket| bucket.count).sum(),
        ts_buckets: filled(since, request.now, failed),
        by_route: by_route(store::by_name(&mut conn, since, Count::RouteError, MAX_ENTRIES).await?),
        by_account: by_account(store::by_name(&mut conn, since, Count::AccountError, MAX_ENTRIES).await?),
    };
    let latency = percentiles(&store::by_name(&mut conn, since, Count::Latency, ALL).await?);
    let actions = store::by_name(&mut conn, since, Count::Audit, ALL).await?;
    let audit_volume = AuditVolume {
        total: total(&actions),
        by_action: actions.into_iter().map(|Named { name, count }| ActionCount { action: name, count }).collect(),
    };
    Ok(Report(OperationalDashboard { requests, errors, latency, audit_volume }))
}

pub(super) fn total(counts: &[Named]) -> i64 {
    counts.iter().map(|named| named.count).sum()
}

fn by_status(counts: &[Named]) -> Vec<StatusCount> {
    let mut counts: Vec<StatusCount> = counts
        .iter()
        .filter_map(|named| Some(StatusCount { status: named.name.parse().ok()?, count: named.count }))
        .collect();
    counts.sort_by_key(|count| count.status);
    counts
}

pub(super) fn by_route(counts: Vec<Named>) -> Vec<RouteCount> {
    counts.into_iter().map(|Named { name, count }| RouteCount { route: name, count }).collect()
}

fn by_account(counts: Vec<Named>) -> Vec<AccountCount> {
    let entry = |named: Named| {
        let account_id: AccountId = named.name.parse().ok()?;
        Some(AccountCount { account_id, customer_id: account_id.uuid(), count: named.count })
    };
    counts.into_iter().filter_map(entry).collect()
}

/// A bucket for every minute or hour of the window, also the empty ones.
pub(super) fn filled((span, from): (Span, Time), now: Time, buckets: Vec<Bucket>) -> Vec<TimeBucket> {
    let mut buckets = buckets.into_iter().peekable();
    let mut all = Vec::new();
    let mut at = from;
    while at <= now {
        let count = buckets.next_if(|bucket| bucket.at == at).map_or(0, |bucket| bucket.count);
        all.push(TimeBucket { ts: UnixMillis(at), count });
        at = at.plus(span.length());
    }
    all
}

/// Percentiles of the response time; none without requests.
fn percentiles(counts: &[Named]) -> Option<Latency> {
    let mut steps: Vec<(usize, i64)> =
        counts.iter().filter_map(|named| Some((named.name.parse().ok()?, named.count))).collect();
    steps.sort_unstable();
    let all: i64 = steps.iter().map(|(_, count)| count).sum();
    let within = |percent: i64| {
        let rank = (all * percent + 99) / 100;
        let mut seen = 0;
        steps.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        })
    };
    let millis = |percent| within(percent).map(|(step, _)| LatencyBucket(*step).millis());
    Some(Latency { p50: millis(50)?, p95: millis(95)?, p99: millis(99)? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn percentiles_are_ranks_among_all_responses() {
        let step = |millis| LatencyBucket::of(Duration::from_millis(millis)).0.to_string();
        let counts = [(step(900), 1), (step(2), 94), (step(40), 5)].map(|(name, count)| Named { name, count });
        let latency = percentiles(&counts).unwrap();
        assert!((latency.p50 - 2.0).abs() < 0.15, "{}", latency.p50);
        assert!((latency.p95 - 40.0).abs() < 3.0, "{}", latency.p95);
        assert!((latency.p99 - 40.0).abs() < 3.0, "{}", latency.p99);
        assert!(percentiles(&[]).is_none());
    }

    #[test]
    fn a_minute_without_events_has_a_bucket() {
        let minute = |number: i64| Time::from_millis(number * 60_000);
        let since = window_start(minute(100).plus(Duration::from_secs(30)), Duration::from_secs(3600));
        let filled = filled(since, minute(100), vec![Bucket { at: minute(99), count: 7 }]);
        assert_eq!(filled.len(), 60);
        assert_eq!((filled[0].ts.0, filled[58].count, filled[59].count), (minute(41), 7, 0));
    }
}
