//! Rollups of CDRs: per UTC day and destination, per hour and trunk, and charges per UTC day. `usage` has its own.
//!
//! The transaction that writes a CDR also updates its rollups, so they always agree with the CDRs, and reading them
//! costs the same however many calls there are.
//!
//! - `delta`: what CDRs add · here: `/cdrs/summary`, `/asr-acd`, and the charges of an invoice

mod delta;
mod store;
mod types;

pub use delta::{ChargeDelta, RollupDelta, Sign};
pub use store::{Charge, DestinationCharges, DestinationDays, TrunkHours, add_to_charges, add_to_days, add_to_hours};

use crate::concurrency::{day_of, hour_of};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Query;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use store::DayRow;
use types::{AsrAcd, AsrAcdPeriod, AsrAcdQuery, CdrSummary, SummaryQuery, SummaryRow, SummaryTotals};
use values::{AccountId, Date, Money, Time};

const DAY_HOURS: i64 = 24;

/// More destinations than any deck has.
const MAX_DESTINATIONS: i64 = 50_000;

pub async fn summary(mut ctx: ReadCtx, Query(query): Query<SummaryQuery>) -> Result<Json<CdrSummary>, Problem> {
    let account = ctx.principal()?.account_id;
    let date = query.date.unwrap_or_else(|| Date::from(ctx.request.now));
    let rows = store::list_day(&mut ctx, account, day_of(date.start()), MAX_DESTINATIONS).await?;
    let sum = |of: fn(&DayRow) -> i64| rows.iter().map(of).sum::<i64>();
    let totals = SummaryTotals {
        attempts: sum(|row| row.attempts),
        answered: sum(|row| row.answered),
        minutes: minutes(sum(|row| row.seconds)),
        charge: Money::from_nanos(sum(|row| row.charge), CURRENCY).into(),
    };
    Ok(Json(CdrSummary { date, rows: rows.into_iter().map(SummaryRow::from).collect(), totals }))
}

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
    // The last of them is the current hour.
    let first = hour_of(ctx.request.now) - hours + 1;
    let sums = store::sum_since(&mut ctx, account, first, query.trunk_id).await?;
    Ok(Json(AsrAcd::of(period, sums)))
}

/// Charges of an account's calls by destination between two times, both the start of a UTC day.
pub async fn charges(conn: &mut Conn, account: AccountId, from: Time, to: Time) -> Result<Vec<Charge>, DbError> {
    store::list_charges(conn, account, (day_of(from), day_of(to)), MAX_DESTINATIONS).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asr_and_acd_are_zero_without_calls() {
        let none = AsrAcd::of(AsrAcdPeriod::Day, (0, 0, 0));
        assert_eq!((none.asr, none.acd_seconds, none.sample_size), (0.0, 0, 0));
        let some = AsrAcd::of(AsrAcdPeriod::Day, (4, 3, 100));
        assert_eq!((some.asr, some.acd_seconds, some.sample_size), (0.75, 33, 4));
    }
}
