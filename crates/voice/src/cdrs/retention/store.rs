//! CDRs by start time, and the progress of the job (table `cdr_retention`).

use uuid::Uuid;

use crate::cdrs::search::position;
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
    cursor: CdrCursor,
    before: Time,
    count: i64,
) -> Result<Option<CdrCursor>, DbError> {
    // By the primary key, since ids are in the order of the calls; the times select the partitions.
    conn.opt(
        sql!(
            "SELECT started_at, id FROM cdrs WHERE started_at >= $1 AND started_at < $3 AND id > $2 AND id < $5
             ORDER BY id LIMIT 1 OFFSET $4"
        ),
        params![cursor.0, position(cursor), before, count - 1, CallId::first_at(before)],
    )
    .await
}

/// Replaces the numbers of the CDRs after one cursor, up to another.
pub async fn anonymise(conn: &mut Conn, after: CdrCursor, until: CdrCursor, replacement: &str) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE cdrs SET calling = $5, called = $5
             WHERE started_at >= $1 AND started_at <= $3 AND id > $2 AND id <= $4"
        ),
        params![after.0, position(after), until.0, position(until), replacement],
    )
    .await?;
    Ok(())
}
