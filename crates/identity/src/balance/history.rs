//! `GET /account/balance/history`: the balance at the end of each UTC day, for charts.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CURRENCY;
use api::answer::Json;
use api::checks::{Checked, Checks, Given, must};
use api::context::ReadCtx;
use api::input::Query;
use api::problem::Problem;
use platform::ledger;
use values::{Date, ExactMoney, Time};

const DAY: Duration = Duration::from_secs(24 * 3600);
const DEFAULT_DAYS: u32 = 30;
const MAX_DAYS: u32 = 400;

/// Days of a balance history.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BalanceHistoryQuery {
    /// First day (UTC); by default 29 days before `to`.
    #[serde(default)]
    from: Option<Date>,
    /// Last day (UTC); today if left out. With `from` at most 400 days.
    #[serde(default)]
    to: Option<Date>,
}

impl Checks for BalanceHistoryQuery {
    fn check(given: &Given<'_>) {
        let now = given.now;
        given.check_with("from", "to", |from: Option<Date>, to: Option<Date>| {
            let (first, last) = days(from, to, now);
            must(first <= last, "must not be after to, nor in the future")?;
            must(last.since(first) < DAY * MAX_DAYS, format!("must be less than {MAX_DAYS} days before to"))
        });
    }
}

/// The start of the first and of the last day; the future has no balance.
fn days(from: Option<Date>, to: Option<Date>, now: Time) -> (Time, Time) {
    let today = Date::from(now).start();
    let last = to.map_or(today, Date::start).min(today);
    (from.map_or(last.minus(DAY * (DEFAULT_DAYS - 1)), Date::start), last)
}

/// Balance at the end of a day.
#[derive(Serialize, JsonSchema)]
pub struct DailyBalance {
    /// Day (UTC).
    date: Date,
    /// Balance at its end; today, the current one.
    balance: ExactMoney,
}

/// Balance of an account by day.
#[derive(Serialize, JsonSchema)]
pub struct BalanceHistory {
    /// One balance for each day, oldest first.
    data: Vec<DailyBalance>,
}

pub async fn show(
    mut ctx: ReadCtx,
    Query(Checked(query)): Query<Checked<BalanceHistoryQuery>>,
) -> Result<Json<BalanceHistory>, Problem> {
    let account = ctx.principal()?.account_id;
    let (first, last) = days(query.from, query.to, ctx.request.now);
    let balances = ledger::daily_balances(&mut ctx, account, CURRENCY, first, last).await?;
    let data = balances.into_iter().map(|(day, balance)| DailyBalance { date: day.into(), balance: balance.into() });
    Ok(Json(BalanceHistory { data: data.collect() }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_history_ends_today_and_is_thirty_days_long_by_default() {
        // 31 January 2026, 12:00.
        let now = Time::from_seconds(1_769_860_800);
        let date = |text: &str| Some(text.parse::<Date>().unwrap());
        let shown = |from, to| {
            let (first, last) = days(from, to, now);
            [Date::from(first), Date::from(last)].map(|day| day.to_string())
        };
        assert_eq!(shown(None, None), ["2026-01-02", "2026-01-31"]);
        assert_eq!(shown(date("2026-01-30"), date("2027-01-01")), ["2026-01-30", "2026-01-31"]);
        assert_eq!(shown(None, date("2025-12-31")), ["2025-12-02", "2025-12-31"]);
    }
}
