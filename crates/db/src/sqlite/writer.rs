//! The writer of a SQLite database: one thread that owns the only read-write connection.
//!
//! Bulk transactions, those of imports and cleanups, take turns with groups of all others, and never join a group that
//! has begun: whoever is in it would wait for them. One that asks whether others wait can end early.
//!
//! Transactions that wait together share one `BEGIN IMMEDIATE … COMMIT` and so one sync to disk. Each is a savepoint,
//! so one that fails rolls back alone; the first needs none, since nothing is before it. Callers get their results after the COMMIT. A transaction's future is polled
//! once: its statements run in-process, and awaiting anything else is an error, since it would block every other
//! writer.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::checkpoints::Checkpoints;
use crate::PANICKED;
use crate::conn::Conn;
use crate::error::{DbError, Result};
use crate::metrics::{Database, Metrics};
use crate::options::DbOptions;
use crate::signals::Signals;
use crate::transaction::{Priority, Transaction};

/// A group accepts no more transactions after this long, since its first one waits for the commit.
const MAX_GROUP_TIME: Duration = Duration::from_millis(5);
/// Nor after this many times as long as the last commit took: to share it would save little, and those who are answered
/// ask again while the next group is written.
const MAX_COMMIT_TIMES: u32 = 8;
/// Bulk transactions that wait in the queue or beside it at most.
const MAX_BULK: usize = 64;
const TOO_MANY: &str = "too many transactions are waiting";

pub(crate) struct Writer {
    queue: mpsc::Sender<Queued>,
    /// How many transactions wait that are not bulk.
    others: Arc<AtomicUsize>,
    bulk: Arc<Semaphore>,
    wait: Duration,
}

/// A transaction and when it was enqueued.
struct Queued {
    transaction: Box<dyn Transaction>,
    since: Instant,
    place: Place,
}

impl Queued {
    fn is_bulk(&self) -> bool {
        matches!(self.place, Place::Bulk(_))
    }
}

/// What a transaction takes while it waits.
#[expect(dead_code, reason = "held until it begins")]
enum Place {
    Normal(Waits),
    Bulk(OwnedSemaphorePermit),
}

/// Is counted until it is dropped.
struct Waits(Arc<AtomicUsize>);

impl Waits {
    fn new(others: &Arc<AtomicUsize>) -> Waits {
        others.fetch_add(1, Ordering::Relaxed);
        Waits(Arc::clone(others))
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Writer {
    pub(super) fn start(
        mut conn: Conn,
        checkpoints: Checkpoints,
        options: &DbOptions,
        metrics: &Arc<Metrics>,
        signals: &Arc<Signals>,
    ) -> Result<Writer> {
        let (queue, transactions) = mpsc::channel(options.queue);
        let others = Arc::new(AtomicUsize::new(0));
        conn.set_others(&others);
        let (group, metrics, signals) = (options.group, Arc::clone(metrics), Arc::clone(signals));
        std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || {
                write(&mut conn, transactions, group, &metrics.database, &signals);
                // So that its connection is the last one, which cleans up.
                drop(checkpoints);
            })
            .map_err(DbError::other)?;
        Ok(Writer { queue, others, bulk: Arc::new(Semaphore::new(MAX_BULK)), wait: options.wait })
    }

    /// Enqueues a transaction. It then runs to its end, even if the caller goes away.
    pub(crate) async fn enqueue(&self, priority: Priority, transaction: Box<dyn Transaction>) -> Result<()> {
        let since = Instant::now();
        let place = match priority {
            Priority::Normal => Place::Normal(Waits::new(&self.others)),
            Priority::Bulk => Place::Bulk(self.bulk_place().await?),
        };
        self.queue.send_timeout(Queued { transaction, since, place }, self.wait).await.map_err(|error| match error {
            mpsc::error::SendTimeoutError::Timeout(_) => DbError::unavailable(TOO_MANY),
            mpsc::error::SendTimeoutError::Closed(_) => DbError::unavailable("the writer thread has stopped"),
        })
    }

    async fn bulk_place(&self) -> Result<OwnedSemaphorePermit> {
        let place = tokio::time::timeout(self.wait, Arc::clone(&self.bulk).acquire_owned()).await;
        place.map_err(|_| DbError::unavailable(TOO_MANY))?.map_err(DbError::other)
    }

    /// The length of the queue.
    pub(super) fn waiting(&self) -> usize {
        self.queue.max_capacity().saturating_sub(self.queue.capacity())
    }
}

/// Runs the body and returns whether to commit.
fn run(conn: &mut Conn, transaction: &mut dyn Transaction) -> bool {
    match catch_unwind(AssertUnwindSafe(|| poll_once(transaction.run(conn)))) {
        Ok(Some(commits)) => return commits,
        Ok(None) => transaction.fail(DbError::other("a transaction awaited something other than its connection")),
        Err(_) => transaction.fail(DbError::other(PANICKED)),
    }
    false
}

fn poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    match std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// The transactions that wait.
struct Waiting {
    queue: mpsc::Receiver<Queued>,
    /// Bulk transactions that were in the queue before others that went first.
    bulk: VecDeque<Queued>,
    /// Whether it is the turn of a bulk transaction: the group before was one of others.
    is_bulk_turn: bool,
}

impl Waiting {
    /// The first transaction of the next group; none once the database is closed.
    fn first(&mut self) -> Option<Queued> {
        let bulk = if self.is_bulk_turn { self.bulk.pop_front() } else { None };
        let first = bulk.or_else(|| self.next()).or_else(|| self.bulk.pop_front());
        let first = first.or_else(|| self.queue.blocking_recv())?;
        self.is_bulk_turn = !first.is_bulk();
        Some(first)
    }

