//! Table `notices`.

use db::{Conn, DbError, insert, params, row, sql};
use identity::notifications::Severity;
use values::{Text, Time, id};

id! {
    /// Id of a notice.
    pub struct NoticeId;
}

row! {
    #[derive(Clone)]
    pub struct NoticeRow {
        pub id: NoticeId,
        pub severity: Severity,
        pub title: Text<1, 200>,
        pub body: Text<1, 5000>,
        pub starts_at: Time,
        pub ends_at: Option<Time>,
    }
}

/// Position in a list: start time and id of the last row.
pub type NoticeCursor = (Time, NoticeId);

/// Notices that are shown now, the latest first. Ended ones are skipped while reading, as there are never many.
pub async fn active(conn: &mut Conn, (at, id): NoticeCursor, limit: i64) -> Result<Vec<NoticeRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            NoticeRow::COLS,
            " FROM notices WHERE (starts_at, id) < ($1, $2) AND starts_at <= $3 AND (ends_at IS NULL OR ends_at > $3)
             ORDER BY starts_at DESC, id DESC LIMIT $4"
        ),
        params![at, id, conn.now(), limit],
    )
    .await
}

pub async fn list(conn: &mut Conn, (at, id): NoticeCursor, limit: i64) -> Result<Vec<NoticeRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            NoticeRow::COLS,
            " FROM notices WHERE (starts_at, id) < ($1, $2) ORDER BY starts_at DESC, id DESC LIMIT $3"
        ),
        params![at, id, limit],
    )
    .await
}

pub async fn insert(conn: &mut Conn, new: &NoticeRow) -> Result<(), DbError> {
    insert!(
        conn,
        notices {
            id: new.id,
            severity: new.severity,
            title: new.title,
            body: new.body,
            starts_at: new.starts_at,
            ends_at: new.ends_at,
            created_at: conn.now(),
            updated_at: conn.now()
        }
    )
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, id: NoticeId) -> Result<Option<NoticeRow>, DbError> {
    conn.opt(sql!("SELECT ", NoticeRow::COLS, " FROM notices WHERE id = $1"), params![id]).await
}

pub async fn find_for_update(conn: &mut Conn, id: NoticeId) -> Result<Option<NoticeRow>, DbError> {
    conn.opt(sql!("SELECT ", NoticeRow::COLS, " FROM notices WHERE id = $1 /*pg FOR UPDATE */"), params![id]).await
}

pub async fn update(conn: &mut Conn, notice: &NoticeRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE notices SET severity = $2, title = $3, body = $4, starts_at = $5, ends_at = $6, updated_at = $7
             WHERE id = $1"
        ),
        params![notice.id, notice.severity, notice.title, notice.body, notice.starts_at, notice.ends_at, conn.now()],
    )
    .await?;
    Ok(())
}

/// Deletes a notice; false when there is none.
pub async fn delete(conn: &mut Conn, id: NoticeId) -> Result<bool, DbError> {
    Ok(conn.exec(sql!("DELETE FROM notices WHERE id = $1"), params![id]).await? == 1)
}
