//! PostgreSQL: the connection pool and its sessions.
//!
//! BEGIN is sent together with the first statement, in one round trip. A session that is dropped inside a transaction
//! is closed and does not return to the pool.
//!
//! The server ends a statement that runs for too long. A server that stopped answering cannot, so every statement has a
//! deadline on this side too, a little later; after it the connection is closed.

mod connect;
mod each;
mod load;
mod replica;

pub(super) use connect::program_environment;
pub use each::text_of_each;
pub(super) use replica::Replica;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, QueueMode, RecyclingMethod, Runtime};
use futures_util::{FutureExt, TryStreamExt, future};
use prometheus::Histogram;
use tokio::runtime::Handle;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_postgres::Statement;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use values::{Time, Value};

use super::bound::{Bound, postgres_type};
use super::conn::{Access, Conn};
use super::error::{DbError, Result};
use super::held::Hold;
use super::options::DbOptions;
use super::row::Row;
use super::signals::Signals;
use super::statements::postgres_text;
use super::transaction::Transaction;
use super::{Body, Load, PANICKED};
use crate::metrics::Metrics;

/// How much longer than the server this side waits for a statement.
const ANSWER_MARGIN: Duration = Duration::from_secs(2);
/// How often a transaction is tried before its caller gets [`DbError::Retry`].
const MAX_ATTEMPTS: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isolation {
    ReadCommitted,
    /// Read committed, with statements that are planned once.
    PlannedOnce,
    Serializable,
    /// All statements see the same state, and none may write.
    Snapshot,
}

impl Isolation {
    fn begin(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "BEGIN ISOLATION LEVEL READ COMMITTED",
            Isolation::PlannedOnce => {
                "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL plan_cache_mode = force_generic_plan"
            }
            Isolation::Serializable => "BEGIN ISOLATION LEVEL SERIALIZABLE",
            Isolation::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }
}

#[derive(Clone)]
pub(super) struct Postgres {
    pool: Pool,
    /// How long a statement is waited for.
    deadline: Duration,
    metrics: Arc<Metrics>,
    signals: Arc<Signals>,
}

impl Postgres {
    pub(super) async fn open(
        url: &str,
        options: &DbOptions,
        metrics: &Arc<Metrics>,
        signals: &Arc<Signals>,
    ) -> Result<Postgres> {
        let postgres = Postgres::pooled(url, options, metrics, signals)?;
        timeout(postgres.deadline, postgres.require_durable()).await.map_err(|_| no_answer())??;
        Ok(postgres)
    }

