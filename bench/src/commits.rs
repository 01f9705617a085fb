//! Guarded debits, each a durable transaction, asked for by 32 tasks at once: one of two statements, which tells what the
//! storage layer is worth, and the ledger's own, which is what a call costs.
//!
//! Both stand beside the same yardstick. On SQLite it is the two statements straight on one connection with a commit
//! each, so the ratio tells what sharing commits is worth. On PostgreSQL it is pgbench's TPC-B-like script (five
//! statements) on the same server.

mod ledger;
pub mod pgbench;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::task::JoinSet;
use trunkline::db::{Conn, Db, DbError, DbOptions, params};

use crate::report::{Limit, Line};
use crate::{Outcome, ROUNDS};
use ledger::Customers;
use pgbench::Server;

pub const TASKS: usize = 32;
const ROUND: Duration = Duration::from_secs(3);
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
    let shared_file = folder.path().join("shared.db");
    connect(&shared_file)?.execute_batch(SCHEMA)?;
    let options: DbOptions = format!("sqlite://{}", shared_file.display()).parse()?;
    let db = runtime.block_on(Db::open(&options))?;
    let customers = runtime.block_on(Customers::prepare(&db))?;
    let single = connect(&folder.path().join("single.db"))?;
    single.execute_batch(SCHEMA)?;

    let (ids, mut next_id) = (Arc::new(AtomicI64::new(0)), 0);
    let (mut plain, mut posted, mut yardstick) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(runtime.block_on(through_db(&db, &ids))?);
        yardstick.push(one_commit_each(&single, &mut next_id)?);
        posted.push(runtime.block_on(through_ledger(&db, &customers, &ids))?);
    }
    let what = "guarded debits, SQLite: through `Db`, beside a commit each";
    let plain = Line::beside(what, plain, yardstick.clone(), Some(Limit::AtLeast(5.0, "×")));
    let what = "ledger debits, SQLite, beside the same";
    Ok(vec![plain, Line::beside(what, posted, yardstick, Some(Limit::AtLeast(1.0, "×")))])
}

fn postgres(runtime: &tokio::runtime::Runtime) -> Outcome<Vec<Line>> {
    let server = runtime.block_on(Server::prepare(SCHEMA))?;
    let mut options: DbOptions = server.url.parse()?;
    options.connections = TASKS;
    let db = runtime.block_on(Db::open(&options))?;
    let customers = runtime.block_on(Customers::prepare(&db))?;
    let ids = Arc::new(AtomicI64::new(0));
    let (mut plain, mut posted, mut yardstick) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(runtime.block_on(through_db(&db, &ids))?);
        yardstick.push(server.pgbench(TASKS, ROUND)?);
        posted.push(runtime.block_on(through_ledger(&db, &customers, &ids))?);
    }
    drop(customers);
    drop(db);
    runtime.block_on(server.forget())?;
    let what = "guarded debits, PostgreSQL: through `Db`, beside pgbench's TPC-B";
    let plain = Line::beside(what, plain, yardstick.clone(), Some(Limit::AtLeast(1.0, "×")));
    let what = "ledger debits, PostgreSQL, beside the same";
    Ok(vec![plain, Line::beside(what, posted, yardstick, Some(Limit::AtLeast(0.5, "×")))])
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
    for _ in 0..TASKS {
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
