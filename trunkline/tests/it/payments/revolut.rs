//! Payments through Revolut, against a server that speaks its API.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use billing::payments::{self, NewCharge, PaymentStatus};
use serde_json::{Value, json};
use values::{Currency, Money};

use crate::world::ADMIN_EMAIL;
use crate::world::client::Session;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::count;
use crate::world::fixtures::payments::{
    amount_body, begin_topup, count_topups, get_topup, ledger_cents, save_revolut_card,
};
use crate::world::payer::fresh_key;
use crate::world::revolut::{Fault, RevolutServer};

fn charge(session: &Session, method: &Value) -> NewCharge {
    NewCharge {
        account: session.account_id.parse().unwrap(),
        method: method["id"].as_str().unwrap().parse().unwrap(),
        amount: Money::from_minor(5_000, Currency::EUR).unwrap(),
        key: uuid(),
    }
}

both! {
    async fn a_revolut_top_up_is_credited_with_or_without_a_webhook(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = world.customer("cora@customer.example").await;
        let opened = begin_topup(&cora, 2_500).await;
        let id = opened["topup_id"].as_str().unwrap();
        assert!(opened["checkout_url"].as_str().unwrap().starts_with(&format!("{}/payment-link/", revolut.url)));
        let order = revolut.order(id);
        assert_eq!((&order["amount"], &order["currency"], &order["capture_mode"]), (&json!(2500), &json!("EUR"), &json!("automatic")));
        assert_eq!(order["merchant_order_data"]["reference"], get_topup(&cora, &opened).await["id"]);
        for state in ["processing", "authorised"] {
            revolut.set_state(id, state);
            revolut.send_webhook(&world, "ORDER_AUTHORISED", id, world.node.app.clock.now()).await.ok();
            world.settle().await;
            assert_eq!(get_topup(&cora, &opened).await["status"], "pending");
        }
        revolut.pay(id);
        for _ in 0..3 {
            revolut.send_webhook(&world, "ORDER_COMPLETED", id, world.node.app.clock.now()).await.ok();
        }
        world.settle().await;
        assert_eq!(get_topup(&cora, &opened).await["balance_after_minor"], 2_500);

        let silent = begin_topup(&cora, 1_000).await;
        revolut.pay(silent["topup_id"].as_str().unwrap());
        world.advance(120).await;
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (3_500, 2));
        world.end().await;
    }

    async fn a_webhook_needs_one_valid_signature_and_a_recent_timestamp(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let now = world.node.app.clock.now();
        let near = now.minus(Duration::from_secs(290));
        revolut.send_webhook(&world, "ORDER_COMPLETED", "unheard-of", near).await.ok();
        for (at, secret) in [(now, "wsk_another_secret"), (now.minus(Duration::from_secs(301)), "")] {
            let told = match secret {
                "" => revolut.send_webhook(&world, "ORDER_FAILED", "unheard-of", at).await,
                secret => revolut.send_signed_webhook(&world, "ORDER_FAILED", "unheard-of", at, secret).await,
            };
            assert_eq!(told.expect(401), json!({"ok": false}));
        }
        assert_eq!(count(db, "SELECT COUNT(*) FROM payment_callbacks").await, 1);
        world.anyone().post("/webhooks/payments/sandbox", json!({})).await.problem(404, "not_found");
        world.end().await;
    }

    async fn an_order_whose_response_was_lost_is_found_by_its_reference(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = world.customer("cora@customer.example").await;
        let keyed = cora.with_key(fresh_key());
        revolut.inject_fault(Fault::LosesAnswer);
        keyed.post("/payments/topups", amount_body(2_500)).await.problem(503, "service.unavailable");
        let opened = keyed.post("/payments/topups", amount_body(2_500)).await.expect(201);
        let orders = revolut.orders("payment");
        assert_eq!((orders.len(), &orders[0]["id"]), (1, &opened["topup_id"]));
        assert_eq!(count(db, "SELECT COUNT(*) FROM payments").await, 1);
        world.end().await;
    }

    async fn retry_after_of_the_provider_is_respected(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = world.customer("cora@customer.example").await;
        let keyed = cora.with_key(fresh_key());
        revolut.inject_fault(Fault::AsksToWait(30));
        keyed.post("/payments/topups", amount_body(2_500)).await.problem(503, "service.unavailable");
        let heard = revolut.requests();
        keyed.post("/payments/topups", amount_body(2_500)).await.problem(503, "service.unavailable");
        assert_eq!(revolut.requests(), heard);
        world.advance(31).await;
        keyed.post("/payments/topups", amount_body(2_500)).await.expect(201);
        world.end().await;
    }

    async fn a_saved_card_is_charged_once_and_a_decline_cancels_its_order(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = world.customer("cora@customer.example").await;
        let method = save_revolut_card(&world, &revolut, &cora).await;
        assert_eq!((&method["brand"], &method["last4"], &method["exp_year"]), (&json!("mastercard"), &json!("4444"), &json!(2031)));
        let app = &world.node.app;
        let paid = charge(&cora, &method);
        for _ in 0..3 {
            assert_eq!(payments::charge(app, paid.clone()).await.unwrap().status, PaymentStatus::Completed);
        }
        assert_eq!((ledger_cents(db, &cora).await, revolut.orders("payment").len()), (5_000, 2));

        let refusals = [
            ("declined", Some("insufficient_funds"), "insufficient_funds"),
            ("soft_declined", None, "soft_declined"),
            ("authentication_challenge", None, "authentication_required"),
        ];
        for (state, reason, decline) in refusals {
            revolut.next_charge(state, reason);
            let charged = payments::charge(app, charge(&cora, &method)).await.unwrap();
            assert_eq!((charged.status, charged.decline.as_deref()), (PaymentStatus::Failed, Some(decline)));
        }
        let cancelled = revolut.orders("payment").iter().filter(|order| order["state"] == "cancelled").count();
        assert_eq!((ledger_cents(db, &cora).await, cancelled), (5_000, 3));
        world.end().await;
    }

    async fn a_card_is_charged_once_by_two_concurrent_nodes(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = world.customer("cora@customer.example").await;
        let method = save_revolut_card(&world, &revolut, &cora).await;
        // SQLite has one node, which polls beside its own charge.
        let other = if db.is_shared() { Some(world.another_node().await) } else { None };
        let held_back = revolut.hold_back();
        let (app, charge) = (world.node.app.clone(), charge(&cora, &method));
        let charging = tokio::spawn(async move { payments::charge(&app, charge).await });
        held_back.arrived().await;
        other.as_ref().unwrap_or(&world).advance(61).await;
        held_back.release();
        assert_eq!(charging.await.unwrap().unwrap().status, PaymentStatus::Completed);
        let paid = revolut.orders("payment").iter().filter(|order| order["amount"] == 5_000).count();
        assert_eq!((paid, ledger_cents(db, &cora).await, count_topups(db).await), (1, 5_000, 1));
        if let Some(other) = other {
            other.end().await;
        }
        world.end().await;
    }

    async fn a_charge_with_a_lost_or_late_response_is_settled_by_the_poller(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = world.customer("cora@customer.example").await;
        let method = save_revolut_card(&world, &revolut, &cora).await;
        let app = &world.node.app;
        // The order's answer is lost, then the payment's; then the bank takes its time.
        revolut.inject_fault(Fault::LosesAnswer);
        let unheard = payments::charge(app, charge(&cora, &method)).await.unwrap();
        assert_eq!(unheard.status, PaymentStatus::Pending);
        world.advance(120).await;
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (5_000, 1));
        revolut.next_charge("authorisation_started", None);
        let slow = payments::charge(app, charge(&cora, &method)).await.unwrap();
        assert_eq!(slow.status, PaymentStatus::Pending);
        for order in revolut.orders("payment").iter().filter(|order| order["state"] == "processing") {
            revolut.set_state(order["id"].as_str().unwrap(), "completed");
        }
        world.advance(120).await;
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (10_000, 2));
        assert_eq!(revolut.orders("payment").len(), 3);
        world.end().await;
    }

    async fn a_charge_in_authorisation_is_waited_for(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = world.customer("cora@customer.example").await;
        let method = save_revolut_card(&world, &revolut, &cora).await;
        // The holder is asked, and says yes before the order is cancelled.
        revolut.is_firm();
        revolut.next_charge("authentication_challenge", None);
        let charged = payments::charge(&world.node.app, charge(&cora, &method)).await.unwrap();
        assert_eq!(charged.status, PaymentStatus::Pending);
        for order in revolut.orders("payment").iter().filter(|order| order["state"] == "processing") {
            revolut.set_state(order["id"].as_str().unwrap(), "completed");
        }
        world.advance(120).await;
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (5_000, 1));
        world.end().await;
    }

    async fn a_charge_that_needs_authentication_is_cancelled_even_on_a_retry(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = world.customer("cora@customer.example").await;
        let method = save_revolut_card(&world, &revolut, &cora).await;
        // The order and its payment are made; then it cannot be cancelled for a while.
        for trouble in [Fault::Passes, Fault::Passes, Fault::AsksToWait(5)] {
            revolut.inject_fault(trouble);
        }
        revolut.next_charge("authentication_challenge", None);
        let _ = payments::charge(&world.node.app, charge(&cora, &method)).await;
        world.advance(120).await;
        let listed = cora.get("/payments/topups").await.ok();
        assert_eq!(listed["data"][0]["status"], "failed");
        let cancelled = revolut.orders("payment").iter().filter(|order| order["state"] == "cancelled").count();
        assert_eq!((cancelled, ledger_cents(db, &cora).await), (1, 0));
        world.end().await;
    }

    async fn a_refused_refund_is_not_sent_by_a_retry_on_another_day(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let (admin, cora) = (world.admin().await, world.customer("cora@customer.example").await);
        let opened = begin_topup(&cora, 10_000).await;
        let order = opened["topup_id"].as_str().unwrap();
        revolut.pay(order);
        world.advance(120).await;
        let path = format!("/admin/payments/{}/refund", get_topup(&cora, &opened).await["id"].as_str().unwrap());
        let (key, body) = (fresh_key(), json!({"reason": "goodwill"}));
        revolut.set_state(order, "processing");
        admin.with_key(key).post(&path, body.clone()).await.problem(409, "state.conflict");
        revolut.set_state(order, "completed");
        world.advance(25 * 3600).await;
        let admin = world.sign_in(ADMIN_EMAIL).await;
        admin.with_key(key).post(&path, body.clone()).await.problem(409, "state.conflict");
        assert_eq!((revolut.orders("refund").len(), ledger_cents(db, &cora).await), (0, 10_000));
        // Another attempt needs another key.
        assert_eq!(admin.with_key(fresh_key()).post(&path, body).await.ok()["status"], "refunded");
        assert_eq!((revolut.orders("refund").len(), ledger_cents(db, &cora).await), (1, 0));
        world.end().await;
    }

    async fn a_refund_is_a_separate_order_and_made_once(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let (admin, cora) = (world.admin().await, world.customer("cora@customer.example").await);
        let opened = begin_topup(&cora, 10_000).await;
        revolut.pay(opened["topup_id"].as_str().unwrap());
        world.advance(120).await;
        let path = format!("/admin/payments/{}/refund", get_topup(&cora, &opened).await["id"].as_str().unwrap());
        let part = |cents: i64| json!({"reason": "goodwill", "amount": {"amount_minor": cents, "currency": "EUR"}});
        let keyed = admin.with_key(fresh_key());
        revolut.inject_fault(Fault::LosesAnswer);
        keyed.post(&path, part(4_000)).await.problem(503, "service.unavailable");
        assert_eq!(keyed.post(&path, part(4_000)).await.ok()["refunded"]["amount_minor"], 4_000);
        assert_eq!((revolut.orders("refund").len(), ledger_cents(db, &cora).await), (1, 6_000));
        revolut.inject_fault(Fault::LosesAnswer);
        admin.with_key(fresh_key()).post(&path, part(1_000)).await.problem(503, "service.unavailable");
        world.advance(120).await;
        assert_eq!((revolut.orders("refund").len(), ledger_cents(db, &cora).await), (2, 5_000));
        // Claimed and interrupted: the money is held until the poller asks again.
        revolut.inject_fault(Fault::AsksToWait(5));
        let admin = world.sign_in(ADMIN_EMAIL).await;
        admin.with_key(fresh_key()).post(&path, part(500)).await.problem(503, "service.unavailable");
        let held = "SELECT CAST(SUM(held) AS BIGINT) FROM ledger_balances";
        assert_eq!((ledger_cents(db, &cora).await, count(db, held).await), (5_000, 5_000_000_000));
        world.advance(120).await;
        assert_eq!((revolut.orders("refund").len(), ledger_cents(db, &cora).await, count(db, held).await), (3, 4_500, 0));
        world.end().await;
    }
}
