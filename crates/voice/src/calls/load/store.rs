//! The rows that calls take from. Each statement that takes also looks whether it may.

use super::Day;
use crate::calls::{day_of, hour_of};
use db::{Conn, DbError, Statement, params, sql};
use values::{AccountId, Time, TrunkId};

/// All zones together, under a name that no zone has: the most calls at once in each zone were not all at the same time.
pub const ACCOUNT_WIDE: &str = "";

/// A month of 31 days, the longest stretch whose peaks are shown.
pub const HOURS_SHOWN: i64 = 31 * 24;

/// One more call on a trunk, unless it is full or has begun enough of them in this second.
pub async fn begin_on_trunk(
    conn: &mut Conn,
    trunk: TrunkId,
    channel_cap: i64,
    cps_limit: Option<i64>,
    now: Time,
) -> Result<bool, DbError> {
    let statement = beginning_on_trunk(trunk, 1, channel_cap, cps_limit, now);
    Ok(conn.exec(statement.text, &statement.params).await? > 0)
}

/// The same as a statement, for so many calls, which changes a row if they all may begin.
pub fn beginning_on_trunk(
    trunk: TrunkId,
    calls: i64,
    channel_cap: i64,
    cps_limit: Option<i64>,
    now: Time,
) -> Statement {
    Statement::new(
        sql!(
            "INSERT INTO trunk_load (trunk_id, live, second, in_second)
             SELECT $1, CAST($2 AS BIGINT), $3, CAST($2 AS BIGINT)
             WHERE CAST($2 AS BIGINT) <= CAST($4 AS BIGINT) AND CAST($2 AS BIGINT) <= CAST($5 AS BIGINT)
             ON CONFLICT (trunk_id) DO UPDATE SET live = trunk_load.live + $2,
                 in_second = CASE WHEN trunk_load.second >= $3 THEN trunk_load.in_second + $2 ELSE $2 END,
                 second = CASE WHEN trunk_load.second >= $3 THEN trunk_load.second ELSE $3 END
             WHERE trunk_load.live + $2 <= $4 AND (trunk_load.second < $3 OR trunk_load.in_second + $2 <= $5)"
        ),
        params![trunk, calls, now.seconds(), channel_cap, cps_limit.unwrap_or(i64::MAX)],
    )
}

pub async fn channels_in_use(conn: &mut Conn, trunk: TrunkId) -> Result<i64, DbError> {
    let live: Option<(i64,)> =
        conn.opt(sql!("SELECT live FROM trunk_load WHERE trunk_id = $1"), params![trunk]).await?;
    Ok(live.map_or(0, |(live,)| live))
}

/// So many calls on a trunk are over.
pub async fn end_on_trunk(conn: &mut Conn, trunk: TrunkId, calls: i64) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE trunk_load SET live = live - $2 WHERE trunk_id = $1"), params![trunk, calls]).await?;
    Ok(())
}

/// One more call of an account in a zone, unless that would be more than its quota.
pub async fn begin_in_zone(
    conn: &mut Conn,
    account: AccountId,
    zone: &str,
    quota: i64,
    now: Time,
) -> Result<bool, DbError> {
    let statement = beginning_in_zone(account, zone, 1, quota, now);
    let begun: Option<Change> = conn.opt(statement.text, &statement.params).await?;
    remember_hours(conn, account, zone, begun).await?;
    Ok(begun.is_some())
}

/// The same as a statement, for so many calls, which changes a row if they all may begin. It remembers no hours, so that
/// it does only for a zone which has changed in this hour already.
pub fn beginning_in_zone(account: AccountId, zone: &str, calls: i64, quota: i64, now: Time) -> Statement {
    Statement::new(
        sql!(
            "INSERT INTO zone_load (account_id, zone, live, hour, hour_peak, changes, before_hour, before_peak,
                                    day, day_peak)
             SELECT $1, $2, CAST($3 AS BIGINT), $4, CAST($3 AS BIGINT), 1, $4, 0, $5, CAST($3 AS BIGINT)
             WHERE CAST($3 AS BIGINT) <= CAST($6 AS BIGINT)
             ON CONFLICT (account_id, zone) DO UPDATE SET live = zone_load.live + $3,
                 hour_peak = CASE WHEN zone_load.hour >= $4 AND zone_load.hour_peak > zone_load.live + $3
                                  THEN zone_load.hour_peak ELSE zone_load.live + $3 END,
                 day_peak = CASE WHEN zone_load.day >= $5 AND zone_load.day_peak > zone_load.live + $3
                                 THEN zone_load.day_peak ELSE zone_load.live + $3 END,
                 changes = CASE WHEN zone_load.hour >= $4 THEN zone_load.changes + 1 ELSE 1 END,
                 before_hour = CASE WHEN zone_load.hour >= $4 THEN zone_load.before_hour ELSE zone_load.hour END,
                 before_peak = CASE WHEN zone_load.hour >= $4
                                    THEN zone_load.before_peak ELSE zone_load.hour_peak END,
                 hour = CASE WHEN zone_load.hour >= $4 THEN zone_load.hour ELSE $4 END,
                 day = CASE WHEN zone_load.day >= $5 THEN zone_load.day ELSE $5 END
             WHERE zone_load.live + $3 <= $6
             RETURNING changes, before_hour, before_peak, hour, live - $3"
        ),
        params![account, zone, calls, hour_of(now), day_of(now), quota],
    )
}

