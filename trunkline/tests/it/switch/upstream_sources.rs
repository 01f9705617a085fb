//! An upstream's addresses are never a customer's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use futures_util::future::join;
use serde_json::{Value, json};

use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::switch::{SOURCE_IP, Scene, deny_reason};
use crate::world::fixtures::trunks::allow_network;
use crate::world::fixtures::upstreams::{update_upstream, upstream_body};

/// An upstream at these addresses.
fn upstream_at(gateway: &str, source: &str) -> Value {
    let mut body = upstream_body();
    (body["gateways"], body["signaling_ips"]) = (json!([gateway]), json!([source]));
    body
}

both! {
    async fn a_network_of_an_upstream_or_an_edge_cannot_be_listed(db) {
        let scene = Scene::start(db, 0).await;
        let changes = json!({"gateways": ["sip:8.8.3.3:5070"], "signaling_ips": ["9.9.9.9", "8.8.9.0/26"]});
        update_upstream(&scene.admin, &scene.upstream, changes).await.ok();
        update_upstream(&scene.admin, &scene.upstream, json!({"status": "disabled"})).await.ok();
        let trunk = format!("/trunks/{}", scene.trunk);
        for cidr in ["9.9.9.9", "9.9.9.0/24", "8.8.9.63", "8.8.3.0/29"] {
            let refused = allow_network(&scene.customer, &trunk, cidr).await.problem(422, "validation.failed");
            let reason = "must not overlap a network of this service or of its carriers";
            assert_eq!(refused["invalid_params"], json!([{"name": "cidr", "reason": reason}]), "{cidr}");
        }
        allow_network(&scene.customer, &trunk, "8.8.9.64/26").await.expect(201);
        scene.end().await;
    }

    async fn an_upstream_at_a_customers_address_is_refused_with_the_entry(db) {
        let scene = Scene::start(db, 0).await;
        for body in [upstream_at("sip:8.8.3.3", "8.8.4.0/24"), upstream_at(&format!("sip:{SOURCE_IP}"), "8.8.3.3")] {
            let refused = scene.admin.with_key(key()).post("/admin/upstreams", body).await.problem(409, "resource.in_use");
            let detail = refused["detail"].as_str().unwrap();
            assert!(detail.contains("8.8.4.7/32") && detail.contains(&scene.trunk), "{detail}");
        }
        for changes in [json!({"signaling_ips": [SOURCE_IP]}), json!({"gateways": ["sip:8.8.3.3", "sip:8.8.4.7:5070"]})] {
            update_upstream(&scene.admin, &scene.upstream, changes).await.problem(409, "resource.in_use");
        }
        update_upstream(&scene.admin, &scene.upstream, json!({"signaling_ips": ["8.8.4.8"]})).await.ok();
        scene.end().await;
    }

    async fn one_of_an_upstream_and_a_customer_gets_an_address_that_both_want(db) {
        let scene = Scene::start(db, 0).await;
        let trunk = format!("/trunks/{}", scene.trunk);
        for round in 0..20 {
            let address = format!("8.8.7.{round}");
            let changes = json!({"signaling_ips": ["9.9.9.9", address]});
            let (hers, ours) = join(
                allow_network(&scene.customer, &trunk, &address), update_upstream(&scene.admin, &scene.upstream, changes),
            ).await;
            assert!((hers.status == 201) != (ours.status == 200), "{} and {}", hers.status, ours.status);
        }
        scene.end().await;
    }

    async fn an_address_of_an_upstream_is_not_a_customers_in_any_decision(db) {
        let scene = Scene::start(db, 1000).await;
        scene.allowed(json!({})).await;
        // As it could be stored by an older version of the service.
        let stored = scene.world.node.app.db.tx((), |conn, ()| Box::pin(async move {
            conn.exec("UPDATE upstreams SET signaling_ips = $1", params![format!("[\"{SOURCE_IP}/32\"]")]).await?;
            conn.exec("UPDATE versions SET version = version + 1 WHERE name = 'gateways'", params![]).await?;
            Ok::<_, db::DbError>(())
        }));
        stored.await.unwrap();
        assert_eq!(scene.denied(json!({})).await, deny_reason("number_unknown", 404));
        assert_eq!(scene.denied(json!({"direction": "outbound"})).await, deny_reason("direction_mismatch", 403));
        update_upstream(&scene.admin, &scene.upstream, json!({"status": "disabled"})).await.ok();
        assert_eq!(scene.denied(json!({})).await, deny_reason("source_not_allowed", 403));
        scene.end().await;
    }
}
