//! One connection of either engine, lent to a reader or to a transaction.
//!
//! On SQLite every statement runs inline, so its future is ready at the first poll. What PostgreSQL's wait for the network
//! remembers meanwhile is boxed: kept inline, it would make the future of whoever calls, and of theirs, a kilobyte larger.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use prometheus::IntCounter;
use rusqlite::Connection;
use values::Value;

use super::error::{DbError, Result};
use super::postgres::Session;
use super::row::{FromRow, Row};
use super::sqlite;
use crate::metrics::Metrics;

/// Erases the type of a wait for the network, so that callers hold a pointer and the compiler has one type to check.
fn boxed<'a, T>(wait: impl Future<Output = T> + Send + 'a) -> BoxFuture<'a, T> {
    Box::pin(wait)
}

pub struct Conn {
    engine: Engine,
    access: Access,
    /// A statement of this transaction failed. PostgreSQL refuses all that follow, so SQLite does too.
    failed: bool,
    /// A statement lost against another transaction, and the whole may be tried again.
    conflicted: bool,
    metrics: Arc<Metrics>,
    /// What the transaction adds to counters if it stands.
    counted: Vec<(IntCounter, u64)>,
}

enum Engine {
    Sqlite(Box<Connection>),
    Postgres(Box<Session>),
    /// The connection has gone back to where it came from.
    Gone,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    ReadOnly,
    ReadWrite,
}

impl Conn {
    pub(super) fn sqlite(connection: Connection, access: Access, metrics: &Arc<Metrics>) -> Conn {
        Conn::new(Engine::Sqlite(Box::new(connection)), access, metrics)
    }

    pub(super) fn postgres(session: Session, access: Access, metrics: &Arc<Metrics>) -> Conn {
        Conn::new(Engine::Postgres(Box::new(session)), access, metrics)
    }

