//! What calls come to: by day and destination, by hour and trunk, and how many there were at once.
//!
//! All of it was counted in the transactions of the calls, so that it agrees with the records at every moment, and
//! costs the same for a thousand of them as for a billion. Days are those of UTC.

mod store;
mod types;

pub use store::Charge;

use std::collections::BTreeMap;

use crate::calls;
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Query;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use store::{DayRow, LoadRow};
use types::{
    AsrAcd, AsrAcdPeriod, AsrAcdQuery, Capacity, CapacityPeriod, CapacityPoint, CapacityQuery, CdrSummary, Quota,
    QuotaList, SummaryQuery, SummaryRow, SummaryTotals,
};
use values::{AccountId, Date, Money, Rfc3339, Time};

const HOUR_MILLIS: i64 = 3_600_000;
const DAY_HOURS: i64 = 24;

/// More destinations than any deck names.
const MOST_DESTINATIONS: i64 = 50_000;
/// More zones than anybody has.
const MOST_ZONES: i64 = 1000;

fn hour_of(moment: Time) -> i64 {
    moment.millis().div_euclid(HOUR_MILLIS)
}

fn day_of(moment: Time) -> i64 {
    hour_of(moment).div_euclid(DAY_HOURS)
}

fn hour_start(hour: i64) -> Rfc3339 {
    Rfc3339(Time::from_millis(hour.saturating_mul(HOUR_MILLIS)))
}

pub async fn summary(mut ctx: ReadCtx, Query(query): Query<SummaryQuery>) -> Result<Json<CdrSummary>, Problem> {
    let account = ctx.principal()?.account_id;
    let date = query.date.unwrap_or_else(|| Date::from(ctx.request.now));
    let rows = store::day(&mut ctx, account, day_of(date.start()), MOST_DESTINATIONS).await?;
    let sum = |of: fn(&DayRow) -> i64| rows.iter().map(of).sum::<i64>();
    let totals = SummaryTotals {
        attempts: sum(|row| row.attempts),
        answered: sum(|row| row.answered),
        minutes: minutes(sum(|row| row.seconds)),
        charge: Money::from_nanos(sum(|row| row.charge), CURRENCY).into(),
    };
    Ok(Json(CdrSummary { date, rows: rows.into_iter().map(SummaryRow::from).collect(), totals }))
}

/// Seconds as minutes, which a double holds exactly enough for a million years.
#[expect(clippy::cast_precision_loss, reason = "seconds of calls stay far below 2^53")]
fn minutes(seconds: i64) -> f64 {
    seconds as f64 / 60.0
}

pub async fn asr_acd(mut ctx: ReadCtx, Query(query): Query<AsrAcdQuery>) -> Result<Json<AsrAcd>, Problem> {
    let account = ctx.principal()?.account_id;
    let period = query.period.unwrap_or(AsrAcdPeriod::Day);
    let hours = match period {
        AsrAcdPeriod::Day => DAY_HOURS,
        AsrAcdPeriod::Week => 7 * DAY_HOURS,
        AsrAcdPeriod::Month => 30 * DAY_HOURS,
    };
    // The hour that goes on is the last of them.
    let first = hour_of(ctx.request.now) - hours + 1;
    let sums = store::since(&mut ctx, account, first, query.trunk_id).await?;
    Ok(Json(AsrAcd::of(period, sums)))
}

