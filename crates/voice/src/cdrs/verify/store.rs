//! Stored sums, and the same computed from CDRs, live calls and amendments.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::Sums;
use crate::cdrs::terms::CallStatus;
use db::{Conn, DbError, FromRow, Value, params, row, sql};
use values::{AccountId, CallId, RatePlanVersionId, Time, TrunkId};

row! {
    /// The charge of a CDR and what it follows from.
    pub struct PricedCdr {
        pub id: CallId,
        pub account_id: AccountId,
        pub started_at: Time,
        pub rate_plan_version_id: Option<RatePlanVersionId>,
        pub prefix: Option<String>,
        pub destination_name: Option<String>,
        pub country: Option<String>,
        pub status: CallStatus,
        pub duration_seconds: i64,
        pub rate_per_minute: i64,
        pub connect_fee: i64,
        pub increment_seconds: i64,
        pub minimum_seconds: i64,
        pub charge: i64,
        pub is_charged: bool,
    }
}

pub async fn each_cdr(
    conn: &mut Conn,
    visit: impl FnMut(PricedCdr) -> Result<(), DbError> + Send,
) -> Result<u64, DbError> {
    conn.each(
        sql!(
            "SELECT id, account_id, started_at, rate_plan_version_id, prefix, destination_name, country,
                    status, duration_seconds, rate_per_minute, connect_fee, increment_seconds, minimum_seconds,
                    charge, ledger_id IS NOT NULL
             FROM cdrs"
        ),
        params![],
        visit,
    )
    .await
}

pub async fn count_live(conn: &mut Conn) -> Result<u64, DbError> {
    let (count,): (i64,) = conn.one(sql!("SELECT COUNT(*) FROM live_calls"), params![]).await?;
    Ok(count.unsigned_abs())
}

