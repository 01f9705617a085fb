//! Guarded debits, each a durable transaction, asked for by 32 clients at once: one of two statements, which tells what
//! the storage layer is worth, and the ledger's own, which is what a call costs.
//!
//! On SQLite the clients share commits, and the yardstick has an fsync for each debit: the two statements straight on
//! one connection, and for the ledger the same debits through a layer that may put only one into a commit. What sharing
//! is worth depends on what an fsync costs, so bare ones are counted too. On PostgreSQL the yardstick is pgbench's
//! TPC-B-like script (five statements) on the same server. Everybody takes turns.

mod ledger;
mod pgbench;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use db::{Conn, Db, DbError, DbOptions, params};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::report::{Limit, Line};
use crate::{Outcome, ROUNDS};
use ledger::Customers;
use pgbench::Server;

const CLIENTS: usize = 32;
const ROUND: Duration = Duration::from_secs(3);
const SYNCING: Duration = Duration::from_millis(500);
const WALLETS: i64 = 1000;
const AMOUNT: i64 = 3;

const SCHEMA: &str = "
    CREATE TABLE wallets (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL);
    CREATE TABLE postings (id BIGINT PRIMARY KEY, wallet_id BIGINT NOT NULL, amount BIGINT NOT NULL, balance BIGINT NOT NULL);
    INSERT INTO wallets WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < 1000)
        SELECT id, 1000000000000 FROM ids;";
const DEBIT: &str = "UPDATE wallets SET balance = balance - $2 WHERE id = $1 AND balance >= $2 RETURNING balance";
const POST: &str = "INSERT INTO postings (id, wallet_id, amount, balance) VALUES ($1, $2, $3, $4)";

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut lines = sqlite(work, &runtime)?;
    lines.extend(postgres(&runtime)?);
    Ok(lines)
}

fn sqlite(work: &Path, runtime: &tokio::runtime::Runtime) -> Outcome<Vec<Line>> {
    let folder = TempDir::new_in(work)?;
    let shared = runtime.block_on(sqlite_db(&folder.path().join("shared.db"), None))?;
    let each = runtime.block_on(sqlite_db(&folder.path().join("each.db"), Some(1)))?;
    let customers = runtime.block_on(Customers::prepare(&shared))?;
    let customers_each = runtime.block_on(Customers::prepare(&each))?;
    let single = connect(&folder.path().join("single.db"))?;
    single.execute_batch(SCHEMA)?;

    let (ids, mut next_id) = (Arc::new(AtomicI64::new(0)), 0);
    let (mut plain, mut plain_each) = (Vec::new(), Vec::new());
    let (mut posted, mut posted_each, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(runtime.block_on(through_db(&shared, &ids))?);
        plain_each.push(one_commit_each(&single, &mut next_id)?);
        posted.push(runtime.block_on(through_ledger(&shared, &customers, &ids))?);
        posted_each.push(runtime.block_on(through_ledger(&each, &customers_each, &ids))?);
        syncs.push(bare_syncs(&folder.path().join("synced"))?);
    }
    let beside = |what, ours: &[f64], yardstick, limit| Line::beside(what, ours.to_vec(), yardstick, limit);
    Ok(vec![
        beside(
            "Two-statement debits, 32 clients, SQLite with group commit; baseline: one fsync per debit",
            &plain,
            plain_each,
            Some(Limit::AtLeast(5.0, "×")),
        ),
        beside(
            "Guarded ledger debits, 32 clients, SQLite with group commit; baseline: one fsync per debit",
            &posted,
            posted_each,
            Some(Limit::AtLeast(10.0, "×")),
        ),
        beside(
            "Guarded ledger debits, 32 clients, SQLite; baseline: bare sequential fsyncs of 4 KiB",
            &posted,
            syncs,
            None,
        ),
    ])
}

/// A database whose commits hold no more than `group` transactions, if that is given.
async fn sqlite_db(file: &Path, group: Option<usize>) -> Outcome<Db> {
    connect(file)?.execute_batch(SCHEMA)?;
    let mut options: DbOptions = format!("sqlite://{}", file.display()).parse()?;
    options.group = group.unwrap_or(options.group);
    Ok(Db::open(&options).await?)
}

