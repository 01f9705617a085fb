//! Deliveries that succeed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use serde_json::{Value, json};

use super::LAB;
use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::events::{create_endpoint, deliveries, events, subscribe};
use crate::world::fixtures::key;
use crate::world::fixtures::trunks::create_trunk;
use crate::world::receiver::{Receiver, Reply};

const CORA: &str = "cora@customer.example";

both! {
    async fn an_endpoint_receives_the_events_that_it_selects(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        let (cora, other) = (world.customer(CORA).await, world.customer("omar@customer.example").await);
        let endpoint = subscribe(&cora, &receiver.url, &["trunk.created", "trunk.deleted"]).await;
        let trunk = create_trunk(&cora, "Main").await;
        cora.with_key(key()).patch(&trunk, json!({"name": "Renamed"})).await.ok();
        create_trunk(&other, "Theirs").await;
        world.settle().await;
        let sent = receiver.take();
        let event = events(&cora, "type=trunk.created").await.remove(0);
        assert_eq!(sent.len(), 1);
        assert_eq!((sent[0].id(), &sent[0].event()), (event["id"].as_str().unwrap(), &event));
        assert!(sent[0].is_signed_with(&endpoint["secret"]));
        assert_eq!(sent[0].headers["content-type"], "application/json");
        let seconds: i64 = sent[0].headers["webhook-timestamp"].parse().unwrap();
        assert!((world.seconds() - seconds).abs() < 60);
        let delivery = deliveries(&cora, &endpoint).await.remove(0);
        assert_eq!((&delivery["status"], &delivery["event_id"]), (&json!("delivered"), &event["id"]));
        assert_eq!((&delivery["attempts"][0]["status_code"], &delivery["attempts"][0]["error"]), (&json!(200), &json!(null)));
        assert_eq!(delivery["attempts"][0]["response_excerpt"], "thanks");
        assert_eq!(delivery["next_attempt_at"], json!(null));
        world.end().await;
    }

    async fn a_test_goes_to_its_endpoint_alone(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        let cora = world.customer(CORA).await;
        let endpoint = subscribe(&cora, &receiver.url, &["*"]).await;
        let (other, elsewhere) = (Receiver::start().await, json!(["*"]));
        create_endpoint(&cora, "/webhook-endpoints", json!({"url": other.url, "event_types": elsewhere})).await;
        let path = format!("/webhook-endpoints/{}", endpoint["id"].as_str().unwrap());
        let delivery = cora.call(Method::POST, &format!("{path}/test"), None).await.expect(202);
        assert_eq!((&delivery["event_type"], &delivery["status"]), (&json!("webhook.test"), &json!("pending")));
        world.settle().await;
        let sent = receiver.take();
        assert_eq!((sent.len(), &sent[0].event()["type"]), (1, &json!("webhook.test")));
        assert!(other.take().is_empty());
        assert!(events(&cora, "").await.is_empty());
        let shown = cora.get(&format!("{path}/deliveries/{}", delivery["id"].as_str().unwrap())).await.ok();
        assert_eq!(shown["status"], "delivered");
        world.end().await;
    }

    async fn the_team_receives_the_events_of_all_customers_with_their_ids(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        let admin = world.admin().await;
        let body = json!({"url": receiver.url, "event_types": ["trunk.created"]});
        let endpoint = create_endpoint(&admin, "/admin/webhook-endpoints", body).await;
        for email in [CORA, "omar@customer.example"] {
            create_trunk(&*world.customer(email).await, email).await;
        }
        world.settle().await;
        let mut sent: Vec<Value> = receiver.take().iter().map(|sent| {
            assert!(sent.is_signed_with(&endpoint["secret"]));
            sent.event()
        }).collect();
        sent.sort_by_key(|event| event["data"]["name"].as_str().unwrap().to_owned());
        let listed = admin.get("/admin/events?type=trunk.created").await.ok();
        assert_eq!(json!(sent), listed["data"]);
        // The team's endpoints are not a customer's.
        let path = format!("/webhook-endpoints/{}", endpoint["id"].as_str().unwrap());
        world.customer("ina@customer.example").await.get(&path).await.problem(404, "not_found");
        world.end().await;
    }

    async fn a_delivery_is_repeated_under_the_same_id(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        let cora = world.customer(CORA).await;
        let endpoint = subscribe(&cora, &receiver.url, &["trunk.created"]).await;
        create_trunk(&cora, "Main").await;
        world.settle().await;
        let first = receiver.take().remove(0);
        let delivery = deliveries(&cora, &endpoint).await.remove(0);
        let path = format!("/webhook-endpoints/{}/deliveries/{}/retry", endpoint["id"].as_str().unwrap(), delivery["id"].as_str().unwrap());
        cora.with_key(key()).call(Method::POST, &path, None).await.expect(202);
        world.settle().await;
        let again = receiver.take().remove(0);
        assert_eq!((again.id(), &again.body), (first.id(), &first.body));
        assert_eq!(deliveries(&cora, &endpoint).await[0]["attempts"].as_array().unwrap().len(), 2);
        world.end().await;
    }

    async fn a_replay_sends_what_an_endpoint_missed_while_it_was_disabled(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        let cora = world.customer(CORA).await;
        let endpoint = subscribe(&cora, &receiver.url, &["trunk.created"]).await;
        let path = format!("/webhook-endpoints/{}", endpoint["id"].as_str().unwrap());
        let replay = async |body: Value| {
            let answer = cora.with_key(key()).post(&format!("{path}/replay"), body).await.expect(202);
            world.advance(1).await;
            (answer["deliveries"].as_i64().unwrap(), receiver.take().len())
        };
        create_trunk(&cora, "sent").await;
        world.advance(1).await;
        cora.patch(&path, json!({"enabled": false})).await.ok();
        create_trunk(&cora, "missed").await;
        world.advance(1).await;
        assert_eq!(receiver.take().len(), 1);
        cora.patch(&path, json!({"enabled": true})).await.ok();
        world.settle().await;
        assert!(receiver.take().is_empty());

        let from = "2020-01-01T00:00:00Z";
        assert_eq!(replay(json!({"from": from, "only_failed": true})).await, (0, 0));
        let missed = events(&cora, "").await[1]["timestamp"].clone();
        assert_eq!(replay(json!({"from": missed})).await, (1, 1));
        assert_eq!(replay(json!({"from": from})).await, (2, 2));
        assert_eq!(replay(json!({"from": from, "to": missed})).await, (1, 1));
        world.end().await;
    }

    async fn an_endpoint_that_hangs_delays_no_other(db) {
        let (world, stuck, receiver) = (World::with(db, &LAB).await, Receiver::start().await, Receiver::start().await);
        stuck.reply(Reply::Hang);
        let cora = world.customer(CORA).await;
        // More deliveries than there are places for one endpoint.
        let endpoint = subscribe(&cora, &stuck.url, &["trunk.created"]).await;
        for number in 0..10 {
            create_trunk(&cora, &format!("trunk {number}")).await;
        }
        stuck.until(4).await;
        // An endpoint gets what is published after it was created, so all of these must be.
        while deliveries(&cora, &endpoint).await.len() < 10 {
            tokio::task::yield_now().await;
        }
        subscribe(&cora, &receiver.url, &["trunk.created"]).await;
        create_trunk(&cora, "quick").await;
        receiver.until(1).await;
        assert_eq!(receiver.take()[0].event()["data"]["name"], "quick");
        stuck.reply(Reply::Status(200));
        // What hung for too long is tried again.
        for seconds in [10, 400] {
            world.advance(seconds).await;
        }
        let delivered = deliveries(&cora, &endpoint).await;
        assert_eq!(delivered.len(), 11);
        assert!(delivered.iter().all(|delivery| delivery["status"] == "delivered"), "{delivered:?}");
        world.end().await;
    }
}
