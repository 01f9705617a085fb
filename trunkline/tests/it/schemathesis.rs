//! Tests the API against its OpenAPI description with schemathesis: every endpoint, with valid and invalid data, and in
//! stateful sequences. Exceptions and their reasons are in `trunkline/tests/fuzz/schemathesis.toml`.
//!
//! Runs on PostgreSQL, which is stricter than SQLite.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

use crate::world::engines::TestDb;
use crate::world::process::{Process, run};

/// Runs schemathesis against demo data with this role; it must find nothing.
async fn fuzz(db: &TestDb, who: &str, surface: [&str; 2]) {
    let (folder, root) = (tempfile::tempdir().unwrap(), Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let filled = run(db, folder.path(), &[], &["demo", "--days", "7", "--calls", "500"]);
    assert!(filled.status.success(), "{}", String::from_utf8_lossy(&filled.stderr));
    let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_SELLER_VAT_ID", "NL123456782B90")];
    let service = Process::serve(db, folder.path(), &settings);
    let client = service.sign_in(who).await;

    let found = Command::new(root.join("target/schemathesis/bin/st"))
        .current_dir(folder.path())
        .arg("--config-file")
        .arg(root.join("trunkline/tests/fuzz/schemathesis.toml"))
        .args(["run", &format!("{}/v1/openapi.json", service.address()), "--no-color", "--workers", "1"])
        .args(["--phases", "examples,coverage,fuzzing,stateful"])
        .args(["--header", &format!("Authorization: Bearer {}", client.token())])
        .args(surface)
        .output()
        .expect("schemathesis is there: run make test");
    let told = String::from_utf8_lossy(&found.stdout);
    assert!(found.status.success(), "{told}\n{}", String::from_utf8_lossy(&found.stderr));
    assert!(["Examples", "Coverage", "Fuzzing", "Stateful"].iter().all(|phase| told.contains(phase)), "{told}");
    // Had it lost its session on the way, everything after would have been refused alike.
    client.get("/me").await.ok();
    for proof in [["ledger", "verify"], ["cdrs", "verify"], ["audit", "verify"]] {
        let proved = run(db, folder.path(), &[], &proof);
        assert!(proved.status.success(), "{}", String::from_utf8_lossy(&proved.stderr));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_to_a_customer_conforms_to_the_openapi_document() {
    let test = async |db: &TestDb| fuzz(db, "katja@kanaal.example", ["--exclude-path-regex", "^/admin"]).await;
    TestDb::postgres().await.run(test).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_to_an_admin_conforms_to_the_openapi_document() {
    let test = async |db: &TestDb| fuzz(db, "ada@carrier.example", ["--include-path-regex", "^/admin"]).await;
    TestDb::postgres().await.run(test).await;
}
