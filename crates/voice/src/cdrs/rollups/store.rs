//! Tables `cdr_days`, `cdr_hours` and `cdr_charges`.

use std::collections::BTreeMap;

use super::delta::{ChargeDelta, RollupDelta};
use db::{Conn, DbError, Statement, params, row, sql};
use values::{AccountId, TrunkId};

row! {
    /// Calls of a UTC day to one destination.
    #[derive(Clone, Debug)]
    pub struct DayRow {
        pub country: String,
        pub destination_name: String,
        pub attempts: i64,
        pub answered: i64,
        pub seconds: i64,
        pub charge: i64,
    }
}

pub async fn list_day(conn: &mut Conn, account: AccountId, day: i64, limit: i64) -> Result<Vec<DayRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            DayRow::COLS,
            " FROM cdr_days WHERE account_id = $1 AND day = $2 ORDER BY country, destination_name LIMIT $3"
        ),
        params![account, day, limit],
    )
    .await
}

/// Calls since an hour: attempts, answered calls and their seconds.
pub async fn sum_since(
    conn: &mut Conn,
    account: AccountId,
    hour: i64,
    trunk: Option<TrunkId>,
) -> Result<(i64, i64, i64), DbError> {
    conn.one(
        sql!(
            "SELECT CAST(COALESCE(SUM(attempts), 0) AS BIGINT), CAST(COALESCE(SUM(answered), 0) AS BIGINT),
                    CAST(COALESCE(SUM(seconds), 0) AS BIGINT)
             FROM cdr_hours WHERE account_id = $1 AND hour >= $2 AND (trunk_id = $3 OR $3 IS NULL)"
        ),
        params![account, hour, trunk],
    )
    .await
}

row! {
    /// Charges of calls to one destination.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Charge {
        /// Empty if the calls had no destination; so is the name.
        pub country: String,
        pub destination_name: String,
        pub calls: i64,
        pub billed_seconds: i64,
        pub charge: i64,
    }
}

/// Charges by destination of the days from `first` to before `end`, highest first.
pub async fn list_charges(
    conn: &mut Conn,
    account: AccountId,
    (first, end): (i64, i64),
    limit: i64,
) -> Result<Vec<Charge>, DbError> {
    conn.all(
        sql!(
            "SELECT country, destination_name, CAST(SUM(calls) AS BIGINT), CAST(SUM(billed_seconds) AS BIGINT),
                    CAST(SUM(charge) AS BIGINT)
             FROM cdr_charges WHERE account_id = $1 AND day >= $2 AND day < $3
             GROUP BY country, destination_name ORDER BY 5 DESC, country, destination_name LIMIT $4"
        ),
        params![account, first, end, limit],
    )
    .await
}

/// By day, country and destination.
pub type DestinationDays = BTreeMap<(i64, String, String), RollupDelta>;
/// By country and destination.
pub type DestinationCharges = BTreeMap<(String, String), ChargeDelta>;
/// By hour and trunk.
pub type TrunkHours = BTreeMap<(i64, TrunkId), RollupDelta>;

/// What adds to the rollups per UTC day and destination, in the order of their keys, which is that of the locks.
pub fn add_to_days(account: AccountId, days: &DestinationDays) -> impl Iterator<Item = Statement> {
    let sql = sql!(
        "INSERT INTO cdr_days
             (account_id, day, country, destination_name, attempts, answered, seconds, charge, cost)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (account_id, day, country, destination_name) DO UPDATE SET
             attempts = cdr_days.attempts + excluded.attempts,
             answered = cdr_days.answered + excluded.answered,
             seconds = cdr_days.seconds + excluded.seconds,
             charge = cdr_days.charge + excluded.charge,
             cost = cdr_days.cost + excluded.cost"
    );
    days.iter().map(move |((day, country, name), delta)| {
        let RollupDelta { attempts, answered, seconds, charge, cost } = *delta;
        Statement::new(sql, params![account, *day, country, name, attempts, answered, seconds, charge, cost])
    })
}

/// What adds to the charges of a UTC day, by destination.
pub fn add_to_charges(account: AccountId, day: i64, charges: &DestinationCharges) -> impl Iterator<Item = Statement> {
    let sql = sql!(
        "INSERT INTO cdr_charges (account_id, day, country, destination_name, calls, billed_seconds, charge)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (account_id, day, country, destination_name) DO UPDATE SET
             calls = cdr_charges.calls + excluded.calls,
             billed_seconds = cdr_charges.billed_seconds + excluded.billed_seconds,
             charge = cdr_charges.charge + excluded.charge"
    );
    charges.iter().map(move |((country, name), delta)| {
        let ChargeDelta { calls, billed_seconds, charge } = *delta;
        Statement::new(sql, params![account, day, country, name, calls, billed_seconds, charge])
    })
}

/// What adds to the rollups per hour and trunk.
pub fn add_to_hours(account: AccountId, hours: &TrunkHours) -> impl Iterator<Item = Statement> {
    let sql = sql!(
        "INSERT INTO cdr_hours (account_id, hour, trunk_id, attempts, answered, seconds, charge)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (account_id, hour, trunk_id) DO UPDATE SET
             attempts = cdr_hours.attempts + excluded.attempts,
             answered = cdr_hours.answered + excluded.answered,
             seconds = cdr_hours.seconds + excluded.seconds,
             charge = cdr_hours.charge + excluded.charge"
    );
    hours.iter().map(move |((hour, trunk), delta)| {
        let RollupDelta { attempts, answered, seconds, charge, .. } = *delta;
        Statement::new(sql, params![account, *hour, *trunk, attempts, answered, seconds, charge])
    })
}
