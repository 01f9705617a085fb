//! `trunkline migrate --check` and `--plan`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::{MIGRATIONS, params};

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