/// So many calls of an account in a zone are over.
pub async fn end_in_zone(
    conn: &mut Conn,
    account: AccountId,
    zone: &str,
    calls: i64,
    now: Time,
) -> Result<(), DbError> {
    let ended: Option<Change> = conn
        .opt(
            sql!(
                "UPDATE zone_load SET live = live - $5,
                     hour_peak = CASE WHEN hour >= $3 THEN hour_peak ELSE live END,
                     day_peak = CASE WHEN day >= $4 THEN day_peak ELSE live END,
                     changes = CASE WHEN hour >= $3 THEN changes + 1 ELSE 1 END,
                     before_hour = CASE WHEN hour >= $3 THEN before_hour ELSE hour END,
                     before_peak = CASE WHEN hour >= $3 THEN before_peak ELSE hour_peak END,
                     hour = CASE WHEN hour >= $3 THEN hour ELSE $3 END,
                     day = CASE WHEN day >= $4 THEN day ELSE $4 END
                 WHERE account_id = $1 AND zone = $2
                 RETURNING changes, before_hour, before_peak, hour, live + $5"
            ),
            params![account, zone, hour_of(now), day_of(now), calls],
        )
        .await?;
    remember_hours(conn, account, zone, ended).await
}

/// How often a zone changed in its hour, the hour before that and its peak, this hour, and the calls before this change.
type Change = (i64, i64, i64, i64, i64);

/// Writes down the peaks of the hours before, if this was the first change in a new one: that of the hour of the last
/// change, and for those since then, in which nothing began or ended, the calls that went on all the while.
async fn remember_hours(
    conn: &mut Conn,
    account: AccountId,
    zone: &str,
    changed: Option<Change>,
) -> Result<(), DbError> {
    let Some((1, before, peak, hour, live)) = changed else { return Ok(()) };
    remember_hour(conn, account, zone, before, peak).await?;
    // Beyond what anybody can ask for, nothing needs to be written.
    for quiet in (before + 1).max(hour - HOURS_SHOWN)..hour {
        remember_hour(conn, account, zone, quiet, live).await?;
    }
    Ok(())
}

/// Writes down the most calls at once in an hour, unless more are known.
pub async fn remember_hour(
    conn: &mut Conn,
    account: AccountId,
    zone: &str,
    hour: i64,
    peak: i64,
) -> Result<(), DbError> {
    if peak == 0 {
        return Ok(());
    }
    conn.exec(
        sql!(
            "INSERT INTO zone_hours (account_id, zone, hour, peak) VALUES ($1, $2, $3, $4)
             ON CONFLICT (account_id, hour, zone) DO UPDATE SET peak = excluded.peak
             WHERE zone_hours.peak < excluded.peak"
        ),
        params![account, zone, hour, peak],
    )
    .await?;
    Ok(())
}

/// Sets aside so much more for calls of a day, unless that would be more than they may cost together.
pub async fn reserve_in_day(conn: &mut Conn, day: Day, amount: i64) -> Result<bool, DbError> {
    let statement = reserving_in_day(day, amount);
    Ok(conn.exec(statement.text, &statement.params).await? > 0)
}

/// The same as a statement, which changes a row if it may.
pub fn reserving_in_day(day: Day, amount: i64) -> Statement {
    Statement::new(
        sql!(
            "INSERT INTO daily_spend (account_id, day, charged, reserved, told)
             SELECT $1, $2, 0, CAST($3 AS BIGINT), FALSE WHERE CAST($3 AS BIGINT) <= CAST($4 AS BIGINT)
             ON CONFLICT (account_id, day) DO UPDATE SET reserved = daily_spend.reserved + $3
             WHERE daily_spend.charged + daily_spend.reserved + $3 <= $4"
        ),
        params![day.account, day.day, amount, day.most],
    )
}

/// What calls of a day may still cost; nobody takes of it before we commit.
pub async fn left_of_day(conn: &mut Conn, day: Day) -> Result<i64, DbError> {
    let spent: Option<(i64, i64)> = conn
        .opt(
            sql!("SELECT charged, reserved FROM daily_spend WHERE account_id = $1 AND day = $2 /*pg FOR UPDATE */"),
            params![day.account, day.day],
        )
        .await?;
    Ok(spent.map_or(day.most, |(charged, reserved)| day.most - charged - reserved))
}

/// Lets go of what was set aside for calls of a day, and counts what they cost.
pub async fn settle_in_day(
    conn: &mut Conn,
    account: AccountId,
    day: i64,
    charged: i64,
    freed: i64,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO daily_spend (account_id, day, charged, reserved, told) VALUES ($1, $2, $3, 0, FALSE)
             ON CONFLICT (account_id, day) DO UPDATE
             SET charged = daily_spend.charged + $3, reserved = daily_spend.reserved - $4"
        ),
        params![account, day, charged, freed],
    )
    .await?;
    Ok(())
}

pub async fn tell_once(conn: &mut Conn, day: Day) -> Result<bool, DbError> {
    let told = conn
        .exec(
            sql!(
                "INSERT INTO daily_spend (account_id, day, charged, reserved, told) VALUES ($1, $2, 0, 0, TRUE)
                 ON CONFLICT (account_id, day) DO UPDATE SET told = TRUE WHERE NOT daily_spend.told"
            ),
            params![day.account, day.day],
        )
        .await?;
    Ok(told > 0)
}
