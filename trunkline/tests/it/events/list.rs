//! The list of events.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::events::{events, types};
use crate::world::fixtures::key;
use crate::world::fixtures::trunks::{create_trunk, post_trunk, trunk_body};

const CORA: &str = "cora@customer.example";

/// A page after this cursor: its events and the next cursor.
async fn page(caller: &Client, path: &str, cursor: &str) -> (Vec<Value>, String) {
    let page = caller.get(&format!("{path}{cursor}")).await.ok();
    let next = page["meta"]["next_cursor"].as_str().expect("there always is a next cursor").to_owned();
    (page["data"].as_array().unwrap().clone(), next)
}

both! {
    async fn events_are_listed_oldest_first_and_polled_with_the_last_cursor(db) {
        let world = World::unlimited(db).await;
        let (cora, other) = (world.customer(CORA).await, world.customer("omar@customer.example").await);
        let (nothing, start) = page(&cora, "/events", "").await;
        assert!(nothing.is_empty());
        let trunk = create_trunk(&cora, "Main").await;
        cora.with_key(key()).patch(&trunk, json!({"name": "Renamed"})).await.ok();
        create_trunk(&other, "Theirs").await;
        cora.with_key(key()).delete(&trunk).await.expect(204);
        world.settle().await;

        let (seen, next) = page(&cora, "/events?cursor=", &start).await;
        assert_eq!(types(&seen), ["trunk.created", "trunk.updated", "trunk.deleted"]);
        assert_eq!((&seen[0]["data"]["name"], &seen[1]["data"]["name"]), (&json!("Main"), &json!("Renamed")));
        let (nothing, same) = page(&cora, "/events?cursor=", &next).await;
        assert!(nothing.is_empty());
        create_trunk(&cora, "Another").await;
        world.settle().await;
        let (new, _) = page(&cora, "/events?cursor=", &same).await;
        assert_eq!(types(&new), ["trunk.created"]);

        // Page by page.
        let (first, next) = page(&cora, "/events?limit=2", "").await;
        let (second, _) = page(&cora, "/events?limit=2&cursor=", &next).await;
        assert_eq!([first, second].concat(), events(&cora, "").await);
        let one = cora.get(&format!("/events/{}", seen[1]["id"].as_str().unwrap())).await.ok();
        assert_eq!(one, seen[1]);
        world.end().await;
    }

    async fn events_are_filtered_by_type_and_time(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let trunk = create_trunk(&cora, "Main").await;
        world.advance(60).await;
        cora.with_key(key()).patch(&trunk, json!({"name": "Renamed"})).await.ok();
        world.settle().await;
        let at = events(&cora, "").await[1]["timestamp"].as_str().unwrap().to_owned();
        assert_eq!(types(&events(&cora, "type=trunk.created").await), ["trunk.created"]);
        assert_eq!(types(&events(&cora, &format!("from={at}")).await), ["trunk.updated"]);
        assert_eq!(types(&events(&cora, &format!("to={at}")).await), ["trunk.created"]);
        assert!(events(&cora, &format!("from={at}&to={at}")).await.is_empty());
        assert_eq!(cora.get("/events?type=nothing").await.invalid(), ["type"]);
        world.end().await;
    }

    async fn a_new_default_trunk_also_tells_of_the_former_one(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        create_trunk(&cora, "Former").await;
        let next = create_trunk(&cora, "Next").await;
        cora.with_key(key()).patch(&next, json!({"is_default": true})).await.ok();
        world.settle().await;
        let seen = events(&cora, "type=trunk.updated").await;
        let mut defaults: Vec<_> = seen.iter().map(|event| (event["data"]["name"].clone(), event["data"]["is_default"].clone())).collect();
        defaults.sort_by_key(|(name, _)| name.to_string());
        assert_eq!(defaults, [(json!("Former"), json!(false)), (json!("Next"), json!(true))]);
        world.end().await;
    }

    async fn a_refused_change_leaves_no_event(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let mut body = trunk_body("Main");
        body["zone"] = json!("atlantis");
        post_trunk(&cora, body).await.problem(422, "validation.failed");
        let trunk = create_trunk(&cora, "Main").await;
        cora.with_key(key()).patch(&trunk, json!({"is_default": false})).await.problem(409, "state.conflict");
        world.settle().await;
        assert_eq!(types(&events(&cora, "").await), ["trunk.created"]);
        world.end().await;
    }

    async fn the_team_sees_the_events_of_all_customers(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        for email in [CORA, "omar@customer.example"] {
            create_trunk(&*world.customer(email).await, email).await;
        }
        world.settle().await;
        let all = admin.get("/admin/events?type=trunk.created").await.ok();
        let whose: Vec<&Value> = all["data"].as_array().unwrap().iter().map(|event| &event["data"]["name"]).collect();
        assert_eq!(whose, [CORA, "omar@customer.example"]);
        let event = &all["data"][1];
        assert!(event["customer_id"].is_string());
        let one = admin.get(&format!("/admin/events/{}", event["id"].as_str().unwrap())).await.ok();
        assert_eq!(one, *event);
        world.end().await;
    }

    async fn events_are_kept_for_thirty_days(db) {
        let world = World::unlimited(db).await;
        create_trunk(&*world.customer(CORA).await, "Main").await;
        world.advance(29 * 86_400).await;
        assert_eq!(events(&*world.sign_in(CORA).await, "").await.len(), 1);
        world.advance(2 * 86_400).await;
        assert!(events(&*world.sign_in(CORA).await, "").await.is_empty());
        world.end().await;
    }
}
