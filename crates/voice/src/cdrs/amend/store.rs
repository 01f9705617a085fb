//! Table `open_ends`: what late events need to amend a provisional CDR.

use crate::cdrs::quotes::Route;
use db::{Conn, DbError, params, sql, table_row};
use values::{CallId, List, Time};

table_row! {
    #[derive(Clone, Debug)]
    pub struct ProvisionalCdr {
        pub token: CallId,
        /// Whether a switch reported the end; if so, only the answer is open.
        pub is_end_told: bool,
        pub answered_at: Option<Time>,
        pub ended_at: Time,
        pub routes: List<Route>,
        pub reserved_seconds: i64,
        pub closed_at: Time,
    }
}

pub async fn insert(conn: &mut Conn, provisional: &ProvisionalCdr) -> Result<(), DbError> {
    conn.exec(
        sql!("INSERT INTO open_ends (", ProvisionalCdr::COLS, ") VALUES ($1, $2, $3, $4, $5, $6, $7)"),
        &provisional.values(),
    )
    .await?;
    Ok(())
}

pub async fn lock(conn: &mut Conn, token: CallId) -> Result<Option<ProvisionalCdr>, DbError> {
    conn.opt(
        sql!("SELECT ", ProvisionalCdr::COLS, " FROM open_ends WHERE token = $1 /*pg FOR UPDATE */"),
        params![token],
    )
    .await
}

pub async fn update(
    conn: &mut Conn,
    token: CallId,
    answered_at: Option<Time>,
    ended_at: Time,
    is_end_reported: bool,
) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE open_ends SET answered_at = $2, ended_at = $3, is_end_told = $4 WHERE token = $1"),
        params![token, answered_at, ended_at, is_end_reported],
    )
    .await?;
    Ok(())
}

/// Makes the CDR final.
pub async fn delete(conn: &mut Conn, token: CallId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM open_ends WHERE token = $1"), params![token]).await?;
    Ok(())
}

/// Makes up to `batch` CDRs final that were closed before `cutoff`.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM open_ends WHERE token IN
                 (SELECT token FROM open_ends WHERE closed_at < $1 ORDER BY closed_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
