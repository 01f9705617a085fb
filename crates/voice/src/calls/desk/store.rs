//! Live calls as the team sees them, and those that are to end.

use crate::calls::types::Leg;
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, CallId, Currency, Time, TrunkId, UpstreamId};

row! {
    #[derive(Clone, Debug)]
    pub struct Shown {
        pub token: CallId,
        pub edge_id: String,
        pub call_id: String,
        pub account_id: AccountId,
        pub trunk_id: TrunkId,
        pub leg: Leg,
        pub zone: String,
        pub calling: String,
        pub called: String,
        pub country: Option<String>,
        pub destination_name: Option<String>,
        pub upstream_id: Option<UpstreamId>,
        pub started_at: Time,
        pub answered_at: Option<Time>,
        pub currency: Currency,
        pub reserved: i64,
        pub reserved_seconds: i64,
        pub hang_up: bool,
    }
}

/// Which calls are listed.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub account: Option<AccountId>,
    pub trunk: Option<TrunkId>,
    pub leg: Option<Leg>,
}

/// Calls before this place, those that began last first. Each kind of question has an index in that order.
pub async fn list(
    conn: &mut Conn,
    wanted: Wanted,
    (at, token): (Time, CallId),
    limit: i64,
) -> Result<Vec<Shown>, DbError> {
    match wanted {
        Wanted { trunk: Some(trunk), account, leg } => {
            let sql = sql!(
                "SELECT ",
                Shown::COLS,
                " FROM live_calls WHERE trunk_id = $1 AND (account_id = $2 OR $2 IS NULL) AND (leg = $3 OR $3 IS NULL)
                    AND (started_at, token) < ($4, $5)
                  ORDER BY started_at DESC, token DESC LIMIT $6"
            );
            conn.all(sql, params![trunk, account, leg, at, token, limit]).await
        }
        Wanted { trunk: None, account: Some(account), leg } => {
            let sql = sql!(
                "SELECT ",
                Shown::COLS,
                " FROM live_calls WHERE account_id = $1 AND (leg = $2 OR $2 IS NULL) AND (started_at, token) < ($3, $4)
                  ORDER BY started_at DESC, token DESC LIMIT $5"
            );
            conn.all(sql, params![account, leg, at, token, limit]).await
        }
        Wanted { trunk: None, account: None, leg: Some(leg) } => {
            let sql = sql!(
                "SELECT ",
                Shown::COLS,
                " FROM live_calls WHERE leg = $1 AND (started_at, token) < ($2, $3)
                  ORDER BY started_at DESC, token DESC LIMIT $4"
            );
            conn.all(sql, params![leg, at, token, limit]).await
        }
        Wanted { trunk: None, account: None, leg: None } => {
            let sql = sql!(
                "SELECT ",
                Shown::COLS,
                " FROM live_calls WHERE (started_at, token) < ($1, $2) ORDER BY started_at DESC, token DESC LIMIT $3"
            );
            conn.all(sql, params![at, token, limit]).await
        }
    }
}

pub async fn show(conn: &mut Conn, token: CallId) -> Result<Option<Shown>, DbError> {
    conn.opt(sql!("SELECT ", Shown::COLS, " FROM live_calls WHERE token = $1"), params![token]).await
}

/// Marks a call that is to end; answers whether it goes on at all.
pub async fn ask_to_end(conn: &mut Conn, token: CallId) -> Result<bool, DbError> {
    let marked = conn.exec(sql!("UPDATE live_calls SET hang_up = TRUE WHERE token = $1"), params![token]).await?;
    Ok(marked > 0)
}

/// Calls over a switch that are to end: those that were marked, and those of accounts that are suspended.
pub async fn to_end(conn: &mut Conn, edge_id: &str, limit: i64) -> Result<Vec<(CallId,)>, DbError> {
    conn.all(
        sql!(
            "SELECT token FROM live_calls WHERE edge_id = $1 AND hang_up
             UNION
             SELECT l.token FROM onboardings o JOIN live_calls l ON l.account_id = o.account_id
             WHERE o.suspended_from IS NOT NULL AND l.edge_id = $1
             LIMIT $2"
        ),
        params![edge_id, limit],
    )
    .await
}
