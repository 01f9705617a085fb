//! Saved cards.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use identity::onboarding::Event;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Session;
use crate::world::engines::both;
use crate::world::fixtures::count;
use crate::world::fixtures::onboarding::{apply_event, sign_up};
use crate::world::fixtures::payments::{VISA, save_card};
use crate::world::payer::{Payer, fresh_key, set_up_card};

const AMEX: &str = "378282246310005";
const MASTERCARD: &str = "5555555555554444";

fn path(method: &Value) -> String {
    format!("/payments/methods/{}", method["id"].as_str().unwrap())
}

async fn saved(session: &Session) -> Vec<Value> {
    session.get("/payments/methods").await.ok()["data"].as_array().unwrap().clone()
}

/// The last digits of each card, the default marked, newest first.
async fn digits(session: &Session) -> Vec<(String, bool)> {
    let digits = |method: &Value| method["last4"].as_str().unwrap().to_owned();
    saved(session).await.iter().map(|method| (digits(method), method["is_default"] == true)).collect()
}

fn card(last4: &str, is_default: bool) -> (String, bool) {
    (last4.to_owned(), is_default)
}

both! {
    async fn a_card_is_entered_at_the_checkout_and_saved(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        assert_eq!(saved(&cora).await, Vec::<Value>::new());
        let first = save_card(&world, &cora, VISA).await;
        assert_eq!((&first["brand"], &first["last4"], &first["is_default"]), (&json!("visa"), &json!("4242"), &json!(true)));
        assert!(first["created_at"].is_string() && first.get("token").is_none());
        world.advance(1).await;
        assert_eq!(save_card(&world, &cora, AMEX).await["is_default"], false);
        assert_eq!(digits(&cora).await, [card("0005", false), card("4242", true)]);
        // Nothing was charged.
        assert_eq!(count(db, "SELECT COUNT(*) FROM ledger_transactions").await, 0);
        assert_eq!(cora.get("/payments/topups").await.ok()["data"], json!([]));
        world.end().await;
    }

    async fn a_verified_card_is_saved_too(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        Payer::at(&set_up_card(&petra).await).choose(&world, &[("action", "decline")]).await;
        assert_eq!(digits(&petra).await, []);
        Payer::at(&set_up_card(&petra).await).pay(&world, MASTERCARD).await;
        assert_eq!(digits(&petra).await, [card("4444", true)]);
        world.end().await;
    }

    async fn a_payer_returns_only_to_allowed_urls(db) {
        let world = World::with(db, &[("TRUNKLINE_RETURN_ORIGINS", "https://portal.example")]).await;
        let cora = world.customer("cora@customer.example").await;
        for elsewhere in ["https://evil.example/", "http://portal.example/", "https://portal.example@evil.example/", "/back", ""] {
            let answer = cora.with_key(fresh_key()).post("/payments/methods", json!({"return_url": elsewhere})).await;
            assert_eq!(answer.invalid(), ["return_url"], "{elsewhere}");
        }
        assert_eq!(cora.with_key(fresh_key()).post("/payments/methods", json!({})).await.invalid(), ["return_url"]);
        let keyed = cora.with_key(fresh_key());
        let body = json!({"return_url": "https://portal.example/cards?saved=1"});
        let opened = keyed.post("/payments/methods", body.clone()).await.expect(201);
        assert_eq!(keyed.post("/payments/methods", body).await.expect(201), opened);
        let payer = Payer::at(&opened);
        assert_eq!(opened["order_id"], payer.order_id());
        let answer = payer.send(&[("action", "pay")]).await;
        assert_eq!(answer.header("location"), Some("https://portal.example/cards?saved=1"));
        world.settle().await;
        assert_eq!(digits(&cora).await, [card("4242", true)]);
        world.end().await;
    }

    async fn an_account_with_cards_has_exactly_one_default(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let mut methods = Vec::new();
        for number in [VISA, AMEX, MASTERCARD] {
            methods.push(save_card(&world, &cora, number).await);
            world.advance(1).await;
        }
        let [visa, amex, _] = methods.as_slice() else { panic!() };
        let default = |method: &Value, is_default: bool| {
            let (caller, path) = (cora.with_key(fresh_key()), path(method));
            async move { caller.patch(&path, json!({"is_default": is_default})).await }
        };
        assert_eq!(default(amex, true).await.ok()["is_default"], true);
        assert_eq!(digits(&cora).await, [card("4444", false), card("0005", true), card("4242", false)]);
        default(amex, false).await.problem(409, "state.conflict");
        assert_eq!(default(visa, false).await.ok()["is_default"], false);
        let both = futures_util::future::join(default(visa, true), default(amex, true)).await;
        assert_eq!((both.0.status, both.1.status), (200, 200));
        assert_eq!(count(db, "SELECT COUNT(*) FROM payment_methods WHERE is_default").await, 1);
        cora.patch(&path(visa), json!({"is_default": true})).await.problem(400, "idempotency.key_required");
        world.end().await;
    }

    async fn the_default_card_is_deleted_last(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let visa = save_card(&world, &cora, VISA).await;
        world.advance(1).await;
        let amex = save_card(&world, &cora, AMEX).await;
        let dora = world.customer("dora@customer.example").await;
        dora.with_key(fresh_key()).delete(&path(&visa)).await.problem(404, "not_found");
        cora.with_key(fresh_key()).delete(&path(&visa)).await.problem(409, "resource.in_use");
        cora.with_key(fresh_key()).delete(&path(&amex)).await.expect(204);
        cora.with_key(fresh_key()).delete(&path(&visa)).await.expect(204);
        cora.with_key(fresh_key()).delete(&path(&visa)).await.problem(404, "not_found");
        assert_eq!(digits(&cora).await, []);
        assert_eq!(save_card(&world, &cora, AMEX).await["is_default"], true);
        world.end().await;
    }

    async fn a_suspended_account_cannot_change_its_cards(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let visa = save_card(&world, &cora, VISA).await;
        apply_event(&world, &cora, Event::Suspended).await;
        let keyed = || cora.with_key(fresh_key());
        let return_url = format!("http://{}/", world.node.public);
        keyed().post("/payments/methods", json!({"return_url": return_url})).await.problem(403, "account.not_active");
        keyed().patch(&path(&visa), json!({"is_default": true})).await.problem(403, "account.not_active");
        keyed().call(Method::DELETE, &path(&visa), None).await.problem(403, "account.not_active");
        assert_eq!(digits(&cora).await, [card("4242", true)]);
        world.end().await;
    }
}
