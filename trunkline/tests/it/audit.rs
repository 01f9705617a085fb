//! The audit chain: `trunkline audit verify` finds every altered, deleted or inserted row.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use db::{Db, DbError};
use futures_util::future::join_all;
use platform::audit::{self, Entry};
use serde_json::json;
use tempfile::TempDir;
use values::Role;

use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::links::CORA;
use crate::world::fixtures::metrics::Scrape;
use crate::world::{PASSWORD, World, process};

const DAY: u64 = 24 * 3600;

/// Each is an alteration of row 4 and what of it the row's hash covers.
const ALTERATIONS: [&str; 14] = [
    "UPDATE audit_log SET id = user_id WHERE seq = 4",
    "UPDATE audit_log SET ts = ts + 1 WHERE seq = 4",
    "UPDATE audit_log SET action = 'account.updatf' WHERE seq = 4",
    "UPDATE audit_log SET account_id = NULL WHERE seq = 4",
    "UPDATE audit_log SET user_id = account_id WHERE seq = 4",
    "UPDATE audit_log SET actor = 'admin' WHERE seq = 4",
    "UPDATE audit_log SET actor = 'nobody' WHERE seq = 4",
    "UPDATE audit_log SET ip = '127.0.0.2' WHERE seq = 4",
    "UPDATE audit_log SET user_agent = '' WHERE seq = 4",
    "UPDATE audit_log SET outcome = 'failure' WHERE seq = 4",
    "UPDATE audit_log SET reason = '' WHERE seq = 4",
    "UPDATE audit_log SET meta = '{}' WHERE seq = 4",
    "UPDATE audit_log SET hash = (SELECT hash FROM audit_log WHERE seq = 1) WHERE seq = 4",
    // The content of the next row under this number.
    "UPDATE audit_log SET seq = CASE seq WHEN 4 THEN -5 ELSE -4 END WHERE seq IN (4, 5)",
];

