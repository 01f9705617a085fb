//! The live calls of an account, and calls that are only simulated.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use values::Role;

use crate::world::engines::both;
use crate::world::fixtures::switch::{Scene, merged, trunk_with_source, update_trunk};

async fn simulated(scene: &Scene, changes: Value) -> Value {
    let body = merged(json!({"trunk_id": scene.trunk, "called": "+31201234567"}), changes);
    scene.customer.post("/calls/simulate", body).await.ok()
}

both! {
    async fn a_simulated_call_is_answered_like_a_real_one_and_reserves_nothing(db) {
        let scene = Scene::start(db, 10).await;
        let before = scene.balance_and_held().await;
        let answer = simulated(&scene, json!({"calling": "+31201111111"})).await;
        assert_eq!((&answer["decision"], &answer["reason"]), (&json!("allow"), &Value::Null), "{answer}");
        assert_eq!((&answer["prefix"], &answer["destination_name"]), (&json!("31"), &json!("Netherlands")));
        assert_eq!(answer["rate"]["amount"], "0.06");
        assert_eq!(scene.balance_and_held().await, before);
        assert_eq!(scene.count("SELECT COUNT(*) FROM live_calls").await, 0);
        assert_eq!(scene.count("SELECT COUNT(*) FROM trunk_load WHERE live > 0").await, 0);
        assert_eq!(scene.count("SELECT COUNT(*) FROM daily_spend WHERE reserved > 0").await, 0);
        // Ten cents pay for 100 seconds, in the simulation as in the call.
        assert_eq!(answer["max_seconds"], 100);
        let allowed = scene.allowed(json!({})).await;
        assert_eq!(allowed["max_seconds"], 100);
        scene.end().await;
    }

    async fn a_simulated_call_is_denied_for_the_reasons_of_the_switch(db) {
        let scene = Scene::start(db, 10_000).await;
        let deny = async |changes: Value| {
            let real = scene.authorize(merged(json!({}), changes.clone())).await;
            let answer = simulated(&scene, changes).await;
            assert_eq!((&answer["decision"], &answer["max_seconds"]), (&json!("deny"), &Value::Null), "{answer}");
            assert_eq!((&answer["reason"], &answer["sip_code"]), (&real["reason"], &real["sip_code"]));
            answer["reason"].as_str().unwrap().to_owned()
        };
        assert_eq!(deny(json!({"called": "12"})).await, "number_not_dialable");
        assert_eq!(deny(json!({"called": "+8613912345678"})).await, "destination_not_priced");
        assert_eq!(deny(json!({"called": "+19001234567"})).await, "rate_cap");
        update_trunk(&scene.customer, &scene.trunk, json!({"channel_cap": 1})).await;
        scene.allowed(json!({})).await;
        assert_eq!(deny(json!({})).await, "channel_cap");
        let broke = scene.world.customer("poor@customer.example").await;
        let trunk = trunk_with_source(&broke, json!({}), "8.8.4.9").await;
        let body = json!({"trunk_id": trunk, "called": "+31201234567"});
        let answer = broke.post("/calls/simulate", body).await.ok();
        assert_eq!((&answer["decision"], &answer["reason"]), (&json!("deny"), &json!("balance.insufficient")));
        assert_eq!(answer["rate"]["amount"], "0.06");
        // Only the body can be wrong.
        let foreign = json!({"trunk_id": scene.trunk, "called": "+31201234567"});
        assert_eq!(broke.post("/calls/simulate", foreign).await.invalid(), ["trunk_id"]);
        assert_eq!(scene.customer.post("/calls/simulate", json!({"trunk_id": scene.trunk})).await.invalid(), ["called"]);
        scene.end().await;
    }

    async fn customers_list_their_own_live_calls_without_upstreams(db) {
        let scene = Scene::start(db, 100_000).await;
        let other = trunk_with_source(&scene.customer, json!({"name": "Other"}), "8.8.4.9").await;
        scene.allowed(json!({"call_id": "first"})).await;
        scene.world.advance(1).await;
        let second = scene.allowed(json!({"call_id": "second", "source_ip": "8.8.4.9", "called": "+31612345678"})).await;
        scene.send_events(json!([scene.event("answered", &second["call_token"], 0, json!({"upstream_id": scene.upstream}))])).await;
        let page = scene.customer.get("/calls").await.ok();
        let ids: Vec<&str> = page["data"].as_array().unwrap().iter().map(|one| one["call_id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["second", "first"]);
        let call = &page["data"][0];
        assert_eq!((&call["trunk_name"], &call["called"]), (&json!("Other"), &json!("+31612345678")));
        for hidden in ["upstream_id", "upstream_name", "cost", "edge_id", "account_id"] {
            assert_eq!(call.get(hidden), None, "{hidden}");
        }
        let found = async |query: &str| {
            let page = scene.customer.get(&format!("/calls?{query}")).await.ok();
            page["data"].as_array().unwrap().iter().map(|one| one["call_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found(&format!("trunk_id={other}")).await, "second");
        assert_eq!(found("called=3120").await, "first");
        assert_eq!(found("leg=origination").await, "");
        assert_eq!(found("leg=termination&called=316").await, "second");
        let first = scene.customer.get("/calls?limit=1").await.ok();
        let next = first["meta"]["next_cursor"].as_str().unwrap();
        assert_eq!(scene.customer.get(&format!("/calls?limit=1&cursor={next}")).await.ok()["data"][0]["call_id"], "first");
        assert_eq!(scene.world.minted(Role::Customer).await.get("/calls").await.ok()["data"], json!([]));
        let team = scene.world.minted(Role::Support).await;
        let listed = async |query: &str| {
            let page = team.get(&format!("/admin/calls?{query}")).await.ok();
            page["data"].as_array().unwrap().clone()
        };
        let by_upstream = listed(&format!("upstream_id={}&called=316", scene.upstream)).await;
        assert_eq!((by_upstream.len(), &by_upstream[0]["call_id"]), (1, &json!("second")));
        assert_eq!(by_upstream[0]["trunk_name"], "Other");
        assert!(by_upstream[0]["customer_name"].is_string() && by_upstream[0]["upstream_name"].is_string());
        assert_eq!(listed(&format!("upstream_id={}&called=3120", scene.upstream)).await, Vec::<Value>::new());
        assert_eq!(listed("called=3120").await.len(), 1);
        scene.end().await;
    }
}
