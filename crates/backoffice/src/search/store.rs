//! Lookups of the search. Read-only; each along one index.

use std::cmp::Reverse;

use uuid::Uuid;

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Time};

row! {
    /// What a lookup found.
    pub struct Found {
        pub id: Uuid,
        pub account_id: AccountId,
        pub title: String,
        /// Shown in place of the customer's name.
        pub note: Option<String>,
    }
}

row! {
    /// A CDR that a lookup found.
    pub struct CallRow {
        pub id: Uuid,
        pub account_id: AccountId,
        pub call_id: String,
        pub calling: String,
        pub called: String,
        pub started_at: Time,
    }
}

/// Customers with a word in each of these ranges, the newest first. The first range should be the narrowest; of the
/// accounts in it the first thousand count.
pub async fn customers(conn: &mut Conn, ranges: &[(String, String); 3], limit: i64) -> Result<Vec<Found>, DbError> {
    let [first, second, third] = ranges;
    conn.all(
        sql!(
            "SELECT a.id, a.id, a.company_name, a.contact_email FROM accounts a
             WHERE a.id IN (SELECT account_id FROM account_words WHERE word >= $1 AND word < $2
                            ORDER BY word, account_id LIMIT 1000)
             AND EXISTS (SELECT 1 FROM account_words w WHERE w.account_id = a.id AND w.word >= $3 AND w.word < $4)
             AND EXISTS (SELECT 1 FROM account_words w WHERE w.account_id = a.id AND w.word >= $5 AND w.word < $6)
             AND EXISTS (SELECT 1 FROM onboardings o WHERE o.account_id = a.id AND NOT o.is_carrier)
             ORDER BY a.id DESC LIMIT $7"
        ),
        params![first.0, first.1, second.0, second.1, third.0, third.1, limit],
    )
    .await
}

/// Users whose email address lies in a range.
pub async fn users(conn: &mut Conn, start: &str, end: &str, limit: i64) -> Result<Vec<Found>, DbError> {
    conn.all(
        sql!(
            "SELECT id, account_id, email, CAST(NULL AS TEXT) FROM users
             WHERE email /*pg COLLATE \"C\" */ >= $1 AND email /*pg COLLATE \"C\" */ < $2
             ORDER BY email /*pg COLLATE \"C\" */ LIMIT $3"
        ),
        params![start, end, limit],
    )
    .await
}

/// Rented numbers in a range.
pub async fn numbers(conn: &mut Conn, start: &str, end: &str, limit: i64) -> Result<Vec<Found>, DbError> {
    conn.all(
        sql!(
            "SELECT id, account_id, e164, CAST(NULL AS TEXT) FROM numbers
             WHERE released_at IS NULL AND e164 /*pg COLLATE \"C\" */ >= $1 AND e164 /*pg COLLATE \"C\" */ < $2
             ORDER BY e164 /*pg COLLATE \"C\" */ LIMIT $3"
        ),
        params![start, end, limit],
    )
    .await
}

/// Invoices whose number lies in a range.
pub async fn invoices(conn: &mut Conn, start: &str, end: &str, limit: i64) -> Result<Vec<Found>, DbError> {
    conn.all(
        sql!(
            "SELECT id, account_id, number, CAST(NULL AS TEXT) FROM invoices
             WHERE number /*pg COLLATE \"C\" */ >= $1 AND number /*pg COLLATE \"C\" */ < $2
             ORDER BY number /*pg COLLATE \"C\" */ LIMIT $3"
        ),
        params![start, end, limit],
    )
    .await
}

/// Tickets whose subject in lower case lies in one of two ranges.
pub async fn tickets(conn: &mut Conn, ranges: &[(String, String); 2], limit: i64) -> Result<Vec<Found>, DbError> {
    let mut found: Vec<Found> = Vec::new();
    for (start, end) in ranges {
        let more: Vec<Found> = conn
            .all(
                sql!(
                    "SELECT id, account_id, subject, CAST(NULL AS TEXT) FROM tickets
                     WHERE lower(subject) /*pg COLLATE \"C\" */ >= $1 AND lower(subject) /*pg COLLATE \"C\" */ < $2
                     ORDER BY lower(subject) /*pg COLLATE \"C\" */, id LIMIT $3"
                ),
                params![*start, *end, limit],
            )
            .await?;
        let is_new = |one: &Found| found.iter().all(|known| known.id != one.id);
        let new: Vec<Found> = more.into_iter().filter(is_new).collect();
        found.extend(new);
    }
    Ok(found)
}

/// CDRs with this Call-ID, the newest first.
pub async fn calls(conn: &mut Conn, call_id: &str, limit: i64) -> Result<Vec<CallRow>, DbError> {
    // Either kind of call has an index of its own.
    let imported =
        sql!("SELECT ", CallRow::COLS, " FROM cdrs WHERE call_id = $1 AND imported ORDER BY started_at DESC LIMIT $2");
    let switched = sql!(
        "SELECT ",
        CallRow::COLS,
        " FROM cdrs WHERE call_id = $1 AND NOT imported ORDER BY started_at DESC LIMIT $2"
    );
    let mut calls: Vec<CallRow> = conn.all(imported, params![call_id, limit]).await?;
    calls.extend(conn.all::<CallRow>(switched, params![call_id, limit]).await?);
    calls.sort_by_key(|call| Reverse((call.started_at, call.id)));
    calls.truncate(usize::try_from(limit).unwrap_or(0));
    Ok(calls)
}

pub async fn cdr(conn: &mut Conn, id: Uuid, started_at: Time) -> Result<Option<CallRow>, DbError> {
    conn.opt(sql!("SELECT ", CallRow::COLS, " FROM cdrs WHERE id = $1 AND started_at = $2"), params![id, started_at])
        .await
}

pub async fn customer(conn: &mut Conn, id: Uuid) -> Result<Option<Found>, DbError> {
    let sql = sql!(
        "SELECT a.id, a.id, a.company_name, a.contact_email FROM accounts a JOIN onboardings o ON o.account_id = a.id
         WHERE a.id = $1 AND NOT o.is_carrier"
    );
    conn.opt(sql, params![id]).await
}

pub async fn user(conn: &mut Conn, id: Uuid) -> Result<Option<Found>, DbError> {
    let sql = sql!("SELECT id, account_id, email, CAST(NULL AS TEXT) FROM users WHERE id = $1");
    conn.opt(sql, params![id]).await
}

pub async fn number(conn: &mut Conn, id: Uuid) -> Result<Option<Found>, DbError> {
    let sql =
        sql!("SELECT id, account_id, e164, CAST(NULL AS TEXT) FROM numbers WHERE id = $1 AND released_at IS NULL");
    conn.opt(sql, params![id]).await
}

pub async fn invoice(conn: &mut Conn, id: Uuid) -> Result<Option<Found>, DbError> {
    let sql = sql!("SELECT id, account_id, number, CAST(NULL AS TEXT) FROM invoices WHERE id = $1");
    conn.opt(sql, params![id]).await
}

pub async fn ticket(conn: &mut Conn, id: Uuid) -> Result<Option<Found>, DbError> {
    let sql = sql!("SELECT id, account_id, subject, CAST(NULL AS TEXT) FROM tickets WHERE id = $1");
    conn.opt(sql, params![id]).await
}
