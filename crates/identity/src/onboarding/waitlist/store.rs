//! Tickets and the counts over them.

use db::{Conn, DbError, params, sql};
use values::{AccountId, Time};

const BLOCK: i64 = 256;

/// Joins at the tail.
pub async fn join(conn: &mut Conn, account: AccountId, now: Time) -> Result<(), DbError> {
    let (ticket,): (i64,) =
        conn.one(sql!("UPDATE waitlist_tail SET ticket = ticket + 1 WHERE id = 1 RETURNING ticket"), params![]).await?;
    conn.exec(
        sql!("UPDATE onboardings SET waitlist_ticket = $2, waitlist_joined_at = $3 WHERE account_id = $1"),
        params![account, ticket, now],
    )
    .await?;
    count(conn, ticket, 1).await
}

/// Leaves; everyone behind moves up. When it joined stays known.
pub async fn leave(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    let (ticket,): (Option<i64>,) =
        conn.one(sql!("SELECT waitlist_ticket FROM onboardings WHERE account_id = $1"), params![account]).await?;
    let Some(ticket) = ticket else { return Ok(()) };
    conn.exec(sql!("UPDATE onboardings SET waitlist_ticket = NULL WHERE account_id = $1"), params![account]).await?;
    count(conn, ticket, -1).await
}

async fn count(conn: &mut Conn, ticket: i64, change: i64) -> Result<(), DbError> {
    for (level, block) in [(1i64, ticket / BLOCK), (2, ticket / (BLOCK * BLOCK))] {
        conn.exec(
            sql!(
                "INSERT INTO waitlist_counts (level, block, waiting) VALUES ($1, $2, $3)
                 ON CONFLICT (level, block) DO UPDATE SET waiting = waitlist_counts.waiting + $3"
            ),
            params![level, block, change],
        )
        .await?;
    }
    Ok(())
}

/// The place of a ticket that waits, in one statement so that it is true of one moment.
pub async fn position(conn: &mut Conn, ticket: i64) -> Result<i64, DbError> {
    let (fine, coarse) = (ticket / BLOCK, ticket / (BLOCK * BLOCK));
    let (position,) = conn
        .one(
            sql!(
                "SELECT CAST(
                    (SELECT COALESCE(SUM(waiting), 0) FROM waitlist_counts WHERE level = 2 AND block < $1)
                  + (SELECT COALESCE(SUM(waiting), 0) FROM waitlist_counts WHERE level = 1 AND block >= $2 AND block < $3)
                  + (SELECT COUNT(*) FROM onboardings WHERE waitlist_ticket >= $4 AND waitlist_ticket <= $5) AS BIGINT)"
            ),
            params![coarse, coarse * BLOCK, fine, fine * BLOCK, ticket],
        )
        .await?;
    Ok(position)
}

/// How many wait.
pub async fn total(conn: &mut Conn) -> Result<i64, DbError> {
    let (total,) = conn
        .one(sql!("SELECT CAST(COALESCE(SUM(waiting), 0) AS BIGINT) FROM waitlist_counts WHERE level = 2"), params![])
        .await?;
    Ok(total)
}
