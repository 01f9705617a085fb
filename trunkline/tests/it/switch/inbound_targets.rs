//! Where calls to DIDs may go: never to upstreams, edges or private addresses, elsewhere within limits.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Answer;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::key;
use crate::world::fixtures::numbers::{
    AMSTERDAM, FIRST_MONTH_CENTS, import_inventory, inventory_csv, inventory_groups, order_number,
};
use crate::world::fixtures::switch::{
    DID, INBOUND_URI, Scene, deny_reason, origination_call, scene_with_did, update_trunk,
};
use crate::world::fixtures::trunks::{post_trunk, trunk_body};
use crate::world::fixtures::upstreams::update_upstream;

const REFUSED: &str = "inbound_target_refused";

async fn patch_target(scene: &Scene, uri: &str) -> Answer {
    scene.customer.with_key(key()).patch(&format!("/trunks/{}", scene.trunk), json!({"inbound_uri": uri})).await
}

/// Stores a target as an older version of the service would have.
async fn store_target(scene: &Scene, uri: &str) {
    let stored = scene.world.node.app.db.tx(uri.to_owned(), |conn, uri| {
        Box::pin(async move {
            conn.exec("UPDATE trunks SET inbound_uri = $1", params![uri.as_str()]).await?;
            Ok::<_, db::DbError>(())
        })
    });
    stored.await.unwrap();
}

async fn allow_host(scene: &Scene, host: Value) -> Answer {
    let path = format!("/admin/trunks/{}/inbound-host", scene.trunk);
    scene.admin.with_key(key()).call(Method::PUT, &path, Some(json!({"host": host}))).await
}

/// The scene of [`scene_with_did`] with these settings.
async fn strict_scene(db: &TestDb, settings: &[(&str, &str)]) -> Scene {
    let world = World::with(db, &[&[("TRUNKLINE_RATE_LIMITS", "off")], settings].concat()).await;
    let scene = Scene::in_world(world, FIRST_MONTH_CENTS).await;
    let file = inventory_csv(31_201_000_000, 1, AMSTERDAM);
    import_inventory(&scene.world, &scene.admin, &scene.upstream, &file).await;
    let group = inventory_groups(&scene.customer, "").await[0]["id"].as_str().unwrap().to_owned();
    order_number(&scene.customer, &group, &scene.trunk).await.expect(201);
    scene
}

