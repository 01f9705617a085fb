//! How many calls there were at once in hours of which lines of another switch tell.
//!
//! Calls of ours are counted as they begin and end. Lines come afterwards and in any order, so the hours they are of are
//! noted, and a job counts all calls of each again, ours among them, from the records.

mod store;

use std::collections::BTreeSet;

use serde_json::Value;

use super::load::{self, HOURS_SHOWN};
use super::records::Record;
use super::{HOUR_MILLIS, hour_of};
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use store::Due;
use values::{AccountId, Time};

pub const COUNT_PEAKS: Kind = Kind::new("calls.count_peaks");

/// Hours that one run counts again; the next has more.
const AT_ONCE: i64 = 1000;
/// A call that began longer before an hour than this is not looked for.
const LOOKED_BACK_HOURS: i64 = 24;

/// Notes the hours of these lines, as far as anybody is shown them.
pub async fn note<'r>(conn: &mut Conn, lines: impl Iterator<Item = &'r Record>, now: Time) -> Result<(), DbError> {
    let last = hour_of(now);
    let mut hours: BTreeSet<(AccountId, i64)> = BTreeSet::new();
    for line in lines {
        let first = hour_of(line.started_at).max(last - HOURS_SHOWN);
        let end = hour_of(line.ended_at.unwrap_or(line.started_at)).min(last);
        hours.extend((first..=end).map(|hour| (line.account_id, hour)));
    }
    for (account, hour) in hours {
        store::note(conn, account, hour).await?;
    }
    Ok(())
}

/// Counts the hours that were noted. One that goes on is counted again until it is over.
pub async fn count_peaks_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let due = store::due(&mut *context.db.read().await?, AT_ONCE).await?;
    for due in due {
        let stretch = Stretch::of(due.hour);
        let counting = context.db.report((due.account_id, stretch), |conn, (account, stretch)| {
            Box::pin(store::peak(conn, *account, *stretch))
        });
        let (peak,) = counting.await?;
        let is_over = due.hour < hour_of(context.clock.now());
        let counted = (due, peak, is_over);
        context.db.tx(counted, |conn, (due, peak, is_over)| Box::pin(write_down(conn, due, *peak, *is_over))).await?;
    }
    Ok(())
}

async fn write_down(conn: &mut Conn, due: &Due, peak: i64, is_over: bool) -> Result<(), DbError> {
    load::remember_hour(conn, due.account_id, load::ACCOUNT_WIDE, due.hour, peak).await?;
    if is_over { store::settle(conn, due).await } else { Ok(()) }
}

/// An hour, and since when calls that go on in it may have begun.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    begun_since: i64,
    start: i64,
    end: i64,
}

impl Stretch {
    fn of(hour: i64) -> Stretch {
        let at = |hour: i64| hour.saturating_mul(HOUR_MILLIS);
        Stretch { begun_since: at(hour - LOOKED_BACK_HOURS), start: at(hour), end: at(hour + 1) }
    }
}
