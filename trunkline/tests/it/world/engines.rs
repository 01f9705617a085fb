//! A new database for every test, on SQLite and on PostgreSQL.
//!
//! Both kinds are copied from a template that is migrated once and shared by every test process: a SQLite file under
//! the target folder, a PostgreSQL database on the server that `TRUNKLINE_TEST_POSTGRES` names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use db::{Clock, Db, DbOptions, Entropy, MIGRATIONS, sqlite_ddl};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use tokio_postgres::NoTls;
use uuid::Uuid;

/// Declares tests that run on both engines, in modules `sqlite` and `postgres`.
macro_rules! both {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident) $body:block)*) => {
        $(async fn $name($db: &$crate::world::engines::TestDb) $body)*

        mod sqlite {
            $(
                $(#[$meta])*
                #[test]
                fn $name() {
                    $crate::world::engines::on_sqlite(|db| Box::pin(super::$name(db)));
                }
            )*
        }

        mod postgres {
            $(
                $(#[$meta])*
                #[test]
                fn $name() {
                    $crate::world::engines::on_postgres(|db| Box::pin(super::$name(db)));
                }
            )*
        }
    };
}
pub(crate) use both;

/// Declares tests of what comes before the database: HTTP, access rules, pages, files. They need one, but either does,
/// and SQLite is quicker. In a module `sqlite_only`.
macro_rules! sqlite {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident) $body:block)*) => {
        $(async fn $name($db: &$crate::world::engines::TestDb) $body)*

        mod sqlite_only {
            $(
                $(#[$meta])*
                #[test]
                fn $name() {
                    $crate::world::engines::on_sqlite(|db| Box::pin(super::$name(db)));
                }
            )*
        }
    };
}
pub(crate) use sqlite;

/// Declares tests that only PostgreSQL can run, in a module `postgres_only`: those that need several nodes on one
/// database, or a database that goes away.
macro_rules! postgres {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident) $body:block)*) => {
        $(async fn $name($db: &$crate::world::engines::TestDb) $body)*

        mod postgres_only {
            $(
                $(#[$meta])*
                #[test]
                fn $name() {
                    $crate::world::engines::on_postgres(|db| Box::pin(super::$name(db)));
                }
            )*
        }
    };
}
pub(crate) use postgres;

/// A test, as a plain function: generic code would be compiled once for each of them.
type Test = for<'a> fn(&'a TestDb) -> LocalBoxFuture<'a, ()>;

/// Runs a test with a new SQLite database.
pub fn on_sqlite(test: Test) {
    block_on(Box::pin(async move { TestDb::sqlite().await.run(async |db| test(db).await).await }));
}

/// Runs a test with a new PostgreSQL database.
pub fn on_postgres(test: Test) {
    block_on(Box::pin(async move { TestDb::postgres().await.run(async |db| test(db).await).await }));
}

fn block_on(test: LocalBoxFuture<'_, ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(test);
}

/// A migrated database of one test.
pub struct TestDb {
    /// Opened when it is used first: many tests use the one of their world only.
    db: OnceLock<Db>,
    /// The URL to open it again.
    pub url: String,
    place: Place,
}

enum Place {
    Folder(TempDir),
    /// The name of the database, and a connection to the server it is on.
    Server(String, tokio_postgres::Client),
}

impl Deref for TestDb {
    type Target = Db;

    fn deref(&self) -> &Db {
        self.db.get_or_init(|| block_in_place(|| Handle::current().block_on(open(&self.url))))
    }
}

impl TestDb {
    pub async fn sqlite() -> TestDb {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("test.db");
        std::fs::copy(sqlite_template().await, &file).unwrap();
        let url = format!("sqlite://{}", file.display());
        TestDb { db: OnceLock::new(), url, place: Place::Folder(folder) }
    }

    pub async fn postgres() -> TestDb {
        let server = postgres_client(&postgres_url("postgres")).await;
        let template = postgres_template(&server).await;
        let name = format!("trunkline_test_{}", uuid().simple());
        // Copied as files, which keeps the throwaway database out of the write-ahead log.
        let create = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
        server.batch_execute(&create).await.unwrap();
        let url = postgres_url(&name);
        TestDb { db: OnceLock::new(), url, place: Place::Server(name, server) }
    }

    pub fn options(&self) -> DbOptions {
        self.url.parse().unwrap()
    }

    /// The SQLite file; PostgreSQL has none.
    pub fn file(&self) -> PathBuf {
        match &self.place {
            Place::Folder(folder) => folder.path().join("test.db"),
            Place::Server(..) => panic!("only SQLite is a file"),
        }
    }

    /// The URL of another database of the same engine, without any table. It goes away with this one, or with the folder.
    pub async fn empty_beside(&self, folder: &Path) -> String {
        match &self.place {
            Place::Folder(_) => format!("sqlite://{}", folder.join("trunkline.db").display()),
            Place::Server(name, server) => {
                server.batch_execute(&format!("CREATE DATABASE {name}_beside")).await.unwrap();
                postgres_url(&format!("{name}_beside"))
            }
        }
    }

