//! One connection of either engine, used by a reader or a transaction.
//!
//! On SQLite every statement runs in-process, so its future is ready at the first poll. PostgreSQL's futures are boxed:
//! inline, they would make the future of every caller a kilobyte larger.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use prometheus::IntCounter;
use rusqlite::Connection;
use uuid::Uuid;
use values::{Time, Value};

use super::copy::{self, Conflict, TableRows};
use super::entropy::Entropy;
use super::error::{DbError, Result};
use super::postgres::Session;
use super::row::{FromRow, Row, TableRow};
use super::signals::Signals;
use super::sqlite;
use super::statements::{Inserts, Statement};
use crate::metrics::Metrics;

/// Boxes a future, so that callers hold a pointer and the compiler checks one type.
fn boxed<'a, T>(wait: impl Future<Output = T> + Send + 'a) -> BoxFuture<'a, T> {
    Box::pin(wait)
}

/// Statements that are sent together at most.
const ROUND_TRIP: usize = 200;

pub struct Conn {
    engine: Engine,
    access: Access,
    /// A statement of this transaction failed. PostgreSQL refuses all further ones, so SQLite does too.
    failed: bool,
    /// A statement conflicted with another transaction, so the whole transaction may be retried.
    conflicted: bool,
    /// A statement found the disk full.
    found_disk_full: bool,
    now: Time,
    metrics: Arc<Metrics>,
    /// What transactions do once they are committed.
    effects: Vec<Effect>,
    /// How many transactions wait for the writer (SQLite).
    others: Option<Arc<AtomicUsize>>,
    /// How many statements of a SQLite reader come before its snapshot.
    before_snapshot: Option<u8>,
}

/// What a transaction does if and when it is committed.
pub(super) enum Effect {
    Count(IntCounter, u64),
    WakeJobRunner,
    ForgetCallers,
}

impl Effect {
    pub(super) fn apply(self, signals: &Signals) {
        match self {
            Effect::Count(counter, more) => counter.inc_by(more),
            Effect::WakeJobRunner => signals.jobs_due.notify_one(),
            Effect::ForgetCallers => signals.forget_callers(),
        }
    }
}

