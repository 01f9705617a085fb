//! The database, and the only place that knows there are two kinds of it.
//!
//! [`Db::open`] opens a SQLite file or a PostgreSQL server and refuses one that could lose what it has committed.
//! [`Db::read`] and [`Db::read_consistent`] lend a connection that reads, [`Db::tx`] runs a function in one transaction, and [`Db::report`] and
//! [`Db::snapshot`] run a long read where it holds up nobody. All of them work on a [`Conn`]: `one`, `opt`, `all`, `each`, `exec` and
//! `insert_many`, with one SQL text for both engines.
//!
//! What holds on both: a transaction runs to its end even if its caller goes away; a failed statement fails the whole
//! transaction, even when the code ignores it; errors have the same names; everything that waits, waits for a bounded
//! time and then says `Unavailable`. What differs: SQLite writes one transaction at a time, PostgreSQL many at once
//! (READ COMMITTED), so rules are kept by guarded updates and unique keys, never by reading first and writing after.
//!
//! A transaction awaits nothing but its connection. Claim, commit, call the outside, finish.

mod bound;
mod conn;
mod ddl;
mod error;
pub mod metrics;
mod migrate;
mod options;
mod postgres;
mod row;
mod sqlite;
pub mod statements;
mod transaction;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use conn::Conn;
pub use ddl::sqlite_ddl;
pub use error::{DbError, Result};
pub use migrate::{MIGRATIONS, Migration};
pub use options::{DbOptions, Location};
pub use row::{FromRow, Row};
pub use statements::{Statement, postgres_text};
pub use values::{Cell, Column, Kind, Param, Raw, Value, params, row_values};

use crate::metrics::Metrics;
use postgres::{Isolation, Postgres};
use sqlite::{PoolSlot, Sqlite};

/// A transaction: what it does with a connection and the input lent to each of its attempts.
pub type Body<I, T, E> = for<'c> fn(&'c mut Conn, &'c I) -> BoxFuture<'c, Result<T, E>>;

/// Which state of the database the statements of a report see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Consistency {
    PerStatement,
    Snapshot,
}

/// What of a database is in use, and what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub connections_in_use: usize,
    /// Transactions and reads whose turn has not come.
    pub waiting: usize,
}

const PANICKED: &str = "the transaction panicked";

#[derive(Clone)]
pub struct Db {
    engine: Engine,
    metrics: Arc<Metrics>,
}

#[derive(Clone)]
enum Engine {
    Sqlite(Arc<Sqlite>),
    Postgres(Postgres),
}

impl Db {
    /// Opens the database and checks that it keeps what it commits. It does not migrate.
    pub async fn open(options: &DbOptions) -> Result<Db> {
        let metrics = Arc::new(Metrics::new().map_err(DbError::other)?);
        let engine = match &options.location {
            Location::Sqlite(path) => Engine::Sqlite(Arc::new(Sqlite::open(path, options, &metrics)?)),
            Location::Postgres(url) => Engine::Postgres(Postgres::open(url, options, &metrics).await?),
        };
        Ok(Db { engine, metrics })
    }

    /// What is counted here and everywhere else.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// How busy it is at the moment.
    pub fn load(&self) -> Load {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.load(),
            Engine::Postgres(postgres) => postgres.load(),
        }
    }

    /// Whether other nodes may write to it.
    pub fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Postgres(_))
    }

    pub async fn ping(&self) -> Result<()> {
        self.read().await?.one::<(i64,)>(crate::sql!("SELECT CAST(1 AS BIGINT)"), &[]).await?;
        Ok(())
    }

    /// A connection for reading; each statement stands alone. Give it back before waiting for anything else.
    pub async fn read(&self) -> Result<Reader> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.readers.lend().await,
            Engine::Postgres(postgres) => Ok(Reader { conn: Box::pin(postgres.read()).await?, slot: None }),
        }
    }

    /// The same for a few statements in a row: on SQLite they see the database as it was at the first of them, which
    /// also spares the others their locks.
    pub async fn read_consistent(&self) -> Result<Reader> {
        let mut reader = self.read().await?;
        reader.begin_read_snapshot()?;
        Ok(reader)
    }

    /// Runs `body` in one transaction, to its end even if the caller goes away, and again with the same input when it
    /// loses against another.
    pub async fn tx<I, T, E>(&self, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.run(Isolation::ReadCommitted, input, body).await
    }

    /// The same, as if no other transaction ran at the time.
    pub async fn tx_serializable<I, T, E>(&self, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.run(Isolation::Serializable, input, body).await
    }

    async fn run<I, T, E>(&self, isolation: Isolation, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let (transaction, outcome) = transaction::erase(input, body);
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                sqlite.writer.enqueue(transaction).await.inspect_err(|error| error.count(&self.metrics.database))?
            }
            Engine::Postgres(postgres) => postgres.spawn(isolation, transaction),
        }
        outcome.wait().await
    }

    /// Runs a long read where it holds up no request. Unlike a transaction it may wait for other things, such as the
    /// receiver of what it reads.
    pub async fn report<I, T, E>(&self, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.long_read(Consistency::PerStatement, input, body).await
    }

    /// A report whose statements all see the database as it was at the first of them. SQLite cannot shorten its log
    /// meanwhile, so this is for what must be seen at one moment to make sense.
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
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let mut reader = sqlite.reporters.lend().await?;
                if consistency == Consistency::Snapshot {
                    reader.begin_read_snapshot()?;
                }
                let runtime = tokio::runtime::Handle::current();
                let report = move || runtime.block_on(body(&mut reader, &input));
                let reported = tokio::task::spawn_blocking(report).await;
                reported.unwrap_or_else(|_| Err(DbError::other("the report panicked").into()))
            }
            Engine::Postgres(postgres) if consistency == Consistency::Snapshot => {
                Box::pin(postgres.snapshot(&input, body)).await
            }
            Engine::Postgres(postgres) => {
                let mut conn = Box::pin(postgres.read()).await?;
                body(&mut conn, &input).await
            }
        }
    }
}

/// A connection that only reads, on loan until it is dropped.
pub struct Reader {
    conn: Conn,
    /// Where a SQLite connection goes back to; PostgreSQL's pool sees to its own.
    slot: Option<PoolSlot>,
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
