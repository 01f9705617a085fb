//! Calls from upstreams to DIDs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use identity::onboarding::Event;
use serde_json::{Value, json};

use crate::world::engines::both;
use crate::world::fixtures::cdrs::{ndjson, send_cdrs};
use crate::world::fixtures::key;
use crate::world::fixtures::numbers::list_numbers;
use crate::world::fixtures::onboarding::apply_event;
use crate::world::fixtures::switch::{
    DID, INBOUND_URI, SOURCE_IP, UPSTREAM_IP, call_request, deny_reason, merged, origination_call, scene_with_did,
    update_trunk,
};
use crate::world::fixtures::upstreams::update_upstream;

both! {
    async fn a_call_to_a_did_goes_to_its_trunk_and_costs_nothing(db) {
        let scene = scene_with_did(db, 0).await;
        let asked = origination_call();
        let answer = scene.allowed(asked.clone()).await;
        let token = answer["call_token"].clone();
        assert_eq!(answer, json!({
            "decision": "allow", "call_token": token, "account_id": scene.customer.account_id, "trunk_id": scene.trunk,
            "leg": "origination", "max_seconds": 300, "groups": [], "routes": [],
            "target_uri": format!("sip:{DID}@8.8.4.7:5060"), "next_hop": INBOUND_URI,
        }));
        // A repeated request gets the same decision, although the trunk has changed.
        update_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": null})).await;
        assert_eq!(scene.allowed(asked).await, answer);
        assert_eq!(scene.denied(origination_call()).await, deny_reason("no_inbound_uri", 480));

        let began = scene.now();
        scene.send_events(json!([scene.event("answered", &token, 0, json!({"at": began}))])).await;
        scene.world.advance(120).await;
        let told = scene.send_events(json!([scene.event("keepalive", &token, 0, json!({"at": began + 119_000}))])).await;
        assert_eq!(told["extend"], json!([{"call_token": token, "max_seconds": 419}]));
        scene.send_events(json!([scene.event("ended", &token, 0, json!({"at": began + 90_500}))])).await;
        assert_eq!(scene.cdr(&token).await, Some(("answered".to_owned(), 91, 0, 0, false)));
        let mut conn = db.read().await.unwrap();
        let kept: (String, String, String, String, Option<String>) = conn
            .one("SELECT leg, calling, called, country, destination_name FROM cdrs WHERE upstream_id IS NOT NULL", params![])
            .await
            .unwrap();
        let counted: (String, String, i64, i64) =
            conn.one("SELECT country, destination_name, answered, seconds FROM cdr_days", params![]).await.unwrap();
        drop(conn);
        let text = str::to_owned;
        assert_eq!(kept, (text("origination"), text("+4930123456"), text(DID), text("NL"), None));
        assert_eq!(counted, (text("NL"), text(""), 1, 91));
        assert_eq!(scene.balance_and_held().await, (0, 0));
        scene.end().await;
    }

    async fn an_origination_call_needs_an_active_account_and_a_free_channel(db) {
        let scene = scene_with_did(db, 1000).await;
        let ask = |changes: Value| merged(origination_call(), changes);
        for nobody in ["+31201000001", "0201000000", "reception"] {
            assert_eq!(scene.denied(ask(json!({"called": nobody}))).await, deny_reason("number_unknown", 404), "{nobody}");
        }
        assert_eq!(scene.denied(ask(json!({"direction": "outbound"}))).await, deny_reason("direction_mismatch", 403));
        let ringing = scene.allowed(ask(json!({"direction": "inbound", "called": "0031201000000"}))).await;

        // Calls in both directions share the trunk's channels, and the account's in a zone.
        update_trunk(&scene.customer, &scene.trunk, json!({"channel_cap": 2})).await;
        scene.allowed(json!({})).await;
        assert_eq!(scene.denied(origination_call()).await, deny_reason("channel_cap", 503));
        scene.send_events(json!([scene.event("failed", &ringing["call_token"], 0, json!({"sip_code": 486}))])).await;
        assert_eq!(scene.cdr(&ringing["call_token"]).await, Some(("busy".to_owned(), 0, 0, 0, false)));
        scene.allowed(origination_call()).await;

        apply_event(&scene.world, &scene.customer, Event::Suspended).await;
        assert_eq!(scene.denied(origination_call()).await, deny_reason("account_not_active", 403));
        apply_event(&scene.world, &scene.customer, Event::Reinstated).await;
        update_upstream(&scene.admin, &scene.upstream, json!({"status": "disabled"})).await.ok();
        assert_eq!(scene.denied(origination_call()).await, deny_reason("source_not_allowed", 403));
        update_upstream(&scene.admin, &scene.upstream, json!({"status": "active"})).await.ok();
        let id = list_numbers(&scene.customer).await[0]["id"].as_str().unwrap().to_owned();
        scene.customer.with_key(key()).delete(&format!("/numbers/{id}")).await.expect(204);
        assert_eq!(scene.denied(origination_call()).await, deny_reason("number_unknown", 404));
        scene.end().await;
    }

    async fn a_customer_that_calls_its_own_did_has_two_calls(db) {
        let scene = scene_with_did(db, 1000).await;
        let out = call_request(json!({"called": DID}));
        let back = merged(out.clone(), json!({"source_ip": UPSTREAM_IP}));
        let (out, back) = (scene.allowed(out).await, scene.allowed(back).await);
        assert_eq!((&out["leg"], &back["leg"]), (&json!("termination"), &json!("origination")));
        assert_ne!(out["call_token"], back["call_token"]);
        let began = scene.now();
        let ended = json!({"answered_at": began, "at": began + 60_000});
        scene.send_events(json!([
            scene.event("ended", &out["call_token"], 0, ended.clone()), scene.event("ended", &back["call_token"], 0, ended),
        ])).await;
        assert_eq!(scene.balance_and_held().await, (9_940_000_000, 0));
        scene.end().await;
    }

    async fn an_origination_call_of_a_lost_switch_is_closed(db) {
        let scene = scene_with_did(db, 0).await;
        let token = scene.allowed(origination_call()).await["call_token"].clone();
        let began = scene.now();
        scene.send_events(json!([
            scene.event("answered", &token, 0, json!({"at": began})),
            scene.event("keepalive", &token, 0, json!({"at": began + 42_000})),
        ])).await;
        scene.world.advance(1300).await;
        assert_eq!(scene.cdr(&token).await, Some(("answered".to_owned(), 42, 0, 0, true)));
        assert_eq!(scene.count("SELECT COUNT(*) FROM live_calls").await, 0);
        scene.end().await;
    }

    async fn imported_cdrs_of_an_upstream_belong_to_the_dids_renter(db) {
        let scene = scene_with_did(db, 0).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        let line = |id: &str, changes: Value| merged(json!({
            "call_id": id, "leg": "origination", "source_ip": UPSTREAM_IP, "calling": "+4930123456", "called": DID,
            "started_at": began, "answered_at": began, "ended_at": began + 60_000, "status": "answered",
        }), changes);
        let long_ago = began - 86_400_000;
        let lines = [
            line("good", json!({})),
            line("good", json!({})),
            line("other", json!({"called": "+31201000001"})),
            line("old", json!({"started_at": long_ago, "answered_at": long_ago, "ended_at": long_ago})),
            line("out", json!({"source_ip": SOURCE_IP})),
            line("way", json!({"leg": "termination"})),
        ];
        let answer = send_cdrs(&scene, &ndjson(&lines)).await.ok();
        assert_eq!((&answer["accepted"], &answer["duplicates"]), (&json!(1), &json!(1)), "{answer}");
        assert_eq!((&answer["suspended"], &answer["rejected"]), (&json!(4), &json!([])), "{answer}");
        let suspended = scene.admin.get("/admin/cdrs/suspense").await.ok();
        let mut reasons: Vec<_> = suspended["data"].as_array().unwrap().iter()
            .map(|one| (one["call_id"].as_str().unwrap(), one["reason"].as_str().unwrap()))
            .collect();
        reasons.sort_unstable();
        assert_eq!(reasons, [
            ("old", "unknown_number"), ("other", "unknown_number"), ("out", "unknown_upstream"), ("way", "unknown_trunk"),
        ]);
        let mut conn = db.read().await.unwrap();
        let kept: (String, i64, bool) = conn
            .one("SELECT country, charge, upstream_id IS NOT NULL FROM cdrs WHERE call_id = 'good'", params![])
            .await
            .unwrap();
        drop(conn);
        assert_eq!(kept, ("NL".to_owned(), 0, true));
        scene.end().await;
    }
}
