//! Chargebacks: a card's bank disputes a payment, and decides.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::{Entropy, params};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use crate::world::client::{Client, Session};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::audit::audit_rows;
use crate::world::fixtures::count;
use crate::world::fixtures::invoices::customer_with_invoice;
use crate::world::fixtures::notifications::notification_codes;
use crate::world::fixtures::payments::{
    DISPUTED, VISA, amount_body, as_bank, begin_topup, get_topup, ledger_cents, pay_topup, save_card, send_signed,
    webhook_row,
};
use crate::world::fixtures::switch::Scene;
use crate::world::payer::{Payer, fresh_key};
use crate::world::revolut::{Fault, RevolutServer};
use crate::world::{ADMIN_EMAIL, World};

const CORA: &str = "cora@customer.example";

/// The sum of all postings in a book, in cents.
async fn book_cents(db: &TestDb, book: &'static str) -> i64 {
    let sql = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM ledger_book_days WHERE book = $1";
    db.read().await.unwrap().one::<(i64,)>(sql, params![book]).await.unwrap().0 / 10_000_000
}

/// The kinds of the customer's ledger lines, oldest first.
async fn ledger_kinds(customer: &Client) -> Vec<String> {
    let lines = customer.get("/account/ledger").await.ok();
    let kinds = lines["data"].as_array().unwrap().iter().rev();
    kinds.map(|line| line["kind"].as_str().unwrap().to_owned()).collect()
}

async fn chargebacks(team: &Client, query: &str) -> Vec<Value> {
    team.get(&format!("/admin/chargebacks{query}")).await.ok()["data"].as_array().unwrap().clone()
}

/// Whether the payment can be refunded, as the status of the response.
async fn refund(admin: &Session, payment: &Value) -> u16 {
    let path = format!("/admin/payments/{}/refund", payment.as_str().unwrap());
    admin.with_key(fresh_key()).post(&path, json!({"reason": "goodwill"})).await.status
}

