//! Calls whose charge customers dispute.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, unanswered_line};
use crate::world::fixtures::invoices::advance_to_next_month;
use crate::world::fixtures::notifications::notification_codes;
use crate::world::fixtures::switch::Scene;
use crate::world::fixtures::{execute, key};

const CORA: &str = "cora@customer.example";

/// Imports a call of a minute, for 0.06 EUR, and returns the id of its CDR.
async fn call(scene: &Scene, call_id: &str) -> String {
    // The deck is in force.
    scene.world.advance(90).await;
    import_cdrs(&scene.world, &[cdr_line(scene, call_id, scene.now() - 60_000, 60, json!({}))]).await;
    cdr(scene, call_id).await
}

async fn cdr(scene: &Scene, call_id: &str) -> String {
    // Months may have passed since the first session.
    let customer = scene.world.sign_in(CORA).await;
    let page = customer.get(&format!("/cdrs?call_id={call_id}")).await.ok();
    page["data"][0]["id"].as_str().unwrap().to_owned()
}

/// Disputes a call and returns the dispute.
async fn dispute(customer: &Client, cdr: &str) -> Value {
    let reason = json!({"reason": "Nobody answered"});
    customer.with_key(key()).post(&format!("/cdrs/{cdr}/dispute"), reason).await.expect(201)
}

fn resolution(dispute: &Value) -> String {
    format!("/admin/disputes/{}/resolve", dispute["id"].as_str().unwrap())
}

async fn balance(customer: &Client) -> Value {
    customer.get("/account/balance").await.ok()["current"]["amount"].clone()
}

async fn invoices(world: &World) -> Vec<Value> {
    world.sign_in(CORA).await.get("/invoices").await.ok()["data"].as_array().unwrap().clone()
}

