//! Table `credits`.

use super::types::{CreditId, CreditKind, CreditStatus};
use db::{Conn, DbError, params, sql, table_row};
use values::{AccountId, Text, Time, UserId};

table_row! {
    #[derive(Clone)]
    pub struct CreditRow in credits {
        pub id: CreditId,
        pub account_id: AccountId,
        pub kind: CreditKind,
        pub amount: i64,
        pub reason: Text<1, 300>,
        pub status: CreditStatus,
        pub requested_by: UserId,
        pub created_at: Time,
        pub decided_by: Option<UserId>,
        pub decided_at: Option<Time>,
    }
}

/// What single admins credited to the account since then, in nanos.
pub async fn posted_since(conn: &mut Conn, account: AccountId, since: Time) -> Result<i64, DbError> {
    let (sum,) = conn
        .one(
            sql!(
                "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM credits
                 WHERE account_id = $1 AND created_at > $2 AND status = 'posted'"
            ),
            params![account, since],
        )
        .await?;
    Ok(sum)
}

/// How many requests wait for a decision, counted up to a limit.
pub async fn count_pending(conn: &mut Conn, limit: i64) -> Result<i64, DbError> {
    let (count,) = conn
        .one(
            sql!("SELECT COUNT(*) FROM (SELECT 1 FROM credits WHERE status = 'pending' LIMIT $1) AS pending"),
            params![limit],
        )
        .await?;
    Ok(count)
}

/// Requests, newest first.
pub async fn list_requests(conn: &mut Conn, (at, id): (Time, CreditId), limit: i64) -> Result<Vec<CreditRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            CreditRow::COLS,
            " FROM credits WHERE status <> 'posted' AND (created_at, id) < ($1, $2)
             ORDER BY created_at DESC, id DESC LIMIT $3"
        ),
        params![at, id, limit],
    )
    .await
}

pub async fn find_request(conn: &mut Conn, id: CreditId) -> Result<Option<CreditRow>, DbError> {
    conn.opt(sql!("SELECT ", CreditRow::COLS, " FROM credits WHERE id = $1 AND status <> 'posted'"), params![id]).await
}

/// Decides a pending request; false if it is not pending, or if its author approves it.
pub async fn decide(conn: &mut Conn, id: CreditId, status: CreditStatus, by: UserId) -> Result<bool, DbError> {
    let decided = conn
        .exec(
            sql!(
                "UPDATE credits SET status = $2, decided_by = $3, decided_at = $4
                 WHERE id = $1 AND status = 'pending' AND (requested_by <> $3 OR $2 = 'rejected')"
            ),
            params![id, status, by, conn.now()],
        )
        .await?;
    Ok(decided == 1)
}