both! {
    async fn an_inbound_uri_of_an_upstream_an_edge_or_no_public_host_is_refused(db) {
        let settings = [("TRUNKLINE_ZONES", "eu-west=sip.operator.example,eu-central=8.8.1.1:5060"), ("TRUNKLINE_EDGE_IPS", "8.8.2.0/28")];
        let scene = strict_scene(db, &settings).await;
        update_upstream(&scene.admin, &scene.upstream, json!({"gateways": ["sip:gw1.carrier.example", "sip:8.8.3.3:5070"]})).await.ok();
        for (uri, reason) in [
            ("sip:+88299@9.9.9.9", "must not point to a host of this service or of its carriers"),
            ("sip:8.8.3.3", "must not point to a host of this service or of its carriers"),
            ("sip:GW1.carrier.example:5062", "must not point to a host of this service or of its carriers"),
            ("sip:sip.operator.example", "must not point to a host of this service or of its carriers"),
            ("sip:8.8.1.1:5099", "must not point to a host of this service or of its carriers"),
            ("sip:8.8.2.9", "must not point to a host of this service or of its carriers"),
            ("sip:127.0.0.1", "must point to a host of the public internet"),
            ("sip:[::ffff:127.0.0.1]", "must point to a host of the public internet"),
            ("sip:10.1.2.3:5060", "must point to a host of the public internet"),
            ("sip:169.254.169.254", "must point to a host of the public internet"),
            ("sip:0.0.0.0", "must point to a host of the public internet"),
            ("sip:localhost:5060", "must point to a host of the public internet"),
            ("sip:pbx.customer.example;maddr=9.9.9.9", "must not have the parameter maddr"),
        ] {
            let expected = json!([{"name": "inbound_uri", "reason": reason}]);
            let refused = patch_target(&scene, uri).await.problem(422, "validation.failed");
            assert_eq!(refused["invalid_params"], expected, "{uri}");
            let mut body = trunk_body("Second");
            body["inbound_uri"] = json!(uri);
            let refused = post_trunk(&scene.customer, body).await.problem(422, "validation.failed");
            assert_eq!(refused["invalid_params"], expected, "{uri}");
        }
        assert_eq!(patch_target(&scene, "sip:pbx.customer.example").await.ok()["inbound_uri"], "sip:pbx.customer.example");
        scene.end().await;
    }

    async fn a_target_that_became_an_upstreams_is_refused_for_every_call(db) {
        let scene = scene_with_did(db, 0).await;
        update_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": "sip:8.8.3.3:5060"})).await;
        let allowed = scene.allowed(origination_call()).await;
        assert_eq!((&allowed["target_uri"], &allowed["next_hop"]), (&json!(format!("sip:{DID}@8.8.3.3:5060")), &json!("sip:8.8.3.3:5060")));
        update_upstream(&scene.admin, &scene.upstream, json!({"gateways": ["sip:8.8.3.3"]})).await.ok();
        assert_eq!(scene.denied(origination_call()).await, deny_reason(REFUSED, 480));
        for uri in ["sip:9.9.9.9", "sip:127.0.0.1", "sip:localhost", "sip:8.8.4.7;maddr=9.9.9.9", "sip:[::ffff:9.9.9.9]"] {
            store_target(&scene, uri).await;
            assert_eq!(scene.denied(origination_call()).await, deny_reason(REFUSED, 480), "{uri}");
        }
        store_target(&scene, "sip:no-such-host.invalid").await;
        assert_eq!(scene.denied(origination_call()).await, deny_reason("inbound_target_unresolved", 480));
        // The user of the URI is the number that was called, whatever the customer entered.
        update_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": "sip:+88299@8.8.4.7;transport=tcp"})).await;
        let allowed = scene.allowed(origination_call()).await;
        assert_eq!(allowed["target_uri"], format!("sip:{DID}@8.8.4.7;transport=tcp"));
        assert_eq!(allowed["next_hop"], "sip:8.8.4.7;transport=tcp");
        scene.end().await;
    }

    async fn a_host_outside_the_allow_list_needs_the_teams_permission(db) {
        let scene = strict_scene(db, &[("TRUNKLINE_ALLOW_LIST_PROOF", "on")]).await;
        vouch(&scene).await;
        update_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": INBOUND_URI})).await;
        scene.allowed(origination_call()).await;
        update_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": "sip:8.8.5.5:5070"})).await;
        let not_allowed = || deny_reason("inbound_target_not_allowed", 480);
        assert_eq!(scene.denied(origination_call()).await, not_allowed());
        assert_eq!(allow_host(&scene, json!("8.8.5.5:5070")).await.invalid(), ["host"]);
        assert_eq!(allow_host(&scene, json!("8.8.5.5")).await.ok()["allowed_inbound_host"], "8.8.5.5");
        let listed = scene.admin.get("/admin/trunks").await.ok();
        assert_eq!((&listed["data"][0]["id"], &listed["data"][0]["allowed_inbound_host"]), (&json!(scene.trunk), &json!("8.8.5.5")));
        assert_eq!(scene.customer.get(&format!("/trunks/{}", scene.trunk)).await.ok()["allowed_inbound_host"], "8.8.5.5");
        scene.allowed(origination_call()).await;
        // The permission is for that host, not for the next.
        update_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": "sip:8.8.5.6"})).await;
        assert_eq!(scene.denied(origination_call()).await, not_allowed());
        update_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": "sip:8.8.5.5"})).await;
        scene.allowed(origination_call()).await;
        allow_host(&scene, json!(null)).await.ok();
        assert_eq!(scene.denied(origination_call()).await, not_allowed());
        scene.end().await;
    }

    async fn calls_to_a_foreign_host_have_caps_of_their_own(db) {
        let settings = [("TRUNKLINE_FOREIGN_CHANNELS", "3"), ("TRUNKLINE_FOREIGN_CPS", "2")];
        let scene = strict_scene(db, &settings).await;
        update_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": "sip:8.8.5.5"})).await;
        let second = || scene.now() / 1000;
        let began = second();
        let asked = futures_util::future::join_all((0..6).map(|_| scene.authorize(origination_call()))).await;
        let (allowed, denied): (Vec<_>, Vec<_>) = asked.into_iter().partition(|answer| answer["decision"] == "allow");
        assert!(allowed.len() == 2 || second() > began, "{allowed:?}");
        assert!(denied.iter().any(|answer| answer["reason"] == "foreign_cps_limit"), "{denied:?}");
        let mut token = allowed[0]["call_token"].clone();
        for _ in allowed.len()..3 {
            scene.world.advance(1).await;
            token = scene.allowed(origination_call()).await["call_token"].clone();
        }
        scene.world.advance(1).await;
        assert_eq!(scene.denied(origination_call()).await, deny_reason("foreign_channel_cap", 503));
        scene.send_events(json!([scene.event("failed", &token, 0, json!({"sip_code": 486}))])).await;
        scene.world.advance(1).await;
        scene.allowed(origination_call()).await;
        // Calls to an address on the allow-list have no such caps.
        update_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": INBOUND_URI})).await;
        for _ in 0..5 {
            scene.allowed(origination_call()).await;
        }
        scene.end().await;
    }

    async fn a_customers_change_does_not_undo_a_withdrawn_host(db) {
        let scene = strict_scene(db, &[]).await;
        for round in 0..10 {
            allow_host(&scene, json!("pbx.customer.example")).await.ok();
            let rename = async |number: usize| {
                let (path, body) = (format!("/trunks/{}", scene.trunk), json!({"name": format!("Trunk {round} {number}")}));
                scene.customer.with_key(key()).patch(&path, body).await.expect(200);
            };
            let withdraw = async { allow_host(&scene, json!(null)).await.expect(200) };
            tokio::join!(rename(1), rename(2), rename(3), withdraw);
            let trunk = scene.admin.get(&format!("/admin/trunks/{}", scene.trunk)).await.ok();
            assert_eq!(trunk["allowed_inbound_host"], json!(null), "round {round}");
        }
        scene.end().await;
    }
}

/// Has the team vouch for the trunk's network.
async fn vouch(scene: &Scene) {
    let trunk = format!("/admin/trunks/{}", scene.trunk);
    let entry = scene.admin.get(&trunk).await.ok()["allow_list"][0]["id"].as_str().unwrap().to_owned();
    scene.admin.with_key(key()).post(&format!("{trunk}/ip-allow-list/{entry}/verify"), json!({})).await.ok();
}
