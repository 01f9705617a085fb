//! The database: one API for SQLite and PostgreSQL.
//!
//! [`Db::open`] opens a SQLite file or a PostgreSQL server and refuses one whose settings could lose a commit.
//! [`Db::read`] and [`Db::read_few`] lend a read-only connection, [`Db::tx`] runs a function in one transaction,
//! [`Db::report`] and [`Db::snapshot`] run a long read without blocking requests, [`Db::for_reports`] is where lists and
//! reports read, which may be a standby. All of them use a [`Conn`]: `one`, `opt`, `all`, `each`, `exec` and
//! `insert_many`, with one SQL text for both engines.
//!
//! On both engines a transaction runs to its end even if its caller goes away; a failed statement fails the whole
//! transaction, even if the code ignores it; errors have the same names; every wait is bounded and ends in
//! `Unavailable`. SQLite writes one transaction at a time, PostgreSQL many concurrently (READ COMMITTED), so guarded
//! updates and unique keys keep the rules, never reading first and writing after.
//!
//! A transaction awaits nothing but its connection. For an external call: claim, commit, call, finish.
//!
//! A transaction happens at one time, [`Conn::now`], however often it is retried, and takes its ids from
//! [`Conn::new_id`]. If it enqueues a job, the commit wakes the job runner.

mod backup;
mod bound;
mod clock;
mod conn;
mod copy;
mod ddl;
mod entropy;
mod error;
mod held;
pub mod metrics;
mod migrate;
mod options;
mod postgres;
mod reports;
mod row;
mod signals;
mod sqlite;
pub mod statements;
mod transaction;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Notify;

pub use clock::Clock;
pub use conn::Conn;
pub use copy::{Conflict, TableRows};
pub use ddl::sqlite_ddl;
pub use entropy::Entropy;
pub use error::{DbError, Result};
pub use held::assert_no_connection_held;
pub use migrate::{MIGRATIONS, Migration, Rollout, applied_migrations};
pub use options::{DbOptions, Location, ReplicaOptions};
pub use postgres::text_of_each;
pub use reports::ReplicaStatus;
pub use row::{FromRow, NamedRow, Row, TableRow};
pub use statements::{Inserts, Statement, postgres_text};
use values::Time;
pub use values::{Cell, Column, Kind, Param, Raw, Value, params, row_values};

use crate::metrics::Metrics;
use held::Hold;
use postgres::{Isolation, Postgres, Replica};
use signals::Signals;
use sqlite::{PoolSlot, Sqlite};
use transaction::Priority;

/// The body of a transaction or a long read. It may run more than once, with the same input.
pub type Body<I, T, E> = for<'c> fn(&'c mut Conn, &'c I) -> BoxFuture<'c, Result<T, E>>;

/// Which state of the database the statements of a long read see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Consistency {
    PerStatement,
    Snapshot,
}

/// How busy the database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub connections_in_use: usize,
    /// Transactions and reads that wait for a connection or for the writer.
    pub waiting: usize,
}

const PANICKED: &str = "the transaction panicked";

#[derive(Clone)]
pub struct Db {
    engine: Engine,
    /// A standby for lists and reports (PostgreSQL).
    replica: Option<Arc<Replica>>,
    clock: Clock,
    metrics: Arc<Metrics>,
    signals: Arc<Signals>,
}

#[derive(Clone)]
enum Engine {
    Sqlite(Arc<Sqlite>),
    Postgres(Postgres),
}

impl Db {
    /// Opens the database and checks that its commits are durable. Does not migrate it.
    pub async fn open(options: &DbOptions) -> Result<Db> {
        let metrics = Arc::new(Metrics::new(&options.clock).map_err(DbError::other)?);
        let signals = Arc::default();
        let replica = options.replica.as_ref().map(|replica| Replica::open(replica, options, &metrics, &signals));
        let replica = replica.transpose()?.map(Arc::new);
        let engine = match &options.location {
            Location::Sqlite(path) => Engine::Sqlite(Arc::new(Sqlite::open(path, options, &metrics, &signals)?)),
            Location::Postgres(url) => Engine::Postgres(Postgres::open(url, options, &metrics, &signals).await?),
        };
        Ok(Db { engine, replica, clock: options.clock.clone(), metrics, signals })
    }

    /// The metrics of this node.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Notified after every commit that called [`Conn::wake_job_runner`].
    pub fn jobs_due(&self) -> &Arc<Notify> {
        &self.signals.jobs_due
    }

    /// Rises with every commit of this node that called [`Conn::forget_callers`]: what was known of a caller before is
    /// no longer to be relied on.
    pub fn callers_epoch(&self) -> u64 {
        self.signals.callers_epoch()
    }

