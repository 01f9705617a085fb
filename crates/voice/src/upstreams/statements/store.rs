//! The `upstream_statements` table.

use super::types::StatementId;
use db::{Conn, DbError, insert, params, row, sql};
use identity::imports::{ImportFault, ImportStatus};
use platform::outside::files::ContentHash;
use values::{Currency, Time, UpstreamId};

row! {
    #[derive(Clone, Debug)]
    pub struct StatementRow {
        pub id: StatementId,
        pub upstream_id: UpstreamId,
        pub status: ImportStatus,
        pub currency: Currency,
        pub content_hash: ContentHash,
        /// The mapping that was given or saved, as JSON.
        pub mapping: Option<String>,
        /// The one by which the file was read.
        pub used_mapping: Option<String>,
        pub period_from: Option<Time>,
        pub period_to: Option<Time>,
        pub start_tolerance_seconds: i64,
        pub duration_tolerance_seconds: i64,
        pub run: i64,
        pub rows_done: i64,
        pub rows_total: Option<i64>,
        pub lines_done: i64,
        pub unanswered_rows: i64,
        pub outside_rows: i64,
        /// As JSON.
        pub totals: Option<String>,
        pub error_count: i64,
        pub reason: Option<String>,
        pub created_at: Time,
        pub started_at: Option<Time>,
        pub completed_at: Option<Time>,
        pub lines_purged_at: Option<Time>,
    }
}

impl StatementRow {
    /// A new statement, queued.
    pub fn queued(
        id: StatementId,
        upstream_id: UpstreamId,
        currency: Currency,
        content_hash: ContentHash,
        now: Time,
    ) -> StatementRow {
        StatementRow {
            id,
            upstream_id,
            status: ImportStatus::Queued,
            currency,
            content_hash,
            mapping: None,
            used_mapping: None,
            period_from: None,
            period_to: None,
            start_tolerance_seconds: 0,
            duration_tolerance_seconds: 0,
            run: 0,
            rows_done: 0,
            rows_total: None,
            lines_done: 0,
            unanswered_rows: 0,
            outside_rows: 0,
            totals: None,
            error_count: 0,
            reason: None,
            created_at: now,
            started_at: None,
            completed_at: None,
            lines_purged_at: None,
        }
    }
}

pub async fn insert(conn: &mut Conn, new: &StatementRow) -> Result<(), DbError> {
    insert!(
        conn,
        upstream_statements {
            id: new.id,
            upstream_id: new.upstream_id,
            status: new.status,
            currency: new.currency,
            content_hash: new.content_hash,
            mapping: new.mapping,
            period_from: new.period_from,
            period_to: new.period_to,
            start_tolerance_seconds: new.start_tolerance_seconds,
            duration_tolerance_seconds: new.duration_tolerance_seconds,
            run: 0i64,
            rows_done: 0i64,
            rows_total: new.rows_total,
            lines_done: 0i64,
            unanswered_rows: 0i64,
            outside_rows: 0i64,
            error_count: 0i64,
            errors: "[]",
            created_at: new.created_at
        }
    )
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, upstream: UpstreamId, id: StatementId) -> Result<Option<StatementRow>, DbError> {
    conn.opt(
        sql!("SELECT ", StatementRow::COLS, " FROM upstream_statements WHERE upstream_id = $1 AND id = $2"),
        params![upstream, id],
    )
    .await
}

/// The stored errors of a statement's file.
pub async fn faults(conn: &mut Conn, id: StatementId) -> Result<Vec<ImportFault>, DbError> {
    let (text,): (String,) =
        conn.one(sql!("SELECT errors FROM upstream_statements WHERE id = $1"), params![id]).await?;
    serde_json::from_str(&text).map_err(DbError::other)
}

/// Lists the statements of an upstream, newest first, after the cursor.
pub async fn list(
    conn: &mut Conn,
    upstream: UpstreamId,
    (at, id): (Time, StatementId),
    limit: i64,
) -> Result<Vec<StatementRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            StatementRow::COLS,
            " FROM upstream_statements WHERE upstream_id = $1 AND (created_at, id) < ($2, $3)
             ORDER BY created_at DESC, id DESC LIMIT $4"
        ),
        params![upstream, at, id, limit],
    )
    .await
}

/// How many statements of an upstream are queued or running.
pub async fn count_pending(conn: &mut Conn, upstream: UpstreamId) -> Result<i64, DbError> {
    let sql =
        sql!("SELECT COUNT(*) FROM upstream_statements WHERE upstream_id = $1 AND status IN ('queued', 'running')");
    let (count,) = conn.one(sql, params![upstream]).await?;
    Ok(count)
}

