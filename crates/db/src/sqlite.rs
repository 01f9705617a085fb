//! SQLite: a pool of read-only connections, the writer, checkpoints, and running statements.

mod checkpoints;
mod unique;
mod writer;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Statement};
use tokio::sync::{Semaphore, SemaphorePermit};
use values::Value;

use super::bound::Bound;
use super::conn::{Access, Conn};
use super::copy::{Conflict, TableRows};
use super::error::{DbError, Result};
use super::options::DbOptions;
use super::row::{FromRow, Row};
use super::signals::Signals;
use super::statements::Inserts;
use super::{Load, Reader};
use crate::metrics::Metrics;
use checkpoints::Checkpoints;

pub(super) use writer::Writer;

/// Prepared statements cached by each connection.
const MAX_PREPARED_STATEMENTS: usize = 256;

pub(super) struct Sqlite {
    pub(super) readers: Arc<Readers>,
    pub(super) reporters: Arc<Readers>,
    pub(super) writer: Writer,
}

impl Sqlite {
    pub(super) fn open(
        path: &Path,
        options: &DbOptions,
        metrics: &Arc<Metrics>,
        signals: &Arc<Signals>,
    ) -> Result<Sqlite> {
        create(path)?;
        let mut connection = connect(path, options.lock_timeout, Access::ReadWrite)?;
        require_durable(&connection)?;
        let checkpoints = Checkpoints::start(&mut connection, path.to_owned(), options.lock_timeout)?;
        let conn = Conn::sqlite(connection, Access::ReadWrite, metrics);
        let readers = |size| Arc::new(Readers::new(path, size, options, metrics));
        Ok(Sqlite {
            readers: readers(options.readers),
            reporters: readers(options.reporters),
            writer: Writer::start(conn, checkpoints, options, metrics, signals)?,
        })
    }

    pub(super) fn load(&self) -> Load {
        let connections_in_use = self.readers.in_use() + self.reporters.in_use();
        Load { connections_in_use, waiting: self.writer.waiting() }
    }
}

/// Creates the file if there is none, readable by its owner only. SQLite gives its WAL files the same mode.
fn create(path: &Path) -> Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map(drop).map_err(DbError::other)
}

fn connect(path: &Path, lock_timeout: Duration, access: Access) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(lock_timeout)?;
    // The writer caches 8 MiB of pages, a reader 2 MiB; the rest is the system's page cache, through mmap.
    let (query_only, cache_kib) = match access {
        Access::ReadWrite => ("OFF", 8192),
        Access::ReadOnly => ("ON", 2048),
    };
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA cache_size = -{cache_kib};
         PRAGMA mmap_size = 268435456;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA journal_size_limit = 67108864;
         PRAGMA query_only = {query_only};"
    ))?;
    // Otherwise SQLite plans a prepared statement again each time its parameters change.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(MAX_PREPARED_STATEMENTS);
    Ok(connection)
}

/// Some file systems do not support a WAL, and SQLite then silently uses another journal mode.
fn require_durable(connection: &Connection) -> Result<()> {
    let journal: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    let synchronous: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
    let foreign_keys: bool = connection.query_row("PRAGMA foreign_keys", [], |row| row.get(0))?;
    if journal != "wal" || synchronous < 2 || !foreign_keys {
        return Err(DbError::other(format!(
            "SQLite must run with journal_mode=wal, synchronous=full and foreign keys, \
             not with {journal}, {synchronous} and {foreign_keys}"
        )));
    }
    Ok(())
}

/// Copies what the connection sees to a new file, readable by its owner only.
pub(super) fn copy_to(connection: &Connection, path: &Path) -> Result<()> {
    create(path)?;
    let mut copy = Connection::open(path)?;
    // After a crash it is made again.
    copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    // In one step: whenever another process writes between two of them, SQLite begins again.
    match Backup::new(connection, &mut copy)?.step(-1)? {
        StepResult::Done => Ok(()),
        _ => Err(DbError::LockTimeout),
    }
}

