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
use tokio::sync::{mpsc, oneshot};

use crate::db::conn::Conn;
use crate::db::error::{DbError, Result};
use crate::db::options::DbOptions;
use crate::db::{Body, PANICKED};

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

    /// Runs `body` in a transaction. Once it is in the queue it runs to its end, whoever still listens.
    pub(crate) async fn tx<I, T, E>(&self, input: I, body: Body<I, T, E>) -> Result<T, E>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job = Transaction { input, body, outcome: None, answer };
        self.queue.send_timeout(Box::new(job), self.wait).await.map_err(|error| match error {
            mpsc::error::SendTimeoutError::Timeout(_) => DbError::unavailable("too many transactions are waiting"),
            mpsc::error::SendTimeoutError::Closed(_) => DbError::unavailable("the writer has ended"),
        })?;
        answered.await.unwrap_or_else(|_| Err(DbError::unavailable("the writer has ended").into()))
    }
}

/// A transaction as the writer sees it.
trait Job: Send {
    /// Runs it and says whether its changes may stay.
    fn run(&mut self, conn: &mut Conn) -> bool;

    /// Tells the caller: its own error, or why the group is not on disk, or success.
    fn answer(self: Box<Self>, group_failure: Option<DbError>);
}

struct Transaction<I, T, E> {
    input: I,
    body: Body<I, T, E>,
    outcome: Option<Result<T, E>>,
    answer: oneshot::Sender<Result<T, E>>,
}

impl<I, T, E> Job for Transaction<I, T, E>
where
    I: Send + Sync,
    T: Send,
    E: From<DbError> + Send,
{
    fn run(&mut self, conn: &mut Conn) -> bool {
        let polled = catch_unwind(AssertUnwindSafe(|| poll_once((self.body)(conn, &self.input))));
        let outcome = match polled {
            Ok(Some(outcome)) => conn.judge(outcome),
            Ok(None) => Err(DbError::other("a transaction awaited something other than its connection").into()),
            Err(_) => Err(DbError::other(PANICKED).into()),
        };
        self.outcome.insert(outcome).is_ok()
    }

    fn answer(self: Box<Self>, group_failure: Option<DbError>) {
        let answer = match (self.outcome, group_failure) {
            (Some(Err(error)), _) => Err(error),
            (_, Some(failure)) => Err(failure.into()),
            (Some(Ok(value)), None) => Ok(value),
            (None, None) => Err(DbError::Aborted.into()),
        };
        // A caller that has gone away is not told, but its transaction stands.
        let _ = self.answer.send(answer);
    }
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
        for job in group {
            job.answer(written.as_ref().err().map(again));
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
    let stays = job.run(conn);
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
