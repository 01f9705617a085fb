//! The `statement_lines` table. Its primary key is the order of the list: by kind, then by start.

use crate::upstreams::statements::types::{StatementId, StatementLineKind};
use db::{Conn, DbError, params, row, row_values, sql};
use values::{CallId, Time};

/// Lines that are deleted in one transaction.
const BATCH: i64 = 5000;

row! {
    /// A stored line.
    #[derive(Clone, Debug)]
    pub struct LineRow {
        pub kind: i64,
        pub started_at: Time,
        pub number: i64,
        pub called: String,
        pub line: Option<i64>,
        pub their_seconds: Option<i64>,
        pub their_cost: Option<i64>,
        pub their_rate: Option<i64>,
        pub their_call_id: Option<String>,
        pub cdr_id: Option<CallId>,
        pub our_started_at: Option<Time>,
        pub our_seconds: Option<i64>,
        pub our_cost: Option<i64>,
        pub our_rate: Option<i64>,
    }
}

/// A line to be stored. Theirs and ours are absent together.
#[derive(Clone, Debug)]
pub struct NewLine {
    pub kind: StatementLineKind,
    pub number: i64,
    /// Their start, or ours if they do not have the call.
    pub started_at: Time,
    pub called: String,
    pub line: Option<i64>,
    pub their_seconds: Option<i64>,
    pub their_cost: Option<i64>,
    pub their_rate: Option<i64>,
    pub their_call_id: Option<String>,
    pub cdr_id: Option<CallId>,
    pub our_started_at: Option<Time>,
    pub our_seconds: Option<i64>,
    pub our_cost: Option<i64>,
    pub our_rate: Option<i64>,
}

pub async fn insert(conn: &mut Conn, statement: StatementId, lines: &[NewLine]) -> Result<(), DbError> {
    let columns = [
        "statement_id",
        "kind",
        "started_at",
        "number",
        "called",
        "line",
        "their_seconds",
        "their_cost",
        "their_rate",
        "their_call_id",
        "cdr_id",
        "our_started_at",
        "our_seconds",
        "our_cost",
        "our_rate",
    ];
    let rows: Vec<(StatementId, i64, &NewLine)> =
        lines.iter().map(|line| (statement, line.kind.rank(), line)).collect();
    conn.insert_many("statement_lines", columns, &rows, |(statement, kind, line)| {
        row_values![
            *statement,
            *kind,
            line.started_at,
            line.number,
            line.called,
            line.line,
            line.their_seconds,
            line.their_cost,
            line.their_rate,
            line.their_call_id,
            line.cdr_id,
            line.our_started_at,
            line.our_seconds,
            line.our_cost,
            line.our_rate
        ]
    })
    .await?;
    Ok(())
}

/// Lists the lines of a statement after a key, all or those of one kind.
pub async fn list(
    conn: &mut Conn,
    statement: StatementId,
    kind: Option<StatementLineKind>,
    (after_kind, after, number): (i64, Time, i64),
    limit: i64,
) -> Result<Vec<LineRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            LineRow::COLS,
            " FROM statement_lines
             WHERE statement_id = $1 AND (kind, started_at, number) > ($2, $3, $4) AND kind <= $5
             ORDER BY kind, started_at, number LIMIT $6"
        ),
        params![statement, after_kind, after, number, kind.map_or(i64::MAX, StatementLineKind::rank), limit],
    )
    .await
}

/// Deletes some lines of a statement. Returns whether there may be more.
pub async fn delete_some(conn: &mut Conn, statement: StatementId) -> Result<bool, DbError> {
    let sql = sql!(
        "DELETE FROM statement_lines WHERE statement_id = $1 AND (kind, started_at, number) IN
             (SELECT kind, started_at, number FROM statement_lines WHERE statement_id = $1
              ORDER BY kind, started_at, number LIMIT $2)"
    );
    Ok(conn.exec(sql, params![statement, BATCH]).await? == BATCH.cast_unsigned())
}
