//! Calls from upstreams to the numbers of customers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use identity::onboarding::Event;
use serde_json::{Value, json};

use super::authorize::{reason, set_trunk};
use super::lines::{send, written};
use super::{Scene, call};
use crate::coverage::examples::key;
use crate::numbers::{AMSTERDAM, FIRST, groups, import, numbers, order, sheet};
use crate::onboarding::happens;
use crate::upstreams::change;
use crate::world::engines::{TestDb, both};

const NUMBER: &str = "+31201000000";
const UPSTREAM: &str = "9.9.9.9";
const TARGET: &str = "sip:pbx.customer.example:5060";

/// A scene whose customer has a number, so many cents after paying for it, and a place for its calls.
pub async fn scene(db: &TestDb, cents: i64) -> Scene {
    let scene = Scene::start(db, FIRST + cents).await;
    let report = import(&scene.world, &scene.admin, &scene.upstream, &sheet(31_201_000_000, 1, AMSTERDAM)).await;
    assert_eq!(report["status"], "completed", "{report}");
    let group = groups(&scene.customer, "").await[0]["id"].as_str().unwrap().to_owned();
    order(&scene.customer, &group, &scene.trunk).await.expect(201);
    set_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": TARGET})).await;
    scene
}

/// A call of the upstream to the customer's number.
pub fn inbound() -> Value {
    call(json!({"source_ip": UPSTREAM, "called": NUMBER, "calling": "+4930123456"}))
}

