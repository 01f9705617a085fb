//! Where a service keeps its calls, reached past the service: to make millions of them, and to ask for them barely.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use super::fill;
use super::scene::Customer;
use crate::Outcome;
use crate::postgres::Database;
use crate::requests::{CONNECTIONS, ROUND};

const PAGE: &str = "
    SELECT id, call_id, leg, started_at, answered_at, ended_at, duration_seconds, calling, called, country,
           destination_name, status, charge, currency, trunk_id
    FROM cdrs WHERE account_id = $1 ORDER BY started_at DESC, id DESC LIMIT 50";
const PAGE_ROWS: usize = 50;
/// Reading straight from SQLite is work without waiting, so more threads than cores would only be in each other's way.
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

    /// Makes calls of a customer, the first of them numbered `first`, and the sums that stand beside them.
    pub async fn fill(&self, customer: &Customer, first: i64, calls: i64) -> Outcome<()> {
        match self {
            Store::Sqlite(file) => fill::sqlite(&connect(file)?, customer, first, calls),
            Store::Postgres(server) => fill::postgres(server, customer, first, calls).await,
        }
    }

    pub async fn forget(self) -> Outcome<()> {
        match self {
            Store::Sqlite(file) => Ok(std::fs::remove_file(file)?),
            Store::Postgres(server) => server.forget().await,
        }
    }

    /// How often a second somebody could read a customer's latest calls who did nothing else.
    pub async fn pages(&self, customer: &Customer) -> Outcome<f64> {
        match self {
            Store::Sqlite(file) => pages_of_sqlite(file, customer),
            Store::Postgres(server) => pages_of_postgres(server, customer).await,
        }
    }
}

/// A connection that keeps what it is told as the service's does.
pub fn connect(file: &Path) -> Outcome<Connection> {
    let connection = Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536; PRAGMA mmap_size = 268435456;
         PRAGMA wal_autocheckpoint = 4000; PRAGMA busy_timeout = 60000;",
    )?;
    Ok(connection)
}

fn pages_of_sqlite(file: &Path, customer: &Customer) -> Outcome<f64> {
    let begun = Instant::now();
    let total = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(|| read_pages(file, customer, begun))).collect();
        readers.into_iter().map(|reader| reader.join().map_err(|_| "a reader gave up")?).sum::<Outcome<u32>>()
    })?;
    Ok(f64::from(total) / begun.elapsed().as_secs_f64())
}

fn read_pages(file: &Path, customer: &Customer, begun: Instant) -> Outcome<u32> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.execute_batch("PRAGMA mmap_size = 268435456")?;
    let mut statement = connection.prepare(PAGE)?;
    let (mut answered, columns) = (0, statement.column_count());
    while begun.elapsed() < ROUND {
        let rows = statement.query_map([customer.account.uuid().as_bytes()], |row| {
            (0..columns).map(|column| row.get(column)).collect::<Result<Vec<rusqlite::types::Value>, _>>()
        })?;
        if rows.collect::<Result<Vec<_>, _>>()?.len() != PAGE_ROWS {
            return Err("a page that is not full".into());
        }
        answered += 1;
    }
    Ok(answered)
}

async fn pages_of_postgres(server: &Database, customer: &Customer) -> Outcome<f64> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await?;
        tokio::spawn(connection);
        let statement = client.prepare(&PAGE.replace("$1", &format!("'{}'", customer.account.uuid()))).await?;
        clients.push((client, statement));
    }
    let begun = Instant::now();
    let mut asking = JoinSet::new();
    for (client, statement) in clients {
        asking.spawn(async move {
            let mut answered = 0_u32;
            while begun.elapsed() < ROUND {
                if client.query(&statement, &[]).await?.len() != PAGE_ROWS {
                    return Err("a page that is not full".into());
                }
                answered += 1;
            }
            Outcome::Ok(answered)
        });
    }
    let total = asking.join_all().await.into_iter().sum::<Outcome<u32>>()?;
    Ok(f64::from(total) / begun.elapsed().as_secs_f64())
}
