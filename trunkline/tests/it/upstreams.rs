//! Upstreams as the team manages them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::rates::{DECK, import_deck};
use crate::world::fixtures::upstreams::{create_upstream, update_upstream, upstream_body};

fn with(changes: Value) -> Value {
    let mut body = upstream_body();
    for (name, value) in changes.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

async fn create(admin: &Client, body: Value) -> Answer {
    admin.with_key(key()).post("/admin/upstreams", body).await
}

async fn remove(admin: &Client, id: &str) -> Answer {
    admin.with_key(key()).call(Method::DELETE, &format!("/admin/upstreams/{id}"), None).await
}

both! {
    async fn an_upstream_is_created_updated_and_listed_newest_first(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let made = create(&admin, with(json!({
            "dispatcher_group_id": 10, "base_currency": "USD", "markup_percent": 12.5,
            "rate_import_url": "https://carrier.example/rates.csv", "rate_import_schedule": "0 4 * * *",
            "gateways": ["sip:GW1.carrier.example:5060"], "signaling_ips": ["192.0.2.7", "2001:db8::/48"],
        }))).await.expect(201);
        let id = made["id"].as_str().unwrap().to_owned();
        assert_eq!(made, json!({
            "id": id, "name": "Carrier One", "status": "active", "dispatcher_group_id": 10, "base_currency": "USD",
            "markup_percent": 12.5, "rate_import_url": "https://carrier.example/rates.csv",
            "rate_import_schedule": "0 4 * * *", "last_import_at": null, "health": "unknown",
            "gateways": ["sip:gw1.carrier.example:5060"], "signaling_ips": ["192.0.2.7/32", "2001:db8::/48"],
        }));
        assert_eq!(admin.get(&format!("/admin/upstreams/{id}")).await.ok(), made);

        let changed = update_upstream(&admin, &id, json!({
            "status": "disabled", "markup_percent": 0.0001, "rate_import_schedule": null, "rate_import_url": null,
            "gateways": [],
        })).await.ok();
        assert_eq!(changed["status"], "disabled");
        assert_eq!(changed["markup_percent"], 0.0001);
        assert_eq!((&changed["rate_import_url"], &changed["gateways"]), (&Value::Null, &json!([])));
        assert_eq!(changed["signaling_ips"], made["signaling_ips"]);

        let second = create_upstream(&admin, upstream_body()).await;
        let all = admin.get("/admin/upstreams").await.ok();
        let ids: Vec<&str> = all["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!(ids, [second.as_str(), id.as_str()]);
        let disabled = admin.get("/admin/upstreams?status=disabled").await.ok();
        assert_eq!(disabled["data"], json!([changed]));
        world.end().await;
    }

    async fn a_dispatcher_group_belongs_to_one_upstream(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        create(&admin, with(json!({"dispatcher_group_id": 7}))).await.expect(201);
        let problem = create(&admin, with(json!({"dispatcher_group_id": 7}))).await.problem(409, "resource.in_use");
        assert_eq!(problem["detail"], "Another upstream has dispatcher group 7.");
        world.end().await;
    }

    async fn invalid_upstream_fields_are_named_one_by_one(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let refused = create(&admin, json!({
            "name": " ", "dispatcher_group_id": 0, "base_currency": "EURO", "markup_percent": 1000.5,
            "rate_import_url": "ftp://carrier.example", "rate_import_schedule": "61 * * * *",
            "gateways": ["gw1"], "signaling_ips": ["192.0.2.1/24"],
        })).await.invalid();
        let mut names: Vec<&str> = refused.iter().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, [
            "base_currency", "dispatcher_group_id", "gateways.0", "markup_percent", "name", "rate_import_schedule",
            "rate_import_url", "signaling_ips.0",
        ]);
        assert_eq!(create(&admin, with(json!({"markup_percent": 0.00001}))).await.invalid(), ["markup_percent"]);
        let plain = with(json!({"rate_import_url": "http://carrier.example/rates.csv"}));
        assert_eq!(create(&admin, plain).await.invalid(), ["rate_import_url"]);
        let nowhere = with(json!({"rate_import_schedule": "0 4 * * *"}));
        assert_eq!(create(&admin, nowhere).await.invalid(), ["rate_import_schedule"]);
        let id = create_upstream(&admin, upstream_body()).await;
        assert_eq!(update_upstream(&admin, &id, json!({"status": null})).await.invalid(), ["status"]);
        assert_eq!(update_upstream(&admin, &id, json!({"base_currency": "USD"})).await.invalid(), ["base_currency"]);
        world.end().await;
    }

    async fn an_upstream_that_ever_sold_can_be_disabled_but_not_deleted(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let unused = create_upstream(&admin, upstream_body()).await;
        remove(&admin, &unused).await.expect(204);
        admin.get(&format!("/admin/upstreams/{unused}")).await.problem(404, "not_found");

        let failed = create_upstream(&admin, upstream_body()).await;
        assert_eq!(import_deck(&world, &admin, &failed, "", "no deck").await["status"], "failed");
        remove(&admin, &failed).await.expect(204);

        let used = create_upstream(&admin, upstream_body()).await;
        import_deck(&world, &admin, &used, "", DECK).await;
        let problem = remove(&admin, &used).await.problem(409, "resource.in_use");
        assert!(problem["detail"].as_str().unwrap().contains("disable it instead"));
        update_upstream(&admin, &used, json!({"status": "disabled"})).await.ok();
        world.end().await;
    }

    async fn only_admins_change_upstreams_and_customers_see_none(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        create_upstream(&admin, upstream_body()).await;
        world.minted(Role::Customer).await.get("/admin/upstreams").await.problem(403, "auth.forbidden");
        world.end().await;
    }
}
