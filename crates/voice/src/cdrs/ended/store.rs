//! Table `ended_calls`.

use uuid::Uuid;

use crate::cdrs::row::CdrRow;
use crate::cdrs::search::CdrListRow;
use crate::cdrs::types::Cdr;
use db::{Conn, DbError, params, row, row_values, sql};
use values::{AccountId, CallId, Time};

row! {
    /// An account with calls that no event tells of yet.
    #[derive(Clone, Copy, Debug)]
    pub struct WaitingCalls {
        pub account_id: AccountId,
        pub calls: i64,
    }
}

struct EndedCall {
    cdr_id: CallId,
    account_id: AccountId,
    started_at: Time,
    created_at: Time,
}

/// Who asks for calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Nobody,
    /// Customers, those of their own accounts.
    Customers,
    /// The team, those of all accounts.
    Team,
}

/// Who asks for calls. An endpoint that is disabled counts: a replay sends it what it missed.
pub async fn wanted(conn: &mut Conn) -> Result<Wanted, DbError> {
    let found: Option<(bool,)> = conn
        .opt(
            sql!(
                "SELECT is_team FROM webhook_endpoints WHERE wants_calls AND deleted_at IS NULL
                 ORDER BY is_team DESC LIMIT 1"
            ),
            params![],
        )
        .await?;
    Ok(match found {
        None => Wanted::Nobody,
        Some((false,)) => Wanted::Customers,
        Some((true,)) => Wanted::Team,
    })
}

/// Whether an endpoint of this account asks for its calls.
pub async fn is_wanted(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let found: Option<(Uuid,)> = conn
        .opt(
            sql!(
                "SELECT id FROM webhook_endpoints WHERE wants_calls AND deleted_at IS NULL AND account_id = $1 LIMIT 1"
            ),
            params![account],
        )
        .await?;
    Ok(found.is_some())
}

pub async fn insert(conn: &mut Conn, cdrs: &[&CdrRow]) -> Result<(), DbError> {
    if cdrs.is_empty() {
        return Ok(());
    }
    let created_at = conn.now();
    let ended: Vec<EndedCall> = cdrs
        .iter()
        .map(|cdr| EndedCall {
            cdr_id: cdr.id,
            account_id: cdr.terms.account_id,
            started_at: cdr.terms.started_at,
            created_at,
        })
        .collect();
    let columns = ["cdr_id", "account_id", "started_at", "created_at"];
    conn.insert_many("ended_calls", columns, &ended, |call| {
        row_values![call.cdr_id, call.account_id, call.started_at, call.created_at]
    })
    .await?;
    Ok(())
}

/// Whether any call waits for its event.
pub async fn is_waiting(conn: &mut Conn) -> Result<bool, DbError> {
    let sql = sql!("SELECT cdr_id FROM ended_calls WHERE event_id IS NULL LIMIT 1");
    let found: Option<(CallId,)> = conn.opt(sql, params![]).await?;
    Ok(found.is_some())
}

/// Accounts after this one with calls that were queued by then and wait, and how many.
pub async fn waiting(
    conn: &mut Conn,
    after: Option<AccountId>,
    queued_by: Time,
    limit: i64,
) -> Result<Vec<WaitingCalls>, DbError> {
    conn.all(
        sql!(
            "SELECT account_id, COUNT(*) FROM ended_calls
             WHERE event_id IS NULL AND account_id > $1 AND created_at <= $2
             GROUP BY account_id ORDER BY account_id LIMIT $3"
        ),
        params![after.map_or(Uuid::nil(), |account| account.uuid()), queued_by, limit],
    )
    .await
}

/// Assigns up to `limit` calls of an account that were queued by then and wait to an event.
pub async fn assign(
    conn: &mut Conn,
    account: AccountId,
    event: Uuid,
    queued_by: Time,
    limit: i64,
) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "UPDATE ended_calls SET event_id = $2 WHERE cdr_id IN
                 (SELECT cdr_id FROM ended_calls WHERE account_id = $1 AND event_id IS NULL AND created_at <= $3
                  ORDER BY created_at, cdr_id LIMIT $4)"
        ),
        params![account, event, queued_by, limit],
    )
    .await
}

/// The calls of an event, as they are now.
pub async fn load(conn: &mut Conn, event: Uuid, limit: i64) -> Result<Vec<Cdr>, DbError> {
    let rows: Vec<CdrListRow> = conn
        .all(
            sql!(
                "SELECT ",
                CdrListRow::COLS,
                " FROM (SELECT c.* FROM ended_calls e JOIN cdrs c ON c.id = e.cdr_id AND c.started_at = e.started_at
                        WHERE e.event_id = $1) AS ended
                 ORDER BY started_at, id LIMIT $2"
            ),
            params![event, limit],
        )
        .await?;
    Ok(rows.into_iter().map(Cdr::from).collect())
}

/// Deletes up to `batch` calls queued before `cutoff`.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM ended_calls WHERE cdr_id IN
                 (SELECT cdr_id FROM ended_calls WHERE created_at < $1 ORDER BY created_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
