//! Records in the order of their beginnings, and how far the job has come among them.

use uuid::Uuid;

use db::{Conn, DbError, params, sql};
use values::{CallId, Time};

/// A record's place in the order.
pub type Place = (Time, CallId);

/// The record up to which numbers were taken out, held until we commit.
pub async fn done(conn: &mut Conn) -> Result<Place, DbError> {
    let found: Option<Place> = conn
        .opt(sql!("SELECT started_at, cdr_id FROM cdr_retention WHERE id = 1 /*pg FOR UPDATE */"), params![])
        .await?;
    Ok(found.unwrap_or((Time::from_millis(0), CallId::new(Uuid::nil()))))
}

pub async fn note_done(conn: &mut Conn, (at, id): Place) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO cdr_retention (id, started_at, cdr_id) VALUES (1, $1, $2)
             ON CONFLICT (id) DO UPDATE SET started_at = excluded.started_at, cdr_id = excluded.cdr_id"
        ),
        params![at, id],
    )
    .await?;
    Ok(())
}

/// The place of the record that is so many behind this one, if there are so many before a moment.
pub async fn place_after(conn: &mut Conn, (at, id): Place, before: Time, count: i64) -> Result<Option<Place>, DbError> {
    // The index of everybody's calls is that of an expression; the bare conditions choose the months.
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

/// Takes the numbers out of the records behind one place, up to another.
pub async fn forget_numbers(
    conn: &mut Conn,
    (after, after_id): Place,
    (until, until_id): Place,
    instead: &str,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE cdrs SET calling = $5, called = $5
             WHERE started_at >= $1 AND started_at <= $3 AND started_at + 0 >= $1 AND (started_at + 0, id) > ($1, $2)
               AND started_at + 0 <= $3 AND (started_at + 0, id) <= ($3, $4)"
        ),
        params![after, after_id, until, until_id, instead],
    )
    .await?;
    Ok(())
}
