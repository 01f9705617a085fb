//! The impact of imports, and imports that wait for a decision.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use crate::usage::nanos;
use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs};
use crate::world::fixtures::key;
use crate::world::fixtures::rates::{DECK, import_counts, import_deck, import_report, price};
use crate::world::fixtures::switch::{CALL_DECK, Scene};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};

const DAY: i64 = 86_400_000;

async fn set_policy(admin: &Client, upstream: &str, policy: Value) -> Answer {
    admin.with_key(key()).call(Method::PUT, &format!("/admin/upstreams/{upstream}/hold-policy"), Some(policy)).await
}

async fn impact(admin: &Client, upstream: &str, import: &Value) -> Answer {
    let id = import["id"].as_str().unwrap();
    admin.get(&format!("/admin/upstreams/{upstream}/imports/{id}/impact")).await
}

async fn decide(admin: &Client, upstream: &str, import: &Value, decision: &str, body: Option<Value>) -> Answer {
    let id = import["id"].as_str().unwrap();
    admin
        .with_key(key())
        .call(Method::POST, &format!("/admin/upstreams/{upstream}/imports/{id}/{decision}"), body)
        .await
}

async fn held_imports(world: &World) -> Value {
    world.minted(Role::Support).await.get("/admin/inbox").await.ok()["held_imports"].clone()
}