both! {
    async fn a_disputed_payment_is_frozen_and_returns_when_it_is_won(db) {
        let world = World::start(db).await;
        let (admin, cora) = (world.admin().await, world.customer(CORA).await);
        let payer = pay_topup(&world, &cora, 10_000, DISPUTED).await;
        assert_eq!((ledger_cents(db, &cora).await, book_cents(db, "disputes").await), (0, 10_000));
        assert_eq!(ledger_kinds(&cora).await, ["topup", "dispute"]);
        assert!(notification_codes(&cora).await.contains(&"payment.disputed".to_owned()));
        let chargeback = chargebacks(&admin, "").await[0].clone();
        assert_eq!((&chargeback["status"], &chargeback["amount"]["amount_minor"], &chargeback["decided_at"]), (&json!("open"), &json!(10_000), &Value::Null));
        assert_eq!(chargeback["customer_name"], "Customer GmbH");
        assert_eq!(admin.get(&format!("/admin/chargebacks/{}", chargeback["id"].as_str().unwrap())).await.ok(), chargeback);
        assert_eq!(refund(&admin, &chargeback["payment_id"]).await, 409);
        let told = world.mails().await;
        let subject = |to: &str| told.iter().filter(|mail| mail.to.contains(to)).map(|mail| mail.subject.clone()).collect::<Vec<_>>();
        assert!(subject(CORA).contains(&"A payment of 100.00 EUR is disputed".to_owned()), "{told:?}");
        assert!(subject(ADMIN_EMAIL).contains(&"Dispute about 100.00 EUR opened".to_owned()), "{told:?}");

        as_bank(&world, &payer, "win").await;
        assert_eq!((ledger_cents(db, &cora).await, book_cents(db, "disputes").await, book_cents(db, "clearing").await), (10_000, 0, -10_000));
        assert_eq!(ledger_kinds(&cora).await, ["topup", "dispute", "dispute_release"]);
        assert!(notification_codes(&cora).await.contains(&"payment.dispute_won".to_owned()));
        assert_eq!(chargebacks(&admin, "?status=won").await.len(), 1);
        assert_eq!(audit_rows(db, "chargeback.open").await, [webhook_row("success")]);
        assert_eq!(audit_rows(db, "chargeback.win").await, [webhook_row("success")]);
        // The bank cannot decide twice.
        as_bank(&world, &payer, "lose").await;
        assert_eq!(ledger_cents(db, &cora).await, 10_000);
        assert_eq!(refund(&admin, &chargeback["payment_id"]).await, 200);
        world.end().await;
    }

    async fn a_lost_dispute_of_spent_money_leaves_a_debt_and_stops_calls(db) {
        let scene = Scene::start(db, 0).await;
        let (world, cora) = (&scene.world, &scene.customer);
        let payer = pay_topup(world, cora, 10_000, VISA).await;
        world.use_up(&cora.account_id, 4_000).await;
        scene.allowed(json!({})).await;
        as_bank(world, &payer, "dispute").await;
        assert_eq!(ledger_cents(db, cora).await, -4_000);
        assert_eq!(scene.denied(json!({})).await.0, "balance.insufficient");
        let dunning = scene.admin.get("/admin/dunning").await.ok();
        assert_eq!(dunning["data"][0]["reasons"][0]["reason"], "negative_balance");

        as_bank(world, &payer, "lose").await;
        assert_eq!(ledger_kinds(cora).await, ["topup", "call", "dispute", "dispute_release", "chargeback"]);
        assert_eq!((ledger_cents(db, cora).await, book_cents(db, "disputes").await, book_cents(db, "clearing").await), (-4_000, 0, 0));
        assert!(notification_codes(cora).await.contains(&"payment.dispute_lost".to_owned()));
        let chargeback = chargebacks(&scene.admin, "").await[0].clone();
        assert_eq!(chargeback["status"], "lost");
        assert!(chargeback["decided_at"].is_string());
        let path = format!("/admin/payments/{}/refund", chargeback["payment_id"].as_str().unwrap());
        let refused = scene.admin.with_key(fresh_key()).post(&path, json!({"reason": "x", "allow_negative": true})).await;
        refused.problem(409, "state.conflict");
        assert!(world.mails().await.iter().any(|mail| mail.subject == "Dispute about 100.00 EUR lost"));
        pay_topup(world, cora, 5_000, VISA).await;
        scene.allowed(json!({})).await;
        scene.end().await;
    }

    async fn a_payment_returned_for_its_cards_limit_can_be_disputed_too(db) {
        let world = World::with(db, &[("TRUNKLINE_CARD_TOPUPS_PER_DAY", "1"), ("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let (admin, cora) = (world.admin().await, world.customer(CORA).await);
        pay_topup(&world, &cora, 2_500, VISA).await;
        let opened = begin_topup(&cora, 5_000).await;
        let payer = Payer::at(&opened);
        payer.pay(&world, VISA).await;
        assert_eq!(get_topup(&cora, &opened).await["status"], "failed");
        as_bank(&world, &payer, "dispute").await;
        assert_eq!(chargebacks(&admin, "?status=open").await.len(), 1);
        assert_eq!((ledger_cents(db, &cora).await, book_cents(db, "disputes").await), (-2_500, 5_000));
        as_bank(&world, &payer, "lose").await;
        assert_eq!(ledger_kinds(&cora).await, ["topup", "topup", "refund", "dispute", "dispute_release", "chargeback"]);
        // The bank took back what had been sent back already.
        assert_eq!((ledger_cents(db, &cora).await, book_cents(db, "clearing").await), (-2_500, 2_500));
        world.end().await;
    }

    async fn events_of_a_dispute_count_once_in_any_order_and_at_once(db) {
        let world = World::with(db, &[("TRUNKLINE_SANDBOX_CALLBACKS", "drop"), ("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let cora = world.customer(CORA).await;
        for (outcome, kinds, cents) in [
            ("lose", vec!["topup", "dispute", "dispute_release", "chargeback"], 0),
            ("win", vec!["topup", "dispute", "dispute_release"], 10_000),
        ] {
            let before = ledger_kinds(&cora).await.len();
            // Neither the payment nor its dispute is known yet.
            let payer = pay_topup(&world, &cora, 10_000, DISPUTED).await;
            as_bank(&world, &payer, outcome).await;
            let sql = "SELECT d.id FROM sandbox_disputes d WHERE d.order_id = $1";
            let (id,): (String,) = db.read().await.unwrap().one(sql, params![payer.order_id()]).await.unwrap();
            let mut events: Vec<([u8; 8], String)> = (0..60)
                .map(|number| (Entropy.bytes(), format!("dispute_{}_{number}", ["open", "won", "lost"][number % 3])))
                .collect();
            events.sort();
            let (here, id, now) = (&world, id.as_str(), world.node.app.clock.now());
            let sent = events.iter().map(|(_, event)| async move {
                send_signed(here, json!({"event": event, "dispute_id": id}), now).await.ok()
            });
            join_all(sent).await;
            world.settle().await;
            assert_eq!(ledger_kinds(&cora).await[before..], kinds);
            assert_eq!(ledger_cents(db, &cora).await, cents);
        }
        assert_eq!(count(db, "SELECT COUNT(*) FROM chargebacks WHERE status <> 'open'").await, 2);
        world.end().await;
    }

    async fn a_dispute_and_its_end_are_found_without_any_webhook(db) {
        let world = World::with(db, &[("TRUNKLINE_SANDBOX_CALLBACKS", "drop")]).await;
        let cora = world.customer(CORA).await;
        let payer = pay_topup(&world, &cora, 10_000, DISPUTED).await;
        world.advance(3_700).await;
        assert_eq!((ledger_cents(db, &cora).await, count(db, "SELECT COUNT(*) FROM chargebacks").await), (0, 1));
        as_bank(&world, &payer, "win").await;
        // The dispute is too old by now to be listed as a new one.
        world.advance(4 * 24 * 3_600).await;
        assert_eq!(ledger_cents(db, &cora).await, 10_000);
        assert_eq!(audit_rows(db, "chargeback.win").await, [(Some("system".to_owned()), "success".to_owned())]);
        world.end().await;
    }

    async fn disputes_at_revolut_freeze_what_they_name_and_end_once(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let (admin, cora) = (world.admin().await, world.customer(CORA).await);
        let opened = begin_topup(&cora, 10_000).await;
        let order = opened["topup_id"].as_str().unwrap();
        revolut.pay(order);
        let dispute = revolut.dispute(order, 4_000);
        for event in ["DISPUTE_ACTION_REQUIRED", "DISPUTE_UNDER_REVIEW", "DISPUTE_ACTION_REQUIRED"] {
            revolut.send_dispute_webhook(&world, event, &dispute).await.ok();
            world.settle().await;
            assert_eq!(ledger_cents(db, &cora).await, 6_000);
        }
        assert_eq!(refund(&admin, &get_topup(&cora, &opened).await["id"]).await, 409);
        revolut.set_dispute_state(&dispute, "under_review");
        world.advance(3_700).await;
        assert_eq!(ledger_cents(db, &cora).await, 6_000);
        revolut.set_dispute_state(&dispute, "lost");
        revolut.send_dispute_webhook(&world, "DISPUTE_LOST", &dispute).await.ok();
        world.settle().await;
        assert_eq!((ledger_cents(db, &cora).await, book_cents(db, "clearing").await), (6_000, -6_000));
        revolut.send_dispute_webhook(&world, "DISPUTE_WON", "unheard-of").await.ok();
        world.settle().await;
        let team = world.minted(Role::Support).await;
        assert_eq!(chargebacks(&team, "").await[0]["provider_dispute_id"], json!(dispute));
        world.end().await;
    }

    async fn a_pending_refund_is_not_sent_while_its_payment_is_disputed(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        world.admin().await;
        world.customer(CORA).await;
        for (state, event, refunds) in [("lost", "DISPUTE_LOST", 0), ("won", "DISPUTE_WON", 1)] {
            let (admin, cora) = (world.sign_in(ADMIN_EMAIL).await, world.sign_in(CORA).await);
            let opened = begin_topup(&cora, 10_000).await;
            let order = opened["topup_id"].as_str().unwrap();
            revolut.pay(order);
            world.advance(60).await;
            let payment = get_topup(&cora, &opened).await["id"].as_str().unwrap().to_owned();
            let (path, keyed) = (format!("/admin/payments/{payment}/refund"), admin.with_key(fresh_key()));
            let body = json!({"reason": "goodwill"});
            revolut.inject_fault(Fault::AsksToWait(5));
            keyed.post(&path, body.clone()).await.problem(503, "service.unavailable");
            // As long as it asked to.
            world.advance(6).await;
            let dispute = revolut.dispute(order, 10_000);
            revolut.send_dispute_webhook(&world, "DISPUTE_ACTION_REQUIRED", &dispute).await.ok();
            world.settle().await;
            world.advance(120).await;
            keyed.post(&path, body).await.ok();
            assert_eq!(revolut.orders("refund").len(), 0);
            revolut.set_dispute_state(&dispute, state);
            revolut.send_dispute_webhook(&world, event, &dispute).await.ok();
            world.settle().await;
            world.advance(600).await;
            assert_eq!((revolut.orders("refund").len(), ledger_cents(db, &cora).await), (refunds, 0), "{state}");
            assert_eq!(count(db, "SELECT CAST(SUM(held) AS BIGINT) FROM ledger_balances").await, 0, "{state}");
        }
        world.end().await;
    }

    async fn a_payment_over_its_cards_limit_is_not_returned_while_it_is_disputed(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world_with(db, &[("TRUNKLINE_CARD_TOPUPS_PER_DAY", "1")]).await;
        let cora = world.customer(CORA).await;
        revolut.pay(begin_topup(&cora, 2_500).await["topup_id"].as_str().unwrap());
        world.advance(60).await;
        let opened = begin_topup(&cora, 5_000).await;
        let order = opened["topup_id"].as_str().unwrap();
        revolut.pay(order);
        // The return has to wait.
        revolut.inject_fault(Fault::AsksToWait(0));
        world.advance(60).await;
        assert_eq!(get_topup(&cora, &opened).await["status"], "failed");
        let dispute = revolut.dispute(order, 5_000);
        revolut.send_dispute_webhook(&world, "DISPUTE_ACTION_REQUIRED", &dispute).await.ok();
        world.settle().await;
        world.advance(120).await;
        assert_eq!((revolut.orders("refund").len(), ledger_cents(db, &cora).await), (0, -2_500));
        revolut.set_dispute_state(&dispute, "won");
        revolut.send_dispute_webhook(&world, "DISPUTE_WON", &dispute).await.ok();
        world.settle().await;
        world.advance(3_600).await;
        assert_eq!((revolut.orders("refund").len(), ledger_cents(db, &cora).await), (1, 2_500));
        world.end().await;
    }

    async fn a_dispute_switches_auto_recharge_off(db) {
        let world = World::start(db).await;
        let cora = world.customer(CORA).await;
        let payer = pay_topup(&world, &cora, 10_000, VISA).await;
        let card = save_card(&world, &cora, VISA).await;
        let wanted = json!({"enabled": true, "threshold": amount_body(2_000), "recharge_amount": amount_body(5_000),
                            "payment_method_id": card["id"]});
        cora.with_key(fresh_key()).call(Method::PUT, "/account/auto-recharge", Some(wanted)).await.ok();
        as_bank(&world, &payer, "dispute").await;
        assert_eq!(cora.get("/account/auto-recharge").await.ok()["enabled"], false);
        // The card whose payment is disputed is not charged for it.
        assert_eq!((ledger_cents(db, &cora).await, count(db, "SELECT COUNT(*) FROM recharge_attempts").await), (0, 0));
        let news = cora.get("/notifications").await.ok();
        let disputed = news["data"].as_array().unwrap().iter().find(|one| one["code"] == "payment.disputed").unwrap();
        assert_eq!(disputed["payload"]["auto_recharge_disabled"], true);
        world.end().await;
    }

    async fn a_disputed_payment_does_not_pay_an_invoice_until_it_is_won(db) {
        let world = World::unlimited(db).await;
        let (customer, invoice) = customer_with_invoice(&world, false).await;
        let status = async || customer.get(&format!("/invoices/{invoice}")).await.ok()["status"].clone();
        let payer = pay_topup(&world, &customer, 100_000, DISPUTED).await;
        world.advance(300).await;
        assert_eq!(status().await, "issued");
        as_bank(&world, &payer, "win").await;
        world.advance(300).await;
        assert_eq!(status().await, "paid");
        world.end().await;
    }

    async fn chargebacks_are_paged_newest_first_and_filtered(db) {
        let world = World::unlimited(db).await;
        let (team, cora) = (world.minted(Role::Support).await, world.customer(CORA).await);
        let dora = world.customer("dora@customer.example").await;
        let first = pay_topup(&world, &cora, 1_000, DISPUTED).await;
        for (customer, cents) in [(&dora, 2_000), (&cora, 3_000)] {
            world.advance(1).await;
            pay_topup(&world, customer, cents, DISPUTED).await;
        }
        as_bank(&world, &first, "lose").await;
        let cents = |rows: &[Value]| rows.iter().map(|row| row["amount"]["amount_minor"].as_i64().unwrap()).collect::<Vec<_>>();
        let page = team.get("/admin/chargebacks?limit=2").await.ok();
        assert_eq!(cents(page["data"].as_array().unwrap()), [3_000, 2_000]);
        let cursor = page["meta"]["next_cursor"].as_str().unwrap();
        assert_eq!(cents(&chargebacks(&team, &format!("?limit=2&cursor={cursor}")).await), [1_000]);
        let of_cora = format!("?customer_id={}", cora.account_id);
        assert_eq!(cents(&chargebacks(&team, &of_cora).await), [3_000, 1_000]);
        assert_eq!(cents(&chargebacks(&team, &format!("{of_cora}&status=lost")).await), [1_000]);
        assert_eq!(cents(&chargebacks(&team, "?status=open").await), [3_000, 2_000]);
        team.get("/admin/chargebacks?status=maybe").await.problem(422, "validation.failed");
        cora.get("/admin/chargebacks").await.problem(403, "auth.forbidden");
        world.end().await;
    }
}
