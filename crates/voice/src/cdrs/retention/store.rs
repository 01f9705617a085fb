//! CDRs by start time, and the progress of the job (table `cdr_retention`).

use uuid::Uuid;

use db::{Conn, DbError, insert, params, sql};
use values::{CallId, Time};

/// Start time and id of a CDR.
pub type CdrCursor = (Time, CallId);

/// The last anonymised CDR. Locks the row.
pub async fn lock_progress(conn: &mut Conn) -> Result<CdrCursor, DbError> {
    let found: Option<CdrCursor> = conn
        .opt(sql!("SELECT started_at, cdr_id FROM cdr_retention WHERE id = 1 /*pg FOR UPDATE */"), params![])
        .await?;
    Ok(found.unwrap_or((Time::from_millis(0), CallId::new(Uuid::nil()))))
}

pub async fn save_progress(conn: &mut Conn, (at, id): CdrCursor) -> Result<(), DbError> {
    insert!(
        conn,
        cdr_retention { id: 1i64, started_at: at, cdr_id: id },
        "ON CONFLICT (id) DO UPDATE SET started_at = excluded.started_at, cdr_id = excluded.cdr_id"
    )
    .await?;
    Ok(())
}

/// The cursor `count` CDRs after this one, if there are as many before a time.
pub async fn cursor_after(
    conn: &mut Conn,
    (at, id): CdrCursor,
    before: Time,
    count: i64,
) -> Result<Option<CdrCursor>, DbError> {
    // The index over all accounts is on an expression; the plain conditions select the partitions.
    conn.opt(
        sql!(
            "SELECT started_at, id FROM cdrs
             WHERE started_at >= $1 AND started_at < $3 AND started_at + 0 >= $1 AND (started_at + 0, id) > ($1, $2)
               AND started_at + 0 < $3
             ORDER BY started_at + 0, id LIMIT 1 OFFSET $4"
        ),
        params![at, id, before, count - 1],
    )
    .await
}

/// Replaces the numbers of the CDRs after one cursor, up to another.
pub async fn anonymise(
    conn: &mut Conn,
    (after, after_id): CdrCursor,
    (until, until_id): CdrCursor,
    replacement: &str,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE cdrs SET calling = $5, called = $5
             WHERE started_at >= $1 AND started_at <= $3 AND started_at + 0 >= $1 AND (started_at + 0, id) > ($1, $2)
               AND started_at + 0 <= $3 AND (started_at + 0, id) <= ($3, $4)"
        ),
        params![after, after_id, until, until_id, replacement],
    )
    .await?;
    Ok(())
}
