//! VAT ids: checks by VIES, VAT evidence, and decisions of the team.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use backoffice::maintenance;
use billing::vat::{self, Category};
use db::{Db, DbError, params};
use platform::jobs::{self, Kind};
use platform::outside::vies::{Rest, Verdict};
use serde_json::{Value, json};
use values::Role;
use voice::fx;

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::links::{CORA, forgot_password};
use crate::world::form::{Form, pdf};
use crate::world::vies::{Reply, ViesServer, held, invalid, refuses, valid};

const GERMAN: &str = "DE136695976";
const DAY: u64 = 24 * 3600;

async fn with_vies(db: &TestDb, vies: &ViesServer) -> World {
    World::with(db, &vies_settings(vies)).await
}

fn vies_settings(vies: &ViesServer) -> [(&str, &str); 3] {
    [
        ("TRUNKLINE_VAT_CHECKS", "vies"),
        ("TRUNKLINE_VIES_URL", vies.url.as_str()),
        ("TRUNKLINE_SELLER_VAT_ID", "NL123456782B90"),
    ]
}

async fn count_jobs(db: &Db, kind: Kind) -> i64 {
    let sql = "SELECT COUNT(*) FROM jobs WHERE kind = $1";
    db.read().await.unwrap().one::<(i64,)>(sql, params![kind.name]).await.unwrap().0
}

/// A customer who says this is its VAT id.
async fn customer_with(world: &World, vat_id: &str) -> Client {
    let customer = world.minted(Role::Customer).await;
    customer.patch("/account", json!({"vat_id": vat_id})).await.ok();
    customer
}

/// Requests a check, runs it, and returns the VAT status.
async fn checked(world: &World, customer: &Client) -> Value {
    ask(customer).await.expect(202);
    world.settle().await;
    customer.get("/account/vat").await.ok()
}

async fn enqueue<const N: usize>(db: &Db, kinds: [Kind; N]) {
    let enqueued = db.tx(kinds, |conn, kinds| {
        Box::pin(async move {
            for kind in kinds {
                jobs::enqueue(conn, *kind, json!({})).await?;
            }
            Ok::<_, DbError>(())
        })
    });
    enqueued.await.unwrap();
}

async fn ask(customer: &Client) -> crate::world::client::Answer {
    customer.send(customer.request(reqwest::Method::POST, "/account/vat/check")).await
}

async fn status(db: &Db) -> String {
    let sql = "SELECT vat_status FROM accounts WHERE vat_id IS NOT NULL";
    db.read().await.unwrap().one::<(String,)>(sql, &[]).await.unwrap().0
}

/// The VAT category that an invoice to the customer would have now.
async fn category(world: &World, customer: &Client) -> Category {
    let account = customer.get("/account").await.ok()["id"].as_str().unwrap().parse().unwrap();
    let app = &world.node.app;
    vat::assess(&mut app.db.read().await.unwrap(), &app.settings.tax, account).await.unwrap().0.category
}

