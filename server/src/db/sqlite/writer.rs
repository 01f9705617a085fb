//! The one writer of a SQLite database.
//!
//! A thread owns the connection that writes. Transactions that wait together share one `BEGIN IMMEDIATE … COMMIT` and
//! so one sync to disk; each is a savepoint, so one that fails undoes itself only. Nobody hears of success before the
//! COMMIT. A transaction's future is polled once: its statements finish inline, and whatever else it would wait for
//! would hold up every writer, so waiting is an error.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::db::PANICKED;
use crate::db::conn::Conn;
use crate::db::error::{DbError, Result};
use crate::db::job::Job;
use crate::db::options::DbOptions;

/// A group takes no more transactions after this long, so that its first need not wait for ever.
const GROUP_TIME: Duration = Duration::from_millis(5);

pub(crate) struct Writer {
    queue: mpsc::Sender<Box<dyn Job>>,
    wait: Duration,
}

impl Writer {
    pub(super) fn start(conn: Conn, options: &DbOptions) -> Result<Writer> {
        let (queue, jobs) = mpsc::channel(options.queue);
        let group = options.group;
        std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || write(conn, jobs, group))
            .map_err(DbError::other)?;
        Ok(Writer { queue, wait: options.wait })
    }

    /// Puts a transaction into the queue. From there it runs to its end, whoever still listens.
    pub(crate) async fn take(&self, job: Box<dyn Job>) -> Result<()> {
        self.queue.send_timeout(job, self.wait).await.map_err(|error| match error {
            mpsc::error::SendTimeoutError::Timeout(_) => DbError::unavailable("too many transactions are waiting"),
            mpsc::error::SendTimeoutError::Closed(_) => DbError::unavailable("the writer has ended"),
        })
    }
}

/// Whether the transaction's changes may stay.
fn run(conn: &mut Conn, job: &mut dyn Job) -> bool {
    match catch_unwind(AssertUnwindSafe(|| poll_once(job.run(conn)))) {
        Ok(Some(stays)) => return stays,
        Ok(None) => job.fail(DbError::other("a transaction awaited something other than its connection")),
        Err(_) => job.fail(DbError::other(PANICKED)),
    }
    false
}

fn poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    match std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn write(mut conn: Conn, mut jobs: mpsc::Receiver<Box<dyn Job>>, limit: usize) {
    while let Some(first) = jobs.blocking_recv() {
        let mut group = Vec::new();
        let written = write_group(&mut conn, first, &mut jobs, &mut group, limit);
        if let Err(failure) = &written {
            tracing::error!(%failure, transactions = group.len(), "a group of transactions was not written");
            // Fails when SQLite has already undone the transaction by itself, which is as good.
            let _ = sql(&conn, "ROLLBACK");
        }
        for mut job in group {
            if let Err(failure) = &written {
                job.fail(again(failure));
            }
            job.answer();
        }
    }
}

/// Runs transactions until none waits or the group is full, and puts them on disk together.
fn write_group(
    conn: &mut Conn,
    first: Box<dyn Job>,
    jobs: &mut mpsc::Receiver<Box<dyn Job>>,
    group: &mut Vec<Box<dyn Job>>,
    limit: usize,
) -> Result<()> {
    group.push(first);
    sql(conn, "BEGIN IMMEDIATE")?;
    let begun = Instant::now();
    while let Some(job) = group.last_mut() {
        write_one(conn, job.as_mut())?;
        if group.len() >= limit || begun.elapsed() > GROUP_TIME {
            break;
        }
        match jobs.try_recv() {
            Ok(next) => group.push(next),
            Err(_) => break,
        }
    }
    sql(conn, "COMMIT")
}

fn write_one(conn: &mut Conn, job: &mut dyn Job) -> Result<()> {
    conn.reset();
    sql(conn, "SAVEPOINT one")?;
    let stays = run(conn, job);
    // On a full disk or an I/O error SQLite ends the whole transaction, and what follows would commit by itself.
    if conn.as_sqlite().is_none_or(Connection::is_autocommit) {
        return Err(DbError::unavailable("SQLite rolled back"));
    }
    if !stays {
        sql(conn, "ROLLBACK TO one")?;
    }
    sql(conn, "RELEASE one")
}

fn sql(conn: &Conn, text: &str) -> Result<()> {
    let Some(connection) = conn.as_sqlite() else { return Ok(()) };
    connection.prepare_cached(text)?.execute([])?;
    Ok(())
}

/// A group's failure, told to each of its transactions.
fn again(failure: &DbError) -> DbError {
    match failure {
        DbError::LockTimeout => DbError::LockTimeout,
        other => DbError::unavailable(other),
    }
}