/// A pool of read-only connections, opened on demand.
pub(super) struct Readers {
    path: PathBuf,
    lock_timeout: Duration,
    wait: Duration,
    size: usize,
    slots: Semaphore,
    /// Idle connections, each with the thread that used it last and has it in its CPU caches.
    idle: Mutex<Vec<(ThreadId, Conn)>>,
    metrics: Arc<Metrics>,
}

impl Readers {
    fn new(path: &Path, size: usize, options: &DbOptions, metrics: &Arc<Metrics>) -> Readers {
        Readers {
            path: path.to_owned(),
            lock_timeout: options.lock_timeout,
            wait: options.wait,
            size,
            slots: Semaphore::new(size),
            idle: Mutex::default(),
            metrics: Arc::clone(metrics),
        }
    }

    fn in_use(&self) -> usize {
        self.size.saturating_sub(self.slots.available_permits())
    }

    pub(super) async fn lend(self: &Arc<Self>) -> Result<Reader> {
        let permit = match self.slots.try_acquire() {
            Ok(permit) => {
                self.metrics.database.read_wait.observe(0.0);
                permit
            }
            Err(_) => self.wait_for_slot().await.inspect_err(|error| error.count(&self.metrics.database))?,
        };
        // The slot gives the permit back when it is dropped.
        permit.forget();
        let slot = PoolSlot { readers: self.clone() };
        let conn = match self.take_idle() {
            Some(conn) => conn,
            None => {
                let connection = connect(&self.path, self.lock_timeout, Access::ReadOnly)?;
                Conn::sqlite(connection, Access::ReadOnly, &self.metrics)
            }
        };
        Ok(Reader::new(conn, Some(slot)))
    }

    fn take_idle(&self) -> Option<Conn> {
        let this = std::thread::current().id();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let warm = idle.iter().rposition(|(thread, _)| *thread == this);
        let (_, conn) = warm.map(|index| idle.remove(index)).or_else(|| idle.pop())?;
        Some(conn)
    }

    async fn wait_for_slot(&self) -> Result<SemaphorePermit<'_>> {
        let asked = Instant::now();
        let slot = tokio::time::timeout(self.wait, self.slots.acquire()).await;
        self.metrics.database.read_wait.observe(asked.elapsed().as_secs_f64());
        slot.map_err(|_| DbError::unavailable("all readers are busy"))?.map_err(DbError::other)
    }
}

/// The permit of a borrowed connection, given back when dropped.
pub(super) struct PoolSlot {
    readers: Arc<Readers>,
}

impl Drop for PoolSlot {
    fn drop(&mut self) {
        self.readers.slots.add_permits(1);
    }
}

impl PoolSlot {
    pub(super) fn return_to_pool(&self, mut conn: Conn) {
        conn.reset();
        let this = std::thread::current().id();
        self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push((this, conn));
    }
}