both! {
    async fn a_call_to_a_customers_number_goes_to_its_trunk_and_costs_nothing(db) {
        let scene = scene(db, 0).await;
        let asked = inbound();
        let answer = scene.allowed(asked.clone()).await;
        let token = answer["call_token"].clone();
        assert_eq!(answer, json!({
            "decision": "allow", "call_token": token, "account_id": scene.customer.account_id, "trunk_id": scene.trunk,
            "leg": "origination", "max_seconds": 300, "groups": [], "routes": [], "target_uri": TARGET,
        }));
        // The same question has the same answer, though the trunk is another by now.
        set_trunk(&scene.customer, &scene.trunk, json!({"inbound_uri": null})).await;
        assert_eq!(scene.allowed(asked).await, answer);
        assert_eq!(scene.denied(inbound()).await, reason("no_inbound_uri", 480));

        let began = scene.now();
        scene.tell(json!([scene.event("answered", &token, 0, json!({"at": began}))])).await;
        scene.world.advance(120).await;
        let told = scene.tell(json!([scene.event("keepalive", &token, 0, json!({"at": began + 119_000}))])).await;
        assert_eq!(told["extend"], json!([{"call_token": token, "max_seconds": 419}]));
        scene.tell(json!([scene.event("ended", &token, 0, json!({"at": began + 90_500}))])).await;
        assert_eq!(scene.record(&token).await, Some(("answered".to_owned(), 91, 0, 0, false)));
        let mut conn = db.read().await.unwrap();
        let kept: (String, String, String, String, Option<String>) = conn
            .one("SELECT leg, calling, called, country, destination_name FROM cdrs WHERE upstream_id IS NOT NULL", params![])
            .await
            .unwrap();
        let counted: (String, String, i64, i64) =
            conn.one("SELECT country, destination_name, answered, seconds FROM cdr_days", params![]).await.unwrap();
        drop(conn);
        let text = str::to_owned;
        assert_eq!(kept, (text("origination"), text("+4930123456"), text(NUMBER), text("NL"), None));
        assert_eq!(counted, (text("NL"), text(""), 1, 91));
        assert_eq!(scene.purse().await, (0, 0));
        scene.end().await;
    }

    async fn a_number_must_be_a_customers_who_may_have_calls_and_has_room_for_them(db) {
        let scene = scene(db, 1000).await;
        let ask = |changes: Value| super::merged(inbound(), changes);
        for nobody in ["+31201000001", "0201000000", "reception"] {
            assert_eq!(scene.denied(ask(json!({"called": nobody}))).await, reason("number_unknown", 404), "{nobody}");
        }
        assert_eq!(scene.denied(ask(json!({"direction": "outbound"}))).await, reason("direction_mismatch", 403));
        let ringing = scene.allowed(ask(json!({"direction": "inbound", "called": "0031201000000"}))).await;

        // Calls in both directions share the trunk's channels, and the account's in a zone.
        set_trunk(&scene.customer, &scene.trunk, json!({"channel_cap": 2})).await;
        scene.allowed(json!({})).await;
        assert_eq!(scene.denied(inbound()).await, reason("channel_cap", 503));
        scene.tell(json!([scene.event("failed", &ringing["call_token"], 0, json!({"sip_code": 486}))])).await;
        assert_eq!(scene.record(&ringing["call_token"]).await, Some(("busy".to_owned(), 0, 0, 0, false)));
        scene.allowed(inbound()).await;

        happens(&scene.world, &scene.customer, Event::Suspended).await;
        assert_eq!(scene.denied(inbound()).await, reason("account_not_active", 403));
        happens(&scene.world, &scene.customer, Event::Reinstated).await;
        change(&scene.admin, &scene.upstream, json!({"status": "disabled"})).await.ok();
        assert_eq!(scene.denied(inbound()).await, reason("source_not_allowed", 403));
        change(&scene.admin, &scene.upstream, json!({"status": "active"})).await.ok();
        let id = numbers(&scene.customer).await[0]["id"].as_str().unwrap().to_owned();
        scene.customer.with_key(key()).delete(&format!("/numbers/{id}")).await.expect(204);
        assert_eq!(scene.denied(inbound()).await, reason("number_unknown", 404));
        scene.end().await;
    }

    async fn a_customer_who_calls_its_own_number_has_two_calls(db) {
        let scene = scene(db, 1000).await;
        let out = call(json!({"called": NUMBER}));
        let back = super::merged(out.clone(), json!({"source_ip": UPSTREAM}));
        let (out, back) = (scene.allowed(out).await, scene.allowed(back).await);
        assert_eq!((&out["leg"], &back["leg"]), (&json!("termination"), &json!("origination")));
        assert_ne!(out["call_token"], back["call_token"]);
        let began = scene.now();
        let ended = json!({"answered_at": began, "at": began + 60_000});
        scene.tell(json!([
            scene.event("ended", &out["call_token"], 0, ended.clone()), scene.event("ended", &back["call_token"], 0, ended),
        ])).await;
        assert_eq!(scene.purse().await, (9_940_000_000, 0));
        scene.end().await;
    }

    async fn a_call_to_a_number_of_which_no_switch_speaks_any_more_is_closed(db) {
        let scene = scene(db, 0).await;
        let token = scene.allowed(inbound()).await["call_token"].clone();
        let began = scene.now();
        scene.tell(json!([
            scene.event("answered", &token, 0, json!({"at": began})),
            scene.event("keepalive", &token, 0, json!({"at": began + 42_000})),
        ])).await;
        scene.world.advance(1300).await;
        assert_eq!(scene.record(&token).await, Some(("answered".to_owned(), 42, 0, 0, true)));
        assert_eq!(scene.number("SELECT COUNT(*) FROM live_calls").await, 0);
        scene.end().await;
    }

    async fn lines_of_an_upstream_belong_to_who_had_the_number(db) {
        let scene = scene(db, 0).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        let line = |id: &str, changes: Value| super::merged(json!({
            "call_id": id, "leg": "origination", "source_ip": UPSTREAM, "calling": "+4930123456", "called": NUMBER,
            "started_at": began, "answered_at": began, "ended_at": began + 60_000, "status": "answered",
        }), changes);
        let long_ago = began - 86_400_000;
        let lines = [
            line("good", json!({})),
            line("good", json!({})),
            line("other", json!({"called": "+31201000001"})),
            line("old", json!({"started_at": long_ago, "answered_at": long_ago, "ended_at": long_ago})),
            line("out", json!({"source_ip": super::SOURCE})),
            line("way", json!({"leg": "termination"})),
        ];
        let answer = send(&scene, &written(&lines)).await.ok();
        assert_eq!((&answer["accepted"], &answer["duplicates"]), (&json!(1), &json!(1)), "{answer}");
        let nobody = "no customer had the number when the call began";
        assert_eq!(answer["rejected"], json!([
            {"line": 3, "reason": nobody}, {"line": 4, "reason": nobody},
            {"line": 5, "reason": "no upstream has this source_ip"},
            {"line": 6, "reason": "no trunk has this source_ip"},
        ]));
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