fn postgres(runtime: &tokio::runtime::Runtime) -> Outcome<Vec<Line>> {
    let server = runtime.block_on(Server::prepare(SCHEMA))?;
    let mut options: DbOptions = server.database.url.parse()?;
    options.connections = CLIENTS;
    let db = runtime.block_on(Db::open(&options))?;
    let customers = runtime.block_on(Customers::prepare(&db))?;
    let ids = Arc::new(AtomicI64::new(0));
    let (mut plain, mut posted, mut yardstick) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(runtime.block_on(through_db(&db, &ids))?);
        yardstick.push(server.pgbench(CLIENTS, ROUND)?);
        posted.push(runtime.block_on(through_ledger(&db, &customers, &ids))?);
    }
    drop(customers);
    drop(db);
    runtime.block_on(server.database.forget())?;
    let limit = Some(Limit::AtLeast(1.0, "×"));
    let what = "Two-statement debits, 32 clients, PostgreSQL; baseline: pgbench TPC-B";
    let plain = Line::beside(what, plain, yardstick.clone(), limit);
    let what = "Guarded ledger debits, 32 clients, PostgreSQL; baseline: pgbench TPC-B";
    Ok(vec![plain, Line::beside(what, posted, yardstick, limit)])
}

/// Transactions of two statements a second, through the service's own layer.
async fn through_db(db: &Db, ids: &Arc<AtomicI64>) -> Outcome<f64> {
    let db = db.clone();
    per_second(ids, move |id| {
        let db = db.clone();
        async move { db.tx(id, |conn, id| Box::pin(debit(conn, *id))).await }
    })
    .await
}

/// Debits of the ledger a second.
async fn through_ledger(db: &Db, customers: &Arc<Customers>, ids: &Arc<AtomicI64>) -> Outcome<f64> {
    let (db, customers) = (db.clone(), customers.clone());
    per_second(ids, move |id| customers.clone().debit(db.clone(), id)).await
}

async fn per_second<D, E>(ids: &Arc<AtomicI64>, debit: impl Fn(i64) -> D + Clone + Send + 'static) -> Outcome<f64>
where
    D: Future<Output = Result<(), E>> + Send,
    E: std::error::Error + Send + Sync + 'static,
{
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..CLIENTS {
        let (debit, ids) = (debit.clone(), ids.clone());
        tasks.spawn(async move {
            let mut done = 0_u32;
            while begun.elapsed() < ROUND {
                debit(ids.fetch_add(1, Ordering::Relaxed)).await?;
                done += 1;
            }
            Ok::<_, E>(done)
        });
    }
    let total = tasks.join_all().await.into_iter().sum::<Result<u32, _>>()?;
    Ok(f64::from(total) / begun.elapsed().as_secs_f64())
}

async fn debit(conn: &mut Conn, id: i64) -> Result<(), DbError> {
    let wallet = wallet_of(id);
    let (balance,): (i64,) = conn.one(DEBIT, params![wallet, AMOUNT]).await?;
    conn.exec(POST, params![id, wallet, AMOUNT, balance]).await?;
    Ok(())
}

/// Spreads the debits over the wallets, far from the order of their ids.
fn wallet_of(id: i64) -> i64 {
    id.wrapping_mul(7919).rem_euclid(WALLETS) + 1
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192;
         PRAGMA mmap_size = 268435456; PRAGMA wal_autocheckpoint = 4000;",
    )?;
    Ok(connection)
}

fn one_commit_each(connection: &Connection, next_id: &mut i64) -> rusqlite::Result<f64> {
    let begun = Instant::now();
    let mut done = 0_u32;
    while begun.elapsed() < ROUND {
        let (id, wallet) = (*next_id, wallet_of(*next_id));
        *next_id += 1;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let balance: i64 = connection.prepare_cached(DEBIT)?.query_row([wallet, AMOUNT], |row| row.get(0))?;
        connection.prepare_cached(POST)?.execute([id, wallet, AMOUNT, balance])?;
        connection.prepare_cached("COMMIT")?.execute([])?;
        done += 1;
    }
    Ok(f64::from(done) / begun.elapsed().as_secs_f64())
}

/// How often a second the disk can be told to keep a page, by somebody who waits each time.
fn bare_syncs(path: &Path) -> std::io::Result<f64> {
    let mut file = File::create(path)?;
    let begun = Instant::now();
    let mut done = 0_u32;
    while begun.elapsed() < SYNCING {
        file.write_all(&[0x5A; 4096])?;
        file.sync_data()?;
        done += 1;
    }
    Ok(f64::from(done) / begun.elapsed().as_secs_f64())
}