    /// The pool, without a connection yet.
    fn pooled(url: &str, options: &DbOptions, metrics: &Arc<Metrics>, signals: &Arc<Signals>) -> Result<Postgres> {
        let (config, tls) = connect::configure(url, options)?;
        let manager = Manager::from_config(config, tls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let pool = Pool::builder(manager)
            .max_size(options.connections)
            // The connection used last has its statements prepared and its caches warm.
            .queue_mode(QueueMode::Lifo)
            .wait_timeout(Some(options.wait))
            .create_timeout(Some(options.wait))
            .recycle_timeout(Some(options.wait))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(DbError::other)?;
        let deadline = options.statement_timeout + ANSWER_MARGIN;
        Ok(Postgres { pool, deadline, metrics: Arc::clone(metrics), signals: Arc::clone(signals) })
    }

    /// Refuses a server that could lose a commit in a power failure.
    async fn require_durable(&self) -> Result<()> {
        let client = self.pool.get().await?;
        let unsafe_setting = "SELECT name FROM unnest(ARRAY['fsync', 'full_page_writes', 'synchronous_commit']) AS name
                              WHERE current_setting(name) = 'off' LIMIT 1";
        match client.query_opt(unsafe_setting, &[]).await? {
            Some(row) => {
                let setting: &str = row.try_get(0)?;
                Err(DbError::other(format!("PostgreSQL must not run with {setting} = off")))
            }
            None => Ok(()),
        }
    }

    pub(super) fn load(&self) -> Load {
        let status = self.pool.status();
        Load { connections_in_use: status.size.saturating_sub(status.available), waiting: status.waiting }
    }

    /// Waits for a connection of the pool.
    async fn client(&self, wait: &Histogram) -> Result<Object> {
        let asked = Instant::now();
        let client = self.pool.get().await.map_err(DbError::from);
        wait.observe(asked.elapsed().as_secs_f64());
        client.inspect_err(|error| error.count(&self.metrics.database))
    }

    fn session(&self, client: Object, transaction: State) -> Session {
        Session { client: Some(client), transaction, is_busy: false, is_lost: false, deadline: self.deadline }
    }

    /// A read-only connection without a transaction.
    pub(super) async fn read(&self) -> Result<Conn> {
        let client = self.client(&self.metrics.database.read_wait).await?;
        Ok(Conn::postgres(self.session(client, State::None), Access::ReadOnly, &self.metrics))
    }

    /// Runs `body` in a read-only transaction whose statements all see the same state.
    pub(super) async fn snapshot<I, T, E>(&self, now: Time, input: &I, body: Body<I, T, E>) -> Result<T, E>
    where
        E: From<DbError>,
    {
        let client = self.client(&self.metrics.database.read_wait).await?;
        let session = self.session(client, State::BeginPending(Isolation::Snapshot));
        let mut conn = Conn::postgres(session, Access::ReadOnly, &self.metrics);
        conn.set_now(now);
        let _held = Hold::new();
        let outcome = body(&mut conn, input).await;
        if let Some(session) = conn.into_session() {
            // If this fails, the session is closed; nothing was written anyway.
            let _ = session.end("ROLLBACK").await;
        }
        outcome
    }

    /// Runs a transaction in its own task, so that it ends even if the caller goes away.
    pub(super) fn spawn(&self, isolation: Isolation, mut transaction: Box<dyn Transaction>) {
        let this = self.clone();
        tokio::spawn(async move {
            let mut attempt = 1;
            let outcome = loop {
                match this.attempt(isolation, transaction.as_mut()).await {
                    Attempt::Conflict if attempt < MAX_ATTEMPTS => {}
                    outcome => break outcome,
                }
                this.metrics.database.retries.inc();
                tokio::time::sleep(backoff(attempt)).await;
                attempt += 1;
            };
            this.metrics.database.transactions.of(outcome.as_str()).inc();
            transaction.reply();
        });
    }

    async fn attempt(&self, isolation: Isolation, transaction: &mut dyn Transaction) -> Attempt {
        let client = match self.client(&self.metrics.database.transaction_wait).await {
            Ok(client) => client,
            Err(error) => {
                transaction.fail(error);
                return Attempt::Failed;
            }
        };
        let session = self.session(client, State::BeginPending(isolation));
        let mut conn = Conn::postgres(session, Access::ReadWrite, &self.metrics);
        let _held = Hold::new();
        let ran = AssertUnwindSafe(transaction.run(&mut conn)).catch_unwind().await;
        let commits = ran.unwrap_or_else(|_| {
            transaction.fail(DbError::other(PANICKED));
            false
        });
        let (conflicted, effects) = (conn.conflicted(), std::mem::take(conn.effects()));
        let Some(session) = conn.into_session() else { return Attempt::Failed };
        if !commits {
            // If this fails, the session is closed, which rolls back as well.
            let _ = session.end("ROLLBACK").await;
            return if conflicted { Attempt::Conflict } else { Attempt::RolledBack };
        }
        match session.end("COMMIT").await {
            Ok(()) => {
                effects.into_iter().for_each(|effect| effect.apply(&self.signals));
                Attempt::Committed
            }
            Err(error) => {
                error.count(&self.metrics.database);
                let conflicted = matches!(error, DbError::Retry);
                transaction.fail(error);
                if conflicted { Attempt::Conflict } else { Attempt::Failed }
            }
        }
    }
}

/// How one attempt of a transaction ended.
enum Attempt {
    Committed,
    RolledBack,
    Conflict,
    Failed,
}

impl Attempt {
    fn as_str(&self) -> &'static str {
        match self {
            Attempt::Committed => "committed",
            Attempt::RolledBack => "rolled_back",
            Attempt::Conflict | Attempt::Failed => "failed",
        }
    }
}

/// 1, 2, 4 … 64 ms.
fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(1 << (attempt - 1).min(6))
}

/// One connection of the pool and the state of its transaction.
pub(super) struct Session {
    /// Absent only while being dropped.
    client: Option<Object>,
    transaction: State,
    /// Whether a statement was sent and has not ended.
    is_busy: bool,
    /// Whether the server did not answer in time.
    is_lost: bool,
    deadline: Duration,
}

fn no_answer() -> DbError {
    DbError::unavailable("the server did not answer in time")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    None,
    /// BEGIN is sent with the first statement.
    BeginPending(Isolation),
    Open,
}

impl Session {
    /// What the server answered, if it did so in time.
    fn answered<T>(&mut self, outcome: Result<Result<T>, Elapsed>) -> Result<T> {
        self.is_lost |= outcome.is_err();
        outcome.unwrap_or_else(|_| Err(no_answer()))
    }

