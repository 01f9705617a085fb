//! `GET /capacity`: peak concurrent calls of an account by hour or day.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::{self, ALL_ZONES, ZoneLoad};
use super::{HOUR_MILLIS, hour_of};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Query;
use api::problem::Problem;
use values::{Rfc3339, Time, text_enum};

const DAY_HOURS: i64 = 24;

text_enum! {
    /// Period of a capacity report.
    pub enum CapacityPeriod {
        /// The last 168 hours, one point per hour.
        Week = "week",
        /// The last 30 days, one point per UTC day.
        Month = "month",
    }
}

/// Which period to report.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityQuery {
    /// Period to show: a `week` by hour or a `month` by day; `week` if left out.
    #[serde(default)]
    pub period: Option<CapacityPeriod>,
}

/// Peak concurrent calls of an account over time.
#[derive(Serialize, JsonSchema)]
pub struct Capacity {
    /// The period of the report.
    pub period: CapacityPeriod,
    /// One point per hour or day, oldest first; the last one is the current hour or day.
    pub points: Vec<CapacityPoint>,
}

/// Peak concurrent calls in one hour or on one day.
#[derive(Serialize, JsonSchema)]
pub struct CapacityPoint {
    /// Start of the hour or UTC day (RFC 3339, UTC).
    pub bucket_start: Rfc3339,
    /// Highest number of concurrent calls in all zones together.
    pub peak_concurrent: i64,
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
    let recorded = store::list_peaks(&mut ctx, account, (first, now), buckets * step).await?;
    let loads = store::list_zone_loads(&mut ctx, account).await?;
    let together = loads.iter().find(|load| load.zone == ALL_ZONES);
    let peaks = with_unrecorded(recorded, together, first, now);
    let points = (0..buckets).map(|bucket| {
        let start = first + bucket * step;
        let peak = peaks.range(start..start + step).map(|(_, peak)| *peak).max();
        let bucket_start = Rfc3339(Time::from_millis(start.saturating_mul(HOUR_MILLIS)));
        CapacityPoint { bucket_start, peak_concurrent: peak.unwrap_or(0) }
    });
    Ok(Json(Capacity { period, points: points.collect() }))
}

/// Adds the peaks since the last change, which are not recorded yet: the peak of that hour, and in each hour after it
/// the calls that are still live.
fn with_unrecorded(recorded: Vec<(i64, i64)>, load: Option<&ZoneLoad>, first: i64, now: i64) -> BTreeMap<i64, i64> {
    let mut hours: BTreeMap<i64, i64> = recorded.into_iter().collect();
    let Some(load) = load else { return hours };
    let since = (load.hour + 1..=now).map(|hour| (hour, load.live));
    for (hour, peak) in std::iter::once((load.hour, load.hour_peak)).chain(since).filter(|(hour, _)| *hour >= first) {
        let highest = hours.entry(hour).or_default();
        *highest = peak.max(*highest);
    }
    hours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(hour: i64, hour_peak: i64, live: i64) -> ZoneLoad {
        ZoneLoad { zone: String::new(), live, hour, hour_peak, day: 0, day_peak: 0 }
    }

    #[test]
    fn live_calls_count_in_every_hour_since_the_last_change() {
        let hours = with_unrecorded(vec![(10, 7), (11, 6), (13, 1)], Some(&load(11, 5, 2)), 10, 13);
        assert_eq!(hours, BTreeMap::from([(10, 7), (11, 6), (12, 2), (13, 2)]));
        assert_eq!(with_unrecorded(vec![], Some(&load(4, 9, 1)), 10, 11), BTreeMap::from([(10, 1), (11, 1)]));
        assert_eq!(with_unrecorded(vec![(10, 7)], None, 10, 13), BTreeMap::from([(10, 7)]));
    }
}
