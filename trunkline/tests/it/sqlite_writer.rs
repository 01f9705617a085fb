//! SQLite's one writer: the order in which it runs transactions, and the checkpoints of its WAL.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use db::{Conn, Db, Result, params};
use futures_util::future::join_all;
use rusqlite::Connection;

use crate::world::engines::TestDb;

const RUNS: &str = "CREATE TABLE runs (number BIGINT PRIMARY KEY NOT NULL, name TEXT NOT NULL);";

async fn write(conn: &mut Conn, name: &str) -> Result<u64> {
    conn.exec("INSERT INTO runs (number, name) SELECT COUNT(*), $1 FROM runs", params![name]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_transactions_take_turns_with_all_others() {
    let db = TestDb::sqlite().await;
    db.ddl(RUNS).await;
    let mut options = db.options();
    (options.group, options.lock_timeout) = (1, Duration::from_secs(60));
    let one_by_one = Db::open(&options).await.unwrap();
    let locker = Connection::open(db.file()).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let all = ["first", "bulk 1", "second", "third", "bulk 2"].map(|name| {
        let (db, name) = (one_by_one.clone(), name.to_owned());
        async move {
            match name.starts_with("bulk") {
                true => db.tx_bulk(name, |conn, name| Box::pin(write(conn, name))).await,
                false => db.tx(name, |conn, name| Box::pin(write(conn, name))).await,
            }
        }
    });
    // Each is enqueued when it is polled first.
    let (written, ()) = tokio::join!(join_all(all), async { locker.execute_batch("COMMIT").unwrap() });
    assert!(written.into_iter().all(|written| written.is_ok()));
    let mut reader = db.read().await.unwrap();
    let ran: Vec<(String,)> = reader.all("SELECT name FROM runs ORDER BY number", &[]).await.unwrap();
    let ran: Vec<&str> = ran.iter().map(|(name,)| name.as_str()).collect();
    assert_eq!(ran, ["first", "second", "bulk 1", "third", "bulk 2"]);
}

async fn fill_pages(conn: &mut Conn) -> Result<u64> {
    let page = "x".repeat(4000);
    conn.exec(
        "INSERT INTO pages (text)
         WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 100)
         SELECT $1 FROM numbers",
        params![page],
    )
    .await
}

/// How often the WAL began anew, by its header.
fn wal_beginnings(db: &TestDb) -> u32 {
    let mut number = [0; 4];
    File::open(db.file().with_extension("db-wal")).unwrap().read_exact_at(&mut number, 12).unwrap();
    u32::from_be_bytes(number)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wal_of_four_thousand_pages_is_copied_and_begins_anew() {
    let db = TestDb::sqlite().await;
    db.ddl("CREATE TABLE pages (text TEXT NOT NULL);").await;
    let before = wal_beginnings(&db);
    let mut transactions = 0;
    // On a busy machine it takes a while.
    while wal_beginnings(&db) == before && transactions < 1000 {
        db.tx((), |conn, ()| Box::pin(fill_pages(conn))).await.unwrap();
        transactions += 1;
    }
    assert!((40..1000).contains(&transactions), "{transactions}");
    let (rows,): (i64,) = db.read().await.unwrap().one("SELECT COUNT(*) FROM pages", &[]).await.unwrap();
    assert_eq!(rows, transactions * 100);
}
