//! The sums that are kept beside the records.

use crate::calls::ACCOUNT_WIDE;
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, TrunkId};

row! {
    /// The calls of a day to one destination.
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

pub async fn day(conn: &mut Conn, account: AccountId, day: i64, limit: i64) -> Result<Vec<DayRow>, DbError> {
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

/// Calls, those of them that were answered, and how many seconds these lasted, from one hour on.
pub async fn since(
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

/// The most calls at once in each hour of a stretch that was written down, in all zones together.
pub async fn peaks(
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
        params![account, first, last, limit, ACCOUNT_WIDE],
    )
    .await
}

row! {
    /// How busy a zone is, and what it was in the hour and on the day that it last changed.
    #[derive(Clone, Debug)]
    pub struct LoadRow {
        pub zone: String,
        pub live: i64,
        pub hour: i64,
        pub hour_peak: i64,
        pub day: i64,
        pub day_peak: i64,
    }
}

pub async fn loads(conn: &mut Conn, account: AccountId, limit: i64) -> Result<Vec<LoadRow>, DbError> {
    conn.all(
        sql!("SELECT ", LoadRow::COLS, " FROM zone_load WHERE account_id = $1 ORDER BY zone LIMIT $2"),
        params![account, limit],
    )
    .await
}

row! {
    /// What calls to one destination were charged.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Charge {
        /// Empty when there was none; so is the name.
        pub country: String,
        pub destination_name: String,
        pub calls: i64,
        pub billed_seconds: i64,
        pub charge: i64,
    }
}

/// What an account's calls were charged on these days, the last not included; the dearest destination first.
pub async fn charges(
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