pub async fn capacity(mut ctx: ReadCtx, Query(query): Query<CapacityQuery>) -> Result<Json<Capacity>, Problem> {
    let account = ctx.principal()?.account_id;
    let period = query.period.unwrap_or(CapacityPeriod::Week);
    let now = hour_of(ctx.request.now);
    let (step, buckets) = match period {
        CapacityPeriod::Week => (1, 7 * DAY_HOURS),
        CapacityPeriod::Month => (DAY_HOURS, 30),
    };
    let first = (now.div_euclid(step) - buckets + 1) * step;
    let written = store::peaks(&mut ctx, account, (first, now), buckets * step).await?;
    let loads = store::loads(&mut ctx, account, MOST_ZONES).await?;
    let together = loads.iter().find(|load| load.zone == calls::ACCOUNT_WIDE);
    let hours = with_present(written, together, first, now);
    let points = (0..buckets).map(|bucket| {
        let start = first + bucket * step;
        let peak = hours.range(start..start + step).map(|(_, peak)| *peak).max();
        CapacityPoint { bucket_start: hour_start(start), peak_concurrent: peak.unwrap_or(0) }
    });
    Ok(Json(Capacity { period, points: points.collect() }))
}

/// The peaks that were written down, with those since the last change, which are not: until the end of that hour its
/// peak, and afterwards the calls that still go on.
fn with_present(written: Vec<(i64, i64)>, load: Option<&LoadRow>, first: i64, now: i64) -> BTreeMap<i64, i64> {
    let mut hours: BTreeMap<i64, i64> = written.into_iter().collect();
    let Some(load) = load else { return hours };
    let since = (load.hour + 1..=now).map(|hour| (hour, load.live));
    for (hour, peak) in std::iter::once((load.hour, load.hour_peak)).chain(since).filter(|(hour, _)| *hour >= first) {
        let known = hours.entry(hour).or_default();
        *known = peak.max(*known);
    }
    hours
}

pub async fn quotas(mut ctx: ReadCtx) -> Result<Json<QuotaList>, Problem> {
    let account = ctx.principal()?.account_id;
    let today = day_of(ctx.request.now);
    let app = ctx.request.app.clone();
    let quotas = calls::quotas_of(&mut ctx, &app, account).await?;
    let loads = store::loads(&mut ctx, account, MOST_ZONES).await?;
    let loads: BTreeMap<&str, &LoadRow> = loads.iter().map(|load| (load.zone.as_str(), load)).collect();
    let data = quotas.into_iter().map(|quota| {
        let load = loads.get(quota.zone.as_str());
        Quota {
            zone: quota.zone.clone(),
            in_use: load.map_or(0, |load| load.live),
            limit: quota.limit,
            peak_today: load.map_or(0, |load| if load.day >= today { load.day_peak } else { load.live }),
        }
    });
    Ok(Json(QuotaList { data: data.collect() }))
}

/// What an account's calls were charged between two moments, both the beginning of a UTC day, by destination.
pub async fn charges(conn: &mut Conn, account: AccountId, from: Time, to: Time) -> Result<Vec<Charge>, DbError> {
    store::charges(conn, account, (day_of(from), day_of(to)), MOST_DESTINATIONS).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(hour: i64, hour_peak: i64, live: i64) -> LoadRow {
        LoadRow { zone: String::new(), live, hour, hour_peak, day: 0, day_peak: 0 }
    }

    #[test]
    fn calls_that_go_on_count_in_every_hour_since() {
        let hours = with_present(vec![(10, 7), (11, 6), (13, 1)], Some(&load(11, 5, 2)), 10, 13);
        assert_eq!(hours, BTreeMap::from([(10, 7), (11, 6), (12, 2), (13, 2)]));
        assert_eq!(with_present(vec![], Some(&load(4, 9, 1)), 10, 11), BTreeMap::from([(10, 1), (11, 1)]));
        assert_eq!(with_present(vec![(10, 7)], None, 10, 13), BTreeMap::from([(10, 7)]));
    }

    #[test]
    fn without_calls_there_are_no_rates_to_speak_of() {
        let none = AsrAcd::of(AsrAcdPeriod::Day, (0, 0, 0));
        assert_eq!((none.asr, none.acd_seconds, none.sample_size), (0.0, 0, 0));
        let some = AsrAcd::of(AsrAcdPeriod::Day, (4, 3, 100));
        assert_eq!((some.asr, some.acd_seconds, some.sample_size), (0.75, 33, 4));
    }
}
