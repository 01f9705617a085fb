//! `trunkline migrate --check` and `--plan`, and how a new SQLite database begins.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use db::{Db, MIGRATIONS, params};
use rusqlite::Connection;

use crate::world::engines::{TestDb, both};
use crate::world::process;

/// Whether the command succeeded, and what it printed.
fn migrate(db: &TestDb, option: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = process::run(db, folder.path(), &[], &["migrate", option]);
    (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

async fn change(db: &TestDb, number: i64, sql: &'static str) {
    let change =
        db.tx((number, sql), |conn, (number, sql)| Box::pin(async move { conn.exec(sql, params![*number]).await }));
    change.await.unwrap();
}

both! {
    async fn pending_and_unknown_migrations_fail_the_check(db) {
        let newest = MIGRATIONS.last().unwrap().name;
        let count = i64::try_from(MIGRATIONS.len()).unwrap();
        let (is_good, told) = migrate(db, "--check");
        assert!(is_good && told.contains(&format!("up to date: {count} migrations")), "{told}");
        assert_eq!(migrate(db, "--plan"), (true, "No migrations are pending.\n".to_owned()));

        change(db, count, "DELETE FROM schema_migrations WHERE number = $1").await;
        let (is_good, told) = migrate(db, "--check");
        assert!(!is_good && told.contains(&format!("migrations are pending: {newest}")), "{told}");
        let (is_good, told) = migrate(db, "--plan");
        let lines: Vec<&str> = told.lines().collect();
        assert!(is_good && lines.len() == 2 && lines[0].starts_with(newest), "{told}");

        let future = "INSERT INTO schema_migrations (number, name, checksum) VALUES ($1 + 1, '9999_future', 'x')";
        change(db, count, future).await;
        for option in ["--check", "--plan"] {
            let (is_good, told) = migrate(db, option);
            assert!(!is_good && told.contains("newer than this binary"), "{told}");
        }
    }
}

/// The statements that make a SQLite database as this one is: tables, indexes, views, triggers and rows.
fn statements_of(file: &Path) -> String {
    let connection = Connection::open(file).unwrap();
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let mut all = texts(
        "SELECT sql || ';' FROM sqlite_schema
         WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND tbl_name <> 'schema_migrations'
         ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 WHEN 'view' THEN 2 ELSE 3 END, rowid",
    );
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                    AND name <> 'schema_migrations' ORDER BY rowid";
    for table in texts(tables) {
        let values = texts(&format!("SELECT 'quote(' || name || ')' FROM pragma_table_info('{table}')"));
        let values = values.join(" || ', ' || ");
        all.extend(texts(&format!(
            "SELECT 'INSERT INTO {table} VALUES (' || {values} || ');' FROM {table} ORDER BY 1"
        )));
    }
    all.join("\n") + "\n"
}

#[tokio::test]
async fn a_new_sqlite_database_is_what_all_migrations_leave() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, stepwise] = ["whole.db", "stepwise.db"].map(|name| folder.path().join(name));
    let open = async |file: &Path| Db::open(&format!("sqlite://{}", file.display()).parse().unwrap()).await.unwrap();
    let db = open(&stepwise).await;
    db.migrate_to(MIGRATIONS.len() - 1).await.unwrap();
    db.migrate().await.unwrap();
    let expected = statements_of(&stepwise);

    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/db/src/sqlite/schema.sql");
    if std::env::var_os("TRUNKLINE_WRITE_SCHEMA").is_some() {
        // The next build takes it in.
        return std::fs::write(&kept, &expected).unwrap();
    }
    let stale = "crates/db/src/sqlite/schema.sql is stale: run `make schema` and commit the result";
    assert!(std::fs::read_to_string(&kept).unwrap() == expected, "{stale}");
    open(&whole).await.migrate().await.unwrap();
    assert!(statements_of(&whole) == expected, "the schema of a new database differs");
}
