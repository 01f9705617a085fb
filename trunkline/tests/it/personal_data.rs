//! `trunkline export` and `trunkline erase`: what a customer may ask for under data-protection law.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use serde_json::{Value, json};

use crate::world::engines::{TestDb, both};
use crate::world::fixtures::tickets::ticket_body;
use crate::world::form::{Form, pdf};
use crate::world::payer::fresh_key;
use crate::world::{MASTER_SECRET, PASSWORD, World, process};

const EMAIL: &str = "cora@customer.example";

/// Whether the command succeeded, and what it printed.
fn run(db: &TestDb, world: &World, arguments: &[&str]) -> (bool, String) {
    let output = process::run(db, world.data_folder(), &[("TRUNKLINE_MASTER_SECRET", MASTER_SECRET)], arguments);
    (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

fn lines(folder: &Path, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join(name).with_extension("jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn audit_rows(db: &TestDb, action: &'static str) -> i64 {
    let sql = "SELECT COUNT(*) FROM audit_log WHERE action = $1";
    db.read().await.unwrap().one::<(i64,)>(sql, db::params![action]).await.unwrap().0
}

both! {
    async fn everything_about_a_customer_is_exported(db) {
        let (world, out) = (World::unlimited(db).await, tempfile::tempdir().unwrap());
        let (admin, cora) = (world.admin().await, world.customer(EMAIL).await);
        let document = pdf("/Kept 1");
        Form::document("other", "passport.pdf", &document).post(&cora, "/me/kyb/documents").await.expect(201);
        cora.post("/tickets", ticket_body()).await.expect(201);
        let folder = out.path().join("cora");
        let export = ["export", &cora.account_id, "--out", folder.to_str().unwrap()];
        let (is_good, told) = run(db, &world, &export);
        assert!(is_good && told.contains(" rows, 1 file."), "{told}");

        let users = lines(&folder, "users");
        assert_eq!((users.len(), &users[0]["email"], &users[0]["is_active"]), (1, &json!(EMAIL), &json!(true)));
        assert!(users[0].get("password_hash").is_none());
        assert!(users[0]["created_at"].as_str().unwrap().ends_with('Z'), "{}", users[0]);
        assert_eq!(lines(&folder, "tickets")[0]["subject"], ticket_body()["subject"]);
        assert_eq!(lines(&folder, "ticket_messages")[0]["body"], ticket_body()["body"]);
        assert_eq!(lines(&folder, "cdrs"), Vec::<Value>::new());
        let files: Vec<_> = std::fs::read_dir(folder.join("files")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1);
        assert_eq!(std::fs::read(&files[0]).unwrap(), document);

        assert!(run(db, &world, &export).1.contains("exists already"));
        assert_eq!(audit_rows(db, "customer.export").await, 1);
        let (is_good, told) = run(db, &world, &["export", &admin.account_id]);
        assert!(!is_good && told.contains("there is no customer"), "{told}");
        world.end().await;
    }

    async fn a_customer_with_nothing_open_is_erased_once(db) {
        let (world, out) = (World::unlimited(db).await, tempfile::tempdir().unwrap());
        let (admin, cora) = (world.admin().await, world.customer(EMAIL).await);
        Form::document("other", "passport.pdf", &pdf("/Kept 1")).post(&cora, "/me/kyb/documents").await.expect(201);
        cora.post("/tickets", ticket_body()).await.expect(201);
        let erase = ["erase", cora.account_id.as_str()];
        for (cents, is_open) in [(500, true), (-500, false)] {
            let amount = json!({"amount_minor": cents, "currency": "EUR"});
            let credit = json!({"customer_id": cora.account_id, "amount": amount, "reason": "For the outage of Monday"});
            admin.with_key(fresh_key()).post("/admin/credits", credit).await.expect(201);
            let (is_good, told) = run(db, &world, &erase);
            assert_eq!(is_good, !is_open, "{told}");
            assert_eq!(told.contains("cannot be erased yet. It still has a balance or held money."), is_open, "{told}");
        }
        let (is_good, told) = run(db, &world, &erase);
        assert!(is_good && told.contains("was erased before; nothing was changed"), "{told}");
        assert_eq!(audit_rows(db, "customer.erase").await, 1);

        assert_eq!(cora.get("/me").await.status, 401);
        assert_eq!(world.try_sign_in(EMAIL, PASSWORD).await.status, 401);
        let folder = out.path().join("cora");
        assert!(run(db, &world, &["export", &cora.account_id, "--out", folder.to_str().unwrap()]).0);
        for name in ["account", "users", "tickets", "ticket_messages", "intake_documents"] {
            let text = std::fs::read_to_string(folder.join(name).with_extension("jsonl")).unwrap().to_lowercase();
            assert!(!text.contains("cora") && !text.contains("belgium"), "{name}: {text}");
        }
        assert_eq!(lines(&folder, "ledger").len(), 2, "the books stay");
        assert_eq!(lines(&folder, "intake_documents"), Vec::<Value>::new());
        let customer = admin.get(&format!("/admin/customers/{}", cora.account_id)).await.ok();
        assert_eq!(customer["company_name"], "Erased customer");
        world.end().await;
    }
}
