//! The `deck_imports` table.

use uuid::Uuid;

use super::hold::HoldReason;
use super::types::{DeckImportId, DeckImportStatus, ImportMode};
use db::{Conn, DbError, insert, params, row, sql};
use identity::imports::ImportFault;
use platform::outside::files::ContentHash;
use values::{List, Time, UpstreamId};

row! {
    #[derive(Clone, Debug)]
    pub struct ImportRow {
        pub id: DeckImportId,
        pub upstream_id: UpstreamId,
        pub status: DeckImportStatus,
        pub mode: ImportMode,
        pub dry_run: bool,
        pub content_hash: Option<ContentHash>,
        /// The mapping that came with the file, as JSON.
        pub mapping: Option<String>,
        pub deck_id: Option<Uuid>,
        pub rows_done: i64,
        pub rows_total: Option<i64>,
        pub added: i64,
        pub removed: i64,
        pub increased: i64,
        pub decreased: i64,
        pub unchanged: bool,
        pub error_count: i64,
        pub reason: Option<String>,
        pub held_for: Option<List<HoldReason>>,
        /// Whether it arrived by mail whose sender may be forged.
        pub unverified_sender: bool,
        /// When it was decided to apply it after all.
        pub approved_at: Option<Time>,
        /// Why its increases come without notice.
        pub waive_reason: Option<String>,
        pub created_at: Time,
        pub started_at: Option<Time>,
        pub completed_at: Option<Time>,
    }
}

impl ImportRow {
    /// A new import, queued.
    pub fn queued(id: DeckImportId, upstream_id: UpstreamId, mode: ImportMode, dry_run: bool, now: Time) -> ImportRow {
        ImportRow {
            id,
            upstream_id,
            status: DeckImportStatus::Queued,
            mode,
            dry_run,
            content_hash: None,
            mapping: None,
            deck_id: None,
            rows_done: 0,
            rows_total: None,
            added: 0,
            removed: 0,
            increased: 0,
            decreased: 0,
            unchanged: false,
            error_count: 0,
            reason: None,
            held_for: None,
            unverified_sender: false,
            approved_at: None,
            waive_reason: None,
            created_at: now,
            started_at: None,
            completed_at: None,
        }
    }
}

pub async fn insert(conn: &mut Conn, new: &ImportRow) -> Result<(), DbError> {
    insert!(
        conn,
        deck_imports {
            id: new.id,
            upstream_id: new.upstream_id,
            status: new.status,
            mode: new.mode,
            dry_run: new.dry_run,
            content_hash: new.content_hash,
            mapping: new.mapping,
            rows_done: 0i64,
            rows_total: new.rows_total,
            added: 0i64,
            removed: 0i64,
            increased: 0i64,
            decreased: 0i64,
            unchanged: false,
            error_count: 0i64,
            errors: "[]",
            unverified_sender: new.unverified_sender,
            waive_reason: new.waive_reason,
            created_at: new.created_at
        }
    )
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, upstream: UpstreamId, id: DeckImportId) -> Result<Option<ImportRow>, DbError> {
    conn.opt(
        sql!("SELECT ", ImportRow::COLS, " FROM deck_imports WHERE upstream_id = $1 AND id = $2"),
        params![upstream, id],
    )
    .await
}

/// The stored errors of an import's file.
pub async fn faults(conn: &mut Conn, id: DeckImportId) -> Result<Vec<ImportFault>, DbError> {
    let (text,): (String,) = conn.one(sql!("SELECT errors FROM deck_imports WHERE id = $1"), params![id]).await?;
    serde_json::from_str(&text).map_err(DbError::other)
}

/// Lists the imports of an upstream, newest first, after the cursor.
pub async fn list(
    conn: &mut Conn,
    upstream: UpstreamId,
    (at, id): (Time, DeckImportId),
    limit: i64,
) -> Result<Vec<ImportRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            ImportRow::COLS,
            " FROM deck_imports WHERE upstream_id = $1 AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![upstream, at, id, limit],
    )
    .await
}

