//! Tables `events` and `event_head`.

use super::kinds::EventType;
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Time, id};

id! {
    /// Id of an event.
    pub struct EventId;
}

row! {
    #[derive(Clone, Debug)]
    pub struct EventRow {
        pub id: EventId,
        pub account_id: AccountId,
        pub kind: EventType,
        /// JSON.
        pub data: String,
        pub position: Option<i64>,
        pub created_at: Time,
    }
}

row! {
    /// An event that just got its position.
    #[derive(Clone, Copy, Debug)]
    pub struct PublishedEvent {
        pub id: EventId,
        pub account_id: AccountId,
        pub kind: EventType,
        pub position: i64,
    }
}

row! {
    /// The end of the order of events.
    #[derive(Clone, Copy, Debug)]
    pub struct Head {
        pub position: i64,
        /// When the last sweep over the accounts with ended calls began.
        pub batched_at: Time,
        /// The last account that this sweep is done with; none when it has ended.
        pub swept_through: Option<AccountId>,
    }
}

/// Which events to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventFilter {
    pub account: Option<AccountId>,
    pub kind: Option<EventType>,
    pub from: Option<Time>,
    pub to: Option<Time>,
}

/// Writes an event. Of two events of one resource the later one has the higher ordinal, since its transaction held the
/// resource's lock when it got the ordinal: on SQLite the one given, on PostgreSQL the server's time.
pub async fn insert(
    conn: &mut Conn,
    id: EventId,
    account: AccountId,
    kind: EventType,
    data: &str,
    ordinal: i64,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO events (id, account_id, kind, data, is_listed, ordinal, created_at)
             VALUES ($1, $2, $3, $4, $5,
                     $6 /*pg * 0 + CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) */, $7)"
        ),
        params![id, account, kind, data, kind.is_listed(), ordinal, conn.now()],
    )
    .await?;
    Ok(())
}

pub async fn head(conn: &mut Conn) -> Result<Head, DbError> {
    conn.one(sql!("SELECT ", Head::COLS, " FROM event_head WHERE id = 1"), params![]).await
}

/// The head, locked until the commit: only one transaction publishes at a time.
pub async fn lock_head(conn: &mut Conn) -> Result<Head, DbError> {
    conn.one(sql!("SELECT ", Head::COLS, " FROM event_head WHERE id = 1 /*pg FOR UPDATE */"), params![]).await
}

pub async fn set_head(conn: &mut Conn, head: Head) -> Result<(), DbError> {
    let sql = sql!("UPDATE event_head SET position = $1, batched_at = $2, swept_through = $3 WHERE id = 1");
    conn.exec(sql, params![head.position, head.batched_at, head.swept_through]).await?;
    Ok(())
}

/// Gives up to `limit` committed events their positions after the head, which the caller has locked and sets.
pub async fn publish(conn: &mut Conn, head: i64, limit: i64) -> Result<Vec<PublishedEvent>, DbError> {
    let mut published: Vec<PublishedEvent> = conn
        .all(
            sql!(
                "WITH waiting AS (
                     SELECT id AS event_id, ordinal AS nth FROM events WHERE position IS NULL
                     ORDER BY ordinal, id LIMIT $2),
                 numbered AS (
                     SELECT event_id, ROW_NUMBER() OVER (ORDER BY nth, event_id) AS place FROM waiting)
                 UPDATE events SET position = $1 + numbered.place FROM numbered WHERE events.id = numbered.event_id
                 RETURNING id, account_id, kind, position"
            ),
            params![head, limit],
        )
        .await?;
    published.sort_by_key(|event| event.position);
    Ok(published)
}

/// A published event, of this account if one is given.
pub async fn find(conn: &mut Conn, account: Option<AccountId>, id: EventId) -> Result<Option<EventRow>, DbError> {
    let sql = sql!("SELECT ", EventRow::COLS, " FROM events WHERE id = $1");
    let found: Option<EventRow> = conn.opt(sql, params![id]).await?;
    Ok(found.filter(|event| account.is_none_or(|account| event.account_id == account)))
}

/// The newest event up to a position, of this account if one is given.
pub async fn newest(conn: &mut Conn, account: Option<AccountId>, through: i64) -> Result<Option<EventId>, DbError> {
    // One text for each index.
    let newest: Option<(EventId,)> = match account {
        Some(account) => {
            let sql =
                sql!("SELECT id FROM events WHERE account_id = $2 AND position <= $1 ORDER BY position DESC LIMIT 1");
            conn.opt(sql, params![through, account]).await?
        }
        None => {
            let sql = sql!("SELECT id FROM events WHERE position <= $1 ORDER BY position DESC LIMIT 1");
            conn.opt(sql, params![through]).await?
        }
    };
    Ok(newest.map(|(id,)| id))
}

/// Listed events after a position, oldest first.
pub async fn list(
    conn: &mut Conn,
    filter: &EventFilter,
    after: i64,
    through: i64,
    limit: i64,
) -> Result<Vec<EventRow>, DbError> {
    let EventFilter { account, kind, from, to } = *filter;
    // One text for each index.
    let text = match account {
        Some(_) => sql!(
            "SELECT ",
            EventRow::COLS,
            " FROM events WHERE account_id = $7 AND is_listed AND position > $1 AND position <= $2
               AND (kind = $4 OR $4 IS NULL) AND (created_at >= $5 OR $5 IS NULL) AND (created_at < $6 OR $6 IS NULL)
             ORDER BY position LIMIT $3"
        ),
        None => sql!(
            "SELECT ",
            EventRow::COLS,
            " FROM events WHERE is_listed AND position > $1 AND position <= $2
               AND (kind = $4 OR $4 IS NULL) AND (created_at >= $5 OR $5 IS NULL) AND (created_at < $6 OR $6 IS NULL)
             ORDER BY position LIMIT $3"
        ),
    };
    match account {
        Some(account) => conn.all(text, params![after, through, limit, kind, from, to, account]).await,
        None => conn.all(text, params![after, through, limit, kind, from, to]).await,
    }
}

/// Ids and types of published events of a period, oldest first, after a position, with those that are not listed.
pub async fn range(
    conn: &mut Conn,
    account: Option<AccountId>,
    (from, to): (Time, Time),
    after: i64,
    limit: i64,
) -> Result<Vec<PublishedEvent>, DbError> {
    // One text for each index.
    match account {
        Some(account) => {
            let sql = sql!(
                "SELECT ",
                PublishedEvent::COLS,
                " FROM events WHERE account_id = $5 AND position > $1 AND created_at >= $2 AND created_at < $3
                 ORDER BY position LIMIT $4"
            );
            conn.all(sql, params![after, from, to, limit, account]).await
        }
        None => {
            let sql = sql!(
                "SELECT ",
                PublishedEvent::COLS,
                " FROM events WHERE position > $1 AND created_at >= $2 AND created_at < $3 ORDER BY position LIMIT $4"
            );
            conn.all(sql, params![after, from, to, limit]).await
        }
    }
}

/// Deletes up to `batch` events created before `cutoff`.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM events WHERE id IN
                 (SELECT id FROM events WHERE created_at < $1 AND position IS NOT NULL ORDER BY created_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