    pub(super) async fn run(
        &mut self,
        sql: &str,
        params: &[Value<'_>],
        visit: impl FnMut(Row<'_>) -> Result<()> + Send,
    ) -> Result<u64> {
        self.is_busy = true;
        let outcome = timeout(self.deadline, self.run_statement(sql, params, visit)).await;
        self.is_busy = false;
        self.answered(outcome)
    }

    async fn run_statement(
        &mut self,
        sql: &str,
        params: &[Value<'_>],
        mut visit: impl FnMut(Row<'_>) -> Result<()> + Send,
    ) -> Result<u64> {
        let client = self.client.as_ref().ok_or(DbError::Aborted)?;
        let statement = prepare(client, sql, params).await?;
        let query = client.query_raw(&statement, params.iter().map(Bound));
        let mut rows = pin!(after_begin(&mut self.transaction, client, query).await?);
        while let Some(row) = rows.try_next().await? {
            visit(Row::Postgres(&row))?;
        }
        Ok(rows.rows_affected().unwrap_or(0))
    }

    pub(super) async fn run_all(&mut self, statements: &[(&'static str, &[Value<'_>])]) -> Result<Vec<u64>> {
        let outcome = timeout(self.deadline, self.send_all(statements)).await;
        self.answered(outcome)
    }

    /// Sends all statements before it waits for the first result.
    async fn send_all(&mut self, statements: &[(&'static str, &[Value<'_>])]) -> Result<Vec<u64>> {
        let client = self.client.as_ref().ok_or(DbError::Aborted)?;
        let mut executions = Vec::with_capacity(statements.len());
        for (sql, params) in statements {
            let statement = prepare(client, sql, params).await?;
            executions.push(async move { client.execute_raw(&statement, params.iter().map(Bound)).await });
        }
        after_begin(&mut self.transaction, client, future::try_join_all(executions)).await
    }

    pub(super) async fn copy_in<R: Sync, const N: usize>(
        &mut self,
        table: &str,
        columns: [&str; N],
        rows: &[R],
        values: fn(&R) -> [Value<'_>; N],
    ) -> Result<u64> {
        let outcome = timeout(self.deadline, self.copy_rows(table, columns, rows, values)).await;
        self.answered(outcome)
    }

    async fn copy_rows<R: Sync, const N: usize>(
        &mut self,
        table: &str,
        columns: [&str; N],
        rows: &[R],
        values: fn(&R) -> [Value<'_>; N],
    ) -> Result<u64> {
        let Some(first) = rows.first() else { return Ok(0) };
        let types = values(first).each_ref().map(postgres_type);
        let client = self.begin().await?;
        let sink = client.copy_in(&format!("COPY {table} ({}) FROM STDIN BINARY", columns.join(", "))).await?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
        for row in rows {
            let cells = values(row);
            writer.as_mut().write_raw(&cells.each_ref().map(Bound)).await?;
        }
        Ok(writer.finish().await?)
    }

    /// Without a deadline: a migration may take long.
    pub(super) async fn script(&mut self, text: &str) -> Result<()> {
        let client = self.begin().await?;
        Ok(client.batch_execute(text).await?)
    }

    async fn begin(&mut self) -> Result<&Object> {
        let client = self.client.as_ref().ok_or(DbError::Aborted)?;
        if let State::BeginPending(isolation) = self.transaction {
            self.transaction = State::Open;
            client.batch_execute(isolation.begin()).await?;
        }
        Ok(client)
    }

    /// Ends the transaction, if a statement began it.
    async fn end(mut self, how: &'static str) -> Result<()> {
        if self.is_lost {
            return Err(no_answer());
        }
        if let (Some(client), State::Open) = (&self.client, self.transaction) {
            timeout(self.deadline, client.batch_execute(how)).await.map_err(|_| no_answer())??;
            self.transaction = State::None;
        }
        Ok(())
    }
}

/// What the server answers to requests that are sent together with a pending BEGIN.
async fn after_begin<T>(
    transaction: &mut State,
    client: &Object,
    requests: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T> {
    let State::BeginPending(isolation) = *transaction else { return Ok(requests.await?) };
    *transaction = State::Open;
    let (begun, answers) = future::join(client.batch_execute(isolation.begin()), requests).await;
    begun?;
    Ok(answers?)
}

async fn prepare(client: &Object, sql: &str, params: &[Value<'_>]) -> Result<Statement> {
    let types: Vec<Type> = params.iter().map(postgres_type).collect();
    Ok(client.prepare_typed_cached(&postgres_text(sql), &types).await?)
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        if self.is_lost || self.transaction == State::Open {
            drop(Object::take(client));
        } else if self.is_busy
            && let Ok(runtime) = Handle::try_current()
        {
            // The server still runs a read whose caller went away, and the next user of this connection would wait for
            // it. So it returns to the pool once the server answers again.
            let deadline = self.deadline;
            runtime.spawn(async move {
                if timeout(deadline, client.batch_execute("")).await.is_err() {
                    drop(Object::take(client));
                }
            });
        }
    }
}
