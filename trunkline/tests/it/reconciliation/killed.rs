//! A service that is killed while it reconciles a statement.

use std::fmt::Write;

use serde_json::json;
use tempfile::TempDir;

use super::{counts, path_of, upload};
use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::count;
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::process::Process;
use crate::world::{ADMIN_EMAIL, BOOTSTRAP_TOKEN, PASSWORD};

const SETTINGS: [(&str, &str); 3] =
    [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TEST_CLOCK", "on"), ("TRUNKLINE_BOOTSTRAP_TOKEN", BOOTSTRAP_TOKEN)];
const LINES: usize = 100_000;

fn serve(db: &TestDb, folder: &TempDir) -> Process {
    tokio::task::block_in_place(|| Process::serve(db, folder.path(), &SETTINGS))
}

async fn sign_in(node: &Process) -> Client {
    let session = node.anyone().post("/auth/sign-in", json!({"email": ADMIN_EMAIL, "password": PASSWORD})).await.ok();
    node.bearing(session["access_token"].as_str().unwrap())
}

both! {
    async fn a_service_killed_during_a_reconciliation_does_it_again_without_duplicates(db) {
        const STORED: &str = "SELECT COUNT(*) FROM statement_lines";
        let folder = TempDir::new().unwrap();
        let mut node = serve(db, &folder);
        let admin = json!({
            "legal_name": "Carrier BV", "contact_name": "Ada", "contact_email": ADMIN_EMAIL, "password": PASSWORD,
        });
        let anyone = node.anyone().header("X-Bootstrap-Token", BOOTSTRAP_TOKEN);
        anyone.post("/admin/bootstrap", admin).await.expect(201);
        let admin = sign_in(&node).await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let mut file = "called_number,started_at,duration_seconds,cost\n".to_owned();
        for number in 0..LINES {
            let (minute, second) = (number / 60 % 60, number % 60);
            writeln!(file, "3120{number:07},2026-01-01T12:{minute:02}:{second:02}Z,60,0.0045").unwrap();
        }
        let statement = upload(&admin, &upstream, "", file.as_bytes()).await.expect(202);
        while count(db, STORED).await == 0 {
            assert!(node.is_running());
            tokio::task::yield_now().await;
        }
        node.kill();
        assert_eq!(count(db, "SELECT COUNT(*) FROM upstream_statements WHERE status = 'running'").await, 1, "killed too late");

        let node = serve(db, &folder);
        // The killed process's job is free when its lease ends.
        node.advance(120).await;
        let admin = sign_in(&node).await;
        let statement = admin.get(&path_of(&statement)).await.ok();
        assert_eq!(statement["status"], "completed", "{statement}");
        assert_eq!(counts(&statement), [0, LINES as i64, 0, 0, 0]);
        assert_eq!((count(db, STORED).await, &statement["lines_done"]), (LINES as i64, &json!(LINES)));
        assert_eq!(count(db, "SELECT COUNT(DISTINCT line) FROM statement_lines").await, LINES as i64);
    }
}