pub(super) fn run(
    connection: &Connection,
    sql: &str,
    params: &[Value<'_>],
    visit: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<u64> {
    execute(connection, sql, params, visit).map_err(|error| unique::name(connection, error))
}

fn execute(
    connection: &Connection,
    sql: &str,
    params: &[Value<'_>],
    mut visit: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<u64> {
    let mut statement = connection.prepare_cached(sql)?;
    for position in 1..=statement.parameter_count() {
        let value = written_number(&statement, position).and_then(|number| params.get(number - 1));
        statement.raw_bind_parameter(position, Bound(value.ok_or_else(|| not_bound(sql))?))?;
    }
    if statement.column_count() == 0 {
        return Ok(statement.raw_execute()? as u64);
    }
    let mut count = 0;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        count += 1;
        visit(Row::Sqlite(row))?;
    }
    Ok(count)
}

/// The number that is written for a parameter, from 1. SQLite numbers `$n` by first appearance.
fn written_number(statement: &Statement<'_>, position: usize) -> Option<usize> {
    statement.parameter_name(position)?.get(1..)?.parse().ok().filter(|number| *number > 0)
}

fn not_bound(sql: &str) -> DbError {
    DbError::other(format!("a parameter is missing or is not written as $n: {sql}"))
}

/// What each list of parameters inserts and returns.
pub(super) fn insert_each(connection: &Connection, inserts: &Inserts<'_>) -> Result<Vec<Vec<i64>>> {
    let mut returned = Vec::with_capacity(inserts.lists.len());
    let lists = inserts.lists.iter().map(Vec::as_slice);
    let changed = execute_each(connection, inserts.text, lists, |_, row| {
        returned.push(Vec::from_row(&row)?);
        Ok(())
    })?;
    // Only statements that return nothing count what they change.
    returned.extend((0..changed).map(|_| Vec::new()));
    Ok(returned)
}

/// The first row for each list of parameters, if there is one.
pub(super) fn first_each<T: FromRow>(
    connection: &Connection,
    sql: &str,
    lists: &[Vec<Value<'_>>],
) -> Result<Vec<Option<T>>> {
    let mut answers = Vec::new();
    answers.resize_with(lists.len(), || None);
    execute_each(connection, sql, lists.iter().map(Vec::as_slice), |place, row| {
        if let Some(answer @ None) = answers.get_mut(place) {
            *answer = Some(T::from_row(&row)?);
        }
        Ok(())
    })?;
    Ok(answers)
}

/// Runs statements in this order, those of the same text that follow each other prepared once.
pub(super) fn run_many(connection: &Connection, statements: &[crate::Statement]) -> Result<u64> {
    let same = statements.chunk_by(|one, next| one.text == next.text);
    same.map(|same| {
        let text = same.first().map_or("", |one| one.text);
        execute_each(connection, text, same.iter().map(|one| one.params.as_slice()), |_, _| Ok(()))
    })
    .sum()
}

/// Runs a statement, prepared once, with each of these lists of parameters, and calls `visit` with the place of a list and
/// each of its rows. Returns how many rows were inserted, updated or deleted.
fn execute_each<'a>(
    connection: &Connection,
    sql: &str,
    lists: impl Iterator<Item = &'a [Value<'a>]>,
    mut visit: impl FnMut(usize, Row<'_>) -> Result<()>,
) -> Result<u64> {
    let execute = || -> Result<u64> {
        let mut statement = connection.prepare_cached(sql)?;
        let numbers: Option<Vec<usize>> =
            (1..=statement.parameter_count()).map(|position| written_number(&statement, position)).collect();
        let (numbers, has_rows) = (numbers.ok_or_else(|| not_bound(sql))?, statement.column_count() > 0);
        let mut changed = 0;
        for (place, params) in lists.enumerate() {
            for (index, number) in numbers.iter().enumerate() {
                let value = params.get(number - 1).ok_or_else(|| not_bound(sql))?;
                statement.raw_bind_parameter(index + 1, Bound(value))?;
            }
            if !has_rows {
                changed += statement.raw_execute()? as u64;
                continue;
            }
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                visit(place, Row::Sqlite(row))?;
            }
        }
        Ok(changed)
    };
    execute().map_err(|error| unique::name(connection, error))
}

pub(super) fn insert_many<R, const N: usize>(
    connection: &Connection,
    table: &str,
    columns: [&str; N],
    rows: &[R],
    values: fn(&R) -> [Value<'_>; N],
) -> Result<u64> {
    let placeholders: Vec<String> = (1..=N).map(|number| format!("?{number}")).collect();
    let sql = format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), placeholders.join(", "));
    let insert = || -> Result<u64> {
        let mut statement = connection.prepare_cached(&sql)?;
        let mut count = 0;
        for row in rows {
            for (index, value) in values(row).iter().enumerate() {
                statement.raw_bind_parameter(index + 1, Bound(value))?;
            }
            count += statement.raw_execute()? as u64;
        }
        Ok(count)
    };
    insert().map_err(|error| unique::name(connection, error))
}

pub(super) fn load(connection: &Connection, rows: &TableRows, conflict: Conflict) -> Result<u64> {
    let insert = || -> Result<u64> {
        // Its parameters are numbered in the order of the columns.
        let mut statement = connection.prepare_cached(&rows.insert_text(conflict))?;
        let mut count = 0;
        for row in &rows.rows {
            for (index, value) in row.iter().enumerate() {
                statement.raw_bind_parameter(index + 1, Bound(value))?;
            }
            count += statement.raw_execute()? as u64;
        }
        Ok(count)
    };
    insert().map_err(|error| unique::name(connection, error))
}