/// How many imports of an upstream are queued or running.
pub async fn count_pending(conn: &mut Conn, upstream: UpstreamId) -> Result<i64, DbError> {
    let (count,) = conn
        .one(
            sql!("SELECT COUNT(*) FROM deck_imports WHERE upstream_id = $1 AND status IN ('queued', 'running')"),
            params![upstream],
        )
        .await?;
    Ok(count)
}

pub async fn has_queued(conn: &mut Conn, upstream: UpstreamId) -> Result<bool, DbError> {
    let found: Option<(DeckImportId,)> = conn
        .opt(
            sql!("SELECT id FROM deck_imports WHERE upstream_id = $1 AND status = 'queued' LIMIT 1"),
            params![upstream],
        )
        .await?;
    Ok(found.is_some())
}

/// The running import of this job, left by an earlier attempt.
pub async fn interrupted(conn: &mut Conn, upstream: UpstreamId, job: Uuid) -> Result<Option<ImportRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            ImportRow::COLS,
            " FROM deck_imports WHERE upstream_id = $1 AND status = 'running' AND job_id = $2"
        ),
        params![upstream, job],
    )
    .await
}

/// Starts the next queued import of an upstream, unless another is running, and not before the last one ended: the time of
/// a transaction that waited for a connection may be older.
pub async fn begin(conn: &mut Conn, upstream: UpstreamId, job: Uuid) -> Result<Option<ImportRow>, DbError> {
    conn.opt(
        sql!(
            "UPDATE deck_imports SET status = 'running', job_id = $2,
                 started_at = (SELECT MAX(at) FROM (SELECT CAST($3 AS BIGINT) AS at UNION ALL
                     SELECT * FROM (SELECT completed_at FROM deck_imports
                                    WHERE upstream_id = $1 AND completed_at IS NOT NULL
                                    ORDER BY created_at DESC, id DESC LIMIT 1) AS last) AS times)
             WHERE id = (SELECT id FROM deck_imports WHERE upstream_id = $1 AND status = 'queued'
                         ORDER BY created_at, id LIMIT 1 /*pg FOR UPDATE */)
               AND status = 'queued'
               AND NOT EXISTS (SELECT 1 FROM deck_imports WHERE upstream_id = $1 AND status = 'running')
             RETURNING ",
            ImportRow::COLS
        ),
        params![upstream, job, conn.now()],
    )
    .await
}

/// Stores the hash and ETag of the pulled file.
pub async fn set_file(
    conn: &mut Conn,
    id: DeckImportId,
    hash: ContentHash,
    etag: Option<&str>,
    rows: Option<i64>,
) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE deck_imports SET content_hash = $2, etag = $3, rows_total = $4 WHERE id = $1"),
        params![id, hash, etag, rows],
    )
    .await?;
    Ok(())
}

pub async fn set_deck(conn: &mut Conn, id: DeckImportId, deck: Uuid) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE deck_imports SET deck_id = $2 WHERE id = $1"), params![id, deck]).await?;
    Ok(())
}

pub async fn set_progress(conn: &mut Conn, id: DeckImportId, rows: i64) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE deck_imports SET rows_done = $2 WHERE id = $1 AND status = 'running'"), params![id, rows])
        .await?;
    Ok(())
}

/// Results of an import.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub rows: i64,
    /// None when the import ended before the end of the file.
    pub total: Option<i64>,
    pub added: i64,
    pub removed: i64,
    pub increased: i64,
    pub decreased: i64,
    pub unchanged: bool,
    pub error_count: i64,
    pub errors: Vec<ImportFault>,
    pub reason: Option<String>,
    /// Why it is held; empty if it is not.
    pub held_for: Vec<HoldReason>,
    /// What it changes, as JSON; none if the file could not be read.
    pub impact: Option<String>,
}

