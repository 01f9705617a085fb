//! Tests the API against its OpenAPI description with schemathesis: every endpoint, with valid and invalid data, and in
//! stateful sequences. Exceptions and their reasons are in `trunkline/tests/fuzz/schemathesis.toml`.
//!
//! Runs on PostgreSQL, which is stricter than SQLite.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::engines::{TestDb, postgres};
use crate::world::fixtures::key;
use crate::world::process::{Process, run};

const CUSTOMER: &str = "katja@kanaal.example";
const ADMIN: &str = "ada@carrier.example";
const NOT_THE_TEAM: [&str; 2] = ["--exclude-path-regex", "^/admin"];
const THE_TEAM: [&str; 2] = ["--include-path-regex", "^/admin"];
const ALL: [&str; 4] = ["Examples", "Coverage", "Fuzzing", "Stateful"];

/// A service with demo data.
struct Target<'a> {
    db: &'a TestDb,
    folder: TempDir,
    service: Process,
}

impl Target<'_> {
    fn start(db: &TestDb) -> Target<'_> {
        let folder = tempfile::tempdir().unwrap();
        let filled = run(db, folder.path(), &[], &["demo", "--days", "7", "--calls", "500"]);
        assert!(filled.status.success(), "{}", String::from_utf8_lossy(&filled.stderr));
        let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_SELLER_VAT_ID", "NL123456782B90")];
        let service = Process::serve(db, folder.path(), &settings);
        Target { db, folder, service }
    }

    /// Runs schemathesis with this token; it must find nothing.
    async fn fuzz(&self, token: &str, phases: &[&str], options: &[&str]) {
        let mut description = self.service.anyone().get("/openapi.json").await.ok();
        // Without a format, schemathesis ignores the pattern of a header and takes any text for a good one.
        for operation in description["paths"].as_object_mut().unwrap().values_mut().flat_map(operations) {
            for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
                if parameter["name"] == "Idempotency-Key" {
                    parameter["schema"]["format"] = "uuid".into();
                }
            }
        }
        std::fs::write(self.folder.path().join("openapi.json"), description.to_string()).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let found = Command::new(root.join("target/schemathesis/bin/st"))
            .current_dir(self.folder.path())
            // It looks through all variables for a proxy before each request, and the test runner sets many.
            .env_clear()
            .arg("--config-file")
            .arg(root.join("trunkline/tests/fuzz/schemathesis.toml"))
            .args(["run", "openapi.json", "--url", &format!("{}/v1", self.service.address())])
            .args(["--no-color", "--workers", "1"])
            .args(["--phases", &phases.join(",").to_lowercase()])
            .args(["--header", &format!("Authorization: Bearer {token}")])
            .args(options)
            .output()
            .expect("schemathesis is there: run make test");
        let told = String::from_utf8_lossy(&found.stdout);
        assert!(found.status.success(), "{told}\n{}", String::from_utf8_lossy(&found.stderr));
        assert!(phases.iter().all(|phase| told.contains(phase)), "{told}");
    }

    /// The same as a user, in every phase.
    async fn fuzz_as(&self, who: &str, surface: [&str; 2]) {
        let client = self.service.sign_in(who).await;
        self.fuzz(client.token(), &ALL, &surface).await;
        // Had it lost its session on the way, everything after would have been refused alike.
        client.get("/me").await.ok();
    }

    /// The same with an API key: the bodies are those that users send, so one of each is enough.
    async fn fuzz_with_key(&self, who: &str, path: &str, scopes: &[&str], surface: [&str; 2]) {
        let client = self.service.sign_in(who).await;
        let key = client.with_key(key()).post(path, json!({"name": "Fuzzer", "scopes": scopes})).await.expect(201);
        let options = [&surface[..], &["--max-examples", "1"]].concat();
        self.fuzz(key["secret"].as_str().unwrap(), &["Examples", "Fuzzing"], &options).await;
    }

    fn verify(self) {
        for proof in [["ledger", "verify"], ["cdrs", "verify"], ["audit", "verify"]] {
            let proved = run(self.db, self.folder.path(), &[], &proof);
            assert!(proved.status.success(), "{}", String::from_utf8_lossy(&proved.stderr));
        }
    }
}

/// The operations of a path.
fn operations(path: &mut Value) -> impl Iterator<Item = &mut Value> {
    path.as_object_mut().into_iter().flat_map(|operations| operations.values_mut())
}

postgres! {
    async fn every_response_to_a_customer_conforms_to_the_openapi_document(db) {
        let target = Target::start(db);
        target.fuzz_as(CUSTOMER, NOT_THE_TEAM).await;
        target.verify();
    }

    async fn every_response_to_an_admin_conforms_to_the_openapi_document(db) {
        let target = Target::start(db);
        target.fuzz_as(ADMIN, THE_TEAM).await;
        target.verify();
    }

    async fn every_response_to_an_api_key_conforms_to_the_openapi_document(db) {
        let target = Target::start(db);
        let scopes = [
            "account:read", "billing:read", "billing:write", "trunks:read", "trunks:write", "numbers:read",
            "numbers:write", "calls:read", "rates:read", "support:write", "webhooks:write",
        ];
        target.fuzz_with_key(CUSTOMER, "/account/api-keys", &scopes, NOT_THE_TEAM).await;
        let scopes = ["admin:read", "rates:write", "cdrs:write"];
        target.fuzz_with_key(ADMIN, "/admin/api-keys", &scopes, THE_TEAM).await;
        target.verify();
    }
}
