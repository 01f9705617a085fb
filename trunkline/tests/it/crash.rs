//! Committed rows survive `kill -9`.
//!
//! The test starts its own binary again as a writer, which prints an id after each commit, and kills it mid-way.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use db::params;
use db::{Db, DbError};
use uuid::Uuid;

use crate::world::engines::{both, uuid};

const URL: &str = "TRUNKLINE_TEST_CRASH_URL";
const ROUNDS: usize = 4;
const ACKNOWLEDGED: &str = "acknowledged ";

both! {
    async fn every_committed_row_survives_a_killed_process(db) {
        db.ddl("CREATE TABLE scribbles (id UUID PRIMARY KEY NOT NULL);").await;
        let mut acknowledged = Vec::new();
        for round in 1..=ROUNDS {
            acknowledged.extend(write_and_die(&db.url, 150 * round));
        }
        let reopened = Db::open(&db.options()).await.unwrap();
        let mut reader = reopened.read().await.unwrap();
        for id in &acknowledged {
            let found = reader.opt::<(Uuid,)>("SELECT id FROM scribbles WHERE id = $1", params![*id]).await.unwrap();
            assert!(found.is_some(), "{id} was acknowledged and is gone");
        }
        assert!(acknowledged.len() >= 150 * (1 + 2 + 3 + 4));
    }
}

/// Kills a writer after this many acknowledged rows and returns all acknowledged ids.
fn write_and_die(url: &str, rows: usize) -> Vec<Uuid> {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::a_writer_that_is_killed", "--ignored", "--nocapture"])
        .env(URL, url)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    for line in lines.map_while(Result::ok) {
        // The last line may have been cut short by the kill.
        if let Some(id) = line.strip_prefix(ACKNOWLEDGED).and_then(|id| id.parse().ok()) {
            acknowledged.push(id);
        }
        if acknowledged.len() == rows {
            writer.kill().unwrap();
        }
    }
    writer.wait().unwrap();
    acknowledged
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the other half of every_committed_row_survives_a_killed_process"]
async fn a_writer_that_is_killed() {
    let Ok(url) = std::env::var(URL) else { return };
    let db = Db::open(&url.parse().unwrap()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let db = db.clone();
        tasks.spawn(async move {
            loop {
                let id = uuid();
                let insert = db.tx(id, |conn, id| {
                    Box::pin(async move {
                        conn.exec("INSERT INTO scribbles (id) VALUES ($1)", params![*id]).await?;
                        Ok::<_, DbError>(())
                    })
                });
                insert.await.unwrap();
                println!("{ACKNOWLEDGED}{}", id.simple());
            }
        });
    }
    tasks.join_all().await;
}
