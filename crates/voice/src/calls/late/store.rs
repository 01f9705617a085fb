//! The open ends.

use crate::calls::live::LiveCall;
use crate::calls::prices::Route;
use db::{Conn, DbError, params, row, sql};
use values::{CallId, List, Time};

row! {
    /// A call that is over, but not for sure.
    #[derive(Clone, Debug)]
    pub struct OpenEnd {
        pub token: CallId,
        pub is_end_told: bool,
        pub answered_at: Option<Time>,
        pub ended_at: Time,
        pub routes: List<Route>,
        pub reserved_seconds: i64,
    }
}

/// Leaves open how a call ended: whether it did when we think, or whether it was answered before.
pub async fn open(
    conn: &mut Conn,
    call: &LiveCall,
    ended_at: Time,
    is_end_told: bool,
    now: Time,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO open_ends (token, is_end_told, answered_at, ended_at, routes, reserved_seconds, closed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)"
        ),
        params![call.token, is_end_told, call.answered_at, ended_at, call.routes, call.reserved_seconds, now],
    )
    .await?;
    Ok(())
}

/// The open end of a call, which nobody else can change before we commit.
pub async fn lock(conn: &mut Conn, token: CallId) -> Result<Option<OpenEnd>, DbError> {
    conn.opt(sql!("SELECT ", OpenEnd::COLS, " FROM open_ends WHERE token = $1 /*pg FOR UPDATE */"), params![token])
        .await
}

/// Something was told, but not all.
pub async fn leave_open(
    conn: &mut Conn,
    token: CallId,
    answered_at: Option<Time>,
    ended_at: Time,
    is_end_told: bool,
) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE open_ends SET answered_at = $2, ended_at = $3, is_end_told = $4 WHERE token = $1"),
        params![token, answered_at, ended_at, is_end_told],
    )
    .await?;
    Ok(())
}

/// There is nothing left to tell.
pub async fn settle(conn: &mut Conn, token: CallId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM open_ends WHERE token = $1"), params![token]).await?;
    Ok(())
}

/// Gives up on calls that were closed before `cutoff`, so many at most.
pub async fn forget(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM open_ends WHERE token IN
                 (SELECT token FROM open_ends WHERE closed_at < $1 ORDER BY closed_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
