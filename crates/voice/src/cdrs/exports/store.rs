//! Table `cdr_exports`.

use super::types::{CdrExportId, Compression, ExportFormat, ExportStatus};
use db::{Conn, DbError, params, sql, table_row};
use platform::outside::files::{ContentHash, StoredFile};
use values::{AccountId, Time, TimeZone};

table_row! {
    #[derive(Clone)]
    pub struct ExportRow {
        pub id: CdrExportId,
        pub account_id: AccountId,
        pub status: ExportStatus,
        pub format: ExportFormat,
        pub compression: Compression,
        pub range_from: Time,
        pub range_to: Time,
        pub rows_count: i64,
        pub size_bytes: Option<i64>,
        pub content_hash: Option<ContentHash>,
        pub reason: Option<String>,
        pub requested_at: Time,
        pub completed_at: Option<Time>,
        pub expires_at: Option<Time>,
        /// Of all customers, for the team.
        pub is_team: bool,
        /// As JSON.
        pub filters: Option<String>,
        pub time_zone: Option<TimeZone>,
    }
}

pub async fn insert(conn: &mut Conn, export: &ExportRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO cdr_exports (",
            ExportRow::COLS,
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
        ),
        &export.values(),
    )
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, account: AccountId, id: CdrExportId) -> Result<Option<ExportRow>, DbError> {
    conn.opt(
        sql!("SELECT ", ExportRow::COLS, " FROM cdr_exports WHERE id = $1 AND account_id = $2 AND NOT is_team"),
        params![id, account],
    )
    .await
}

/// An export of the team.
pub async fn find_team(conn: &mut Conn, id: CdrExportId) -> Result<Option<ExportRow>, DbError> {
    conn.opt(sql!("SELECT ", ExportRow::COLS, " FROM cdr_exports WHERE id = $1 AND is_team"), params![id]).await
}

/// The team's exports before a cursor, newest first.
pub async fn list_team(conn: &mut Conn, (at, id): (Time, CdrExportId), limit: i64) -> Result<Vec<ExportRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            ExportRow::COLS,
            " FROM cdr_exports WHERE is_team AND (requested_at, id) < ($1, $2)
             ORDER BY requested_at DESC, id DESC LIMIT $3"
        ),
        params![at, id, limit],
    )
    .await
}

/// An account's exports before a cursor, newest first.
pub async fn list(
    conn: &mut Conn,
    account: AccountId,
    (at, id): (Time, CdrExportId),
    limit: i64,
) -> Result<Vec<ExportRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            ExportRow::COLS,
            " FROM cdr_exports WHERE account_id = $1 AND NOT is_team AND (requested_at, id) < ($2, $3)
             ORDER BY requested_at DESC, id DESC LIMIT $4"
        ),
        params![account, at, id, limit],
    )
    .await
}

/// Starts an export, or starts it again; none if it is over.
pub async fn start(conn: &mut Conn, id: CdrExportId) -> Result<Option<ExportRow>, DbError> {
    conn.opt(
        sql!(
            "UPDATE cdr_exports SET status = 'running', rows_count = 0
             WHERE id = $1 AND status IN ('queued', 'running') RETURNING ",
            ExportRow::COLS
        ),
        params![id],
    )
    .await
}

pub async fn set_progress(conn: &mut Conn, id: CdrExportId, rows: i64) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE cdr_exports SET rows_count = $2 WHERE id = $1 AND status = 'running'"), params![id, rows])
        .await?;
    Ok(())
}

/// Makes an export ready; false if it is already over.
pub async fn complete(
    conn: &mut Conn,
    id: CdrExportId,
    rows: i64,
    file: StoredFile,
    (now, expires_at): (Time, Time),
) -> Result<bool, DbError> {
    let size = i64::try_from(file.size_bytes).unwrap_or(i64::MAX);
    let completed = conn
        .exec(
            sql!(
                "UPDATE cdr_exports SET status = 'ready', rows_count = $2, size_bytes = $3, content_hash = $4,
                                        completed_at = $5, expires_at = $6
                 WHERE id = $1 AND status = 'running'"
            ),
            params![id, rows, size, file.hash, now, expires_at],
        )
        .await?;
    Ok(completed > 0)
}

pub async fn fail(conn: &mut Conn, id: CdrExportId, reason: &str) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE cdr_exports SET status = 'failed', reason = $2, completed_at = $3
             WHERE id = $1 AND status IN ('queued', 'running')"
        ),
        params![id, reason, conn.now()],
    )
    .await?;
    Ok(())
}

/// Expires up to `batch` exports and returns how many.
pub async fn expire(conn: &mut Conn, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "UPDATE cdr_exports SET status = 'expired', content_hash = NULL
             WHERE id IN (SELECT id FROM cdr_exports WHERE status = 'ready' AND expires_at <= $1
                          ORDER BY expires_at LIMIT $2)"
        ),
        params![conn.now(), batch],
    )
    .await
}

/// Fails exports that no job works on any more.
pub async fn fail_abandoned(conn: &mut Conn, requested_before: Time, reason: &str) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "UPDATE cdr_exports SET status = 'failed', reason = $3, completed_at = $2
             WHERE status IN ('queued', 'running') AND requested_at < $1"
        ),
        params![requested_before, conn.now(), reason],
    )
    .await
}

/// Purges up to `batch` exports without a file that were requested before `cutoff`.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM cdr_exports WHERE id IN
                 (SELECT id FROM cdr_exports WHERE requested_at < $1 AND status IN ('failed', 'expired')
                  ORDER BY requested_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}

/// Whether an export has this file.
pub async fn names_file(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    let (named,) =
        conn.one(sql!("SELECT EXISTS (SELECT 1 FROM cdr_exports WHERE content_hash = $1)"), params![*hash]).await?;
    Ok(named)
}
