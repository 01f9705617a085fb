//! Tables `trunk_load`, `foreign_load`, `zone_load` and `zone_hours`. The transaction that counts a call also checks its limit.

use super::{day_of, hour_of};
use db::{Conn, DbError, Inserts, Statement, Value, insert, params, row, row_values, sql};
use values::{AccountId, Time, TrunkId};

/// The name under which all zones are counted together. The account's peak is not the sum of its zones' peaks, which
/// may be at different times.
pub const ALL_ZONES: &str = "";

/// The longest period whose peaks are shown: a month of 31 days.
pub const PEAK_HISTORY_HOURS: i64 = 31 * 24;

/// More zones than any operator has.
pub const MAX_ZONES: i64 = 1000;

/// Calls that begin on a trunk, and its limits.
#[derive(Clone, Copy, Debug)]
pub struct Starting {
    pub trunk: TrunkId,
    pub calls: i64,
    pub channel_cap: i64,
    pub cps_limit: i64,
}

/// Occupies channels, in the order of their locks. On PostgreSQL it returns the live calls of each trunk
/// and those of this second.
pub fn occupy_channels(trunks: &[Starting], now: Time) -> Inserts<'static> {
    let second = Value::Int(now.seconds());
    let values = |it: &Starting| vec![Value::Uuid(it.trunk.uuid()), Value::Int(it.calls), second.clone()];
    Inserts {
        text: sql!(
            "INSERT INTO trunk_load (trunk_id, live, second, in_second) VALUES ($1, $2, $3, $2)
             ON CONFLICT (trunk_id) DO UPDATE SET live = trunk_load.live + excluded.live,
                 in_second = CASE WHEN trunk_load.second >= excluded.second
                                  THEN trunk_load.in_second + excluded.in_second ELSE excluded.in_second END,
                 second = CASE WHEN trunk_load.second >= excluded.second
                               THEN trunk_load.second ELSE excluded.second END
             /*pg RETURNING live, in_second */"
        ),
        lists: trunks.iter().map(values).collect(),
    }
}

pub async fn channels_in_use(conn: &mut Conn, trunk: TrunkId) -> Result<i64, DbError> {
    let live: Option<(i64,)> =
        conn.opt(sql!("SELECT live FROM trunk_load WHERE trunk_id = $1"), params![trunk]).await?;
    Ok(live.map_or(0, |(live,)| live))
}

pub fn release_channels(trunk: TrunkId, calls: i64) -> Statement {
    Statement::new(sql!("UPDATE trunk_load SET live = live - $2 WHERE trunk_id = $1"), params![trunk, calls])
}

/// Counts an inbound call of a trunk to a target outside its allow-list; false if enough began in this second.
pub async fn count_foreign(conn: &mut Conn, trunk: TrunkId, cps_limit: i64) -> Result<bool, DbError> {
    let counted = conn
        .exec(
            sql!(
                "INSERT INTO foreign_load (trunk_id, second, in_second)
                 SELECT $1, $2, 1 WHERE CAST($3 AS BIGINT) >= 1
                 ON CONFLICT (trunk_id) DO UPDATE SET
                     in_second = CASE WHEN foreign_load.second >= $2 THEN foreign_load.in_second + 1 ELSE 1 END,
                     second = CASE WHEN foreign_load.second >= $2 THEN foreign_load.second ELSE $2 END
                 WHERE foreign_load.second < $2 OR foreign_load.in_second < $3"
            ),
            params![trunk, conn.now().seconds(), cps_limit],
        )
        .await?;
    Ok(counted > 0)
}

/// Live inbound calls of a trunk of this account.
pub async fn inbound_channels_in_use(conn: &mut Conn, account: AccountId, trunk: TrunkId) -> Result<i64, DbError> {
    let (live,) = conn
        .one(
            sql!("SELECT COUNT(*) FROM live_calls WHERE account_id = $1 AND trunk_id = $2 AND leg = 'origination'"),
            params![account, trunk],
        )
        .await?;
    Ok(live)
}

/// Calls of an account that begin in a zone, and its quota.
#[derive(Clone, Copy, Debug)]
pub struct Entering<'a> {
    pub account: AccountId,
    pub zone: &'a str,
    pub calls: i64,
    pub quota: i64,
}

