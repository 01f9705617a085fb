//! The `number_imports` table.

use uuid::Uuid;

use super::types::InventoryImportId;
use db::{Conn, DbError, insert, params, row, sql};
use identity::imports::{ImportFault, ImportStatus};
use platform::outside::files::ContentHash;
use values::{Time, UpstreamId};

row! {
    #[derive(Clone, Debug)]
    pub struct ImportRow {
        pub id: InventoryImportId,
        pub upstream_id: UpstreamId,
        pub status: ImportStatus,
        pub content_hash: ContentHash,
        pub rows_done: i64,
        pub rows_total: i64,
        pub added: i64,
        pub changed: i64,
        pub kept: i64,
        pub error_count: i64,
        pub reason: Option<String>,
        pub created_at: Time,
        pub started_at: Option<Time>,
        pub completed_at: Option<Time>,
    }
}

impl ImportRow {
    /// A new import, queued.
    pub fn queued(id: InventoryImportId, upstream: UpstreamId, file: ContentHash, rows: i64, now: Time) -> ImportRow {
        ImportRow {
            id,
            upstream_id: upstream,
            status: ImportStatus::Queued,
            content_hash: file,
            rows_done: 0,
            rows_total: rows,
            added: 0,
            changed: 0,
            kept: 0,
            error_count: 0,
            reason: None,
            created_at: now,
            started_at: None,
            completed_at: None,
        }
    }
}

pub async fn insert(conn: &mut Conn, new: &ImportRow) -> Result<(), DbError> {
    insert!(
        conn,
        number_imports {
            id: new.id,
            upstream_id: new.upstream_id,
            status: new.status,
            content_hash: new.content_hash,
            rows_done: 0i64,
            rows_total: new.rows_total,
            added: 0i64,
            changed: 0i64,
            kept: 0i64,
            error_count: 0i64,
            errors: "[]",
            created_at: new.created_at
        }
    )
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, id: InventoryImportId) -> Result<Option<ImportRow>, DbError> {
    conn.opt(sql!("SELECT ", ImportRow::COLS, " FROM number_imports WHERE id = $1"), params![id]).await
}

/// The stored errors of an import's file.
pub async fn faults(conn: &mut Conn, id: InventoryImportId) -> Result<Vec<ImportFault>, DbError> {
    let (text,): (String,) = conn.one(sql!("SELECT errors FROM number_imports WHERE id = $1"), params![id]).await?;
    serde_json::from_str(&text).map_err(DbError::other)
}

/// How many imports are queued or running.
pub async fn count_pending(conn: &mut Conn) -> Result<i64, DbError> {
    let (count,) =
        conn.one(sql!("SELECT COUNT(*) FROM number_imports WHERE status IN ('queued', 'running')"), params![]).await?;
    Ok(count)
}

pub async fn has_queued(conn: &mut Conn) -> Result<bool, DbError> {
    let (found,) =
        conn.one(sql!("SELECT EXISTS (SELECT 1 FROM number_imports WHERE status = 'queued')"), params![]).await?;
    Ok(found)
}

/// Resumes the import that this job began, or starts the next queued one unless another import is running.
pub async fn begin(conn: &mut Conn, job: Uuid) -> Result<Option<ImportRow>, DbError> {
    let begun = conn
        .opt(
            sql!("SELECT ", ImportRow::COLS, " FROM number_imports WHERE status = 'running' AND job_id = $1"),
            params![job],
        )
        .await?;
    if begun.is_some() {
        return Ok(begun);
    }
    conn.opt(
        sql!(
            "UPDATE number_imports SET status = 'running', job_id = $1, started_at = $2
             WHERE id = (SELECT id FROM number_imports WHERE status = 'queued'
                         ORDER BY created_at, id LIMIT 1 /*pg FOR UPDATE */)
               AND status = 'queued' AND NOT EXISTS (SELECT 1 FROM number_imports WHERE status = 'running')
             RETURNING ",
            ImportRow::COLS
        ),
        params![job, conn.now()],
    )
    .await
}

/// Counts of what a batch changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub done: i64,
    pub added: i64,
    pub changed: i64,
    pub kept: i64,
}

/// Records a batch that begins at row `from`. False when it was recorded already.
pub async fn record_progress(
    conn: &mut Conn,
    id: InventoryImportId,
    from: i64,
    total: i64,
    progress: Progress,
) -> Result<bool, DbError> {
    let updated = conn
        .exec(
            sql!(
                "UPDATE number_imports SET rows_done = rows_done + $3, rows_total = $4, added = added + $5,
                     changed = changed + $6, kept = kept + $7
                 WHERE id = $1 AND status = 'running' AND rows_done = $2"
            ),
            params![id, from, progress.done, total, progress.added, progress.changed, progress.kept],
        )
        .await?;
    Ok(updated == 1)
}

/// How an import ended.
#[derive(Clone, Debug)]
pub struct End {
    pub status: ImportStatus,
    /// Number of rows in a file with errors; null keeps the stored count.
    pub rows: Option<i64>,
    pub error_count: i64,
    pub errors: Vec<ImportFault>,
    pub reason: Option<String>,
}

/// Ends a running import.
pub async fn end(conn: &mut Conn, id: InventoryImportId, end: &End) -> Result<(), DbError> {
    let errors = serde_json::to_string(&end.errors).map_err(DbError::other)?;
    conn.exec(
        sql!(
            "UPDATE number_imports SET status = $2, error_count = $3, errors = $4, reason = $5, completed_at = $6,
                 rows_total = COALESCE($7, rows_total)
             WHERE id = $1 AND status = 'running'"
        ),
        params![id, end.status, end.error_count, errors, end.reason, conn.now(), end.rows],
    )
    .await?;
    Ok(())
}

/// Whether a file is still needed for an import.
pub async fn names_file(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    let (found,) = conn
        .one(
            sql!(
                "SELECT EXISTS (SELECT 1 FROM number_imports
                                WHERE content_hash = $1 AND status IN ('queued', 'running'))"
            ),
            params![*hash],
        )
        .await?;
    Ok(found)
}
