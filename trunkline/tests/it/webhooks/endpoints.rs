//! Creating, changing and deleting endpoints.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use super::LAB;
use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::events::{create_endpoint, endpoint_body, subscribe};
use crate::world::fixtures::key;
use crate::world::fixtures::trunks::create_trunk;
use crate::world::receiver::Receiver;
use crate::world::{MASTER_SECRET, process};

const CORA: &str = "cora@customer.example";
const NEW_MASTER_SECRET: &str = "3d2a1f60c1a94a1f8f0e6bb8f4a5d0dc0c9b1f7aa7c04bd4a2f2c8e15b6a9d37";

fn path(endpoint: &serde_json::Value) -> String {
    format!("/webhook-endpoints/{}", endpoint["id"].as_str().unwrap())
}

async fn rotate(caller: &Client, endpoint: &serde_json::Value) -> serde_json::Value {
    let path = format!("{}/rotate-secret", path(endpoint));
    caller.with_key(key()).call(reqwest::Method::POST, &path, None).await.ok()
}

both! {
    async fn an_endpoint_can_be_changed_disabled_and_deleted(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let made = create_endpoint(&cora, "/webhook-endpoints", json!({
            "url": "https://erp.example/hook", "description": "ERP", "event_types": ["topup.completed", "*", "topup.completed"],
        })).await;
        assert!(made["secret"].as_str().unwrap().starts_with("whsec_"));
        assert_eq!((&made["event_types"], &made["enabled"]), (&json!(["*", "topup.completed"]), &json!(true)));
        let shown = cora.get(&path(&made)).await.ok();
        assert_eq!((shown.get("secret"), &shown["description"]), (None, &json!("ERP")));
        let changes = json!({"enabled": false, "description": null, "event_types": ["calls.ended"]});
        let changed = cora.patch(&path(&made), changes).await.ok();
        assert_eq!((&changed["enabled"], &changed["description"]), (&json!(false), &json!(null)));
        assert_eq!(changed["event_types"], json!(["calls.ended"]));
        cora.post(&format!("{}/test", path(&made)), json!({})).await.problem(409, "state.conflict");
        cora.delete(&path(&made)).await.expect(204);
        cora.get(&path(&made)).await.problem(404, "not_found");
        assert_eq!(cora.get("/webhook-endpoints").await.ok()["data"], json!([]));
        world.end().await;
    }

    async fn a_url_without_https_or_with_a_private_address_is_refused(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let create = async |body| cora.with_key(key()).post("/webhook-endpoints", body).await;
        for url in ["http://erp.example/", "https://10.0.0.1/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/"] {
            assert_eq!(create(endpoint_body(url)).await.invalid(), ["url"], "{url}");
        }
        for types in [json!([]), json!(["webhook.test"]), json!(["no.such"]), json!("*")] {
            let mut body = endpoint_body("https://erp.example/");
            body["event_types"] = types;
            let names = create(body).await.invalid();
            assert!(names.iter().all(|name| name.starts_with("event_types")), "{names:?}");
        }
        world.end().await;
    }

    async fn an_account_has_at_most_ten_endpoints(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        for _ in 0..10 {
            create_endpoint(&cora, "/webhook-endpoints", endpoint_body("https://erp.example/")).await;
        }
        let more = cora.with_key(key()).post("/webhook-endpoints", endpoint_body("https://erp.example/")).await;
        more.problem(409, "state.conflict");
        let other = world.customer("omar@customer.example").await;
        create_endpoint(&other, "/webhook-endpoints", endpoint_body("https://erp.example/")).await;
        world.end().await;
    }

    async fn both_secrets_sign_for_a_day_after_a_rotation(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        let cora = world.customer(CORA).await;
        let endpoint = subscribe(&cora, &receiver.url, &["trunk.created"]).await;
        let new = rotate(&cora, &endpoint).await;
        create_trunk(&cora, "Main").await;
        world.settle().await;
        let sent = receiver.take().remove(0);
        assert_eq!(sent.signatures().len(), 2);
        assert!(sent.is_signed_with(&new["secret"]) && sent.is_signed_with(&endpoint["secret"]));
        world.advance(86_400).await;
        create_trunk(&*world.sign_in(CORA).await, "Another").await;
        world.settle().await;
        let sent = receiver.take().remove(0);
        assert_eq!(sent.signatures().len(), 1);
        assert!(sent.is_signed_with(&new["secret"]) && !sent.is_signed_with(&endpoint["secret"]));
        world.end().await;
    }

    async fn secrets_of_endpoints_survive_a_rotation_of_the_master_secret(db) {
        let (world, receiver) = (World::with(db, &LAB).await, Receiver::start().await);
        let endpoint = subscribe(&*world.customer(CORA).await, &receiver.url, &["trunk.created"]).await;
        let rotating = [("TRUNKLINE_MASTER_SECRET", NEW_MASTER_SECRET), ("TRUNKLINE_MASTER_SECRET_PREVIOUS", MASTER_SECRET)];
        let world = world.restart_with(&rotating).await;
        world.settle().await;
        let ended = process::run(db, world.data_folder(), &rotating, &["secrets", "rotate"]);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let world = world.restart_with(&[("TRUNKLINE_MASTER_SECRET_PREVIOUS", "")]).await;
        create_trunk(&*world.sign_in(CORA).await, "Main").await;
        world.settle().await;
        assert!(receiver.take().remove(0).is_signed_with(&endpoint["secret"]));
        world.end().await;
    }
}
