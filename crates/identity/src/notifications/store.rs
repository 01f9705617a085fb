//! Table `notifications`.

use serde_json::Value;

use super::codes::{NotificationCode, Severity};
use db::{Conn, DbError, insert, params, row, sql};
use values::{AccountId, Invalid, Stored, Time, id};

id! {
    /// Id of a notification.
    pub struct NotificationId;
}

/// Payload of a notification, stored as JSON text.
#[derive(Clone, Debug)]
pub struct Payload(pub Value);

impl Stored for Payload {
    type Raw = String;

    fn to_raw(&self) -> String {
        self.0.to_string()
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        serde_json::from_str(&raw).map(Payload).map_err(|error| Invalid(error.to_string().into()))
    }
}

row! {
    pub struct NotificationRow {
        pub id: NotificationId,
        pub code: NotificationCode,
        pub severity: Severity,
        pub payload: Payload,
        pub read_at: Option<Time>,
        pub created_at: Time,
    }
}

pub async fn insert(conn: &mut Conn, account: AccountId, new: &NotificationRow) -> Result<(), DbError> {
    insert!(
        conn,
        notifications {
            id: new.id,
            account_id: account,
            code: new.code,
            severity: new.severity,
            payload: new.payload,
            read_at: new.read_at,
            created_at: new.created_at
        }
    )
    .await?;
    Ok(())
}

/// Position in a list: creation time and id of the last row.
pub type NotificationCursor = (Time, NotificationId);

pub async fn list(
    conn: &mut Conn,
    account: AccountId,
    (at, id): NotificationCursor,
    limit: i64,
) -> Result<Vec<NotificationRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            NotificationRow::COLS,
            " FROM notifications WHERE account_id = $1 AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![account, at, id, limit],
    )
    .await
}

pub async fn list_unread(
    conn: &mut Conn,
    account: AccountId,
    (at, id): NotificationCursor,
    limit: i64,
) -> Result<Vec<NotificationRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            NotificationRow::COLS,
            " FROM notifications WHERE account_id = $1 AND read_at IS NULL AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![account, at, id, limit],
    )
    .await
}

/// Number of unread notifications, counted up to `limit`.
pub async fn count_unread(conn: &mut Conn, account: AccountId, limit: i64) -> Result<i64, DbError> {
    let (count,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM
                     (SELECT 1 AS one FROM notifications WHERE account_id = $1 AND read_at IS NULL LIMIT $2) AS unread"
            ),
            params![account, limit],
        )
        .await?;
    Ok(count)
}

/// Marks one as read and returns it; the time of the first mark stays.
pub async fn mark_read(
    conn: &mut Conn,
    account: AccountId,
    id: NotificationId,
) -> Result<Option<NotificationRow>, DbError> {
    conn.opt(
        sql!(
            "UPDATE notifications SET read_at = COALESCE(read_at, $3) WHERE account_id = $1 AND id = $2 RETURNING ",
            NotificationRow::COLS
        ),
        params![account, id, conn.now()],
    )
    .await
}

/// Marks all as read and returns how many were unread.
pub async fn mark_all_read(conn: &mut Conn, account: AccountId) -> Result<u64, DbError> {
    conn.exec(
        sql!("UPDATE notifications SET read_at = $2 WHERE account_id = $1 AND read_at IS NULL"),
        params![account, conn.now()],
    )
    .await
}

/// Deletes up to `batch` notifications created before `cutoff`.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM notifications WHERE id IN
                 (SELECT id FROM notifications WHERE created_at < $1 ORDER BY created_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}

/// Deletes the notifications of an account.
pub async fn erase(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM notifications WHERE account_id = $1"), params![account]).await?;
    Ok(())
}