    fn new(engine: Engine, access: Access, metrics: &Arc<Metrics>) -> Conn {
        let (metrics, counted) = (Arc::clone(metrics), Vec::new());
        Conn { engine, access, failed: false, conflicted: false, metrics, counted }
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Adds to a counter if and when the transaction is committed.
    pub fn count(&mut self, counter: impl FnOnce(&Metrics) -> &IntCounter, more: u64) {
        self.counted.push((counter(&self.metrics).clone(), more));
    }

    pub(super) fn is_sqlite(&self) -> bool {
        matches!(self.engine, Engine::Sqlite(_))
    }

    /// Whether a statement runs where it is asked for: then many cost no more than one that does the same.
    pub fn is_in_process(&self) -> bool {
        self.is_sqlite()
    }

    /// Whether a statement's `WITH` may hold others that write, in the part that only PostgreSQL reads.
    pub fn supports_writable_cte(&self) -> bool {
        matches!(self.engine, Engine::Postgres(_))
    }

    /// The first row, or `NotFound`.
    pub async fn one<T: FromRow + Send>(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<T> {
        self.opt(sql, params).await?.ok_or(DbError::NotFound)
    }

    /// The first row, if there is one.
    pub async fn opt<T: FromRow + Send>(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<Option<T>> {
        let mut first = None;
        self.run(sql, params, |row| {
            if first.is_none() {
                first = Some(T::from_row(&row)?);
            }
            Ok(())
        })
        .await?;
        Ok(first)
    }

    /// Every row. The statement must say how many that can be.
    pub async fn all<T: FromRow + Send>(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.each(sql, params, |row| {
            rows.push(row);
            Ok(())
        })
        .await?;
        Ok(rows)
    }

    /// Shows the rows one by one, however many there are, and answers how many. An error from `visit` ends it.
    pub async fn each<T: FromRow + Send>(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        mut visit: impl FnMut(T) -> Result<()> + Send,
    ) -> Result<u64> {
        let mut count = 0;
        self.run(sql, params, |row| {
            count += 1;
            visit(T::from_row(&row)?)
        })
        .await?;
        Ok(count)
    }

    /// The number of rows inserted, changed or deleted.
    pub async fn exec(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<u64> {
        self.run(sql, params, |_| Ok(())).await
    }

    /// Statements that need nothing of each other's answers: PostgreSQL gets them in one round trip, in this order.
    /// Answers the number of rows that each inserted, changed or deleted.
    pub async fn exec_all(&mut self, statements: &[(&'static str, &[Value<'_>])]) -> Result<Vec<u64>> {
        for (sql, _) in statements {
            self.check_allowed(sql)?;
        }
        let outcome = match &mut self.engine {
            Engine::Sqlite(connection) => {
                statements.iter().map(|(sql, params)| sqlite::run(connection, sql, params, |_| Ok(()))).collect()
            }
            Engine::Postgres(session) => boxed(session.run_all(statements)).await,
            Engine::Gone => Err(DbError::Aborted),
        };
        self.record_outcome(outcome)
    }

    async fn run(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        visit: impl FnMut(Row<'_>) -> Result<()> + Send,
    ) -> Result<u64> {
        self.check_allowed(sql)?;
        let outcome = match &mut self.engine {
            Engine::Sqlite(connection) => sqlite::run(connection, sql, params, visit),
            Engine::Postgres(session) => boxed(session.run(sql, params, visit)).await,
            Engine::Gone => Err(DbError::Aborted),
        };
        self.record_outcome(outcome)
    }

    /// Many rows into one table: prepared inserts on SQLite, COPY on PostgreSQL.
    /// `|row| row_values![row.id, row.name]` says what of a row goes into the columns.
    pub async fn insert_many<R: Sync, const N: usize>(
        &mut self,
        table: &'static str,
        columns: [&'static str; N],
        rows: &[R],
        values: fn(&R) -> [Value<'_>; N],
    ) -> Result<u64> {
        self.check_allowed("INSERT")?;
        let outcome = match &mut self.engine {
            Engine::Sqlite(connection) => sqlite::insert_many(connection, table, columns, rows, values),
            Engine::Postgres(session) => boxed(session.copy_in(table, columns, rows, values)).await,
            Engine::Gone => Err(DbError::Aborted),
        };
        self.record_outcome(outcome)
    }

    /// Runs a text of several statements, as the engine at hand takes it.
    pub(super) async fn script(&mut self, text: &str) -> Result<()> {
        self.check_allowed("SCRIPT")?;
        let outcome = match &mut self.engine {
            Engine::Sqlite(connection) => connection.execute_batch(text).map_err(DbError::from),
            Engine::Postgres(session) => boxed(session.script(text)).await,
            Engine::Gone => Err(DbError::Aborted),
        };
        self.record_outcome(outcome)
    }

    /// Whether a statement may run at all.
    fn check_allowed(&self, sql: &str) -> Result<()> {
        match self.access {
            Access::ReadWrite if self.failed => Err(DbError::Aborted),
            Access::ReadOnly if !sql.trim_start().starts_with("SELECT") && !sql.trim_start().starts_with("WITH") => {
                Err(DbError::other("a reader was asked to write"))
            }
            _ => Ok(()),
        }
    }

    fn record_outcome<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome {
            error.count(&self.metrics.database);
            self.failed = true;
            self.conflicted |= matches!(error, DbError::Retry);
        }
        outcome
    }

    /// What a transaction's outcome is worth: `Ok` after a failed statement is not success, since PostgreSQL turns
    /// such a COMMIT into a ROLLBACK without a word.
    pub(super) fn fail_if_aborted<T, E: From<DbError>>(&self, outcome: Result<T, E>) -> Result<T, E> {
        match outcome {
            Ok(_) if self.failed => Err(DbError::Aborted.into()),
            outcome => outcome,
        }
    }

    pub(super) fn conflicted(&self) -> bool {
        self.conflicted
    }

    /// Gives up because another transaction was faster: all of this one is tried again and then sees what that one
    /// did. The error is what the body must end with.
    pub fn retry_conflict(&mut self) -> DbError {
        self.failed = true;
        self.conflicted = true;
        DbError::Retry
    }

    /// From its next statement on, a SQLite reader sees what that statement saw.
    pub(super) fn begin_read_snapshot(&mut self) -> Result<()> {
        self.as_sqlite().map_or(Ok(()), |connection| Ok(connection.prepare_cached("BEGIN")?.raw_execute().map(drop)?))
    }

    /// Lets it see the present again.
    pub(super) fn end_read_snapshot(&mut self) {
        if let Some(frozen) = self.as_sqlite().filter(|connection| !connection.is_autocommit()) {
            // Nothing was written, so nothing is lost; should it fail, the next freezing says so.
            let _ = frozen.prepare_cached("ROLLBACK").and_then(|mut end| end.raw_execute());
        }
    }

    /// Makes a connection that is used again forget its last user.
    pub(super) fn reset(&mut self) {
        self.failed = false;
        self.conflicted = false;
    }

    /// Leaves a connection behind that can do nothing more.
    pub(super) fn detach(&mut self) -> Conn {
        let gone = Conn { failed: true, ..Conn::new(Engine::Gone, self.access, &self.metrics) };
        std::mem::replace(self, gone)
    }

    /// What transactions have counted since they were last taken away.
    pub(super) fn counted(&mut self) -> &mut Vec<(IntCounter, u64)> {
        &mut self.counted
    }

    pub(super) fn as_sqlite(&self) -> Option<&Connection> {
        match &self.engine {
            Engine::Sqlite(connection) => Some(connection),
            Engine::Postgres(_) | Engine::Gone => None,
        }
    }

    pub(super) fn into_session(self) -> Option<Session> {
        match self.engine {
            Engine::Postgres(session) => Some(*session),
            Engine::Sqlite(_) | Engine::Gone => None,
        }
    }
}