enum Engine {
    Sqlite(Box<Connection>),
    Postgres(Box<Session>),
    /// The connection was returned to its pool.
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
        Conn {
            engine,
            access,
            failed: false,
            conflicted: false,
            found_disk_full: false,
            now: Time::from_millis(0),
            metrics: Arc::clone(metrics),
            effects: Vec::new(),
            others: None,
            before_snapshot: None,
        }
    }

    /// The time of the transaction or read; it stands still until the end.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Makes `now` the time of the transaction or read, such as when its request arrived.
    pub fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    /// A new id, which sorts by [`now`](Conn::now).
    pub fn new_id<T: From<Uuid>>(&self) -> T {
        Entropy.uuid(self.now).into()
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Whether others wait for this transaction to end (SQLite). A [bulk](crate::Db::tx_bulk) one that can go on in another
    /// may end early.
    pub fn do_others_wait(&self) -> bool {
        self.others.as_ref().is_some_and(|others| others.load(Ordering::Relaxed) > 0)
    }

    pub(super) fn set_others(&mut self, others: &Arc<AtomicUsize>) {
        self.others = Some(Arc::clone(others));
    }

    /// Adds to a counter if and when the transaction is committed.
    pub fn count(&mut self, counter: impl FnOnce(&Metrics) -> &IntCounter, more: u64) {
        self.effects.push(Effect::Count(counter(&self.metrics).clone(), more));
    }

    /// Makes the job runner look for due jobs once the transaction is committed.
    pub fn wake_job_runner(&mut self) {
        self.effects.push(Effect::WakeJobRunner);
    }

    /// Makes this node look every caller up again once the transaction is committed. For whoever changes what a token or
    /// an API key allows: its own row, its user's, or the user's second factors.
    pub fn forget_callers(&mut self) {
        self.effects.push(Effect::ForgetCallers);
    }

    pub(super) fn is_sqlite(&self) -> bool {
        matches!(self.engine, Engine::Sqlite(_))
    }

    /// The name and the version of the engine.
    pub async fn engine_version(&mut self) -> Result<(&'static str, String)> {
        let (name, sql) = match self.is_sqlite() {
            true => ("sqlite", "SELECT sqlite_version()"),
            false => ("postgresql", "SELECT current_setting('server_version')"),
        };
        let (version,): (String,) = self.one(sql, &[]).await?;
        Ok((name, version))
    }

    /// Whether statements run in-process (SQLite): then many small ones cost no more than a large one.
    pub fn is_in_process(&self) -> bool {
        self.is_sqlite()
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

    /// All rows. The statement must limit how many there can be.
    pub async fn all<T: FromRow + Send>(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.each(sql, params, |row| {
            rows.push(row);
            Ok(())
        })
        .await?;
        Ok(rows)
    }

    /// All rows for each of these lists of parameters; on PostgreSQL in one round trip. The statement must limit how many
    /// there can be.
    pub async fn all_each<T: FromRow + Send>(
        &mut self,
        sql: &'static str,
        lists: &[Vec<Value<'_>>],
    ) -> Result<Vec<Vec<T>>> {
        self.check_allowed(sql)?;
        if let Engine::Postgres(session) = &mut self.engine {
            let outcome = boxed(session.all_each(sql, lists, |row| T::from_row(&Row::Postgres(row)))).await;
            return self.record_outcome(outcome);
        }
        let mut answers = Vec::with_capacity(lists.len());
        for params in lists {
            answers.push(self.all(sql, params).await?);
        }
        Ok(answers)
    }

    /// Calls `visit` with every row and returns how many there were. An error from `visit` ends it.
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

    /// Calls `visit` with every row as the engine has it, so that nothing needs to be copied.
    pub async fn each_row(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        visit: impl FnMut(Row<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        self.run(sql, params, visit).await?;
        Ok(())
    }

    /// The number of rows inserted, updated or deleted.
    pub async fn exec(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<u64> {
        self.run(sql, params, |_| Ok(())).await
    }

    /// Inserts a row of a table as declared by [`table_row!`](crate::table_row).
    pub async fn insert<R: TableRow>(&mut self, row: &R) -> Result<()> {
        self.exec(R::INSERT, row.values().as_ref()).await?;
        Ok(())
    }

    /// Writes every column of the row with this key; answers whether there is one.
    pub async fn update<R: TableRow>(&mut self, row: &R) -> Result<bool> {
        Ok(self.exec(R::UPDATE, row.values().as_ref()).await? > 0)
    }

    /// Runs statements that do not depend on each other's results, in this order; on PostgreSQL in one round trip.
    /// Returns the number of rows that each inserted, updated or deleted.
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

    /// Runs any number of statements that do not depend on each other's results, in this order, and returns the number of
    /// rows that all of them inserted, updated or deleted. On PostgreSQL they are sent 200 at a time, and inserts of the
    /// same text that follow each other as one, so they must be of different rows.
    pub async fn exec_many(&mut self, statements: &[Statement]) -> Result<u64> {
        let mut changed = 0;
        for some in statements.chunks(ROUND_TRIP) {
            for one in some {
                self.check_allowed(one.text)?;
            }
            let outcome = match &mut self.engine {
                Engine::Sqlite(connection) => sqlite::run_many(connection, some),
                Engine::Postgres(session) => boxed(session.run_many(some)).await,
                Engine::Gone => Err(DbError::Aborted),
            };
            changed += self.record_outcome(outcome)?;
        }
        Ok(changed)
    }

    /// Runs one statement with each of these lists of parameters; on PostgreSQL as one. Returns the first row of
    /// each, if there is one.
    pub async fn opt_each<T: FromRow + Send>(
        &mut self,
        sql: &'static str,
        lists: &[Vec<Value<'_>>],
    ) -> Result<Vec<Option<T>>> {
        self.check_allowed(sql)?;
        let outcome = match &mut self.engine {
            Engine::Sqlite(connection) => sqlite::first_each(connection, sql, lists),
            Engine::Postgres(session) => boxed(session.run_each(sql, lists)).await.and_then(|rows| {
                rows.iter().map(|row| row.as_ref().map(|row| T::from_row(&Row::Postgres(row))).transpose()).collect()
            }),
            Engine::Gone => Err(DbError::Aborted),
        };
        self.record_outcome(outcome)
    }

    /// Inserts into several tables, in this order; on PostgreSQL by one statement for each, all in one round trip. Returns
    /// the integers that each inserted row returns, in the order of the rows, which must be different ones.
    pub async fn insert_all(&mut self, inserts: &[Inserts<'_>]) -> Result<Vec<Vec<Vec<i64>>>> {
        for one in inserts {
            self.check_allowed(one.text)?;
        }
        let outcome = match &mut self.engine {
            Engine::Sqlite(connection) => inserts.iter().map(|one| sqlite::insert_each(connection, one)).collect(),
            Engine::Postgres(session) => boxed(session.insert_all(inserts)).await,
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

    /// Inserts many rows into one table: prepared inserts on SQLite, COPY on PostgreSQL.
    /// `|row| row_values![row.id, row.name]` gives the columns of a row.
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

    /// Reads all tables of a SQLite database but these, each behind those that it refers to.
    pub fn dump(&self, skipped: &[&str]) -> Result<Vec<TableRows>> {
        let connection = self.as_sqlite().ok_or_else(|| DbError::other("only SQLite can be dumped"))?;
        copy::dump(connection, skipped)
    }

    /// Inserts rows that [`dump`](Conn::dump) read from another database.
    pub async fn load(&mut self, rows: &TableRows, conflict: Conflict) -> Result<u64> {
        self.check_allowed("INSERT")?;
        let outcome = match &mut self.engine {
            Engine::Sqlite(connection) => sqlite::load(connection, rows, conflict),
            Engine::Postgres(session) => boxed(session.load(rows, conflict)).await,
            Engine::Gone => Err(DbError::Aborted),
        };
        self.record_outcome(outcome)
    }

    /// Runs a text of several statements in the engine's own dialect.
    pub(super) async fn script(&mut self, text: &str) -> Result<()> {
        self.check_allowed("SCRIPT")?;
        let outcome = match &mut self.engine {
            Engine::Sqlite(connection) => connection.execute_batch(text).map_err(DbError::from),
            Engine::Postgres(session) => boxed(session.script(text)).await,
            Engine::Gone => Err(DbError::Aborted),
        };
        self.record_outcome(outcome)
    }

    /// Refuses every statement after a failed one, and writes by a reader.
    fn check_allowed(&mut self, sql: &str) -> Result<()> {
        match self.before_snapshot {
            Some(0) => self.begin_read_snapshot()?,
            more => self.before_snapshot = more.map(|more| more - 1),
        }
        match self.access {
            Access::ReadWrite if self.failed => Err(DbError::Aborted),
            Access::ReadOnly if !sql.trim_start().starts_with("SELECT") && !sql.trim_start().starts_with("WITH") => {
                Err(DbError::other("a read-only connection cannot write"))
            }
            _ => Ok(()),
        }
    }

    fn record_outcome<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if let Err(error) = &outcome {
            error.count(&self.metrics.database);
            self.failed = true;
            self.conflicted |= matches!(error, DbError::Retry);
            self.found_disk_full |= matches!(error, DbError::DiskFull(_));
        }
        outcome
    }

    /// Turns `Ok` after a failed statement into an error, since PostgreSQL silently turns such a COMMIT into a
    /// ROLLBACK.
    pub(super) fn fail_if_aborted<T, E: From<DbError>>(&self, outcome: Result<T, E>) -> Result<T, E> {
        match outcome {
            Ok(_) if self.failed => Err(DbError::Aborted.into()),
            outcome => outcome,
        }
    }

    pub(super) fn conflicted(&self) -> bool {
        self.conflicted
    }

    pub(super) fn found_disk_full(&self) -> bool {
        self.found_disk_full
    }

    /// Marks a conflict with another transaction: this one is rolled back and retried, and then sees what the other one
    /// committed. The body must return the error.
    pub fn retry_conflict(&mut self) -> DbError {
        self.failed = true;
        self.conflicted = true;
        DbError::Retry
    }

    /// Makes all statements of a SQLite reader but the first one see the same state: most readers run one, which is a
    /// snapshot in itself.
    pub(super) fn begin_read_snapshot_after_one(&mut self) {
        self.before_snapshot = self.is_sqlite().then_some(1);
    }

    /// Makes all further statements of a SQLite reader see the same state. Does nothing on PostgreSQL.
    pub(super) fn begin_read_snapshot(&mut self) -> Result<()> {
        self.before_snapshot = None;
        self.as_sqlite().map_or(Ok(()), |connection| Ok(connection.prepare_cached("BEGIN")?.raw_execute().map(drop)?))
    }

    /// Ends the read snapshot of a SQLite reader, if there is one.
    pub(super) fn end_read_snapshot(&mut self) {
        if let Some(open) = self.as_sqlite().filter(|connection| !connection.is_autocommit()) {
            // Nothing was written, so nothing is lost; if it fails, the next snapshot fails too.
            let _ = open.prepare_cached("ROLLBACK").and_then(|mut end| end.raw_execute());
        }
    }

    /// Clears the state that the last user left.
    pub(super) fn reset(&mut self) {
        self.failed = false;
        self.conflicted = false;
        self.found_disk_full = false;
        self.before_snapshot = None;
    }

    /// Takes the connection out; what is left refuses every statement.
    pub(super) fn detach(&mut self) -> Conn {
        let gone = Conn { failed: true, ..Conn::new(Engine::Gone, self.access, &self.metrics) };
        std::mem::replace(self, gone)
    }

    /// The effects that wait for a commit.
    pub(super) fn effects(&mut self) -> &mut Vec<Effect> {
        &mut self.effects
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
