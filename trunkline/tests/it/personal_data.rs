//! `trunkline export` and `trunkline erase`: what a customer may ask for under data-protection law.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use identity::onboarding::Event;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::client::{Client, Session};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs};
use crate::world::fixtures::invoices::advance_to_next_month;
use crate::world::fixtures::onboarding::{apply_event, sign_up, submit_kyb_and_card, traffic_profile};
use crate::world::fixtures::rate_plans::{assign_plan, create_plan, fixed_rule, update_plan};
use crate::world::fixtures::rates::{DECK_HEADER, import_deck, upstream_with_deck};
use crate::world::fixtures::switch::Scene;
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

/// A prospect on the waitlist, whose KYB waits for the team.
async fn on_waitlist(db: &TestDb, world: &World, email: &str) -> Session {
    let prospect = sign_up(world, email).await;
    apply_event(world, &prospect, Event::KybOpened).await;
    submit_kyb_and_card(db, &prospect.account_id).await;
    apply_event(world, &prospect, Event::KybSubmitted).await;
    prospect.call(Method::PUT, "/me/traffic-profile", Some(traffic_profile())).await.ok();
    prospect
}

/// What the price notices of a customer are about.
async fn price_notices(admin: &Client, customer: &Session) -> Vec<Value> {
    let list = admin.get(&format!("/admin/price-notices?customer_id={}", customer.account_id)).await.ok();
    list["data"].as_array().unwrap().iter().map(|notice| notice["cause"].clone()).collect()
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

    async fn a_customer_is_erased_only_after_its_usage_is_invoiced(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(EMAIL).await;
        world.use_up(&cora.account_id, 1_000).await;
        let erase = ["erase", cora.account_id.as_str()];
        let is_uninvoiced = || run(db, &world, &erase).1.contains("usage that is not invoiced yet");
        assert!(is_uninvoiced());
        advance_to_next_month(&world).await;
        assert!(!is_uninvoiced(), "the invoice names the customer");
        world.end().await;
    }

    async fn a_customer_is_erased_only_after_its_call_disputes_are_decided(db) {
        let scene = Scene::start(db, 1000).await;
        scene.world.advance(90).await;
        import_cdrs(&scene.world, &[cdr_line(&scene, "call", scene.now() - 60_000, 60, json!({}))]).await;
        let cdr = scene.customer.get("/cdrs").await.ok()["data"][0]["id"].as_str().unwrap().to_owned();
        let reason = json!({"reason": "Nobody answered"});
        let path = format!("/cdrs/{cdr}/dispute");
        let dispute = scene.customer.with_key(fresh_key()).post(&path, reason).await.expect(201);
        let erase = ["erase", scene.customer.account_id.as_str()];
        let is_disputed = || run(db, &scene.world, &erase).1.contains("open call disputes");
        assert!(is_disputed());
        let path = format!("/admin/disputes/{}/resolve", dispute["id"].as_str().unwrap());
        let reject = json!({"outcome": "reject", "note": "The upstream shows an answer"});
        scene.admin.with_key(fresh_key()).post(&path, reject).await.ok();
        assert!(!is_disputed());
        scene.end().await;
    }

    async fn an_erased_prospect_leaves_the_waitlist_and_the_review_without_a_mail(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let petra = on_waitlist(db, &world, "petra@prospect.example").await;
        world.advance(1).await;
        let paul = on_waitlist(db, &world, "paul@prospect.example").await;
        assert_eq!(paul.get("/me/waitlist").await.ok()["position"], 2);
        let mails = world.mails().await.len();
        let (is_good, told) = run(db, &world, &["erase", &petra.account_id]);
        assert!(is_good, "{told}");

        assert_eq!(paul.get("/me/waitlist").await.ok(), json!({"position": 1, "total": 1, "status": "beta_waitlist"}));
        let listed = admin.get("/admin/beta").await.ok();
        let row = |item: &Value| {
            let columns = ["customer_name", "status", "waitlist_position", "kyb_status"];
            Value::from(columns.map(|column| item[column].clone()).to_vec())
        };
        assert_eq!(
            listed["items"].as_array().unwrap().iter().map(row).collect::<Vec<_>>(),
            [
                json!(["Prospect BV", "beta_waitlist", 1, "submitted"]),
                json!(["Erased customer", "beta_declined", null, "rejected"]),
            ]
        );
        let stats = admin.get("/admin/beta/stats").await.ok();
        assert_eq!((&stats["total"], &stats["pending"]), (&json!(2), &json!(1)));
        let inbox = admin.get("/admin/inbox").await.ok();
        assert_eq!((&inbox["kyb"], &inbox["waitlist"]), (&json!(1), &json!(1)));
        let reviewed = admin.get("/admin/kyb?status=submitted").await.ok();
        let reviewed = reviewed["items"].as_array().unwrap().iter().map(|item| &item["account_id"]);
        assert_eq!(reviewed.collect::<Vec<_>>(), [&json!(paul.account_id)]);
        let customer = admin.get(&format!("/admin/customers/{}", petra.account_id)).await.ok();
        assert_eq!(customer["onboarding_status"], "docs_requested");
        assert_eq!(world.mails().await.len(), mails);
        world.end().await;
    }

    async fn an_erased_customer_gets_no_price_notices(db) {
        const ROWS: &str = "31,Netherlands,NL,0.01\n49,Germany,DE,0.03\n";
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let upstream = upstream_with_deck(&world, &admin, "A", "EUR", 0.0, ROWS).await;
        let [cora, carl, dora] = [
            world.customer(EMAIL).await,
            world.customer("carl@customer.example").await,
            world.customer("dora@customer.example").await,
        ];
        let plan = create_plan(&admin, json!({"rules": [fixed_rule("31", "0.01"), fixed_rule("49", "0.01")]})).await;
        assign_plan(&admin, &carl.account_id, Some(&plan), json!({})).await.ok();
        world.settle().await;
        for erased in [&cora, &carl] {
            let (is_good, told) = run(db, &world, &["erase", &erased.account_id]);
            assert!(is_good, "{told}");
        }
        let dearer = format!("{DECK_HEADER}{}", ROWS.replace("0.03", "0.05"));
        import_deck(&world, &admin, &upstream, "", &dearer).await;
        let rules = json!({"rules": [fixed_rule("31", "0.005"), fixed_rule("49", "0.01")]});
        update_plan(&admin, &plan, rules).await.ok();
        world.settle().await;
        assert_eq!(price_notices(&admin, &dora).await, ["deck"]);
        assert_eq!(price_notices(&admin, &cora).await, Vec::<Value>::new());
        assert_eq!(price_notices(&admin, &carl).await, ["assignment"]);
        world.end().await;
    }
}
