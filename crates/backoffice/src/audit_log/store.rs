//! Reads of table `audit_log`.

use uuid::Uuid;

use db::{Conn, DbError, params, row, sql};
use platform::audit::{Actor, Outcome};
use values::{AccountId, Time, UserId};

row! {
    pub struct LogRow {
        pub seq: i64,
        pub id: Uuid,
        pub ts: Time,
        pub action: String,
        pub account_id: Option<AccountId>,
        pub user_id: Option<UserId>,
        pub actor: Option<Actor>,
        pub ip: Option<String>,
        pub user_agent: Option<String>,
        pub outcome: Outcome,
        pub reason: Option<String>,
        pub meta: Option<String>,
    }
}

/// Filter of the audit log: rows from `from` on, and before the time and sequence number of `before`.
pub struct AuditFilter<'w> {
    pub action: Option<&'w str>,
    pub account: Option<AccountId>,
    pub user: Option<UserId>,
    pub actor: Option<Actor>,
    pub outcome: Option<Outcome>,
    pub from: Time,
    pub before: (Time, i64),
    pub limit: i64,
}

/// A page, newest first. The most selective filter decides which index is used; the others are applied to its rows.
pub async fn list(conn: &mut Conn, filter: &AuditFilter<'_>) -> Result<Vec<LogRow>, DbError> {
    let AuditFilter { action, account, user, actor, outcome, from, before: (at, seq), limit } = *filter;
    match (account, user, action, outcome, actor) {
        (Some(account), ..) => {
            conn.all(
                sql!(
                    "SELECT ",
                    LogRow::COLS,
                    " FROM audit_log WHERE account_id = $1 AND (user_id = $2 OR $2 IS NULL)
                     AND action = COALESCE($3, action) AND outcome = COALESCE($4, outcome) AND (actor = $5 OR $5 IS NULL)
                     AND ts >= $6 AND (ts, seq) < ($7, $8) ORDER BY ts DESC, seq DESC LIMIT $9"
                ),
                params![account, user, action, outcome, actor, from, at, seq, limit],
            )
            .await
        }
        (None, Some(user), ..) => {
            conn.all(
                sql!(
                    "SELECT ",
                    LogRow::COLS,
                    " FROM audit_log WHERE user_id = $1 AND action = COALESCE($2, action)
                     AND outcome = COALESCE($3, outcome) AND (actor = $4 OR $4 IS NULL)
                     AND ts >= $5 AND (ts, seq) < ($6, $7) ORDER BY ts DESC, seq DESC LIMIT $8"
                ),
                params![user, action, outcome, actor, from, at, seq, limit],
            )
            .await
        }
        (None, None, Some(action), ..) => {
            conn.all(
                sql!(
                    "SELECT ",
                    LogRow::COLS,
                    " FROM audit_log WHERE action = $1 AND outcome = COALESCE($2, outcome)
                     AND (actor = $3 OR $3 IS NULL)
                     AND ts >= $4 AND (ts, seq) < ($5, $6) ORDER BY ts DESC, seq DESC LIMIT $7"
                ),
                params![action, outcome, actor, from, at, seq, limit],
            )
            .await
        }
        (None, None, None, Some(Outcome::Failure), actor) => {
            conn.all(
                sql!(
                    "SELECT ",
                    LogRow::COLS,
                    " FROM audit_log WHERE outcome = 'failure' AND (actor = $1 OR $1 IS NULL)
                     AND ts >= $2 AND (ts, seq) < ($3, $4) ORDER BY ts DESC, seq DESC LIMIT $5"
                ),
                params![actor, from, at, seq, limit],
            )
            .await
        }
        (None, None, None, outcome, Some(actor)) if actor != Actor::Customer => {
            conn.all(
                sql!(
                    "SELECT ",
                    LogRow::COLS,
                    " FROM audit_log WHERE actor = $1 AND actor <> 'customer' AND outcome = COALESCE($2, outcome)
                     AND ts >= $3 AND (ts, seq) < ($4, $5) ORDER BY ts DESC, seq DESC LIMIT $6"
                ),
                params![actor, outcome, from, at, seq, limit],
            )
            .await
        }
        (None, None, None, outcome, actor) => {
            conn.all(
                sql!(
                    "SELECT ",
                    LogRow::COLS,
                    " FROM audit_log WHERE outcome = COALESCE($1, outcome) AND (actor = $2 OR $2 IS NULL)
                     AND ts >= $3 AND (ts, seq) < ($4, $5) ORDER BY ts DESC, seq DESC LIMIT $6"
                ),
                params![outcome, actor, from, at, seq, limit],
            )
            .await
        }
    }
}
