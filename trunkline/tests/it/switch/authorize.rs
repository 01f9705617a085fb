//! Authorization decisions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use identity::onboarding::Event;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::onboarding::apply_event;
use crate::world::fixtures::switch::{SOURCE_IP, Scene, call_request, deny_reason, trunk_with_source, update_trunk};
use crate::world::fixtures::upstreams::update_upstream;

async fn set_caps(customer: &Client, day: i64, minute: i64) {
    let euros = |cents| json!({"amount_minor": cents, "currency": "EUR"});
    let caps = json!({"max_spend_per_day": euros(day), "max_rate_per_minute": euros(minute)});
    customer.with_key(key()).call(Method::PUT, "/fraud-caps", Some(caps)).await.ok();
}

both! {
    async fn an_allowed_call_gets_a_token_a_limit_and_routes(db) {
        let scene = Scene::start(db, 10_000).await;
        let answer = scene.allowed(json!({})).await;
        assert_eq!(answer["account_id"], json!(scene.customer.account_id));
        assert_eq!((&answer["trunk_id"], &answer["leg"]), (&json!(scene.trunk), &json!("termination")));
        assert_eq!((&answer["max_seconds"], &answer["groups"]), (&json!(300), &json!([10])));
        assert_eq!(answer["routes"], json!([{"upstream_id": scene.upstream, "dispatcher_group_id": 10}]));
        // 300 seconds of a thousandth each.
        assert_eq!(scene.balance_and_held().await, (100_000_000_000, 300_000_000));
        scene.end().await;
    }

    async fn the_source_the_account_and_the_number_are_checked_first(db) {
        let scene = Scene::start(db, 10_000).await;
        assert_eq!(scene.denied(json!({"source_ip": "8.8.4.8"})).await, deny_reason("source_not_allowed", 403));
        assert_eq!(scene.denied(json!({"direction": "inbound"})).await, deny_reason("direction_mismatch", 403));
        assert_eq!(scene.denied(json!({"source_ip": "9.9.9.9", "direction": "outbound"})).await, deny_reason("direction_mismatch", 403));
        assert_eq!(scene.denied(json!({"source_ip": "9.9.9.9"})).await, deny_reason("number_unknown", 404));
        for called in ["0201234567", "anonymous", "+31", "112"] {
            assert_eq!(scene.denied(json!({"called": called})).await, deny_reason("number_not_dialable", 404), "{called}");
        }
        assert_eq!(scene.denied(json!({"called": "+4930123456"})).await, deny_reason("destination_not_priced", 404));
        for called in ["31201234567", "0031201234567"] {
            scene.allowed(json!({"called": called, "direction": "outbound"})).await;
        }
        apply_event(&scene.world, &scene.customer, Event::Suspended).await;
        // The account is checked before the number.
        assert_eq!(scene.denied(json!({"called": "112"})).await, deny_reason("account_not_active", 403));
        apply_event(&scene.world, &scene.customer, Event::Reinstated).await;
        scene.allowed(json!({})).await;
        scene.end().await;
    }

    async fn fraud_caps_on_the_minute_rate_and_the_daily_spend_hold(db) {
        let scene = Scene::start(db, 100_000).await;
        assert_eq!(scene.denied(json!({"called": "+19001234567"})).await, deny_reason("rate_cap", 403));
        // 300 s to the United Kingdom are 3 euros, to the Netherlands 0.30.
        assert_eq!(scene.denied(json!({"called": "+442071234567"})).await, deny_reason("rate_cap", 403));
        set_caps(&scene.customer, 350, 60).await;
        assert_eq!(scene.allowed(json!({"called": "+442071234567"})).await["max_seconds"], 300);
        assert_eq!(scene.allowed(json!({})).await["max_seconds"], 300);
        // 20 cents are left of the day.
        assert_eq!(scene.allowed(json!({})).await["max_seconds"], 200);
        for _ in 0..2 {
            assert_eq!(scene.denied(json!({})).await, deny_reason("fraud_cap", 403));
        }
        let told = scene.customer.get("/notifications").await.ok();
        let told: Vec<&Value> = told["data"].as_array().unwrap().iter().filter(|one| one["code"] == "fraud.cap_reached").collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["payload"]["max_spend_per_day"]["amount_minor"], 350);
        scene.world.advance(24 * 3600).await;
        scene.allowed(json!({})).await;
        scene.end().await;
    }

    async fn a_trunk_enforces_its_channel_cap_and_cps_limit(db) {
        let scene = Scene::start(db, 10_000).await;
        update_trunk(&scene.customer, &scene.trunk, json!({"channel_cap": 2})).await;
        let first = scene.allowed(json!({})).await;
        scene.allowed(json!({})).await;
        assert_eq!(scene.denied(json!({})).await, deny_reason("channel_cap", 503));
        scene.send_events(json!([scene.event("failed", &first["call_token"], 0, json!({"sip_code": 486}))])).await;
        scene.allowed(json!({})).await;
        assert_eq!(scene.denied(json!({})).await, deny_reason("channel_cap", 503));

        let narrow = trunk_with_source(&scene.customer, json!({"cps_limit": 1}), "8.8.4.9").await;
        // Two calls may fall into two seconds, but of twenty most fall into the same.
        let mut refused = 0;
        for _ in 0..20 {
            let answer = scene.authorize(json!({"source_ip": "8.8.4.9"})).await;
            assert!(answer["decision"] == "allow" || answer["reason"] == "cps_limit", "{answer}");
            refused += usize::from(answer["decision"] == "deny");
        }
        assert!(refused > 0);
        scene.world.advance(1).await;
        assert_eq!(scene.allowed(json!({"source_ip": "8.8.4.9"})).await["trunk_id"], json!(narrow));
        scene.end().await;
    }

    async fn the_balance_limits_the_length_of_a_call(db) {
        let scene = Scene::start(db, 0).await;
        assert_eq!(scene.denied(json!({})).await, deny_reason("balance.insufficient", 402));
        scene.world.top_up(&scene.customer.account_id, 12).await;
        assert_eq!(scene.allowed(json!({})).await["max_seconds"], 120);
        assert_eq!(scene.denied(json!({})).await, deny_reason("balance.insufficient", 402));
        // A connection of 0.05 and whole minutes of 0.06: 16 cents are one of them, and 5 cents are left.
        scene.world.top_up(&scene.customer.account_id, 16).await;
        assert_eq!(scene.allowed(json!({"called": "+31612345678"})).await["max_seconds"], 60);
        assert_eq!(scene.denied(json!({"called": "+31612345678"})).await, deny_reason("balance.insufficient", 402));
        assert_eq!(scene.allowed(json!({})).await["max_seconds"], 50);
        assert_eq!(scene.balance_and_held().await, (280_000_000, 280_000_000));
        scene.end().await;
    }

    async fn routes_leave_out_upstreams_that_are_down_or_disabled(db) {
        let scene = Scene::start(db, 10_000).await;
        let down = |kind: &str, at: i64| json!([{
            "event_id": "h", "type": kind, "upstream_id": scene.upstream, "edge_id": "edge-1", "at": scene.now() + at
        }]);
        assert_eq!(scene.send_events(down("upstream_down", 0)).await["accepted"], 1);
        assert_eq!(scene.denied(json!({})).await, deny_reason("no_route", 503));
        // An older event that arrives later changes nothing.
        scene.send_events(down("upstream_up", -60_000)).await;
        assert_eq!(scene.denied(json!({})).await, deny_reason("no_route", 503));
        scene.send_events(down("upstream_up", 1000)).await;
        scene.allowed(json!({})).await;
        let health = scene.admin.get(&format!("/admin/upstreams/{}", scene.upstream)).await.ok()["health"].clone();
        assert_eq!(health, "up");
        update_upstream(&scene.admin, &scene.upstream, json!({"status": "disabled"})).await.ok();
        assert_eq!(scene.denied(json!({})).await, deny_reason("destination_not_priced", 404));
        scene.end().await;
    }

    async fn an_upstream_that_a_switch_with_a_fast_clock_reports_down_comes_back(db) {
        let scene = Scene::start(db, 10_000).await;
        let report = async |edge: &str, kind: &str, ahead: i64| {
            let event = json!({
                "event_id": key().to_string(), "type": kind, "upstream_id": scene.upstream, "edge_id": edge,
                "at": scene.now() + ahead,
            });
            assert_eq!(scene.send_events(json!([event])).await["accepted"], 1);
        };
        report("edge-1", "upstream_down", 280_000).await;
        report("edge-2", "upstream_down", 0).await;
        assert_eq!(scene.denied(json!({})).await, deny_reason("no_route", 503));
        scene.world.advance(20).await;
        report("edge-2", "upstream_up", 0).await;
        scene.allowed(json!({})).await;
        scene.end().await;
    }

    async fn an_older_report_does_not_override_a_newer_one_that_changed_nothing(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(300).await;
        for (kind, after) in [("upstream_up", -300_000), ("upstream_up", -100_000), ("upstream_down", -200_000)] {
            let event = json!({
                "event_id": key().to_string(), "type": kind, "upstream_id": scene.upstream, "at": scene.now() + after,
            });
            assert_eq!(scene.send_events(json!([event])).await["accepted"], 1);
        }
        scene.allowed(json!({})).await;
        scene.end().await;
    }

    async fn an_upstream_that_is_activated_again_is_used_until_it_is_reported_down(db) {
        let scene = Scene::start(db, 10_000).await;
        let report = async |kind: &str| {
            let event = json!({"event_id": "h", "type": kind, "upstream_id": scene.upstream, "at": scene.now()});
            assert_eq!(scene.send_events(json!([event])).await["accepted"], 1);
        };
        report("upstream_down").await;
        let kept = update_upstream(&scene.admin, &scene.upstream, json!({"status": "active"})).await.ok();
        assert_eq!(kept["health"], "down", "it was active before");
        update_upstream(&scene.admin, &scene.upstream, json!({"status": "disabled"})).await.ok();
        let active = update_upstream(&scene.admin, &scene.upstream, json!({"status": "active"})).await.ok();
        assert_eq!(active["health"], "unknown");
        scene.allowed(json!({})).await;
        report("upstream_down").await;
        assert_eq!(scene.denied(json!({})).await, deny_reason("no_route", 503));
        scene.end().await;
    }

    async fn a_repeated_authorization_is_answered_alike_until_the_call_ends(db) {
        let scene = Scene::start(db, 10_000).await;
        let same = call_request(json!({}));
        let first = scene.allowed(same.clone()).await;
        assert_eq!(scene.allowed(same.clone()).await, first);
        assert_eq!(scene.balance_and_held().await.1, 300_000_000);
        // Another call cannot hide behind it.
        let mut other = same.clone();
        other["called"] = json!("+31207654321");
        assert_eq!(scene.denied(other).await, deny_reason("call_id_in_use", 482));
        scene.send_events(json!([scene.event("answered", &first["call_token"], 0, json!({}))])).await;
        assert_eq!(scene.denied(same.clone()).await, deny_reason("call_id_in_use", 482));
        // Nor does another trunk meet it.
        trunk_with_source(&scene.customer, json!({}), "8.8.4.9").await;
        let mut copied = same.clone();
        copied["source_ip"] = json!("8.8.4.9");
        assert_ne!(scene.allowed(copied).await["call_token"], first["call_token"]);

        scene.send_events(json!([scene.event("ended", &first["call_token"], 1000, json!({}))])).await;
        assert_ne!(scene.allowed(same).await["call_token"], first["call_token"]);
        scene.end().await;
    }

    async fn a_repeated_authorization_is_answered_alike_when_no_channel_is_left(db) {
        let scene = Scene::start(db, 10_000).await;
        update_trunk(&scene.customer, &scene.trunk, json!({"channel_cap": 1})).await;
        let same = call_request(json!({}));
        let first = scene.allowed(same.clone()).await;
        let answers = join_all((0..50).map(|number| {
            scene.authorize(if number % 2 == 0 { same.clone() } else { call_request(json!({})) })
        }))
        .await;
        for (number, answer) in answers.iter().enumerate() {
            match number % 2 {
                0 => assert_eq!(answer, &first),
                _ => assert_eq!(answer["reason"], "channel_cap", "{answer}"),
            }
        }
        // Nor does it matter that a new call could not be sold any more.
        update_upstream(&scene.admin, &scene.upstream, json!({"status": "disabled"})).await.ok();
        assert_eq!(scene.allowed(same).await, first);
        assert_eq!(scene.balance_and_held().await.1, 300_000_000);
        scene.end().await;
    }

    async fn a_switch_reads_allow_lists_and_gateways(db) {
        let scene = Scene::start(db, 0).await;
        let config = scene.world.operations().get("/switch/config").await.ok();
        assert_eq!(config["dispatcher"], json!([
            {"group_id": 10, "uri": "sip:gw1.carrier.example", "upstream_id": scene.upstream}
        ]));
        assert_eq!(config["addresses"], json!([
            {"cidr": format!("{SOURCE_IP}/32"), "trunk_id": scene.trunk}, {"cidr": "9.9.9.9/32", "upstream_id": scene.upstream}
        ]));
        update_upstream(&scene.admin, &scene.upstream, json!({"gateways": []})).await.ok();
        let after = scene.world.operations().get("/switch/config").await.ok();
        assert_eq!(after["dispatcher"], json!([]));
        assert!(after["version"].as_i64() > config["version"].as_i64());
        scene.end().await;
    }

    async fn a_switch_without_the_secret_or_with_bad_input_is_refused(db) {
        let scene = Scene::start(db, 0).await;
        let (ops, stranger) = (scene.world.operations(), scene.world.anyone_at_operations());
        for (path, kibibytes) in [("/switch/authorize", 16), ("/switch/events", 1024), ("/switch/cdrs", 16 * 1024)] {
            stranger.post(path, json!({})).await.problem(401, "auth.token_invalid");
            let refused = ops.get(path).await;
            assert_eq!(refused.header("allow"), Some("POST, OPTIONS"));
            refused.problem(405, "method_not_allowed");
            let long = ops.request(Method::POST, path).body(vec![b' '; kibibytes * 1024 + 1]);
            ops.send(long).await.problem(413, "request.too_large");
        }
        for path in ["/switch/authorize", "/switch/events"] {
            let torn = ops.request(Method::POST, path).body("{\"edge_id\":");
            ops.send(torn).await.problem(400, "request.malformed");
        }
        assert_eq!(ops.post("/switch/authorize", json!({"edge_id": "e"})).await.invalid(), ["call_id", "called", "source_ip"]);
        assert_eq!(ops.post("/switch/authorize", call_request(json!({"source_ip": "nowhere"}))).await.invalid(), ["source_ip"]);
        assert_eq!(ops.post("/switch/authorize", call_request(json!({"zone": "moon"}))).await.invalid(), ["zone"]);
        assert_eq!(ops.post("/switch/authorize", call_request(json!({"call_id": "a\u{0}b"}))).await.invalid(), ["call_id"]);
        let several = call_request(json!({"source_ip": "nowhere", "zone": "moon", "called": ""}));
        assert_eq!(ops.post("/switch/authorize", several).await.invalid(), ["called", "source_ip", "zone"]);
        assert_eq!(ops.post("/switch/events", json!({"events": vec![json!({}); 501]})).await.invalid(), ["events"]);
        scene.end().await;
    }
}
