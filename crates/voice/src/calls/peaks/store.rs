//! Hours to be counted again, and the count.

use super::Stretch;
use db::{Conn, DbError, params, row, sql};
use values::AccountId;

row! {
    /// An hour of an account, and how often lines of it have come.
    #[derive(Clone, Debug)]
    pub struct Due {
        pub account_id: AccountId,
        pub hour: i64,
        pub arrivals: i64,
    }
}

pub async fn note(conn: &mut Conn, account: AccountId, hour: i64) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO peaks_due (account_id, hour, arrivals) VALUES ($1, $2, 1)
             ON CONFLICT (hour, account_id) DO UPDATE SET arrivals = peaks_due.arrivals + 1"
        ),
        params![account, hour],
    )
    .await?;
    Ok(())
}

/// The oldest hours first: those that go on stay due, and whoever comes after them would never have its turn.
pub async fn due(conn: &mut Conn, limit: i64) -> Result<Vec<Due>, DbError> {
    conn.all(sql!("SELECT ", Due::COLS, " FROM peaks_due ORDER BY hour, account_id LIMIT $1"), params![limit]).await
}

/// An hour was counted, unless more lines of it have come since.
pub async fn settle(conn: &mut Conn, due: &Due) -> Result<(), DbError> {
    conn.exec(
        sql!("DELETE FROM peaks_due WHERE account_id = $1 AND hour = $2 AND arrivals = $3"),
        params![due.account_id, due.hour, due.arrivals],
    )
    .await?;
    Ok(())
}

/// The most calls of an account that went on at the same moment of an hour, over or not. One that ends when another
/// begins makes room for it.
pub async fn peak(conn: &mut Conn, account: AccountId, stretch: Stretch) -> Result<(i64,), DbError> {
    let Stretch { begun_since, start, end } = stretch;
    conn.one(
        sql!(
            "WITH steps AS (
                 SELECT CASE WHEN started_at < $3 THEN $3 ELSE started_at END AS moment, 1 AS step FROM cdrs
                 WHERE account_id = $1 AND started_at >= $2 AND started_at < $4 AND ended_at > $3
                     AND ended_at > started_at
                 UNION ALL
                 SELECT ended_at, -1 FROM cdrs
                 WHERE account_id = $1 AND started_at >= $2 AND started_at < $4 AND ended_at > $3
                     AND ended_at > started_at
                 UNION ALL
                 SELECT CASE WHEN started_at < $3 THEN $3 ELSE started_at END, 1 FROM live_calls
                 WHERE account_id = $1 AND started_at < $4)
             SELECT CAST(COALESCE(MAX(calls), 0) AS BIGINT)
             FROM (SELECT SUM(step) OVER (ORDER BY moment, step) AS calls FROM steps) AS counted"
        ),
        params![account, begun_since, start, end],
    )
    .await
}
