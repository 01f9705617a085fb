//! `trunkline doctor`, on a healthy installation and on broken ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use db::{Clock, params};
use values::Time;

use crate::world::engines::{TestDb, both};

const HOUR: Duration = Duration::from_secs(3600);

/// Whether a command succeeded, and what it printed.
fn run(url: &str, folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_trunkline"))
        .args(arguments)
        .env_clear()
        .env("TRUNKLINE_DATABASE_URL", url)
        .env("TRUNKLINE_DATA_DIR", folder)
        // Nothing listens on this port.
        .env("TRUNKLINE_OPS_LISTEN", "127.0.0.1:1")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[track_caller]
fn demand_line(printed: &str, verdict: &str, what: &str, text: &str) {
    let is_it = |line: &str| line.starts_with(&format!("{verdict:4}  {what}")) && line.contains(text);
    assert!(printed.lines().any(is_it), "no line {verdict} {what} with {text:?}:\n{printed}");
}

/// Makes it known that an edge called then.
async fn report_edge(db: &TestDb, edge: &str, at: Time) {
    let report = db.tx((edge.to_owned(), at), |conn, (edge, at)| {
        Box::pin(
            async move { conn.exec("INSERT INTO edges (edge_id, seen_at) VALUES ($1, $2)", params![edge, *at]).await },
        )
    });
    report.await.unwrap();
}

both! {
    async fn a_healthy_installation_passes_and_a_broken_part_is_named(db) {
        let folder = tempfile::tempdir().unwrap();
        assert!(run(&db.url, folder.path(), &["migrate"], &[]).0);
        let now = Clock::system().now();
        report_edge(db, server::demo::EDGE, now.minus(HOUR)).await;
        let (is_good, printed) = run(&db.url, folder.path(), &["doctor"], &[]);
        assert!(is_good, "{printed}");
        demand_line(&printed, "warn", "settings", "this is a lab");
        demand_line(&printed, "ok", "disk", "has room");
        demand_line(&printed, "ok", "database", "migrated");
        demand_line(&printed, "warn", "service", "does not run at http://127.0.0.1:");
        demand_line(&printed, "ok", "jobs", "none is dead or late");
        demand_line(&printed, "warn", "edges", "none has called");
        demand_line(&printed, "ok", "files", "read back");
        demand_line(&printed, "warn", "mail", "outbox");
        demand_line(&printed, "warn", "payments", "sandbox");

        let (is_good, printed) =
            run(&db.url, folder.path(), &["doctor"], &[("TRUNKLINE_MAIL", "smtp://127.0.0.1:1")]);
        assert!(!is_good);
        demand_line(&printed, "FAIL", "mail", "127.0.0.1:1");
        assert!(printed.contains("1 check failed"), "{printed}");

        report_edge(db, "edge-1", now.minus(HOUR)).await;
        demand_line(&run(&db.url, folder.path(), &["doctor"], &[]).1, "FAIL", "edges", "silent: edge-1");
    }
}

#[test]
fn an_empty_folder_is_reported_and_stays_empty() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let url = format!("sqlite://{}", data.join("trunkline.db").display());
    let (is_good, printed) = run(&url, &data, &["doctor"], &[]);
    assert!(!is_good);
    demand_line(&printed, "FAIL", "database", "there is no database");
    assert!(!data.exists(), "the data folder was made");
}