/// Ends a running import. False when it no longer runs.
pub async fn end(
    conn: &mut Conn,
    id: DeckImportId,
    status: DeckImportStatus,
    outcome: &Outcome,
) -> Result<bool, DbError> {
    let now = conn.now();
    let held_for = (!outcome.held_for.is_empty()).then(|| List(outcome.held_for.clone()));
    let errors = serde_json::to_string(&outcome.errors).map_err(DbError::other)?;
    let ended = conn
        .exec(
            sql!(
                "UPDATE deck_imports SET status = $2, rows_done = $3, rows_total = COALESCE($13, rows_total), added = $4, removed = $5,
                     increased = $6, decreased = $7, unchanged = $8, error_count = $9, errors = $10, reason = $11,
                     completed_at = $12, held_for = COALESCE($14, held_for), impact = $15
                 WHERE id = $1 AND status = 'running'"
            ),
            params![
                id,
                status,
                outcome.rows,
                outcome.added,
                outcome.removed,
                outcome.increased,
                outcome.decreased,
                outcome.unchanged,
                outcome.error_count,
                errors,
                outcome.reason,
                now,
                outcome.total,
                held_for,
                outcome.impact
            ],
        )
        .await?;
    Ok(ended == 1)
}

/// Whether a file is still needed for an import.
pub async fn names_file(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    let found: Option<(DeckImportId,)> = conn
        .opt(
            sql!(
                "SELECT id FROM deck_imports WHERE content_hash = $1 AND status IN ('queued', 'running', 'held') LIMIT 1"
            ),
            params![*hash],
        )
        .await?;
    Ok(found.is_some())
}

/// The impact of an import, as JSON.
pub async fn impact(conn: &mut Conn, id: DeckImportId) -> Result<Option<String>, DbError> {
    let (impact,) = conn.one(sql!("SELECT impact FROM deck_imports WHERE id = $1"), params![id]).await?;
    Ok(impact)
}

/// Whether an import of the upstream runs.
pub async fn is_running(conn: &mut Conn, upstream: UpstreamId) -> Result<bool, DbError> {
    let sql = sql!("SELECT EXISTS (SELECT 1 FROM deck_imports WHERE upstream_id = $1 AND status = 'running')");
    let (is_running,) = conn.one(sql, params![upstream]).await?;
    Ok(is_running)
}

/// Queues a held import again, with a reason if its notice is waived. False when it is not held.
pub async fn approve(
    conn: &mut Conn,
    upstream: UpstreamId,
    id: DeckImportId,
    waive_reason: Option<&str>,
) -> Result<bool, DbError> {
    let sql = sql!(
        "UPDATE deck_imports SET status = 'queued', approved_at = $3, started_at = NULL, completed_at = NULL,
             waive_reason = COALESCE($4, waive_reason)
         WHERE upstream_id = $1 AND id = $2 AND status = 'held'"
    );
    Ok(conn.exec(sql, params![upstream, id, conn.now(), waive_reason]).await? == 1)
}

/// Rejects a held import. False when it is not held.
pub async fn reject(
    conn: &mut Conn,
    upstream: UpstreamId,
    id: DeckImportId,
    reason: Option<&str>,
) -> Result<bool, DbError> {
    let sql = sql!(
        "UPDATE deck_imports SET status = 'rejected', reason = $3, completed_at = $4
         WHERE upstream_id = $1 AND id = $2 AND status = 'held'"
    );
    Ok(conn.exec(sql, params![upstream, id, reason, conn.now()]).await? == 1)
}

/// Rejects the held imports of an upstream whose deck was replaced.
pub async fn supersede_held(conn: &mut Conn, upstream: UpstreamId) -> Result<(), DbError> {
    let sql = sql!(
        "UPDATE deck_imports SET status = 'rejected', reason = 'a newer deck came into force', completed_at = $2
         WHERE upstream_id = $1 AND status = 'held'"
    );
    conn.exec(sql, params![upstream, conn.now()]).await?;
    Ok(())
}
