//! Table `call_disputes`.

use super::types::DisputeStatus;
use crate::tickets::TicketId;
use db::{Conn, DbError, params, row, sql, table_row};
use values::{AccountId, CallId, Text, Time, UserId, id};

id! {
    /// Id of a call dispute.
    pub struct DisputeId;
}

table_row! {
    #[derive(Clone)]
    pub struct DisputeRow in call_disputes {
        pub id: DisputeId,
        pub account_id: AccountId,
        pub cdr_id: CallId,
        pub ticket_id: TicketId,
        pub opened_by: UserId,
        pub reason: Text<1, 2000>,
        pub called: String,
        pub started_at: Time,
        pub charge: i64,
        pub charged_at: Time,
        pub status: DisputeStatus,
        pub amount: Option<i64>,
        pub note: Option<Text<1, 300>>,
        pub resolved_by: Option<UserId>,
        pub resolved_at: Option<Time>,
        pub created_at: Time,
    }
}

row! {
    /// The charge of a call.
    pub struct ChargedCall {
        pub called: String,
        pub started_at: Time,
        pub charge: i64,
        /// When it was posted to the ledger.
        pub charged_at: Option<Time>,
    }
}

/// The charge of a call of this account.
pub async fn find_call(conn: &mut Conn, account: AccountId, cdr: CallId) -> Result<Option<ChargedCall>, DbError> {
    let Some(started_at) = cdr.started_at() else { return Ok(None) };
    conn.opt(
        sql!(
            "SELECT c.called, c.started_at, c.charge, t.created_at
             FROM cdrs c LEFT JOIN ledger_transactions t ON t.id = c.ledger_id
             WHERE c.id = $1 AND c.started_at = $2 AND c.account_id = $3"
        ),
        params![cdr, started_at, account],
    )
    .await
}

pub async fn find_of_cdr(conn: &mut Conn, cdr: CallId) -> Result<Option<DisputeRow>, DbError> {
    conn.opt(sql!("SELECT ", DisputeRow::COLS, " FROM call_disputes WHERE cdr_id = $1"), params![cdr]).await
}

pub async fn find(conn: &mut Conn, id: DisputeId) -> Result<Option<DisputeRow>, DbError> {
    conn.opt(sql!("SELECT ", DisputeRow::COLS, " FROM call_disputes WHERE id = $1"), params![id]).await
}

/// The dispute, locked until the transaction ends.
pub async fn find_for_update(conn: &mut Conn, id: DisputeId) -> Result<Option<DisputeRow>, DbError> {
    conn.opt(sql!("SELECT ", DisputeRow::COLS, " FROM call_disputes WHERE id = $1 /*pg FOR UPDATE */"), params![id])
        .await
}

/// Ends an open dispute; false if it had ended.
pub async fn resolve(conn: &mut Conn, dispute: &DisputeRow) -> Result<bool, DbError> {
    let resolved = conn
        .exec(
            sql!(
                "UPDATE call_disputes SET status = $2, amount = $3, note = $4, resolved_by = $5, resolved_at = $6
                 WHERE id = $1 AND status = 'open'"
            ),
            params![dispute.id, dispute.status, dispute.amount, dispute.note, dispute.resolved_by, dispute.resolved_at],
        )
        .await?;
    Ok(resolved > 0)
}

/// Filter of a list of disputes, and the row that the page comes after.
pub struct DisputeFilter {
    pub account: Option<AccountId>,
    pub status: Option<DisputeStatus>,
    pub before: (Time, DisputeId),
    pub limit: i64,
}

/// A page, newest first, by the index of the most selective filter.
pub async fn list(conn: &mut Conn, filter: &DisputeFilter) -> Result<Vec<DisputeRow>, DbError> {
    let DisputeFilter { account, status, before: (at, id), limit } = *filter;
    match (account, status) {
        (Some(account), _) => {
            conn.all(
                sql!(
                    "SELECT ",
                    DisputeRow::COLS,
                    " FROM call_disputes WHERE account_id = $1 AND status = COALESCE($2, status)
                     AND (created_at, id) < ($3, $4) ORDER BY created_at DESC, id DESC LIMIT $5"
                ),
                params![account, status, at, id, limit],
            )
            .await
        }
        (None, Some(status)) => {
            conn.all(
                sql!(
                    "SELECT ",
                    DisputeRow::COLS,
                    " FROM call_disputes WHERE status = $1 AND (created_at, id) < ($2, $3)
                     ORDER BY created_at DESC, id DESC LIMIT $4"
                ),
                params![status, at, id, limit],
            )
            .await
        }
        (None, None) => {
            conn.all(
                sql!(
                    "SELECT ",
                    DisputeRow::COLS,
                    " FROM call_disputes WHERE (created_at, id) < ($1, $2)
                     ORDER BY created_at DESC, id DESC LIMIT $3"
                ),
                params![at, id, limit],
            )
            .await
        }
    }
}

/// Removes what was written in the call disputes of an account.
pub async fn erase(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE call_disputes SET reason = 'Erased', note = NULL WHERE account_id = $1"), params![account])
        .await?;
    Ok(())
}