    pub fn load(&self) -> Load {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.load(),
            Engine::Postgres(postgres) => postgres.load(),
        }
    }

    /// Whether other nodes may use it (PostgreSQL).
    pub fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Postgres(_))
    }

    /// When a write last failed because the disk was full.
    pub fn disk_full_at(&self) -> Option<Time> {
        self.metrics.database.disk_full_at()
    }

    pub async fn ping(&self) -> Result<()> {
        self.read().await?.one::<(i64,)>(crate::sql!("SELECT CAST(1 AS BIGINT)"), &[]).await?;
        Ok(())
    }

    /// How many rows a [bulk](Db::tx_bulk) transaction writes: the first number where all others wait for it, since
    /// there is one writer (SQLite), and the second where they do not.
    pub fn bulk_rows(&self, one_writer: usize, many_writers: usize) -> usize {
        if self.is_shared() { many_writers } else { one_writer }
    }

    /// A read-only connection; each statement sees the state of its own time. Drop it before waiting for anything else.
    pub async fn read(&self) -> Result<Reader> {
        let mut reader = match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.readers.lend().await?,
            Engine::Postgres(postgres) => Reader::new(Box::pin(postgres.read()).await?, None),
        };
        reader.set_now(self.clock.now());
        Ok(reader)
    }

    /// A read-only connection for a few statements in a row. On SQLite all but the first one see the same state, and only
    /// the first two have to lock the database.
    pub async fn read_few(&self) -> Result<Reader> {
        let mut reader = self.read().await?;
        reader.begin_read_snapshot_after_one();
        Ok(reader)
    }

    /// Runs `body` in one transaction, to its end even if the caller goes away. It is retried with the same input if it
    /// conflicts with another transaction.
    pub async fn tx<I, T, E>(&self, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.run(Isolation::ReadCommitted, Priority::Normal, input, body).await
    }

    /// The same for one of the many transactions of an import or a cleanup, which can wait: on SQLite, whose one writer
    /// also decides about calls, it lets those go first that are waiting. It should write
    /// [not too many rows](Db::bulk_rows).
    pub async fn tx_bulk<I, T, E>(&self, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.run(Isolation::ReadCommitted, Priority::Bulk, input, body).await
    }

    /// The same for statements that find their rows by key: PostgreSQL plans each of them once, and not anew for its
    /// parameters. To plan a join of ten tables takes longer than to run it.
    pub async fn tx_by_keys<I, T, E>(&self, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.run(Isolation::PlannedOnce, Priority::Normal, input, body).await
    }

    /// As [`tx`](Db::tx), with SERIALIZABLE isolation.
    pub async fn tx_serializable<I, T, E>(&self, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.run(Isolation::Serializable, Priority::Normal, input, body).await
    }

    async fn run<I, T, E>(
        &self,
        isolation: Isolation,
        priority: Priority,
        input: I,
        body: Body<I, T, E>,
    ) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let (transaction, outcome) = transaction::erase(self.clock.now(), input, body);
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let enqueued = sqlite.writer.enqueue(priority, transaction).await;
                enqueued.inspect_err(|error| error.count(&self.metrics.database))?
            }
            Engine::Postgres(postgres) => postgres.spawn(isolation, transaction),
        }
        outcome.wait().await
    }

    /// Runs a long read without blocking requests. Unlike a transaction it may await other things, such as the client
    /// that it streams to.
    pub async fn report<I, T, E>(&self, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.long_read(Consistency::PerStatement, input, body).await
    }

    /// A long read whose statements all see the state of the first one. SQLite cannot truncate its WAL meanwhile, so
    /// use it only where the rows must be consistent.
    pub async fn snapshot<I, T, E>(&self, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.long_read(Consistency::Snapshot, input, body).await
    }

    async fn long_read<I, T, E>(&self, consistency: Consistency, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let now = self.clock.now();
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let mut reader = sqlite.reporters.lend().await?;
                reader.set_now(now);
                if consistency == Consistency::Snapshot {
                    reader.begin_read_snapshot()?;
                }
                let runtime = tokio::runtime::Handle::current();
                let report = move || {
                    let _held = Hold::new();
                    runtime.block_on(body(&mut reader, &input))
                };
                let reported = tokio::task::spawn_blocking(report).await;
                reported.unwrap_or_else(|_| Err(DbError::other("the report panicked").into()))
            }
            Engine::Postgres(postgres) if consistency == Consistency::Snapshot => {
                Box::pin(postgres.snapshot(now, &input, body)).await
            }
            Engine::Postgres(postgres) => {
                let mut conn = Box::pin(postgres.read()).await?;
                let _held = Hold::new();
                conn.set_now(now);
                body(&mut conn, &input).await
            }
        }
    }
}

/// A read-only connection, returned to its pool when dropped.
pub struct Reader {
    conn: Conn,
    /// The pool of a SQLite connection; PostgreSQL's pool returns its own.
    slot: Option<PoolSlot>,
    _held: Hold,
}

impl Reader {
    fn new(conn: Conn, slot: Option<PoolSlot>) -> Reader {
        Reader { conn, slot, _held: Hold::new() }
    }
}

impl Deref for Reader {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.conn
    }
}

impl DerefMut for Reader {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.conn
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            self.conn.end_read_snapshot();
            slot.return_to_pool(self.conn.detach());
        }
    }
}