both! {
    async fn the_impact_of_a_deck_is_weighted_by_the_calls_of_thirty_days(db) {
        let scene = Scene::start(db, 100_000).await;
        scene.world.advance(3 * 86_400).await;
        let admin = scene.world.minted(Role::Admin).await;
        let now = scene.now();
        let taken = json!({"upstream_id": scene.upstream});
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "a", now - 2 * DAY, 600, taken.clone()),
            cdr_line(&scene, "b", now - DAY, 600, taken),
            // To a destination whose rate stays.
            cdr_line(&scene, "c", now - DAY, 60, json!({"upstream_id": scene.upstream, "called": "+442071234567"})),
        ]).await;
        // Twenty minutes at 0.06 cost 1.20 and were sold for more; at 0.09 they cost 1.80.
        let next = CALL_DECK.replace("31,Netherlands,NL,0.06", "31,Netherlands,NL,0.09").replace("1900,Premium,US,2,0,60,60\n", "");
        let dry = import_deck(&scene.world, &admin, &scene.upstream, "?dry_run=true", &next).await;
        assert_eq!(import_counts(&dry), [0, 1, 1, 0]);
        let seen = impact(&admin, &scene.upstream, &dry).await.ok();
        assert_eq!(seen["prefixes"], json!({"added": 0, "removed": 1, "increased": 1, "decreased": 0, "unchanged": 2}));
        let rise = &seen["steepest_rise"];
        assert_eq!((&rise["prefix"], &rise["percent"]), (&json!("31"), &json!(50.0)), "{seen}");
        assert_eq!((nanos(&seen["cost_change_per_day"]), &seen["days"]), (20_000_000, &json!(30)), "{seen}");
        assert_eq!(nanos(&seen["cost_per_day"]), (1_200_000_000 + 600_000_000) / 30, "{seen}");
        assert_eq!((&seen["destinations_below_cost"], &seen["customers_below_cost"]), (&json!(1), &json!(1)), "{seen}");
        let first = &seen["destinations"][0];
        assert_eq!((&first["destination_name"], &first["below_cost"]), (&json!("Netherlands"), &json!(true)));
        assert_eq!((nanos(&first["cost"]), nanos(&first["new_cost"])), (1_200_000_000, 1_800_000_000), "{seen}");
        let customer = &seen["customers"][0];
        assert_eq!((&customer["destinations"], nanos(&customer["new_cost"])), (&json!(1), 1_800_000_000), "{seen}");
        assert!(customer["customer_name"].is_string(), "{seen}");
        // A deck that falls below cost is held, and so is one that rises too much.
        set_policy(&admin, &scene.upstream, json!({"increase_percent": 49, "below_cost": true})).await.ok();
        let held = import_deck(&scene.world, &admin, &scene.upstream, "", &next).await;
        assert_eq!((&held["status"], &held["held_for"]), (&json!("held"), &json!(["rate_increase", "below_cost"])));
        assert_eq!(impact(&admin, &scene.upstream, &held).await.ok()["destinations"], seen["destinations"]);
        scene.end().await;
    }

    async fn a_held_import_is_applied_or_rejected_by_a_decision(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let policy = json!({"changed_percent": 50, "increase_percent": null, "below_cost": false});
        assert_eq!(set_policy(&admin, &upstream, policy.clone()).await.ok(), policy);
        assert_eq!(admin.get(&format!("/admin/upstreams/{upstream}/hold-policy")).await.ok(), policy);
        // A first deck has nothing to be compared with.
        assert_eq!(import_deck(&world, &admin, &upstream, "", DECK).await["status"], "completed");
        let next = DECK.replace("0.0045", "0.005").replace("0.019", "0.02");
        let held = import_deck(&world, &admin, &upstream, "", &next).await;
        assert_eq!((&held["status"], &held["held_for"]), (&json!("held"), &json!(["changed_prefixes"])));
        assert_eq!(import_counts(&held), [0, 0, 2, 0]);
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.0209"));
        assert_eq!(held_imports(&world).await, 1);
        let support = world.minted(Role::Support).await;
        decide(&support, &upstream, &held, "apply", None).await.problem(403, "auth.forbidden");
        let unexplained = decide(&admin, &upstream, &held, "apply", Some(json!({"waive_notice": true}))).await;
        assert_eq!(unexplained.invalid(), ["waive_notice"]);
        let waived = json!({"waive_notice": true, "reason": "agreed by mail"});
        let queued = decide(&admin, &upstream, &held, "apply", Some(waived)).await.expect(202);
        assert_eq!((&queued["status"], &queued["waive_reason"]), (&json!("queued"), &json!("agreed by mail")));
        world.settle().await;
        let applied = import_report(&admin, &upstream, &held).await;
        assert_eq!((&applied["status"], &applied["held_for"]), (&json!("completed"), &json!(["changed_prefixes"])));
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.022"));
        assert_eq!(held_imports(&world).await, 0);
        decide(&admin, &upstream, &held, "apply", None).await.problem(409, "state.conflict");
        decide(&admin, &upstream, &held, "reject", None).await.problem(409, "state.conflict");

        let held = import_deck(&world, &admin, &upstream, "", DECK).await;
        assert_eq!(held["status"], "held");
        let rejected = decide(&admin, &upstream, &held, "reject", Some(json!({"reason": "A mistake"}))).await.ok();
        assert_eq!((&rejected["status"], &rejected["reason"]), (&json!("rejected"), &json!("A mistake")));
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.022"));
        let log = admin.get("/admin/audit-log?action=deck.reject").await.ok();
        assert!(log["rows"][0]["meta"].as_str().unwrap().contains("\"reason\":\"A mistake\""), "{log}");
        world.end().await;
    }

    async fn a_newer_deck_ends_what_was_held_before(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        import_deck(&world, &admin, &upstream, "", DECK).await;
        set_policy(&admin, &upstream, json!({"changed_percent": null, "increase_percent": 10})).await.ok();
        let held = import_deck(&world, &admin, &upstream, "", &DECK.replace("0.0045", "0.009")).await;
        assert_eq!(held["held_for"], json!(["rate_increase"]));
        let fine = import_deck(&world, &admin, &upstream, "", &DECK.replace("0.0045", "0.0046")).await;
        assert_eq!((&fine["status"], &fine["held_for"]), (&json!("completed"), &json!([])));
        let report = import_report(&admin, &upstream, &held).await;
        let expected = (&json!("rejected"), &json!("a newer deck came into force"));
        assert_eq!((&report["status"], &report["reason"]), expected);
        world.end().await;
    }

    async fn an_import_without_a_readable_file_has_no_impact(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let failed = import_deck(&world, &admin, &upstream, "", "prefix\n31\n").await;
        impact(&admin, &upstream, &failed).await.problem(409, "state.conflict");
        let done = import_deck(&world, &admin, &upstream, "", DECK).await;
        let seen = impact(&admin, &upstream, &done).await.ok();
        assert_eq!((&seen["prefixes"]["added"], &seen["destinations"]), (&json!(3), &json!([])));
        assert_eq!(set_policy(&admin, &upstream, json!({"changed_percent": -1, "increase_percent": 2})).await.invalid(), ["changed_percent"]);
        world.end().await;
    }
}