both! {
    async fn without_vies_a_plausible_vat_id_is_pending_and_another_invalid(db) {
        let world = World::start(db).await;
        let customer = customer_with(&world, "de 136 695 976").await;
        let before = customer.get("/account/vat").await.ok();
        assert_eq!(before["status"], "not_verified");
        assert_eq!((&before["last_checked_at"], &before["proof_documents"]), (&Value::Null, &json!([])));
        let asked = ask(&customer).await.expect(202);
        assert_eq!(asked["status"], "pending");
        let plausible = checked(&world, &customer).await;
        assert_eq!((&plausible["status"], &plausible["vat_id"]), (&json!("pending"), &json!("de 136 695 976")));
        assert!(plausible["last_checked_at"].is_string());

        customer.patch("/account", json!({"vat_id": "DE136695975"})).await.ok();
        let changed = customer.get("/account/vat").await.ok();
        assert_eq!((&changed["status"], &changed["last_checked_at"]), (&json!("not_verified"), &Value::Null));
        assert_eq!(checked(&world, &customer).await["status"], "invalid");
        world.end().await;
    }

    async fn nothing_is_checked_without_a_vat_id_or_for_an_exempt_account(db) {
        let world = World::start(db).await;
        let customer = world.minted(Role::Customer).await;
        ask(&customer).await.problem(409, "state.conflict");
        customer.patch("/account", json!({"vat_id": GERMAN})).await.ok();
        let exempt = db.tx((), |conn, ()| Box::pin(conn.exec("UPDATE accounts SET vat_status = 'exempt'", &[])));
        exempt.await.unwrap();
        ask(&customer).await.problem(409, "state.conflict");
        assert_eq!(customer.get("/account/vat").await.ok()["status"], "exempt");
        world.end().await;
    }

    async fn the_answer_of_vies_decides_and_its_proof_is_stored(db) {
        let vies = ViesServer::start(valid()).await;
        let world = with_vies(db, &vies).await;
        let customer = customer_with(&world, GERMAN).await;
        assert_eq!(checked(&world, &customer).await["status"], "valid");
        let asked = json!({
            "countryCode": "DE", "vatNumber": "136695976", "requesterMemberStateCode": "NL",
            "requesterNumber": "123456782B90",
        });
        assert_eq!(vies.asked(), [asked]);
        let sql = "SELECT request_identifier, name, is_valid FROM vat_checks";
        let (proof, name, is_valid): (String, String, bool) = db.read().await.unwrap().one(sql, &[]).await.unwrap();
        assert_eq!((proof.as_str(), name.as_str(), is_valid), ("WAPIAAAAZhK3m9Qb", "Kunde GmbH", true));

        vies.answers(invalid());
        assert_eq!(checked(&world, &customer).await["status"], "invalid");
        let sql = "SELECT COUNT(*) FROM audit_log WHERE action = 'vat.checked'";
        assert_eq!(db.read().await.unwrap().one::<(i64,)>(sql, &[]).await.unwrap().0, 2);
        world.end().await;
    }

    async fn a_vies_outage_decides_nothing_and_is_retried(db) {
        let vies = ViesServer::start(refuses("MS_UNAVAILABLE")).await;
        let world = with_vies(db, &vies).await;
        let customer = customer_with(&world, GERMAN).await;
        let standing = checked(&world, &customer).await;
        assert_eq!((&standing["status"], &standing["last_checked_at"]), (&json!("pending"), &Value::Null));
        let troubles =
            [refuses("MS_MAX_CONCURRENT_REQ"), Reply::Says(503, "<html>Down for maintenance</html>".to_owned())];
        for trouble in troubles {
            let before = vies.asked().len();
            vies.answers(trouble);
            world.advance(DAY).await;
            assert!(vies.asked().len() > before);
            assert_eq!(status(db).await, "pending");
        }
        vies.answers(valid());
        world.advance(DAY).await;
        assert_eq!(status(db).await, "valid");
        world.end().await;
    }

    async fn while_vies_hangs_mail_money_and_reads_go_on(db) {
        let (release, answer) = held(valid());
        let vies = ViesServer::start(answer).await;
        // A server for exchange rates that never answers takes what VIES leaves of the slots for other services.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fx_url = format!("http://{}", silent.local_addr().unwrap());
        let mut settings = vies_settings(&vies).to_vec();
        settings.extend([("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_FX_URL", fx_url.as_str())]);
        let world = World::with(db, &settings).await;
        world.customer(CORA).await;
        let mut customers = Vec::new();
        for _ in 0..4 {
            customers.push(customer_with(&world, GERMAN).await);
        }
        for _ in 0..15 {
            for customer in &customers {
                assert_eq!(ask(customer).await.expect(202)["status"], "pending");
            }
        }
        assert_eq!(count_jobs(db, vat::ROUND).await, 1, "sixty requests are four checks and one job");
        enqueue(db, [fx::FETCH; 5]).await;
        let mut hanging = Vec::new();
        for _ in 0..3 {
            hanging.push(silent.accept().await.unwrap());
        }
        while vies.asked().len() < 4 {
            tokio::task::yield_now().await;
        }

        forgot_password(&world, CORA).await.expect(202);
        enqueue(db, [maintenance::EXPIRE_HOLDS]).await;
        let outbox = world.data_folder().join("outbox");
        while std::fs::read_dir(&outbox).unwrap().count() == 0 || count_jobs(db, maintenance::EXPIRE_HOLDS).await > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(customers[0].get("/account/vat").await.ok()["status"], "pending");
        world.anyone_at_operations().get("/readyz").await.expect(200);

        drop((hanging, silent));
        release.send(true).unwrap();
        world.settle().await;
        assert_eq!(vies.asked().len(), 4, "every customer was checked once");
        for customer in &customers {
            assert_eq!(customer.get("/account/vat").await.ok()["status"], "valid");
        }
        world.end().await;
    }

    async fn a_vat_id_that_changes_during_its_check_is_checked_too(db) {
        let (release, answer) = held(invalid());
        let vies = ViesServer::start(answer).await;
        let world = with_vies(db, &vies).await;
        let customer = customer_with(&world, GERMAN).await;
        ask(&customer).await.expect(202);
        while vies.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        customer.patch("/account", json!({"vat_id": "EL094259216"})).await.ok();
        ask(&customer).await.expect(202);
        vies.answers(valid());
        release.send(true).unwrap();
        world.settle().await;
        assert_eq!(customer.get("/account/vat").await.ok()["status"], "valid");
        assert_eq!(vies.asked().last().unwrap()["countryCode"], "EL");
        world.end().await;
    }

    async fn a_valid_vat_id_is_rechecked_monthly_and_survives_an_outage(db) {
        let vies = ViesServer::start(valid()).await;
        let world = with_vies(db, &vies).await;
        let customer = customer_with(&world, GERMAN).await;
        checked(&world, &customer).await;
        world.advance(20 * DAY).await;
        assert_eq!(vies.asked().len(), 1);
        vies.answers(refuses("TIMEOUT"));
        world.advance(11 * DAY).await;
        assert_eq!(vies.asked().len(), 2);
        assert_eq!(status(db).await, "valid");
        vies.answers(invalid());
        world.advance(DAY).await;
        assert_eq!(status(db).await, "invalid");
        let asked = vies.asked().len();
        world.advance(60 * DAY).await;
        assert_eq!(vies.asked().len(), asked, "what is invalid is not asked about again");
        world.end().await;
    }

    async fn a_check_of_a_replaced_vat_id_decides_nothing(db) {
        let vies = ViesServer::start(refuses("MS_UNAVAILABLE")).await;
        let world = with_vies(db, &vies).await;
        let customer = customer_with(&world, GERMAN).await;
        checked(&world, &customer).await;
        customer.patch("/account", json!({"vat_id": "EL094259216"})).await.ok();
        vies.answers(valid());
        assert_eq!(checked(&world, &customer).await["status"], "valid");
        assert_eq!(vies.asked().last().unwrap()["countryCode"], "EL");
        world.end().await;
    }

    async fn vat_evidence_is_stored_and_waits_for_review(db) {
        let world = World::start(db).await;
        let customer = world.minted(Role::Customer).await;
        let path = "/account/vat/proof-documents";
        let refused = Form::default().file("file", "proof.exe", b"MZ not a paper").post(&customer, path).await;
        assert_eq!(refused.invalid(), ["file"]);
        let paper = Form::default().file("file", "proof.pdf", &pdf("")).post(&customer, path).await.expect(201);
        assert_eq!(paper["status"], "pending");
        assert_eq!(paper["proof_documents"].as_array().unwrap().len(), 1);
        // The orphan cleanup keeps it.
        world.advance(3 * DAY).await;
        let files = std::fs::read_dir(world.data_folder().join("files")).unwrap().count();
        assert!(files > 1, "the paper is gone");
        let stranger = world.minted(Role::Customer).await;
        assert_eq!(stranger.get("/account/vat").await.ok()["proof_documents"], json!([]));
        world.end().await;
    }

    async fn reading_vat_evidence_by_the_team_is_audited(db) {
        let world = World::unlimited(db).await;
        let (admin, sam) = (world.admin().await, world.minted(Role::Support).await);
        let customer = world.customer("cora@customer.example").await;
        let papers = format!("/admin/customers/{}/vat/proof-documents", customer.account_id);
        assert_eq!(sam.get(&papers).await.ok(), json!({"data": []}));
        let form = Form::default().file("file", "proof.png", &pdf("/Proof 1"));
        let proof = form.post(&customer, "/account/vat/proof-documents").await.expect(201);
        let shown = sam.get(&papers).await.ok();
        let [paper] = &shown["data"].as_array().unwrap()[..] else { panic!("{shown}") };
        assert_eq!((&paper["id"], &paper["filename"]), (&proof["proof_documents"][0], &json!("proof.png")));
        assert_eq!((&paper["content_type"], &paper["size_bytes"]), (&json!("application/pdf"), &json!(pdf("/Proof 1").len())));
        let link = paper["download_url"].as_str().unwrap().rsplit('/').next().unwrap();
        let file = world.anyone().get(&format!("/files/{link}")).await;
        assert_eq!((file.status, file.bytes), (200, pdf("/Proof 1")));
        customer.get(&papers).await.problem(403, "auth.forbidden");
        admin.get(&format!("/admin/customers/{}/vat/proof-documents", admin.account_id)).await.problem(404, "not_found");
        let log = admin.get(&format!("/admin/audit-log?action=vat.documents_shown&outcome=success&account_id={}", customer.account_id)).await.ok();
        assert_eq!(log["rows"].as_array().unwrap().len(), 2);
        world.end().await;
    }

    async fn reverse_charge_is_set_for_one_vat_id_and_ends_with_it(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let cora = world.customer("cora@customer.example").await;
        let path = format!("/admin/customers/{}", cora.account_id);
        let reverse_charge = json!({"vat_treatment": "reverse_charge"});
        let treatment = async || admin.get(&path).await.ok()["vat_treatment"].clone();
        for vat_id in [Value::Null, json!("DE136695975")] {
            cora.patch("/account", json!({"vat_id": vat_id})).await.ok();
            let refused = admin.patch(&path, reverse_charge.clone()).await.problem(409, "state.conflict");
            assert!(refused["detail"].as_str().unwrap().contains("VAT id"), "{refused}");
            assert_eq!(treatment().await, Value::Null);
        }
        cora.patch("/account", json!({"vat_id": GERMAN})).await.ok();
        assert_eq!(admin.patch(&path, reverse_charge.clone()).await.ok()["vat_treatment"], "reverse_charge");
        assert_eq!(category(&world, &cora).await, Category::ReverseCharge);
        for vat_id in [Value::Null, json!("EL094259216")] {
            cora.patch("/account", json!({"vat_id": vat_id})).await.ok();
            assert_eq!((treatment().await, category(&world, &cora).await), (Value::Null, Category::Standard));
            // Another decision of the team does not bring it back.
            admin.patch(&path, json!({"telecom_reseller": true})).await.ok();
            assert_eq!((treatment().await, category(&world, &cora).await), (Value::Null, Category::Standard));
        }
        admin.patch(&path, reverse_charge).await.ok();
        assert_eq!(category(&world, &cora).await, Category::ReverseCharge);
        world.end().await;
    }

    async fn the_number_of_vat_evidence_files_is_limited(db) {
        let world = World::unlimited(db).await;
        let customer = world.minted(Role::Customer).await;
        for number in 0..20 {
            let form = Form::default().file("file", "proof.pdf", &pdf(&format!("/N {number}")));
            form.post(&customer, "/account/vat/proof-documents").await.expect(201);
        }
        let form = Form::default().file("file", "proof.pdf", &pdf("/One /More"));
        form.post(&customer, "/account/vat/proof-documents").await.problem(409, "state.conflict");
        let (kept,): (i64,) = db.read().await.unwrap().one("SELECT COUNT(*) FROM vat_proofs", params![]).await.unwrap();
        assert_eq!(kept, 20);
        world.end().await;
    }
}

/// A client of the stand-in whose patience is short.
fn rest(url: &str) -> Rest {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    Rest { http, url: url.to_owned(), requester: None, timeout: Duration::from_millis(200) }
}

#[tokio::test]
async fn an_unreachable_or_silent_vies_decides_nothing() {
    let id = GERMAN.parse().unwrap();
    let silent = ViesServer::start(Reply::Silence).await;
    assert!(matches!(rest(&silent.url).check(&id).await, Verdict::Unknown(_)));
    assert!(matches!(rest("http://127.0.0.1:1/rest-api").check(&id).await, Verdict::Unknown(_)));
    let endless = ViesServer::start(Reply::Says(200, format!("\"{}\"", "x".repeat(100_000)))).await;
    assert!(matches!(rest(&endless.url).check(&id).await, Verdict::Unknown(_)));
}
