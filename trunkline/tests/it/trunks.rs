//! Trunks and the default trunk.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use identity::onboarding::Event;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::onboarding::{apply_event, sign_up};
use crate::world::fixtures::trunks::{create_trunk, post_trunk, trunk_body, trunk_path};

const ZONES: (&str, &str) = ("TRUNKLINE_ZONES", "eu-west=sip.eu-west.example.net:5061,lab");

async fn patch(customer: &Client, path: &str, body: Value) -> Answer {
    customer.with_key(key()).patch(path, body).await
}

async fn delete(customer: &Client, path: &str) -> Answer {
    customer.with_key(key()).delete(path).await
}

async fn trunks(customer: &Client) -> Vec<Value> {
    customer.get("/trunks?limit=200").await.ok()["data"].as_array().unwrap().clone()
}

/// The names of the trunks that are the default.
async fn defaults(customer: &Client) -> Vec<String> {
    let trunks = trunks(customer).await;
    let defaults = trunks.iter().filter(|trunk| trunk["is_default"] == true);
    defaults.map(|trunk| trunk["name"].as_str().unwrap().to_owned()).collect()
}

both! {
    async fn the_first_trunk_is_always_the_default(db) {
        let world = World::with(db, &[ZONES]).await;
        let cora = world.customer("cora@customer.example").await;
        assert_eq!(trunks(&cora).await, Vec::<Value>::new());
        let first = post_trunk(&cora, json!({"name": "First", "zone": "eu-west", "channel_cap": 1, "is_default": false})).await;
        let first = first.expect(201);
        assert_eq!(first["is_default"], true);
        assert_eq!(first["sip_endpoint_hint"], "sip.eu-west.example.net:5061");
        assert_eq!((&first["cps_limit"], &first["inbound_uri"]), (&Value::Null, &Value::Null));
        world.advance(1).await;
        let second = json!({
            "name": "Second", "zone": "lab", "channel_cap": 30, "cps_limit": 5, "inbound_uri": "SIP:PBX.customer.example",
        });
        let second = post_trunk(&cora, second).await.expect(201);
        assert_eq!((&second["is_default"], &second["sip_endpoint_hint"]), (&json!(false), &Value::Null));
        assert_eq!((&second["cps_limit"], &second["inbound_uri"]), (&json!(5), &json!("sip:pbx.customer.example")));
        assert_eq!(trunks(&cora).await, [second.clone(), first]);
        assert_eq!(cora.get(&trunk_path(&second)).await.ok(), second);
        world.end().await;
    }

    async fn the_default_trunk_moves_and_cannot_be_unset(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let (first, second) = (create_trunk(&cora, "First").await, create_trunk(&cora, "Second").await);
        patch(&cora, &first, json!({"is_default": false})).await.problem(409, "state.conflict");
        patch(&cora, &second, json!({"is_default": false})).await.ok();
        assert_eq!(defaults(&cora).await, ["First"]);
        assert_eq!(patch(&cora, &second, json!({"is_default": true})).await.ok()["is_default"], true);
        assert_eq!(defaults(&cora).await, ["Second"]);
        let mut third = trunk_body("Third");
        third["is_default"] = json!(true);
        assert_eq!(post_trunk(&cora, third).await.expect(201)["is_default"], true);
        assert_eq!(defaults(&cora).await, ["Third"]);
        world.end().await;
    }

    async fn the_default_trunk_is_deleted_last(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let (first, second) = (create_trunk(&cora, "First").await, create_trunk(&cora, "Second").await);
        delete(&cora, &first).await.problem(409, "resource.in_use");
        assert_eq!(trunks(&cora).await.len(), 2);
        delete(&cora, &second).await.expect(204);
        delete(&cora, &second).await.problem(404, "not_found");
        delete(&cora, &first).await.expect(204);
        assert_eq!(trunks(&cora).await, Vec::<Value>::new());
        create_trunk(&cora, "Another").await;
        assert_eq!(defaults(&cora).await, ["Another"]);
        world.end().await;
    }

    async fn concurrent_default_changes_leave_exactly_one_default_trunk(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let all_at_once = join_all((0..8).map(|number| create_trunk(&cora, if number % 2 == 0 { "Even" } else { "Odd" }))).await;
        assert_eq!(defaults(&cora).await.len(), 1);
        for _ in 0..4 {
            let moves = all_at_once.iter().map(|path| patch(&cora, path, json!({"is_default": true})));
            join_all(moves).await.into_iter().for_each(|answer| drop(answer.ok()));
            assert_eq!(defaults(&cora).await.len(), 1);
        }
        world.end().await;
    }

    async fn an_account_has_at_most_a_hundred_trunks_even_under_concurrency(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let mut added = 0;
        for _ in 0..11 {
            let answers = join_all((0..10).map(|_| post_trunk(&cora, trunk_body("One of many")))).await;
            added += answers.iter().filter(|answer| answer.status == 201).count();
        }
        assert_eq!((added, trunks(&cora).await.len()), (100, 100));
        post_trunk(&cora, trunk_body("One too many")).await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn a_trunk_is_updated_and_its_optional_fields_cleared(db) {
        let world = World::with(db, &[ZONES]).await;
        let cora = world.customer("cora@customer.example").await;
        let path = create_trunk(&cora, "First").await;
        let change = json!({
            "name": "Renamed", "zone": "lab", "channel_cap": 2, "cps_limit": 3, "inbound_uri": "sips:pbx@[2a00:1450::1]:5061",
        });
        let mut expected = cora.get(&path).await.ok();
        for (name, value) in change.as_object().unwrap() {
            expected[name] = value.clone();
        }
        expected["sip_endpoint_hint"] = Value::Null;
        assert_eq!(patch(&cora, &path, change).await.ok(), expected);
        let cleared = patch(&cora, &path, json!({"cps_limit": null, "inbound_uri": null})).await.ok();
        assert_eq!((&cleared["cps_limit"], &cleared["inbound_uri"]), (&Value::Null, &Value::Null));
        assert_eq!(cora.get(&path).await.ok(), cleared);
        world.end().await;
    }

    async fn a_stale_change_is_repeated_with_its_key_and_the_current_version(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let path = create_trunk(&cora, "First").await;
        let (keyed, body) = (cora.with_key(key()), json!({"channel_cap": 4}));
        let stale = cora.get(&path).await.header("etag").unwrap().to_owned();
        patch(&cora, &path, json!({"name": "Renamed"})).await.ok();
        for _ in 0..2 {
            let refused = keyed.header("If-Match", &stale).patch(&path, body.clone()).await;
            assert_eq!(refused.header("idempotent-replayed"), None);
            refused.problem(412, "precondition.failed");
        }
        let current = cora.get(&path).await.header("etag").unwrap().to_owned();
        let changed = keyed.header("If-Match", &current).patch(&path, body.clone()).await;
        assert_eq!(changed.header("idempotent-replayed"), None);
        assert_eq!(changed.ok()["channel_cap"], 4);
        // From then on the key has a response, whichever version comes with it.
        let again = keyed.header("If-Match", &stale).patch(&path, body).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
        world.end().await;
    }

    async fn invalid_trunk_fields_are_refused_by_name(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let nothing_right = json!({"name": " ", "zone": "", "channel_cap": 0, "cps_limit": 0, "inbound_uri": "mailto:a@b"});
        let refused = post_trunk(&cora, nothing_right).await.invalid();
        assert_eq!(refused, ["channel_cap", "cps_limit", "inbound_uri", "name", "zone"]);
        assert_eq!(post_trunk(&cora, json!({})).await.invalid(), ["channel_cap", "name", "zone"]);
        let nameless = json!({"name": "", "zone": "atlantis", "channel_cap": 1});
        assert_eq!(post_trunk(&cora, nameless).await.invalid(), ["name", "zone"]);
        let mut elsewhere = trunk_body("First");
        elsewhere["zone"] = json!("mars");
        let refused = post_trunk(&cora, elsewhere).await.problem(422, "validation.failed");
        let reason = json!([{"name": "zone", "reason": "must be one of eu-west, eu-central, us-east"}]);
        assert_eq!(refused["invalid_params"], reason);
        let path = create_trunk(&cora, "First").await;
        for change in [json!({"zone": "mars"}), json!({"zone": null})] {
            assert_eq!(patch(&cora, &path, change).await.invalid(), ["zone"]);
        }
        let change = json!({"name": "", "zone": "mars", "colour": "blue"});
        assert_eq!(patch(&cora, &path, change).await.invalid(), ["colour", "name", "zone"]);
        world.end().await;
    }

    async fn only_an_approved_account_creates_trunks_and_every_account_lists_them(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        post_trunk(&petra, trunk_body("Too early")).await.problem(403, "account.not_active");
        assert_eq!(trunks(&petra).await, Vec::<Value>::new());

        let cora = world.customer("cora@customer.example").await;
        let path = create_trunk(&cora, "First").await;
        let allow_list = format!("{path}/ip-allow-list");
        let entry = cora.with_key(key()).post(&allow_list, json!({"cidr": "8.8.8.8"})).await.expect(201);
        let entry = format!("{allow_list}/{}", entry["id"].as_str().unwrap());
        apply_event(&world, &cora, Event::Suspended).await;
        for refused in [
            post_trunk(&cora, trunk_body("Second")).await,
            patch(&cora, &path, json!({"channel_cap": 500})).await,
            cora.with_key(key()).post(&allow_list, json!({"cidr": "8.8.4.4"})).await,
            delete(&cora, &entry).await,
            delete(&cora, &path).await,
        ] {
            refused.problem(403, "account.not_active");
        }
        for path in ["/trunks", &path, &allow_list] {
            cora.get(path).await.ok();
        }
        world.end().await;
    }

    async fn trunks_are_listed_page_by_page_the_newest_first(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        for name in ["First", "Second", "Third"] {
            create_trunk(&cora, name).await;
            world.advance(1).await;
        }
        let page = cora.get("/trunks?limit=2").await.ok();
        assert_eq!((&page["data"][0]["name"], &page["data"][1]["name"]), (&json!("Third"), &json!("Second")));
        let cursor = page["meta"]["next_cursor"].as_str().unwrap();
        let page = cora.get(&format!("/trunks?limit=2&cursor={cursor}")).await.ok();
        assert_eq!((&page["data"][0]["name"], &page["meta"]["next_cursor"]), (&json!("First"), &Value::Null));
        assert_eq!(page["data"].as_array().unwrap().len(), 1);
        world.end().await;
    }
}
