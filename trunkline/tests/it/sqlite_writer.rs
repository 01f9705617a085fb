//! The order in which SQLite's one writer runs transactions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

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
