//! A file is stored before its row: a service killed between the two leaves an orphaned file, which is deleted later,
//! and never a row without its file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::Path;

use db::DbError;
use db::params;
use platform::crypto::passwords::{Cost, Passwords};
use platform::outside::files::ContentHash;
use serde_json::json;
use tempfile::TempDir;
use values::{Role, Time};

use crate::world::engines::{TestDb, both, postgres_client};
use crate::world::form::{Form, pdf};
use crate::world::process::{self, Process};
use crate::world::s3::{S3Server, files_below};
use crate::world::{PASSWORD, accounts};

const UPLOAD: &str = "/me/kyb/documents";
const EMAIL: &str = "cora@customer.example";

both! {
    async fn a_file_orphaned_by_a_kill_is_deleted(db) {
        let folder = TempDir::new().unwrap();
        kill_between_file_and_row(db, folder.path(), &folder.path().join("files"), &[]).await;
    }

    async fn an_object_orphaned_by_a_kill_is_deleted_from_the_bucket(db) {
        let (folder, server) = (TempDir::new().unwrap(), S3Server::start().await);
        let settings = server.settings();
        let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        kill_between_file_and_row(db, folder.path(), &server.objects(), &settings).await;
    }
}

async fn kill_between_file_and_row(db: &TestDb, folder: &Path, stored: &Path, settings: &[(&str, &str)]) {
    let settings = [settings, &[("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TEST_CLOCK", "on")]].concat();
    customer(db).await;
    let mut node = serve(db, folder, &settings);
    let session = node.anyone().post("/auth/sign-in", json!({"email": EMAIL, "password": PASSWORD})).await.ok();
    let cora = node.bearing(session["access_token"].as_str().unwrap());
    Form::document("other", "kept.pdf", &pdf("/Kept 1")).post(&cora, UPLOAD).await.expect(201);
    let named = named_files(db).await;
    assert_eq!((named.len(), &stored_files(stored)), (1, &named));

    // The database is locked for writes, so the next upload stores its file and not its row.
    let lock = Lock::take(db).await;
    let upload = tokio::spawn({
        let form = Form::document("other", "lost.pdf", &pdf("/Lost 1"));
        // Dies with the service, and this task with it.
        async move { form.post(&cora, UPLOAD).await.expect(201) }
    });
    while stored_files(stored).len() < 2 {
        assert!(node.is_running() && !upload.is_finished());
        tokio::task::yield_now().await;
    }
    node.kill();
    assert!(upload.await.is_err(), "the upload was acknowledged");
    lock.release().await;

    let node = serve(db, folder, &settings);
    assert_eq!(named_files(db).await, named);
    assert_eq!(stored_files(stored).len(), 2);
    node.advance(2 * 86_400).await;
    assert_eq!(named_files(db).await, named);
    assert_eq!(stored_files(stored), named);
    drop(node);
    let verified = tokio::task::block_in_place(|| process::run(db, folder, &settings, &["audit", "verify"]));
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

/// The bucket's server runs in this process, so waiting for the service must not stop it.
fn serve(db: &TestDb, folder: &Path, settings: &[(&str, &str)]) -> Process {
    tokio::task::block_in_place(|| Process::serve(db, folder, settings))
}

/// A lock on the database that blocks inserts of documents but no reads.
enum Lock {
    Sqlite(rusqlite::Connection),
    Postgres(tokio_postgres::Client),
}

impl Lock {
    async fn take(db: &TestDb) -> Lock {
        if db.is_shared() {
            let client = postgres_client(&db.url).await;
            client.batch_execute("BEGIN; LOCK TABLE intake_documents IN EXCLUSIVE MODE").await.unwrap();
            return Lock::Postgres(client);
        }
        let connection = rusqlite::Connection::open(db.file()).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Lock::Sqlite(connection)
    }

    async fn release(self) {
        match self {
            Lock::Sqlite(connection) => connection.execute_batch("ROLLBACK").unwrap(),
            Lock::Postgres(client) => client.batch_execute("ROLLBACK").await.unwrap(),
        }
    }
}

async fn customer(db: &TestDb) {
    let hash = Passwords::new(Cost::Minimal).hash(PASSWORD).await.unwrap();
    let insert = db.tx(hash, |conn, hash| {
        Box::pin(async move {
            let start = Time::from_millis(0);
            let account = accounts::live_account(conn, EMAIL, start).await?;
            accounts::user_of(conn, account, EMAIL, Role::Customer, Some(hash.clone()), start).await?;
            Ok::<_, DbError>(())
        })
    });
    insert.await.unwrap();
}

/// The files that rows name.
async fn named_files(db: &TestDb) -> BTreeSet<String> {
    let mut conn = db.read().await.unwrap();
    let rows: Vec<(ContentHash,)> = conn.all("SELECT content_hash FROM intake_documents", params![]).await.unwrap();
    rows.into_iter().map(|(hash,)| hash.to_string()).collect()
}

/// The files that are stored; what is still arriving, or only marks a removal, is none.
fn stored_files(folder: &Path) -> BTreeSet<String> {
    let names = files_below(folder).into_iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned());
    names.filter(|name| ContentHash::parse(name).is_some()).collect()
}