both! {
    async fn an_untouched_audit_chain_verifies(db) {
        let folder = written(db, 6).await;
        assert_eq!(verify(db, &folder), (true, "The audit chain is valid: 6 rows.".into()));
    }

    async fn the_chain_is_not_verified_with_the_secrets_of_another_installation(db) {
        let folder = written(db, 3).await;
        let output = process::run(db, folder.path(), &[], &["audit", "verify"]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains("TRUNKLINE_MASTER_SECRET is not set"), "{told}");
        let other = [("TRUNKLINE_MASTER_SECRET", "a master secret that is another one 0123456789")];
        let output = process::run(db, folder.path(), &other, &["audit", "verify"]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains("created with another master secret"), "{told}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "secrets were made up");
    }

    async fn every_altered_column_is_found_and_its_row_named(db) {
        let folder = written(db, 8).await;
        change(db, "CREATE TABLE audit_copy AS SELECT * FROM audit_log").await;
        for alteration in ALTERATIONS {
            change(db, alteration).await;
            change(db, "UPDATE audit_log SET seq = -seq WHERE seq < 0").await;
            let (holds, message) = verify(db, &folder);
            assert!(!holds, "{alteration} went unnoticed");
            assert!(message.contains("audit chain is broken: row 4 "), "{alteration}: {message}");
            change(db, "DELETE FROM audit_log").await;
            change(db, "INSERT INTO audit_log SELECT * FROM audit_copy").await;
        }
        assert!(verify(db, &folder).0);
    }

    async fn a_deleted_row_is_found_at_any_position(db) {
        let folder = written(db, 6).await;
        change(db, "DELETE FROM audit_log WHERE seq = 6").await;
        let (holds, message) = verify(db, &folder);
        assert!(!holds && message.contains("ends with row 5, its head says 6"), "{message}");
        change(db, "DELETE FROM audit_log WHERE seq = 3").await;
        let (holds, message) = verify(db, &folder);
        assert!(!holds && message.contains("after row 2 comes row 4"), "{message}");
        change(db, "DELETE FROM audit_log WHERE seq = 1").await;
        let (holds, message) = verify(db, &folder);
        assert!(!holds && message.contains("after row 0 comes row 2"), "{message}");
        change(db, "DELETE FROM audit_log").await;
        let (holds, message) = verify(db, &folder);
        assert!(!holds && message.contains("ends with row 0, its head says 6"), "{message}");
    }

    async fn an_inserted_row_is_found(db) {
        let folder = written(db, 6).await;
        change(
            db,
            "INSERT INTO audit_log (seq, id, ts, action, outcome, hash)
             SELECT 7, account_id, ts, 'account.update', 'success', hash FROM audit_log WHERE seq = 6",
        )
        .await;
        let (holds, message) = verify(db, &folder);
        assert!(!holds && message.contains("row 7 "), "{message}");
    }

    async fn a_rewound_chain_head_is_found(db) {
        let folder = written(db, 6).await;
        change(db, "UPDATE audit_head SET hash = (SELECT hash FROM audit_log WHERE seq = 5)").await;
        let (holds, message) = verify(db, &folder);
        assert!(!holds && message.contains("the head was changed"), "{message}");
    }

    async fn failures_of_strangers_are_counted_and_not_in_the_audit_log(db) {
        let world = World::unlimited(db).await;
        world.user(CORA, Role::Customer).await;
        let stranger = world.anyone();
        for number in 0..5 {
            let email = format!("nobody{number}@x.example");
            stranger.post("/auth/sign-in", json!({"email": email, "password": PASSWORD})).await.expect(401);
            stranger.post("/auth/refresh", json!({"refresh_token": "x".repeat(43)})).await.expect(401);
            let reset = json!({"token": "x".repeat(43), "new_password": "an entirely new secret"});
            stranger.post("/auth/reset-password", reset).await.expect(401);
            stranger.post("/webhooks/payments/elsewhere", json!({})).await.expect(404);
            stranger.post("/webhooks/payments/sandbox", json!({"event": "x", "order_id": "y"})).await.expect(401);
        }
        assert_eq!(count(db, "SELECT COUNT(*) FROM audit_log").await, 0);
        let scrape = Scrape::of(&world).await;
        for (action, times) in
            [("session.sign_in", 5.0), ("session.refresh", 5.0), ("password.reset", 5.0), ("payment.callback", 10.0)]
        {
            let sample = format!(r#"trunkline_unattributed_failures_total{{action="{action}"}}"#);
            assert_eq!(scrape.value(&sample), times, "{action}");
        }
        // Who tries a known user's password is of interest to the team; lock-outs bound how often.
        world.try_sign_in(CORA, "not the password").await.expect(401);
        assert_eq!(count(db, "SELECT COUNT(*) FROM audit_log WHERE outcome = 'failure'").await, 1);
        world.end().await;
    }

    async fn a_long_audit_log_moves_to_files_of_bounded_length(db) {
        let world = World::with(db, &[("TRUNKLINE_AUDIT_DAYS", "30")]).await;
        world.settle().await;
        // The cleanup of files would take those for weeks old.
        change(db, "UPDATE schedules SET next_run_at = next_run_at + 31536000000 WHERE name = 'orphans'").await;
        let append = world.node.app.db.tx(world.node.app.clone(), |conn, app| {
            Box::pin(async move {
                let entry = Entry::by_system("secrets.rotate", None, [("by", "test")]);
                for _ in 0..2500 {
                    audit::append(conn, &app.keys, &entry).await?;
                }
                Ok::<_, DbError>(())
            })
        });
        append.await.unwrap();
        world.advance(32 * DAY).await;
        let files = if db.is_shared() { 1 } else { 3 };
        let folder = world.take_folder().await;
        let (holds, message) = verify_archives(db, folder.path());
        assert!(holds && message.contains(&format!("older rows are valid too, in {files} files")), "{message}");
    }

    async fn old_audit_rows_move_to_files_that_verify(db) {
        let world = World::with(db, &[("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_AUDIT_DAYS", "30")]).await;
        world.settle().await;
        // The cleanup of files runs alone at the end: by the test's clock, a file that was just written is weeks old.
        change(db, "UPDATE schedules SET next_run_at = next_run_at + 31536000000 WHERE name = 'orphans'").await;
        let caller = world.minted(Role::Customer).await;
        let rename = async |caller: &Client, name: &str| {
            caller.patch("/account", json!({"company_name": name})).await.expect(200);
        };
        for number in 0..6 {
            rename(&caller, &format!("Name {number}")).await;
        }
        world.advance(20 * DAY).await;
        let caller = world.minted(Role::Customer).await;
        rename(&caller, "In between").await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM audit_checkpoints").await, 0);
        world.advance(12 * DAY).await;
        assert_eq!(count(db, "SELECT MIN(seq) FROM audit_log").await, 7);
        assert_eq!(count(db, "SELECT last_seq FROM audit_checkpoints").await, 6);
        // The next one follows, and the cleanup of files keeps both.
        world.advance(20 * DAY).await;
        change(db, "UPDATE schedules SET next_run_at = 0 WHERE name = 'orphans'").await;
        world.advance(1).await;
        assert!(count(db, "SELECT COUNT(*) FROM audit_checkpoints").await > 1);
        let folder = world.take_folder().await;
        let (holds, message) = verify_archives(db, folder.path());
        assert!(holds && message.contains("older rows are valid too, in 2 files"), "{message}");

        change(db, "UPDATE audit_checkpoints SET created_at = created_at + 1 WHERE first_seq = 1").await;
        let (holds, message) = verify_archives(db, folder.path());
        assert!(!holds && message.contains("the checkpoint at row 6 was altered"), "{message}");
        change(db, "UPDATE audit_checkpoints SET created_at = created_at - 1 WHERE first_seq = 1").await;
        assert!(verify_archives(db, folder.path()).0);

        let sql = "SELECT content_hash FROM audit_checkpoints WHERE first_seq = 1";
        let (hash,): (Vec<u8>,) = db.read().await.unwrap().one(sql, &[]).await.unwrap();
        let archived = stored_file(&folder.path().join("files"), &HEXLOWER.encode(&hash)).unwrap();
        let original = std::fs::read(&archived).unwrap();
        let mut altered = original.clone();
        altered[original.len() / 2] ^= 1;
        std::fs::write(&archived, altered).unwrap();
        assert!(!verify_archives(db, folder.path()).0, "an altered file went unnoticed");
        std::fs::write(&archived, original).unwrap();
        assert!(verify_archives(db, folder.path()).0);
        std::fs::remove_file(&archived).unwrap();
        let (holds, message) = verify_archives(db, folder.path());
        assert!(!holds && message.contains("the file of the rows 1 to 6 is missing or was altered"), "{message}");

        change(db, "DELETE FROM audit_checkpoints WHERE first_seq > 1").await;
        let (holds, message) = verify_archives(db, folder.path());
        assert!(!holds && message.contains("after row 6 comes row"), "{message}");
    }

    async fn fifty_concurrent_changes_make_one_chain_without_a_gap(db) {
        let world = World::unlimited(db).await;
        let mut callers: Vec<Client> = Vec::new();
        for _ in 0..50 {
            callers.push(world.minted(Role::Customer).await);
        }
        let changes = callers.iter().map(|caller| caller.patch("/account", json!({"company_name": "All at once"})));
        for answer in join_all(changes).await {
            answer.expect(200);
        }
        let mut reader = db.read().await.unwrap();
        let rows: Vec<(i64, String)> = reader.all("SELECT seq, action FROM audit_log ORDER BY seq", &[]).await.unwrap();
        drop(reader);
        let expected: Vec<(i64, String)> = (1..=50).map(|seq| (seq, "account.update".to_owned())).collect();
        assert_eq!(rows, expected);
        world.end().await;
    }
}

/// A log of this many rows, written by a stopped service; returns the folder with its secrets.
async fn written(db: &TestDb, rows: usize) -> TempDir {
    let world = World::unlimited(db).await;
    let caller = world.minted(Role::Customer).await;
    for number in 0..rows {
        caller.patch("/account", json!({"company_name": format!("Name {number}")})).await.expect(200);
    }
    world.end().await;
    TempDir::new().unwrap()
}

/// The file of this hash, wherever in the folder it is.
fn stored_file(folder: &Path, hash: &str) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.find_map(|path| {
        let rest = path.to_string_lossy().replace('/', "");
        if path.is_dir() { stored_file(&path, hash) } else { rest.contains(hash).then_some(path) }
    })
}

fn verify_archives(db: &TestDb, folder: &Path) -> (bool, String) {
    let settings = [("TRUNKLINE_MASTER_SECRET", crate::world::MASTER_SECRET)];
    let output = process::run(db, folder, &settings, &["audit", "verify", "--archives"]);
    let words = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(words).unwrap().trim().to_owned())
}

async fn count(db: &Db, sql: &'static str) -> i64 {
    db.read().await.unwrap().one::<(i64,)>(sql, &[]).await.unwrap().0
}

/// Whether the chain holds, and what the command says.
fn verify(db: &TestDb, folder: &TempDir) -> (bool, String) {
    let settings = [("TRUNKLINE_MASTER_SECRET", crate::world::MASTER_SECRET)];
    let output = process::run(db, folder.path(), &settings, &["audit", "verify"]);
    let words = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(words).unwrap().trim().to_owned())
}

async fn change(db: &Db, sql: &'static str) {
    let change = db.tx(sql, |conn, sql| Box::pin(async move { conn.exec(sql, &[]).await.map(drop) }));
    change.await.unwrap();
}
