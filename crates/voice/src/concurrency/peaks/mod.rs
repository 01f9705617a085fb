//! Recounts peak concurrent calls of hours with imported CDRs.
//!
//! Calls of our switches are counted when they begin and end. Imported CDRs arrive later and in any order, so the
//! import queues their hours, and a job counts each hour again from the CDRs and the live calls.

mod store;

use std::collections::BTreeSet;

use serde_json::Value;

use super::store::{ALL_ZONES, PEAK_HISTORY_HOURS, record_peak};
use super::{HOUR_MILLIS, hour_of};
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use store::QueuedHour;
use values::{AccountId, Time};

pub const COUNT_PEAKS: Kind = Kind::new("calls.count_peaks");

/// Hours that one run counts; the next run counts more.
const MAX_HOURS_PER_RUN: i64 = 1000;
/// Calls that began longer before an hour than this are ignored.
const LOOKBACK_HOURS: i64 = 24;

/// The time that a finished call occupied a channel.
#[derive(Clone, Copy, Debug)]
pub struct CallSpan {
    pub account: AccountId,
    pub started_at: Time,
    pub ended_at: Time,
}

/// Queues the hours of these calls, as far as their peaks are shown.
pub async fn queue_recount(conn: &mut Conn, calls: impl Iterator<Item = CallSpan>) -> Result<(), DbError> {
    let now = conn.now();
    let current = hour_of(now);
    let mut hours: BTreeSet<(AccountId, i64)> = BTreeSet::new();
    for call in calls {
        let first = hour_of(call.started_at).max(current - PEAK_HISTORY_HOURS);
        let last = hour_of(call.ended_at).min(current);
        hours.extend((first..=last).map(|hour| (call.account, hour)));
    }
    for (account, hour) in hours {
        store::enqueue(conn, account, hour).await?;
    }
    Ok(())
}

/// Counts the queued hours. The current hour stays queued until it is over.
pub async fn count_peaks_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let queued = store::list_queued(&mut *context.db.read().await?, MAX_HOURS_PER_RUN).await?;
    for queued in queued {
        let window = Window::of(queued.hour);
        let counting = context.db.report((queued.account_id, window), |conn, (account, window)| {
            Box::pin(store::count_peak(conn, *account, *window))
        });
        let (peak,) = counting.await?;
        let is_over = queued.hour < hour_of(context.clock.now());
        let counted = (queued, peak, is_over);
        context.db.tx(counted, |conn, (queued, peak, is_over)| Box::pin(save(conn, queued, *peak, *is_over))).await?;
    }
    Ok(())
}

async fn save(conn: &mut Conn, queued: &QueuedHour, peak: i64, is_over: bool) -> Result<(), DbError> {
    record_peak(conn, queued.account_id, ALL_ZONES, queued.hour, peak).await?;
    if is_over { store::dequeue(conn, queued).await } else { Ok(()) }
}

/// An hour, and the earliest start of calls that are counted in it, in Unix milliseconds.
#[derive(Clone, Copy, Debug)]
struct Window {
    started_from: i64,
    start: i64,
    end: i64,
}

impl Window {
    fn of(hour: i64) -> Window {
        let at = |hour: i64| hour.saturating_mul(HOUR_MILLIS);
        Window { started_from: at(hour - LOOKBACK_HOURS), start: at(hour), end: at(hour + 1) }
    }
}