both! {
    async fn a_disputed_call_is_credited_once_and_its_ticket_resolved(db) {
        let scene = Scene::start(db, 1000).await;
        let (customer, sam) = (&scene.customer, scene.world.minted(Role::Support).await);
        let cdr = call(&scene, "disputed").await;
        assert_eq!(balance(customer).await, "9.94");
        let opened = dispute(customer, &cdr).await;
        assert_eq!((&opened["status"], &opened["charge"]["amount"]), (&json!("open"), &json!("0.06")));
        assert_eq!((&opened["cdr_id"], &opened["called"]), (&json!(cdr), &json!("+31201234567")));
        let ticket = customer.get(&format!("/tickets/{}", opened["ticket_id"].as_str().unwrap())).await.ok();
        assert_eq!((&ticket["cdr_ids"], &ticket["subject"]), (&json!([cdr]), &json!("Disputed call to +31201234567")));
        assert_eq!(ticket["messages"][0]["body"], "Nobody answered");
        let listed = sam.get("/admin/disputes?status=open").await.ok();
        assert_eq!(listed["data"][0]["id"], opened["id"]);
        assert!(listed["data"][0]["customer_name"].is_string(), "{listed}");
        let shown = sam.get(&format!("/admin/disputes/{}", opened["id"].as_str().unwrap())).await.ok();
        assert_eq!(shown, listed["data"][0]);

        let decisions = (0..8).map(async |_| {
            let admin = scene.admin.with_key(key());
            admin.post(&resolution(&opened), json!({"outcome": "credit", "note": "We are sorry"})).await.status
        });
        let mut statuses = join_all(decisions).await;
        statuses.sort_unstable();
        assert_eq!(statuses, [vec![200], vec![409; 7]].concat());
        assert_eq!(balance(customer).await, "10.00");
        let ended = customer.get(&format!("/disputes/{}", opened["id"].as_str().unwrap())).await.ok();
        assert_eq!((&ended["status"], &ended["amount"]["amount"]), (&json!("credited"), &json!("0.06")));
        assert_eq!(ended["note"], "We are sorry");
        let ticket = customer.get(&format!("/tickets/{}", opened["ticket_id"].as_str().unwrap())).await.ok();
        assert_eq!((&ticket["status"], &ticket["messages"][1]["body"]), (&json!("resolved"), &json!("We are sorry")));
        assert!(notification_codes(customer).await.contains(&"ticket.reply".to_owned()));
        let line = &customer.get("/account/ledger?kind=call_credit").await.ok()["data"][0];
        assert_eq!((&line["amount"]["amount"], &line["description"]), (&json!("0.06"), &json!("Disputed call to +31201234567")));
        scene.end().await;
    }

    async fn a_dispute_is_decided_also_if_its_ticket_has_all_its_messages(db) {
        let scene = Scene::start(db, 1000).await;
        let opened = dispute(&scene.customer, &call(&scene, "disputed").await).await;
        execute(db, "UPDATE tickets SET messages = 200").await;
        let ticket = format!("/tickets/{}", opened["ticket_id"].as_str().unwrap());
        let more = json!({"body": "Well?"});
        scene.customer.post(&format!("{ticket}/messages"), more.clone()).await.problem(409, "state.conflict");
        scene.admin.post(&format!("/admin{ticket}/messages"), more).await.problem(409, "state.conflict");
        let decision = json!({"outcome": "credit", "note": "We are sorry"});
        scene.admin.with_key(key()).post(&resolution(&opened), decision).await.ok();
        assert_eq!(scene.customer.get(&ticket).await.ok()["messages"][1]["body"], "We are sorry");
        assert_eq!(balance(&scene.customer).await, "10.00");
        scene.end().await;
    }

    async fn a_call_is_disputed_once_by_its_customer_and_only_if_it_was_charged(db) {
        let scene = Scene::start(db, 1000).await;
        let cdr = call(&scene, "charged").await;
        let reason = json!({"reason": "Wrong"});
        let path = format!("/cdrs/{cdr}/dispute");
        let attempts = (0..8).map(async |_| scene.customer.with_key(key()).post(&path, reason.clone()).await.status);
        let mut statuses = join_all(attempts).await;
        statuses.sort_unstable();
        assert_eq!(statuses, [vec![201], vec![409; 7]].concat());
        let other = scene.world.customer("otto@customer.example").await;
        other.with_key(key()).post(&path, reason.clone()).await.problem(404, "not_found");
        let unanswered = unanswered_line(&scene, "busy", scene.now() - 60_000, json!({}));
        import_cdrs(&scene.world, &[unanswered]).await;
        let free = self::cdr(&scene, "busy").await;
        let refused = scene.customer.with_key(key()).post(&format!("/cdrs/{free}/dispute"), reason).await;
        assert_eq!(refused.problem(409, "state.conflict")["detail"], "This call was not charged, so there is nothing to dispute.");
        scene.end().await;
    }

    async fn a_credit_is_at_most_the_charge_and_a_rejected_dispute_returns_nothing(db) {
        let scene = Scene::start(db, 1000).await;
        let (first, second) = (call(&scene, "first").await, call(&scene, "second").await);
        let (first, second) = (dispute(&scene.customer, &first).await, dispute(&scene.customer, &second).await);
        let admin = &scene.admin;
        let eur = |cents: i64| json!({"amount_minor": cents, "currency": "EUR"});
        for (decision, name) in [
            (json!({"outcome": "credit", "amount": eur(7), "note": "All"}), "amount"),
            (json!({"outcome": "credit", "amount": eur(0), "note": "None"}), "amount"),
            (json!({"outcome": "reject", "amount": eur(1), "note": "No"}), "amount"),
            (json!({"outcome": "reject"}), "note"),
        ] {
            let refused = admin.with_key(key()).post(&resolution(&first), decision).await.problem(422, "validation.failed");
            assert_eq!(refused["invalid_params"][0]["name"], name, "{refused}");
        }
        let half = json!({"outcome": "credit", "amount": eur(3), "note": "Half of it"});
        let ended = admin.with_key(key()).post(&resolution(&first), half).await.ok();
        assert_eq!((&ended["status"], &ended["amount"]["amount"]), (&json!("credited"), &json!("0.03")));
        let rejected = json!({"outcome": "reject", "note": "The upstream shows an answer"});
        let ended = admin.with_key(key()).post(&resolution(&second), rejected).await.ok();
        assert_eq!((&ended["status"], &ended["amount"]), (&json!("rejected"), &Value::Null));
        assert_eq!(balance(&scene.customer).await, "9.91");
        scene.end().await;
    }

    async fn a_credit_of_an_invoiced_call_is_on_the_next_invoice(db) {
        let scene = Scene::start(db, 1000).await;
        let cdr = call(&scene, "old").await;
        advance_to_next_month(&scene.world).await;
        let customer = scene.world.sign_in(CORA).await;
        let opened = dispute(&customer, &cdr).await;
        let admin = scene.world.minted(Role::Admin).await;
        admin.with_key(key()).post(&resolution(&opened), json!({"outcome": "credit", "note": "Sorry"})).await.ok();
        call(&scene, "new").await;
        call(&scene, "newer").await;
        advance_to_next_month(&scene.world).await;
        let invoices = invoices(&scene.world).await;
        let lines = |invoice: &Value| -> Vec<(String, i64)> {
            let line = |line: &Value| {
                (line["description"].as_str().unwrap().to_owned(), line["net"]["amount_minor"].as_i64().unwrap())
            };
            invoice["lines"].as_array().unwrap().iter().map(line).collect()
        };
        let calls = |calls: &str, cents: i64| (format!("Calls to Netherlands (NL): {calls} minutes"), cents);
        assert_eq!(lines(&invoices[1]), [calls("1 call, 1.00", 6)]);
        let credited = ("1 disputed call credited".to_owned(), -6);
        assert_eq!(lines(&invoices[0]), [calls("2 calls, 2.00", 12), credited]);
        scene.end().await;
    }

    async fn a_credit_is_invoiced_even_in_a_month_without_anything_else(db) {
        let scene = Scene::start(db, 1000).await;
        let cdr = call(&scene, "old").await;
        advance_to_next_month(&scene.world).await;
        let customer = scene.world.sign_in(CORA).await;
        let opened = dispute(&customer, &cdr).await;
        let admin = scene.world.minted(Role::Admin).await;
        admin.with_key(key()).post(&resolution(&opened), json!({"outcome": "credit", "note": "Sorry"})).await.ok();
        advance_to_next_month(&scene.world).await;
        let invoices = invoices(&scene.world).await;
        let totals: Vec<i64> = invoices.iter().map(|one| one["total"]["amount_minor"].as_i64().unwrap()).collect();
        assert_eq!(totals, [-7, 7], "the VAT of the call comes back too");
        scene.end().await;
    }

    async fn a_call_whose_invoice_was_credited_is_not_credited_again(db) {
        let scene = Scene::start(db, 1000).await;
        let cdr = call(&scene, "old").await;
        advance_to_next_month(&scene.world).await;
        let customer = scene.world.sign_in(CORA).await;
        let opened = dispute(&customer, &cdr).await;
        let admin = scene.world.minted(Role::Admin).await;
        let invoice = invoices(&scene.world).await[0]["id"].as_str().unwrap().to_owned();
        let reason = json!({"reason": "a mistake"});
        admin.with_key(key()).post(&format!("/admin/invoices/{invoice}/credit"), reason).await.ok();
        let credit = json!({"outcome": "credit", "note": "Sorry"});
        admin.with_key(key()).post(&resolution(&opened), credit).await.problem(409, "state.conflict");
        let reject = json!({"outcome": "reject", "note": "The whole invoice was credited"});
        admin.with_key(key()).post(&resolution(&opened), reject).await.ok();
        scene.end().await;
    }
}
