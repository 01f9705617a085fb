//! Direct access to the service's database: to generate CDRs and to run bare statements as a baseline.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use super::fill::{self, Period, Share};
use super::fixture::Customer;
use crate::Outcome;
use crate::postgres::Database;
use crate::requests::{CONNECTIONS, ROUND};

const PAGE: &str = "
    SELECT id, call_id, leg, started_at, answered_at, ended_at, duration_seconds, calling, called, country,
           destination_name, status, charge, currency, trunk_id
    FROM cdrs WHERE account_id = $1 ORDER BY started_at DESC, id DESC LIMIT 50";
const PAGE_ROWS: usize = 50;
/// Reading from SQLite directly does not wait, so more threads than cores would not help.
const READERS: usize = 2;

pub enum Store {
    Sqlite(PathBuf),
    Postgres(Database),
}

impl Store {
    pub fn url(&self) -> String {
        match self {
            Store::Sqlite(file) => format!("sqlite://{}", file.display()),
            Store::Postgres(server) => server.url.clone(),
        }
    }

    /// The name of the engine.
    pub fn engine(&self) -> &'static str {
        match self {
            Store::Sqlite(_) => "SQLite",
            Store::Postgres(_) => "PostgreSQL",
        }
    }

    /// What ends the id of a row about it.
    pub fn id(&self) -> &'static str {
        match self {
            Store::Sqlite(_) => "sqlite",
            Store::Postgres(_) => "postgres",
        }
    }

    /// Generates this many CDRs of the first customer, of the second and so on, and their rollups. Nothing else may use
    /// the database.
    pub async fn fill(&self, customers: &[Customer], period: Period, calls: &[i64]) -> Outcome<()> {
        let shares = Share::of(customers, calls);
        match self {
            Store::Sqlite(file) => {
                let file = file.clone();
                tokio::task::spawn_blocking(move || fill::sqlite(&connect(&file)?, period, &shares)).await?
            }
            Store::Postgres(server) => fill::postgres(server, period, &shares).await,
        }
    }

    /// Writes to the tables what is only in the log.
    pub async fn checkpoint(&self) -> Outcome<()> {
        match self {
            Store::Sqlite(file) => {
                let file = file.clone();
                let checkpoint = move || Outcome::Ok(connect(&file)?.execute_batch("PRAGMA wal_checkpoint(PASSIVE)")?);
                tokio::task::spawn_blocking(checkpoint).await?
            }
            Store::Postgres(server) => server.run("CHECKPOINT").await,
        }
    }

    pub async fn delete(self) -> Outcome<()> {
        match self {
            Store::Sqlite(file) => Ok(std::fs::remove_file(file)?),
            Store::Postgres(server) => server.delete().await,
        }
    }

    /// Pages of a customer's latest CDRs per second, with the bare statement.
    pub async fn pages(&self, customer: &Customer) -> Outcome<f64> {
        match self {
            Store::Sqlite(file) => sqlite_pages(file, customer),
            Store::Postgres(server) => postgres_pages(server, customer).await,
        }
    }
}

/// A connection with the same durability as the service's.
pub fn connect(file: &Path) -> Outcome<Connection> {
    let connection = Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536; PRAGMA mmap_size = 268435456;
         PRAGMA wal_autocheckpoint = 4000; PRAGMA busy_timeout = 60000;",
    )?;
    Ok(connection)
}

fn sqlite_pages(file: &Path, customer: &Customer) -> Outcome<f64> {
    let started = Instant::now();
    let total = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(|| read_pages(file, customer, started))).collect();
        readers.into_iter().map(|reader| reader.join().map_err(|_| "a reader panicked")?).sum::<Outcome<u32>>()
    })?;
    Ok(f64::from(total) / started.elapsed().as_secs_f64())
}

fn read_pages(file: &Path, customer: &Customer, started: Instant) -> Outcome<u32> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.execute_batch("PRAGMA mmap_size = 268435456")?;
    let mut statement = connection.prepare(PAGE)?;
    let (mut pages, columns) = (0, statement.column_count());
    while started.elapsed() < ROUND {
        let rows = statement.query_map([customer.account.uuid().as_bytes()], |row| {
            (0..columns).map(|column| row.get(column)).collect::<Result<Vec<rusqlite::types::Value>, _>>()
        })?;
        if rows.collect::<Result<Vec<_>, _>>()?.len() != PAGE_ROWS {
            return Err("a page is not full".into());
        }
        pages += 1;
    }
    Ok(pages)
}

async fn postgres_pages(server: &Database, customer: &Customer) -> Outcome<f64> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await?;
        tokio::spawn(connection);
        let statement = client.prepare(&PAGE.replace("$1", &format!("'{}'", customer.account.uuid()))).await?;
        clients.push((client, statement));
    }
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for (client, statement) in clients {
        tasks.spawn(async move {
            let mut pages = 0_u32;
            while started.elapsed() < ROUND {
                if client.query(&statement, &[]).await?.len() != PAGE_ROWS {
                    return Err("a page is not full".into());
                }
                pages += 1;
            }
            Outcome::Ok(pages)
        });
    }
    let total = tasks.join_all().await.into_iter().sum::<Outcome<u32>>()?;
    Ok(f64::from(total) / started.elapsed().as_secs_f64())
}
