//! Lists and reports that a streaming standby answers. It is held up, so that what it lacks tells who answered.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use serde_json::{Value, json};
use values::{CallId, Role};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::{TestDb, postgres};
use crate::world::fixtures::cdrs::{call_ids, cdr_line, import_cdrs, rfc3339};
use crate::world::fixtures::key;
use crate::world::fixtures::metrics::Scrape;
use crate::world::fixtures::switch::Scene;
use crate::world::standby::Standby;

async fn world_with(db: &TestDb, standby: &Standby, lag_seconds: &str) -> World {
    let settings = [
        ("TRUNKLINE_RATE_LIMITS", "off"),
        ("TRUNKLINE_DATABASE_URL", db.url.as_str()),
        ("TRUNKLINE_DATABASE_READ_URL", standby.url.as_str()),
        ("TRUNKLINE_DATABASE_READ_LAG_SECONDS", lag_seconds),
    ];
    World::with(db, &settings).await
}

async fn import(scene: &Scene, call_id: &str) {
    import_cdrs(&scene.world, &[cdr_line(scene, call_id, scene.now(), 5, json!({}))]).await;
}

async fn listed(caller: &Client, path: &str) -> Vec<String> {
    call_ids(&caller.get(path).await.ok()).into_iter().map(str::to_owned).collect()
}

async fn hits(caller: &Client, text: &str) -> Vec<Value> {
    caller.get(&format!("/admin/search?q={text}")).await.ok()["data"].as_array().unwrap().clone()
}

/// How many CDRs an export of the last day has.
async fn exported_rows(scene: &Scene) -> i64 {
    let now = scene.now();
    let body = json!({"from": rfc3339(now - 86_400_000), "to": rfc3339(now)});
    let asked = scene.customer.with_key(key()).post("/cdrs/exports", body).await.expect(202);
    scene.world.settle().await;
    let made = scene.customer.get(&format!("/cdrs/exports/{}", asked["id"].as_str().unwrap())).await.ok();
    assert_eq!(made["status"], "ready", "{made}");
    made["rows_count"].as_i64().unwrap()
}

async fn is_used(world: &World) -> bool {
    Scrape::of(world).await.value("trunkline_db_replica_used") == 1.0
}

/// Searches until the standby is measured to be up to date.
async fn until_used(world: &World, caller: &Client) {
    hits(caller, "anything").await;
    while !is_used(world).await {
        world.advance(5).await;
        hits(caller, "anything").await;
    }
}

postgres! {
    async fn lists_come_from_the_standby_unless_the_caller_just_changed_something(db) {
        let standby = Standby::of(db).await;
        let scene = Scene::in_world(world_with(db, &standby, "100").await, 50).await;
        import(&scene, "before").await;
        // What was set up is no longer a recent change.
        scene.world.advance(103).await;
        standby.catch_up(db).await;
        until_used(&scene.world, &scene.admin).await;
        standby.pause().await;
        import(&scene, "after").await;

        assert_eq!(listed(&scene.customer, "/cdrs").await, ["before"]);
        assert_eq!(listed(&scene.admin, "/admin/cdrs").await, ["before"]);
        assert_eq!(scene.customer.get("/cdrs/summary").await.ok()["totals"]["attempts"], 1);
        assert_eq!(scene.admin.get("/admin/reports/margin").await.ok()["totals"]["attempts"], 1);
        let sql = "SELECT id FROM cdrs WHERE call_id = $1";
        let (id,): (CallId,) = db.read().await.unwrap().one(sql, params!["after"]).await.unwrap();
        assert_eq!(scene.customer.get(&format!("/cdrs/{id}")).await.ok()["call_id"], "after", "a CDR of its own");

        scene.customer.patch("/account", json!({"company_name": "Changed BV"})).await.expect(200);
        assert_eq!(listed(&scene.customer, "/cdrs").await, ["after", "before"]);
        assert_eq!(listed(&scene.admin, "/admin/cdrs").await, ["before"], "another account changed something");
        scene.world.advance(103).await;
        assert_eq!(listed(&scene.customer, "/cdrs").await, ["before"], "the change was a while ago");
        let scrape = Scrape::of(&scene.world).await;
        assert!(scrape.value(r#"trunkline_db_replica_reads_total{source="replica"}"#) >= 5.0);
        assert!(scrape.value(r#"trunkline_db_replica_reads_total{source="own_write"}"#) >= 1.0);

        assert_eq!(exported_rows(&scene).await, 2, "a file lacks nothing");

        standby.resume().await;
        standby.catch_up(db).await;
        standby.promote().await;
        scene.world.advance(103).await;
        assert_eq!(listed(&scene.customer, "/cdrs").await, ["after", "before"]);
        assert!(!is_used(&scene.world).await, "a server that is no standby may be any age");
        scene.end().await;
    }

    async fn a_standby_that_lags_or_is_away_is_skipped(db) {
        let mut standby = Standby::of(db).await;
        let world = world_with(db, &standby, "1").await;
        let admin = world.admin().await;
        until_used(&world, &admin).await;

        standby.pause().await;
        world.user("late@customer.example", Role::Customer).await;
        standby.fall_behind(2).await;
        world.advance(5).await;
        assert!(!hits(&admin, "late@").await.is_empty(), "the primary has it");
        let scrape = Scrape::of(&world).await;
        assert_eq!(scrape.value("trunkline_db_replica_used"), 0.0);
        assert!(scrape.value("trunkline_db_replica_lag_seconds") > 1.0);
        assert!(scrape.value(r#"trunkline_db_replica_reads_total{source="primary"}"#) >= 1.0);

        standby.resume().await;
        standby.catch_up(db).await;
        until_used(&world, &admin).await;
        standby.stop();
        // A request may still be given a connection that is about to be found closed.
        let mut answer = admin.get("/admin/search?q=late@").await;
        while answer.status == 503 {
            answer = admin.get("/admin/search?q=late@").await;
        }
        assert!(!answer.ok()["data"].as_array().unwrap().is_empty());
        world.advance(5).await;
        assert!(!hits(&admin, "late@").await.is_empty());
        assert!(!is_used(&world).await);
        world.end().await;
    }

    async fn a_service_starts_while_its_standby_is_away(db) {
        let gone = ("TRUNKLINE_DATABASE_READ_URL", "postgres://postgres@127.0.0.1:1/gone");
        let settings = [("TRUNKLINE_DATABASE_URL", db.url.as_str()), gone];
        let world = World::with(db, &settings).await;
        let admin = world.admin().await;
        assert!(hits(&admin, "nobody").await.is_empty());
        assert!(!is_used(&world).await);
        world.end().await;
    }
}