async fn collect<R: FromRow + Send>(
    conn: &mut Conn,
    sql: &'static str,
    params: &[Value<'_>],
    named: fn(R) -> (String, Vec<i64>),
) -> Result<BTreeMap<String, Vec<i64>>, DbError> {
    let mut all = BTreeMap::new();
    conn.each(sql, params, |row| {
        let (name, sums) = named(row);
        all.insert(name, sums);
        Ok(())
    })
    .await?;
    Ok(all)
}

row! {
    struct DaySums {
        account_id: AccountId,
        day: i64,
        country: String,
        destination_name: String,
        attempts: i64,
        answered: i64,
        seconds: i64,
        charge: i64,
        cost: i64,
    }
}

pub async fn days(conn: &mut Conn, hot_from: Time) -> Result<Sums, DbError> {
    let named = |sums: DaySums| {
        let DaySums { account_id, day, country, destination_name, attempts, answered, seconds, charge, cost } = sums;
        (format!("{account_id} {day} {country} {destination_name}"), vec![attempts, answered, seconds, charge, cost])
    };
    let stored = sql!("SELECT ", DaySums::COLS, " FROM cdr_days WHERE day * 86400000 >= $1");
    let computed = sql!(
        "SELECT account_id, started_at / 86400000, COALESCE(country, ''), COALESCE(destination_name, ''), COUNT(*),
                COUNT(CASE WHEN status = 'answered' THEN 1 END), CAST(SUM(duration_seconds) AS BIGINT),
                CAST(SUM(charge) AS BIGINT), CAST(SUM(cost) AS BIGINT)
         FROM cdrs WHERE started_at >= $1 GROUP BY 1, 2, 3, 4"
    );
    let hot = params![hot_from];
    Ok(Sums { stored: collect(conn, stored, hot, named).await?, computed: collect(conn, computed, hot, named).await? })
}

row! {
    struct HourSums {
        account_id: AccountId,
        hour: i64,
        trunk_id: TrunkId,
        attempts: i64,
        answered: i64,
        seconds: i64,
        charge: i64,
    }
}

row! {
    struct ChargedDay {
        account_id: AccountId,
        day: i64,
        country: String,
        destination_name: String,
        calls: i64,
        billed_seconds: i64,
        charge: i64,
    }
}

/// Charges by the day on which they were made, whenever the calls began.
pub async fn charged_days(conn: &mut Conn) -> Result<Sums, DbError> {
    let named = |sums: ChargedDay| {
        let ChargedDay { account_id, day, country, destination_name, calls, billed_seconds, charge } = sums;
        (format!("{account_id} {day} {country} {destination_name}"), vec![calls, billed_seconds, charge])
    };
    let stored = sql!("SELECT ", ChargedDay::COLS, " FROM cdr_charges");
    // The charge of a CDR includes its amendments, which were charged on other days.
    let computed = sql!(
        "SELECT account_id, recorded_at / 86400000, country, destination_name, CAST(SUM(calls) AS BIGINT),
                CAST(SUM(billed_seconds) AS BIGINT), CAST(SUM(charge) AS BIGINT)
         FROM (
             SELECT account_id, recorded_at, COALESCE(country, '') AS country,
                    COALESCE(destination_name, '') AS destination_name, 1 AS calls, billed_seconds, charge
             FROM cdrs WHERE charge > 0
             UNION ALL
             SELECT account_id, recorded_at, country, destination_name, 0, billed_seconds, charge FROM cdr_amendments
             UNION ALL
             SELECT cdrs.account_id, cdrs.recorded_at, cdr_amendments.country, cdr_amendments.destination_name, 0,
                    -cdr_amendments.billed_seconds, -cdr_amendments.charge
             FROM cdr_amendments JOIN cdrs ON cdrs.id = cdr_amendments.cdr_id
                 AND cdrs.started_at = cdr_amendments.started_at
         ) AS charged GROUP BY 1, 2, 3, 4"
    );
    Ok(Sums { stored: collect(conn, stored, &[], named).await?, computed: collect(conn, computed, &[], named).await? })
}

pub async fn hours(conn: &mut Conn, hot_from: Time) -> Result<Sums, DbError> {
    let named = |sums: HourSums| {
        let HourSums { account_id, hour, trunk_id, attempts, answered, seconds, charge } = sums;
        (format!("{account_id} {hour} {trunk_id}"), vec![attempts, answered, seconds, charge])
    };
    let stored = sql!("SELECT ", HourSums::COLS, " FROM cdr_hours WHERE hour * 3600000 >= $1");
    let computed = sql!(
        "SELECT account_id, started_at / 3600000, trunk_id, COUNT(*),
                COUNT(CASE WHEN status = 'answered' THEN 1 END), CAST(SUM(duration_seconds) AS BIGINT),
                CAST(SUM(charge) AS BIGINT)
         FROM cdrs WHERE started_at >= $1 GROUP BY 1, 2, 3"
    );
    let hot = params![hot_from];
    Ok(Sums { stored: collect(conn, stored, hot, named).await?, computed: collect(conn, computed, hot, named).await? })
}

row! {
    struct TrunkUsage {
        account_id: AccountId,
        span: i64,
        slot: i64,
        trunk_id: TrunkId,
        attempts: i64,
        answered: i64,
        seconds: i64,
        charge: i64,
        cost: i64,
    }
}

/// Usage by trunk, for each hour and each UTC day.
pub async fn usage_trunks(conn: &mut Conn, hot_from: Time) -> Result<Sums, DbError> {
    let named = |sums: TrunkUsage| {
        let TrunkUsage { account_id, span, slot, trunk_id, attempts, answered, seconds, charge, cost } = sums;
        (format!("{account_id} {span} {slot} {trunk_id}"), vec![attempts, answered, seconds, charge, cost])
    };
    let stored = sql!("SELECT ", TrunkUsage::COLS, " FROM usage_trunks WHERE slot * 3600000 >= $1");
    let computed = sql!(
        "SELECT account_id, span, started_at / (3600000 * span) * span, trunk_id, COUNT(*),
                COUNT(CASE WHEN status = 'answered' THEN 1 END), CAST(SUM(duration_seconds) AS BIGINT),
                CAST(SUM(charge) AS BIGINT), CAST(SUM(cost) AS BIGINT)
         FROM cdrs CROSS JOIN (SELECT CAST(1 AS BIGINT) AS span UNION ALL SELECT CAST(24 AS BIGINT)) AS spans
         WHERE started_at >= $1 GROUP BY 1, 2, 3, 4"
    );
    let hot = params![hot_from];
    Ok(Sums { stored: collect(conn, stored, hot, named).await?, computed: collect(conn, computed, hot, named).await? })
}

row! {
    struct DestinationUsage {
        account_id: AccountId,
        span: i64,
        slot: i64,
        country: String,
        destination_name: String,
        attempts: i64,
        answered: i64,
        seconds: i64,
        charge: i64,
        cost: i64,
    }
}

/// Usage by destination, for each hour and each UTC day.
pub async fn usage_destinations(conn: &mut Conn, hot_from: Time) -> Result<Sums, DbError> {
    let named = |sums: DestinationUsage| {
        let key = format!("{} {} {} {} {}", sums.account_id, sums.span, sums.slot, sums.country, sums.destination_name);
        (key, vec![sums.attempts, sums.answered, sums.seconds, sums.charge, sums.cost])
    };
    let stored = sql!("SELECT ", DestinationUsage::COLS, " FROM usage_destinations WHERE slot * 3600000 >= $1");
    let computed = sql!(
        "SELECT account_id, span, started_at / (3600000 * span) * span, COALESCE(country, ''),
                COALESCE(destination_name, ''), COUNT(*), COUNT(CASE WHEN status = 'answered' THEN 1 END),
                CAST(SUM(duration_seconds) AS BIGINT), CAST(SUM(charge) AS BIGINT), CAST(SUM(cost) AS BIGINT)
         FROM cdrs CROSS JOIN (SELECT CAST(1 AS BIGINT) AS span UNION ALL SELECT CAST(24 AS BIGINT)) AS spans
         WHERE started_at >= $1 GROUP BY 1, 2, 3, 4, 5"
    );
    let hot = params![hot_from];
    Ok(Sums { stored: collect(conn, stored, hot, named).await?, computed: collect(conn, computed, hot, named).await? })
}

row! {
    struct RouteTraffic {
        span: i64,
        slot: i64,
        country: String,
        destination_name: String,
        upstream_id: Option<Uuid>,
        attempts: i64,
        answered: i64,
        seconds: i64,
        charge: i64,
        cost: i64,
    }
}

/// Traffic of all accounts by destination and upstream, for each hour and each UTC day.
pub async fn usage_routes(conn: &mut Conn, hot_from: Time) -> Result<Sums, DbError> {
    let named = |sums: RouteTraffic| {
        let upstream = sums.upstream_id.unwrap_or_default();
        let key = format!("{} {} {} {} {upstream}", sums.span, sums.slot, sums.country, sums.destination_name);
        (key, vec![sums.attempts, sums.answered, sums.seconds, sums.charge, sums.cost])
    };
    let stored = sql!("SELECT ", RouteTraffic::COLS, " FROM usage_routes WHERE slot * 3600000 >= $1");
    let computed = sql!(
        "SELECT span, started_at / (3600000 * span) * span, COALESCE(country, ''), COALESCE(destination_name, ''),
                upstream_id, COUNT(*), COUNT(CASE WHEN status = 'answered' THEN 1 END),
                CAST(SUM(duration_seconds) AS BIGINT), CAST(SUM(charge) AS BIGINT), CAST(SUM(cost) AS BIGINT)
         FROM cdrs CROSS JOIN (SELECT CAST(1 AS BIGINT) AS span UNION ALL SELECT CAST(24 AS BIGINT)) AS spans
         WHERE started_at >= $1 GROUP BY 1, 2, 3, 4, 5"
    );
    let hot = params![hot_from];
    Ok(Sums { stored: collect(conn, stored, hot, named).await?, computed: collect(conn, computed, hot, named).await? })
}

pub async fn spend(conn: &mut Conn, hot_from: Time) -> Result<Sums, DbError> {
    let named = |(account, day, charged, reserved): (AccountId, i64, i64, i64)| {
        (format!("{account} {day}"), vec![charged, reserved])
    };
    let stored = sql!("SELECT account_id, day, charged, reserved FROM daily_spend WHERE day * 86400000 >= $1");
    let computed = sql!(
        "SELECT account_id, day, CAST(SUM(charged) AS BIGINT), CAST(SUM(reserved) AS BIGINT) FROM (
             SELECT account_id, started_at / 86400000 AS day, charge AS charged, 0 AS reserved FROM cdrs
             WHERE started_at >= $1
             UNION ALL SELECT account_id, started_at / 86400000, 0, reserved FROM live_calls
             WHERE started_at >= $1) AS calls
         GROUP BY account_id, day"
    );
    let hot = params![hot_from];
    Ok(Sums { stored: collect(conn, stored, hot, named).await?, computed: collect(conn, computed, hot, named).await? })
}

