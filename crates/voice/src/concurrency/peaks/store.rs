//! Table `peaks_due`, and the count of an hour.

use super::Window;
use db::{Conn, DbError, insert, params, row, sql};
use values::AccountId;

row! {
    /// An hour of an account that is to be counted, and how many imports named it.
    #[derive(Clone, Debug)]
    pub struct QueuedHour {
        pub account_id: AccountId,
        pub hour: i64,
        pub arrivals: i64,
    }
}

pub async fn enqueue(conn: &mut Conn, account: AccountId, hour: i64) -> Result<(), DbError> {
    insert!(
        conn,
        peaks_due { account_id: account, hour, arrivals: 1i64 },
        "ON CONFLICT (hour, account_id) DO UPDATE SET arrivals = peaks_due.arrivals + 1"
    )
    .await?;
    Ok(())
}

/// Oldest hours first: the current hour stays queued and would otherwise keep others from their turn.
pub async fn list_queued(conn: &mut Conn, limit: i64) -> Result<Vec<QueuedHour>, DbError> {
    conn.all(sql!("SELECT ", QueuedHour::COLS, " FROM peaks_due ORDER BY hour, account_id LIMIT $1"), params![limit])
        .await
}

/// Removes an hour, unless another import named it since it was read.
pub async fn dequeue(conn: &mut Conn, queued: &QueuedHour) -> Result<(), DbError> {
    conn.exec(
        sql!("DELETE FROM peaks_due WHERE account_id = $1 AND hour = $2 AND arrivals = $3"),
        params![queued.account_id, queued.hour, queued.arrivals],
    )
    .await?;
    Ok(())
}

/// Peak concurrent calls of an account in an hour, finished and live. A call that ends when another begins does not
/// overlap it.
pub async fn count_peak(conn: &mut Conn, account: AccountId, window: Window) -> Result<(i64,), DbError> {
    let Window { started_from, start, end } = window;
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
        params![account, started_from, start, end],
    )
    .await
}