/// Counts calls in zones, in the order of their locks. It returns the live calls of each zone, and what
/// [`record_past_peaks`] needs to know of the change.
pub fn enter_zones<'a>(zones: &[Entering<'a>], now: Time) -> Inserts<'a> {
    let [hour, day] = [hour_of(now), day_of(now)].map(Value::Int);
    let values = |it: &Entering<'a>| {
        vec![
            Value::Uuid(it.account.uuid()),
            Value::Text(it.zone.into()),
            Value::Int(it.calls),
            hour.clone(),
            day.clone(),
        ]
    };
    Inserts {
        text: sql!(
            "INSERT INTO zone_load (account_id, zone, live, hour, hour_peak, changes, before_hour, before_peak,
                                    day, day_peak)
             VALUES ($1, $2, $3, $4, $3, 1, $4, 0, $5, $3)
             ON CONFLICT (account_id, zone) DO UPDATE SET live = zone_load.live + excluded.live,
                 hour_peak = CASE WHEN zone_load.hour >= excluded.hour
                                       AND zone_load.hour_peak > zone_load.live + excluded.live
                                  THEN zone_load.hour_peak ELSE zone_load.live + excluded.live END,
                 day_peak = CASE WHEN zone_load.day >= excluded.day
                                      AND zone_load.day_peak > zone_load.live + excluded.live
                                 THEN zone_load.day_peak ELSE zone_load.live + excluded.live END,
                 changes = CASE WHEN zone_load.hour >= excluded.hour THEN zone_load.changes + 1 ELSE 1 END,
                 before_hour = CASE WHEN zone_load.hour >= excluded.hour
                                    THEN zone_load.before_hour ELSE zone_load.hour END,
                 before_peak = CASE WHEN zone_load.hour >= excluded.hour
                                    THEN zone_load.before_peak ELSE zone_load.hour_peak END,
                 hour = CASE WHEN zone_load.hour >= excluded.hour THEN zone_load.hour ELSE excluded.hour END,
                 day = CASE WHEN zone_load.day >= excluded.day THEN zone_load.day ELSE excluded.day END
             RETURNING live, changes, before_hour, before_peak, hour"
        ),
        lists: zones.iter().map(values).collect(),
    }
}

/// Records the peaks of the hours before these zones were entered, by what [`enter_zones`] returned.
pub async fn record_peaks_before(conn: &mut Conn, zones: &[Entering<'_>], after: &[Vec<i64>]) -> Result<(), DbError> {
    for (it, after) in zones.iter().zip(after) {
        if let [live, changes, before, peak, hour] = *after.as_slice() {
            record_past_peaks(conn, it.account, it.zone, Some((changes, before, peak, hour, live - it.calls))).await?;
        }
    }
    Ok(())
}

/// Calls of an account that leave a zone.
pub struct Leaving<'a> {
    pub account: AccountId,
    pub zone: &'a str,
    pub calls: i64,
}

pub async fn leave_zones(conn: &mut Conn, zones: &[Leaving<'_>]) -> Result<(), DbError> {
    let (hour, day) = (hour_of(conn.now()), day_of(conn.now()));
    let lists: Vec<Vec<Value<'_>>> = zones
        .iter()
        .map(|leaving| row_values![leaving.account, leaving.zone, hour, day, leaving.calls].into())
        .collect();
    let left: Vec<Vec<ZoneChange>> = conn
        .all_each(
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
            &lists,
        )
        .await?;
    for (Leaving { account, zone, .. }, change) in zones.iter().zip(left) {
        record_past_peaks(conn, *account, zone, change.into_iter().next()).await?;
    }
    Ok(())
}

/// Changes in this hour, the hour of the change before and its peak, this hour, and the live calls before this change.
type ZoneChange = (i64, i64, i64, i64, i64);

/// Records the peaks of past hours at the first change of a new hour: the peak of the hour of the last change, and for
/// the quiet hours since then the calls that were live all the time.
async fn record_past_peaks(
    conn: &mut Conn,
    account: AccountId,
    zone: &str,
    change: Option<ZoneChange>,
) -> Result<(), DbError> {
    let Some((1, before, peak, hour, live)) = change else { return Ok(()) };
    record_peak(conn, account, zone, before, peak).await?;
    // Older peaks are never shown.
    for quiet in (before + 1).max(hour - PEAK_HISTORY_HOURS)..hour {
        record_peak(conn, account, zone, quiet, live).await?;
    }
    Ok(())
}

/// Records the peak concurrent calls of an hour, unless a higher peak is recorded.
pub async fn record_peak(conn: &mut Conn, account: AccountId, zone: &str, hour: i64, peak: i64) -> Result<(), DbError> {
    if peak == 0 {
        return Ok(());
    }
    insert!(
        conn,
        zone_hours { account_id: account, zone, hour, peak },
        "ON CONFLICT (account_id, hour, zone) DO UPDATE SET peak = excluded.peak WHERE zone_hours.peak < excluded.peak"
    )
    .await?;
    Ok(())
}

/// Recorded peaks of the hours from `first` to `last`, all zones together: hour and peak.
pub async fn list_peaks(
    conn: &mut Conn,
    account: AccountId,
    (first, last): (i64, i64),
    limit: i64,
) -> Result<Vec<(i64, i64)>, DbError> {
    conn.all(
        sql!(
            "SELECT hour, peak FROM zone_hours WHERE account_id = $1 AND hour BETWEEN $2 AND $3 AND zone = $5
             ORDER BY hour LIMIT $4"
        ),
        params![account, first, last, limit, ALL_ZONES],
    )
    .await
}

row! {
    /// Live calls of an account in a zone, and the peaks of the hour and the day of the last change.
    #[derive(Clone, Debug)]
    pub struct ZoneLoad {
        pub zone: String,
        pub live: i64,
        pub hour: i64,
        pub hour_peak: i64,
        pub day: i64,
        pub day_peak: i64,
    }
}

pub async fn list_zone_loads(conn: &mut Conn, account: AccountId) -> Result<Vec<ZoneLoad>, DbError> {
    conn.all(
        sql!("SELECT ", ZoneLoad::COLS, " FROM zone_load WHERE account_id = $1 ORDER BY zone LIMIT $2"),
        params![account, MAX_ZONES],
    )
    .await
}
