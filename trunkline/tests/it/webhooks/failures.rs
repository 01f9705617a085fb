//! Receivers that are down, gone, or must not be reached.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::LAB;
use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::events::{deliveries, events, subscribe, types};
use crate::world::fixtures::trunks::create_trunk;
use crate::world::receiver::{Receiver, Reply};

const CORA: &str = "cora@customer.example";

fn ids(received: &[crate::world::receiver::Received]) -> BTreeSet<String> {
    received.iter().map(|sent| sent.id().to_owned()).collect()
}

async fn endpoint(caller: &Client, made: &Value) -> Value {
    caller.get(&format!("/webhook-endpoints/{}", made["id"].as_str().unwrap())).await.ok()
}

both! {
    async fn a_receiver_that_was_down_for_an_hour_gets_every_event_once_it_is_back(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        receiver.reply(Reply::Status(503));
        let made = subscribe(&*world.customer(CORA).await, &receiver.url, &["trunk.created"]).await;
        for number in 0..12 {
            create_trunk(&*world.sign_in(CORA).await, &format!("trunk {number}")).await;
            world.advance(300).await;
        }
        let cora = world.sign_in(CORA).await;
        assert!(endpoint(&cora, &made).await["failing_since"].is_string());
        let failed = receiver.take();
        receiver.reply(Reply::Status(204));
        // The longest pause so far, with its jitter.
        world.advance(2 * 3600 + 720).await;
        let cora = world.sign_in(CORA).await;
        let expected: BTreeSet<String> =
            events(&cora, "").await.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect();
        let arrived = receiver.take();
        assert_eq!((expected.len(), arrived.len()), (12, 12));
        assert_eq!(ids(&arrived), expected);
        assert_eq!(ids(&failed), expected);
        assert_eq!(endpoint(&cora, &made).await["failing_since"], json!(null));
        assert!(deliveries(&cora, &made).await.iter().all(|delivery| delivery["status"] == "delivered"));
        world.end().await;
    }

    async fn a_delivery_fails_after_ten_attempts(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        receiver.reply(Reply::Status(500));
        let cora = world.customer(CORA).await;
        let made = subscribe(&cora, &receiver.url, &["trunk.created"]).await;
        create_trunk(&cora, "Main").await;
        world.settle().await;
        for hours in [1, 1, 1, 3, 6, 11, 16, 22, 27] {
            world.advance(hours * 3600).await;
        }
        let cora = world.sign_in(CORA).await;
        let delivery = deliveries(&cora, &made).await.remove(0);
        assert_eq!((&delivery["status"], &delivery["next_attempt_at"]), (&json!("failed"), &json!(null)));
        let attempts = delivery["attempts"].as_array().unwrap();
        assert_eq!(attempts.len(), 10);
        assert!(attempts.iter().all(|attempt| attempt["error"] == "the server responded 500"));
        let received = receiver.take();
        assert_eq!((received.len(), ids(&received).len()), (10, 1));
        assert_eq!(endpoint(&cora, &made).await["enabled"], true);

        // Nothing was due for weeks, so one failure after that does not disable it.
        assert_eq!(endpoint(&cora, &made).await["failing_since"], json!(null));
        world.advance(21 * 86_400).await;
        create_trunk(&*world.sign_in(CORA).await, "Another").await;
        world.settle().await;
        let shown = endpoint(&*world.sign_in(CORA).await, &made).await;
        assert!(shown["enabled"] == true && shown["failing_since"].is_string(), "{shown}");
        world.end().await;
    }

    async fn an_endpoint_that_is_gone_is_disabled_and_its_owner_told(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        receiver.reply(Reply::Status(410));
        let cora = world.customer(CORA).await;
        let made = subscribe(&cora, &receiver.url, &["trunk.created"]).await;
        create_trunk(&cora, "Main").await;
        world.settle().await;
        let shown = endpoint(&cora, &made).await;
        assert_eq!((&shown["enabled"], &shown["disabled_reason"]), (&json!(false), &json!("gone")));
        assert_eq!(types(&events(&cora, "").await), ["trunk.created", "webhook.disabled"]);
        let told = cora.get("/notifications").await.ok()["data"][0].clone();
        assert_eq!((&told["code"], &told["payload"]["reason"]), (&json!("webhook.disabled"), &json!("gone")));
        let mails = world.mails().await;
        let mail = mails.iter().find(|mail| mail.subject == "A webhook endpoint was disabled").unwrap();
        assert_eq!(mail.to, CORA);
        create_trunk(&cora, "Another").await;
        world.settle().await;
        assert_eq!(receiver.take().len(), 1);
        world.end().await;
    }

    async fn an_endpoint_that_fails_for_five_days_is_disabled(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        receiver.reply(Reply::Status(500));
        let made = subscribe(&*world.customer(CORA).await, &receiver.url, &["trunk.created"]).await;
        for day in 0..5 {
            create_trunk(&*world.sign_in(CORA).await, &format!("trunk {day}")).await;
            world.settle().await;
            assert_eq!(endpoint(&*world.sign_in(CORA).await, &made).await["enabled"], true, "on day {day}");
            world.advance(86_400).await;
        }
        create_trunk(&*world.sign_in(CORA).await, "the last").await;
        world.settle().await;
        let cora = world.sign_in(CORA).await;
        let shown = endpoint(&cora, &made).await;
        assert_eq!((&shown["enabled"], &shown["disabled_reason"]), (&json!(false), &json!("failing")));

        // Enabled again, it gets what was pending.
        receiver.reply(Reply::Status(200));
        receiver.take();
        cora.patch(&format!("/webhook-endpoints/{}", made["id"].as_str().unwrap()), json!({"enabled": true})).await.ok();
        world.advance(86_400 + 3 * 3600).await;
        let pending = receiver.take();
        assert!(!pending.is_empty());
        let cora = world.sign_in(CORA).await;
        assert!(deliveries(&cora, &made).await.iter().all(|delivery| delivery["status"] != "pending"));
        world.end().await;
    }

    async fn a_redirect_is_not_followed(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        receiver.reply(Reply::Status(302));
        let cora = world.customer(CORA).await;
        let made = subscribe(&cora, &receiver.url, &["trunk.created"]).await;
        create_trunk(&cora, "Main").await;
        world.settle().await;
        let attempt = deliveries(&cora, &made).await[0]["attempts"][0].clone();
        assert_eq!((&attempt["status_code"], &attempt["error"]), (&json!(302), &json!("redirects are not followed")));
        world.end().await;
    }

    async fn a_name_that_resolves_to_a_private_address_is_not_reached(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let made = subscribe(&cora, "https://localhost/hook", &["trunk.created"]).await;
        create_trunk(&cora, "Main").await;
        world.settle().await;
        let delivery = deliveries(&cora, &made).await.remove(0);
        let attempt = &delivery["attempts"][0];
        assert_eq!((&attempt["status_code"], &delivery["status"]), (&json!(null), &json!("pending")));
        assert_eq!(attempt["error"], "the URL does not point to the public internet");
        world.end().await;
    }
}