    /// Creates what only a test needs. The text is DDL for both engines, each statement ended by a semicolon.
    pub async fn ddl(&self, text: &str) {
        let text = if self.is_shared() { text.to_owned() } else { sqlite_ddl(text) };
        let statements: Vec<String> = text.split_inclusive(';').map(str::to_owned).collect();
        let run = self.tx(statements, |conn, statements| {
            Box::pin(async move {
                for statement in statements.iter().filter(|statement| !statement.trim().is_empty()) {
                    conn.exec(statement.clone().leak(), &[]).await?;
                }
                Ok::<_, db::DbError>(())
            })
        });
        run.await.unwrap();
    }

    /// Ends every connection to the database and refuses new ones (PostgreSQL only).
    pub async fn stop_accepting(&self) {
        let (name, server) = self.server();
        server.batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await.unwrap();
        let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
        server.batch_execute(&end).await.unwrap();
    }

    pub async fn accept_again(&self) {
        let (name, server) = self.server();
        server.batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await.unwrap();
    }

    /// Waits until a statement waits for a lock, and returns its process id.
    pub async fn until_one_waits(&self) -> i32 {
        let (name, server) = self.server();
        let waiting = "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'";
        loop {
            if let Some(row) = server.query_opt(waiting, &[&name]).await.unwrap() {
                return row.get(0);
            }
        }
    }

    fn server(&self) -> (&str, &tokio_postgres::Client) {
        match &self.place {
            Place::Server(name, server) => (name, server),
            Place::Folder(_) => panic!("a file is on no server"),
        }
    }

    /// Runs a test and removes the database, whether it passed or not.
    pub async fn run(self, test: impl AsyncFnOnce(&TestDb)) {
        let outcome = AssertUnwindSafe(test(&self)).catch_unwind().await;
        if let Place::Server(name, server) = &self.place {
            for name in [name, &format!("{name}_beside")] {
                server.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await.unwrap();
            }
        }
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
    }
}

/// An id that no other test has.
pub fn uuid() -> Uuid {
    Entropy.uuid(Clock::system().now())
}

async fn open(url: &str) -> Db {
    Db::open(&url.parse().unwrap()).await.unwrap()
}

/// Changes with every change of the migrations.
fn template_name() -> String {
    let past: Vec<String> =
        MIGRATIONS.iter().map(|migration| format!("{} {}", migration.name, migration.checksum())).collect();
    let hash = HEXLOWER.encode(digest(&SHA256, past.join("\n").as_bytes()).as_ref());
    format!("trunkline_template_{}", &hash[..16])
}

async fn sqlite_template() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(folder).unwrap();
    let template = folder.join(template_name()).with_extension("db");
    if !template.exists() {
        let building = TempDir::new_in(folder).unwrap();
        let (source, copy) = (building.path().join("source.db"), building.path().join("copy.db"));
        open(&format!("sqlite://{}", source.display())).await.migrate().await.unwrap();
        let connection = rusqlite::Connection::open(&source).unwrap();
        connection.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        std::fs::rename(copy, &template).unwrap();
    }
    template
}

/// The URL of a database on the test server.
fn postgres_url(database: &str) -> String {
    let admin = std::env::var("TRUNKLINE_TEST_POSTGRES").expect("no PostgreSQL to test on: run make test");
    let (server, _) = admin.rsplit_once('/').expect("TRUNKLINE_TEST_POSTGRES ends in /postgres");
    format!("{server}/{database}?sslmode=disable")
}

pub async fn postgres_client(url: &str) -> tokio_postgres::Client {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.expect("the test server answers: run make test");
    tokio::spawn(connection);
    client
}

/// Test processes run side by side: one builds the template while the others wait, and it appears under its name only
/// when it is complete.
async fn postgres_template(client: &tokio_postgres::Client) -> String {
    let template = template_name();
    client.batch_execute("SELECT pg_advisory_lock(7310589422)").await.unwrap();
    let found = client.query_opt("SELECT 1 FROM pg_database WHERE datname = $1", &[&template]).await.unwrap();
    if found.is_none() {
        let building = format!("{template}_building");
        client.batch_execute(&format!("DROP DATABASE IF EXISTS {building} WITH (FORCE)")).await.unwrap();
        client.batch_execute(&format!("CREATE DATABASE {building}")).await.unwrap();
        open(&postgres_url(&building)).await.migrate().await.unwrap();
        client.batch_execute(&format!("ALTER DATABASE {building} RENAME TO {template}")).await.unwrap();
    }
    client.batch_execute("SELECT pg_advisory_unlock(7310589422)").await.unwrap();
    template
}