    /// The next one in the queue that is not bulk.
    fn next(&mut self) -> Option<Queued> {
        while let Ok(queued) = self.queue.try_recv() {
            if !queued.is_bulk() {
                return Some(queued);
            }
            self.bulk.push_back(queued);
        }
        None
    }
}

fn write(conn: &mut Conn, queue: mpsc::Receiver<Queued>, limit: usize, metrics: &Database, signals: &Signals) {
    let mut commit_time = Duration::ZERO;
    let mut waiting = Waiting { queue, bulk: VecDeque::new(), is_bulk_turn: false };
    while let Some(first) = waiting.first() {
        let max_time = MAX_GROUP_TIME.min(commit_time * MAX_COMMIT_TIMES);
        let mut group = Group { transactions: Vec::new(), rolled_back: 0, max_time, commit_time, metrics };
        let written = group.write(conn, first, &mut waiting, limit);
        let effects = conn.effects().drain(..);
        let size = group.transactions.len() as u64;
        commit_time = group.commit_time;
        if let Err(failure) = &written {
            tracing::error!(%failure, transactions = size, "group commit failed");
            failure.count(metrics);
            metrics.transactions.of("failed").inc_by(size);
            drop(effects);
            // Fails if SQLite has already rolled back the transaction by itself.
            let _ = sql(conn, "ROLLBACK");
        } else {
            effects.for_each(|effect| effect.apply(signals));
            metrics.transactions.of("committed").inc_by(size - group.rolled_back);
            metrics.transactions.of("rolled_back").inc_by(group.rolled_back);
            metrics.group.observe(size as f64);
        }
        for mut transaction in group.transactions {
            if let Err(failure) = &written {
                transaction.fail(copy_error(failure));
            }
            transaction.reply();
        }
    }
}

/// Transactions that share one commit.
struct Group<'m> {
    transactions: Vec<Box<dyn Transaction>>,
    /// How many of them rolled back.
    rolled_back: u64,
    max_time: Duration,
    /// Of the group before, until this one is committed.
    commit_time: Duration,
    metrics: &'m Database,
}

impl Group<'_> {
    /// Runs transactions until the queue is empty or the group is full, and commits them.
    fn write(&mut self, conn: &mut Conn, first: Queued, waiting: &mut Waiting, limit: usize) -> Result<()> {
        self.add(first);
        sql(conn, "BEGIN IMMEDIATE")?;
        let begun = Instant::now();
        loop {
            let is_first = self.transactions.len() == 1;
            let Some(transaction) = self.transactions.last_mut() else { break };
            self.rolled_back += u64::from(!write_one(conn, transaction.as_mut(), is_first)?);
            if self.transactions.len() >= limit || begun.elapsed() > self.max_time {
                break;
            }
            match waiting.next() {
                Some(next) => self.add(next),
                None => break,
            }
        }
        let written = Instant::now();
        sql(conn, "COMMIT")?;
        self.commit_time = written.elapsed();
        Ok(())
    }

    fn add(&mut self, Queued { transaction, since, .. }: Queued) {
        self.metrics.transaction_wait.observe(since.elapsed().as_secs_f64());
        self.transactions.push(transaction);
    }
}

/// Runs one transaction, in a savepoint unless it is the first, and returns whether it commits.
fn write_one(conn: &mut Conn, transaction: &mut dyn Transaction, is_first: bool) -> Result<bool> {
    conn.reset();
    let effects_before = conn.effects().len();
    // With a savepoint SQLite keeps a copy of each page before it changes.
    if !is_first {
        sql(conn, "SAVEPOINT one")?;
    }
    let commits = run(conn, transaction);
    // On a full disk or an I/O error SQLite ends the whole transaction; further statements would autocommit.
    if conn.as_sqlite().is_none_or(Connection::is_autocommit) {
        let why = "SQLite rolled back the group";
        return Err(if conn.found_disk_full() { DbError::DiskFull(why.into()) } else { DbError::unavailable(why) });
    }
    if !commits {
        conn.effects().truncate(effects_before);
    }
    match (is_first, commits) {
        (true, true) => {}
        (true, false) => {
            sql(conn, "ROLLBACK")?;
            sql(conn, "BEGIN IMMEDIATE")?;
        }
        (false, _) => {
            if !commits {
                sql(conn, "ROLLBACK TO one")?;
            }
            sql(conn, "RELEASE one")?;
        }
    }
    Ok(commits)
}

fn sql(conn: &Conn, text: &str) -> Result<()> {
    let Some(connection) = conn.as_sqlite() else { return Ok(()) };
    connection.prepare_cached(text)?.execute([])?;
    Ok(())
}

/// The error of a group, once for each of its transactions.
fn copy_error(failure: &DbError) -> DbError {
    match failure {
        DbError::LockTimeout => DbError::LockTimeout,
        DbError::DiskFull(reason) => DbError::DiskFull(reason.clone()),
        other => DbError::unavailable(other),
    }
}