pub async fn trunks(conn: &mut Conn) -> Result<Sums, DbError> {
    let named = |(trunk, live): (TrunkId, i64)| (trunk.to_string(), vec![live]);
    let stored = sql!("SELECT trunk_id, live FROM trunk_load");
    let computed = sql!("SELECT trunk_id, COUNT(*) FROM live_calls GROUP BY trunk_id");
    Ok(Sums { stored: collect(conn, stored, &[], named).await?, computed: collect(conn, computed, &[], named).await? })
}

pub async fn zones(conn: &mut Conn) -> Result<Sums, DbError> {
    let named = |(account, zone, live): (AccountId, String, i64)| (format!("{account} {zone}"), vec![live]);
    let stored = sql!("SELECT account_id, zone, live FROM zone_load");
    // All zones together are stored under the empty name.
    let computed = sql!(
        "SELECT account_id, zone, COUNT(*) FROM live_calls GROUP BY account_id, zone
         UNION ALL SELECT account_id, '', COUNT(*) FROM live_calls GROUP BY account_id"
    );
    Ok(Sums { stored: collect(conn, stored, &[], named).await?, computed: collect(conn, computed, &[], named).await? })
}

/// Amounts of the ledger transactions that CDRs and amendments name.
pub async fn charges(conn: &mut Conn) -> Result<Sums, DbError> {
    let named = |(id, amount): (Option<Uuid>, i64)| (id.unwrap_or_default().to_string(), vec![amount]);
    let stored = sql!(
        "SELECT id, -amount FROM ledger_transactions
         WHERE id IN (
             SELECT ledger_id FROM cdrs WHERE ledger_id IS NOT NULL
             UNION SELECT ledger_id FROM cdr_amendments WHERE ledger_id IS NOT NULL)"
    );
    let computed = sql!(
        "SELECT ledger_id, CAST(SUM(charge) AS BIGINT) FROM (
             SELECT ledger_id, charge FROM cdrs WHERE ledger_id IS NOT NULL
             UNION ALL SELECT ledger_id, charge FROM cdr_amendments WHERE ledger_id IS NOT NULL
             UNION ALL SELECT cdrs.ledger_id, -cdr_amendments.charge FROM cdr_amendments
                 JOIN cdrs ON cdrs.id = cdr_amendments.cdr_id AND cdrs.started_at = cdr_amendments.started_at
         ) AS charged GROUP BY ledger_id"
    );
    Ok(Sums { stored: collect(conn, stored, &[], named).await?, computed: collect(conn, computed, &[], named).await? })
}
