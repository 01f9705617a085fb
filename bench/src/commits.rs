//! Guarded debits, each durable before its client hears of it, from 32 concurrent clients: one of two statements, which
//! measures the storage layer, and the ledger's own.
//!
//! On SQLite the clients share commits (group commit), and the baseline of the two statements has an fsync per debit on
//! one connection. How fast an fsync is depends on the disk, so the ledger's debits stand beside bare fsyncs, and beside
//! their own statements without the service. On PostgreSQL the baseline is pgbench's TPC-B-like script (five statements)
//! on the same server. All take turns.

mod bare;
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
use bare::Statements;
use ledger::Customers;
use pgbench::Server;

const CLIENTS: usize = 32;
const ROUND: Duration = Duration::from_secs(3);
const FSYNC_ROUND: Duration = Duration::from_millis(500);
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
    let shared = runtime.block_on(sqlite_db(&folder.path().join("shared.db")))?;
    let customers = runtime.block_on(Customers::prepare(&shared))?;
    let mut bare = Statements::prepare(&folder.path().join("shared.db"), customers.ids())?;
    let single = connect(&folder.path().join("single.db"))?;
    single.execute_batch(SCHEMA)?;

    let (ids, mut next_id) = (Arc::new(AtomicI64::new(0)), 0);
    let (mut plain, mut plain_each) = (Vec::new(), Vec::new());
    let (mut posted, mut bare_posted, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(runtime.block_on(debits_per_second(&shared, &ids))?);
        plain_each.push(single_commits_per_second(&single, &mut next_id)?);
        posted.push(runtime.block_on(ledger_debits_per_second(&customers, &ids))?);
        bare_posted.push(bare.per_second()?);
        syncs.push(fsyncs_per_second(&folder.path().join("synced"))?);
    }
    let beside =
        |id: &str, what, ours: &[f64], yardstick, limit| Line::beside(what, ours.to_vec(), yardstick, limit).id(id);
    Ok(vec![
        beside(
            "plain-sqlite",
            "Two-statement debits, 32 clients, SQLite with group commit; baseline: one fsync per debit",
            &plain,
            plain_each,
            Some(Limit::AtLeast(5.0, "×")),
        ),
        beside(
            "ledger-fsyncs-sqlite",
            "Guarded ledger debits, 32 clients, SQLite; baseline: bare sequential fsyncs of 4 KiB",
            &posted,
            syncs,
            Some(Limit::AtLeast(3.0, "×")),
        ),
        beside(
            "ledger-statements-sqlite",
            "Guarded ledger debits, SQLite, the same; baseline: their bare statements on one connection, 16 debits to a commit",
            &posted,
            bare_posted,
            Some(Limit::AtLeast(0.7, "×")),
        ),
    ])
}

async fn sqlite_db(file: &Path) -> Outcome<Db> {
    connect(file)?.execute_batch(SCHEMA)?;
    let options: DbOptions = format!("sqlite://{}", file.display()).parse()?;
    Ok(Db::open(&options).await?)
}

fn postgres(runtime: &tokio::runtime::Runtime) -> Outcome<Vec<Line>> {
    let server = runtime.block_on(Server::prepare(SCHEMA))?;
    let mut options: DbOptions = server.database.url.parse()?;
    options.connections = CLIENTS;
    let db = runtime.block_on(Db::open(&options))?;
    // One of two transactions is written while the other one commits.
    let customers = runtime.block_on(Customers::prepare(&db))?;
    let ids = Arc::new(AtomicI64::new(0));
    let (mut plain, mut posted, mut yardstick) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(runtime.block_on(debits_per_second(&db, &ids))?);
        yardstick.push(server.pgbench(CLIENTS, ROUND)?);
        posted.push(runtime.block_on(ledger_debits_per_second(&customers, &ids))?);
    }
    drop(customers);
    drop(db);
    runtime.block_on(server.database.delete())?;
    let limit = Some(Limit::AtLeast(1.0, "×"));
    let what = "Two-statement debits, 32 clients, PostgreSQL; baseline: pgbench TPC-B";
    let plain = Line::beside(what, plain, yardstick.clone(), limit).id("plain-postgres");
    let what = "Guarded ledger debits, 32 clients, PostgreSQL; baseline: pgbench TPC-B";
    let limit = Some(Limit::AtLeast(1.5, "×"));
    Ok(vec![plain, Line::beside(what, posted, yardstick, limit).id("ledger-postgres")])
}

/// Two-statement transactions per second, through the service's storage layer.
async fn debits_per_second(db: &Db, ids: &Arc<AtomicI64>) -> Outcome<f64> {
    let db = db.clone();
    per_second(ids, move |id| {
        let db = db.clone();
        async move { db.tx(id, |conn, id| Box::pin(debit(conn, *id))).await }
    })
    .await
}

/// Ledger debits per second.
async fn ledger_debits_per_second(customers: &Arc<Customers>, ids: &Arc<AtomicI64>) -> Outcome<f64> {
    let customers = customers.clone();
    per_second(ids, move |id| customers.clone().debit(id)).await
}

async fn per_second<D, E>(ids: &Arc<AtomicI64>, debit: impl Fn(i64) -> D + Clone + Send + 'static) -> Outcome<f64>
where
    D: Future<Output = Result<(), E>> + Send,
    E: std::error::Error + Send + Sync + 'static,
{
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..CLIENTS {
        let (debit, ids) = (debit.clone(), ids.clone());
        tasks.spawn(async move {
            let mut done = 0_u32;
            while started.elapsed() < ROUND {
                debit(ids.fetch_add(1, Ordering::Relaxed)).await?;
                done += 1;
            }
            Ok::<_, E>(done)
        });
    }
    let total = tasks.join_all().await.into_iter().sum::<Result<u32, _>>()?;
    Ok(f64::from(total) / started.elapsed().as_secs_f64())
}

async fn debit(conn: &mut Conn, id: i64) -> Result<(), DbError> {
    let wallet = wallet_of(id);
    let (balance,): (i64,) = conn.one(DEBIT, params![wallet, AMOUNT]).await?;
    conn.exec(POST, params![id, wallet, AMOUNT, balance]).await?;
    Ok(())
}

/// Spreads the debits over the wallets, not in the order of their ids.
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

fn single_commits_per_second(connection: &Connection, next_id: &mut i64) -> rusqlite::Result<f64> {
    let started = Instant::now();
    let mut done = 0_u32;
    while started.elapsed() < ROUND {
        let (id, wallet) = (*next_id, wallet_of(*next_id));
        *next_id += 1;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let balance: i64 = connection.prepare_cached(DEBIT)?.query_row([wallet, AMOUNT], |row| row.get(0))?;
        connection.prepare_cached(POST)?.execute([id, wallet, AMOUNT, balance])?;
        connection.prepare_cached("COMMIT")?.execute([])?;
        done += 1;
    }
    Ok(f64::from(done) / started.elapsed().as_secs_f64())
}

/// Sequential fsyncs of 4 KiB per second.
fn fsyncs_per_second(path: &Path) -> std::io::Result<f64> {
    let mut file = File::create(path)?;
    let started = Instant::now();
    let mut done = 0_u32;
    while started.elapsed() < FSYNC_ROUND {
        file.write_all(&[0x5A; 4096])?;
        file.sync_data()?;
        done += 1;
    }
    Ok(f64::from(done) / started.elapsed().as_secs_f64())
}