/// Begins a statement, or begins it again after an interruption. `None` if it has ended.
pub async fn begin(conn: &mut Conn, id: StatementId) -> Result<Option<StatementRow>, DbError> {
    conn.opt(
        sql!(
            "UPDATE upstream_statements SET status = 'running', run = run + 1, rows_done = 0, lines_done = 0,
                 started_at = COALESCE(started_at, $2)
             WHERE id = $1 AND status IN ('queued', 'running')
             RETURNING ",
            StatementRow::COLS
        ),
        params![id, conn.now()],
    )
    .await
}

pub async fn set_rows(conn: &mut Conn, id: StatementId, run: i64, rows: i64) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE upstream_statements SET rows_done = $3 WHERE id = $1 AND run = $2 AND status = 'running'"),
        params![id, run, rows],
    )
    .await?;
    Ok(())
}

/// What is known once the file has been read.
#[derive(Clone, Debug)]
pub struct ReadFile {
    pub rows: i64,
    /// As JSON.
    pub mapping: Option<String>,
    pub from: Time,
    pub to: Time,
    pub unanswered: i64,
    pub outside: i64,
}

pub async fn set_read(conn: &mut Conn, id: StatementId, run: i64, file: &ReadFile) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE upstream_statements SET rows_done = $3, rows_total = $3, used_mapping = $4, period_from = $5,
                 period_to = $6, unanswered_rows = $7, outside_rows = $8
             WHERE id = $1 AND run = $2 AND status = 'running'"
        ),
        params![id, run, file.rows, file.mapping, file.from, file.to, file.unanswered, file.outside],
    )
    .await?;
    Ok(())
}

/// Counts more stored lines. False if another run has begun since.
pub async fn add_lines(conn: &mut Conn, id: StatementId, run: i64, lines: i64) -> Result<bool, DbError> {
    let sql = sql!(
        "UPDATE upstream_statements SET lines_done = lines_done + $3 WHERE id = $1 AND run = $2 AND status = 'running'"
    );
    Ok(conn.exec(sql, params![id, run, lines]).await? == 1)
}

/// How a statement ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// As JSON; none if it failed.
    pub totals: Option<String>,
    /// None if the file was not read to its end.
    pub rows: Option<i64>,
    pub error_count: i64,
    pub errors: Vec<ImportFault>,
    pub reason: Option<String>,
}

/// Ends a running statement.
pub async fn end(conn: &mut Conn, id: StatementId, run: i64, outcome: &Outcome) -> Result<(), DbError> {
    let status = if outcome.totals.is_some() { ImportStatus::Completed } else { ImportStatus::Failed };
    let errors = serde_json::to_string(&outcome.errors).map_err(DbError::other)?;
    conn.exec(
        sql!(
            "UPDATE upstream_statements SET status = $3, totals = $4, rows_done = COALESCE($5, rows_done),
                 rows_total = COALESCE($5, rows_total), error_count = $6, errors = $7, reason = $8, completed_at = $9
             WHERE id = $1 AND run = $2 AND status = 'running'"
        ),
        params![id, run, status, outcome.totals, outcome.rows, outcome.error_count, errors, outcome.reason, conn.now()],
    )
    .await?;
    Ok(())
}

/// Whether a file is still needed for a statement.
pub async fn names_file(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    let sql =
        sql!("SELECT id FROM upstream_statements WHERE content_hash = $1 AND status IN ('queued', 'running') LIMIT 1");
    let found: Option<(StatementId,)> = conn.opt(sql, params![*hash]).await?;
    Ok(found.is_some())
}

/// A statement whose period ended before a time and whose lines are still there.
pub async fn with_lines_before(conn: &mut Conn, cutoff: Time) -> Result<Option<StatementId>, DbError> {
    let sql = sql!(
        "SELECT id FROM upstream_statements WHERE status = 'completed' AND lines_purged_at IS NULL AND period_to < $1
         ORDER BY period_to LIMIT 1"
    );
    let found: Option<(StatementId,)> = conn.opt(sql, params![cutoff]).await?;
    Ok(found.map(|(id,)| id))
}

pub async fn set_lines_purged(conn: &mut Conn, id: StatementId) -> Result<(), DbError> {
    let sql = sql!("UPDATE upstream_statements SET lines_purged_at = $2 WHERE id = $1");
    conn.exec(sql, params![id, conn.now()]).await?;
    Ok(())
}
