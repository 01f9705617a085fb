//! Events of live calls, from answer to end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::rates::import_deck;
use crate::world::fixtures::switch::{CALL_DECK, Scene, answered_cdr};

both! {
    async fn a_call_is_charged_for_its_duration_and_the_rest_is_released(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let told = scene.send_events(json!([scene.event("answered", &token, 0, json!({"at": began}))])).await;
        assert_eq!(told, json!({"accepted": 1, "rejected": [], "extend": [], "hang_up": []}));
        scene.send_events(json!([scene.event("ended", &token, 0, json!({"at": began + 90_000}))])).await;
        assert_eq!(scene.cdr(&token).await, answered_cdr(90, 90_000_000));
        assert_eq!(scene.balance_and_held().await, (99_910_000_000, 0));
        let lines = scene.customer.get("/account/ledger").await.ok();
        assert_eq!(lines["data"][0]["kind"], "call");
        scene.end().await;
    }

    async fn a_trunk_with_live_calls_cannot_be_deleted(db) {
        let scene = Scene::start(db, 100).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let path = format!("/trunks/{}", scene.trunk);
        scene.customer.with_key(key()).delete(&path).await.problem(409, "resource.in_use");
        scene.send_events(json!([scene.event("failed", &token, 0, json!({}))])).await;
        scene.customer.with_key(key()).delete(&path).await.expect(204);
        scene.end().await;
    }

    async fn an_end_event_alone_is_enough_and_the_first_counts(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let ended = |at: i64| json!({"at": began + at, "answered_at": began, "upstream_id": scene.upstream});
        let first = scene.event("ended", &token, 0, ended(60_000));
        let both = json!([first, scene.event("ended", &token, 0, ended(120_000))]);
        assert_eq!(scene.send_events(both.clone()).await["accepted"], 2);
        assert_eq!(scene.cdr(&token).await, answered_cdr(60, 60_000_000));
        // Later events are accepted and change nothing.
        assert_eq!(scene.send_events(both).await["accepted"], 2);
        let late = json!([
            scene.event("answered", &token, 0, json!({})), scene.event("failed", &token, 0, json!({})),
            scene.event("ended", &token, 0, ended(180_000)),
        ]);
        assert_eq!(scene.send_events(late).await, json!({"accepted": 3, "rejected": [], "extend": [], "hang_up": []}));
        let alive = json!([scene.event("keepalive", &token, 0, json!({}))]);
        assert_eq!(scene.send_events(alive).await["hang_up"], json!([token]));
        assert_eq!(scene.cdr(&token).await, answered_cdr(60, 60_000_000));
        assert_eq!(scene.balance_and_held().await, (99_940_000_000, 0));
        scene.end().await;
    }

    async fn events_come_in_any_order_and_are_validated_one_by_one(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let told = scene.send_events(json!([
            scene.event("ended", &token, 0, json!({"at": began + 30_000})),
            scene.event("answered", &token, 0, json!({"at": began})),
            {"event_id": "nonsense", "type": "sneezed", "at": began},
            {"type": "ended", "call_token": token, "at": began},
            {"event_id": "nobody", "type": "ended", "call_token": key(), "at": began},
            {"event_id": "whose", "type": "ended", "at": began},
            {"event_id": "soon", "type": "ended", "call_token": token, "at": began + 600_000},
            {"event_id": "text", "type": "keepalive", "call_token": token, "at": "2026-01-31T12:00:00Z"},
            7,
        ])).await;
        assert_eq!(told["accepted"], 3, "{told}");
        let rejected = told["rejected"].as_array().unwrap();
        let reason = |id: Value| rejected.iter().find(|one| one["event_id"] == id).unwrap()["reason"].as_str().unwrap().to_owned();
        assert!(reason(json!("nonsense")).starts_with("type must be one of"), "{}", reason(json!("nonsense")));
        assert_eq!(reason(json!("nobody")), "there is no such call");
        assert_eq!(reason(json!("whose")), "call_token is missing");
        assert_eq!(reason(json!("soon")), "the time is in the future");
        assert_eq!(rejected.len(), 6);
        assert_eq!(scene.cdr(&token).await, answered_cdr(30, 30_000_000));
        scene.end().await;
    }

    async fn events_before_the_start_of_a_call_are_rejected(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let refused = async |kind: &str, more: Value| {
            let told = scene.send_events(json!([scene.event(kind, &token, 0, more)])).await;
            assert_eq!((&told["accepted"], &told["hang_up"]), (&json!(0), &json!([])), "{told}");
            told["rejected"][0]["reason"].as_str().unwrap().to_owned()
        };
        let long_ago = began - 400_000;
        assert_eq!(refused("answered", json!({"at": long_ago})).await, "the answer is before the authorization");
        assert_eq!(refused("keepalive", json!({"answered_at": 0})).await, "the answer is before the authorization");
        assert_eq!(refused("ended", json!({"answered_at": long_ago})).await, "the answer is before the authorization");
        assert_eq!(refused("ended", json!({"at": long_ago})).await, "the end is before the authorization");
        assert_eq!(refused("failed", json!({"at": long_ago})).await, "the end is before the authorization");
        assert_eq!(refused("ended", json!({"answered_at": began, "at": began - 1})).await, "the call ends before its answer");
        // No more events come, and the rejected ones do not keep the call from being closed.
        scene.world.advance(1300).await;
        assert_eq!(scene.cdr(&token).await, Some(("failed".to_owned(), 0, 0, 0, true)));

        // A switch's clock may be behind; its times are shifted to ours and durations are kept.
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let behind = scene.now() - 100_000;
        scene.send_events(json!([scene.event("ended", &token, 0, json!({"answered_at": behind, "at": behind + 30_000}))])).await;
        assert_eq!(scene.cdr(&token).await, answered_cdr(30, 30_000_000));
        let shown = scene.world.sign_in("cora@customer.example").await.get(&format!("/cdrs/{}", token.as_str().unwrap())).await.ok();
        assert_eq!(shown["answered_at"], shown["started_at"]);
        scene.end().await;
    }

    async fn the_earliest_of_several_answer_events_counts(db) {
        let scene = Scene::start(db, 10_000).await;
        let began = scene.now();
        let told_at = |kind: &str, token: &Value, at: i64| scene.event(kind, token, 0, json!({"at": began + at}));
        let apart = scene.allowed(json!({})).await["call_token"].clone();
        let together = scene.allowed(json!({})).await["call_token"].clone();
        for at in [5_000, 2_000, 8_000] {
            scene.send_events(json!([told_at("answered", &apart, at)])).await;
        }
        let late = json!({"at": began + 62_000, "answered_at": began + 9_000});
        scene.send_events(json!([scene.event("ended", &apart, 0, late.clone())])).await;
        scene.send_events(json!([
            scene.event("ended", &together, 0, late), told_at("answered", &together, 5_000), told_at("answered", &together, 2_000),
        ])).await;
        assert_eq!(scene.cdr(&apart).await, answered_cdr(60, 60_000_000));
        assert_eq!(scene.cdr(&together).await, answered_cdr(60, 60_000_000));
        scene.end().await;
    }

    async fn unanswered_calls_cost_nothing(db) {
        let scene = Scene::start(db, 10_000).await;
        let ends = [
            ("failed", json!({"status": "busy"}), "busy"),
            ("failed", json!({"sip_code": 487}), "cancelled"),
            ("failed", json!({"sip_code": 480}), "no_answer"),
            ("failed", json!({}), "failed"),
            ("ended", json!({}), "no_answer"),
        ];
        for (kind, more, status) in ends {
            let token = scene.allowed(json!({"called": "+31612345678"})).await["call_token"].clone();
            scene.send_events(json!([scene.event(kind, &token, 20_000, more)])).await;
            assert_eq!(scene.cdr(&token).await, Some((status.to_owned(), 0, 0, 0, false)));
        }
        assert_eq!(scene.balance_and_held().await, (100_000_000_000, 0));
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let vague = scene.send_events(json!([scene.event("ended", &token, 0, json!({"status": "answered"}))])).await;
        assert_eq!(vague["rejected"][0]["reason"], "answered_at is missing");
        scene.end().await;
    }

    async fn keepalives_extend_the_reservation_until_the_balance_is_used_up(db) {
        let scene = Scene::start(db, 50).await;
        let answer = scene.allowed(json!({})).await;
        let token = answer["call_token"].clone();
        assert_eq!(answer["max_seconds"], 300);
        scene.send_events(json!([scene.event("answered", &token, 0, json!({}))])).await;
        let began = scene.now();
        scene.world.advance(60).await;
        let told = scene.send_events(json!([scene.event("keepalive", &token, 0, json!({"at": began + 59_000}))])).await;
        assert_eq!((&told["extend"], &told["hang_up"]), (&json!([]), &json!([])));
        scene.world.advance(60).await;
        let told = scene.send_events(json!([scene.event("keepalive", &token, 0, json!({"at": began + 119_000}))])).await;
        let extended = told["extend"][0]["max_seconds"].as_i64().unwrap();
        assert!((418..=420).contains(&extended), "{told}");
        scene.world.advance(120).await;
        // 50 cents are 500 seconds.
        let told = scene.send_events(json!([scene.event("keepalive", &token, 0, json!({"at": began + 239_000}))])).await;
        assert_eq!(told["extend"], json!([{"call_token": token, "max_seconds": 500}]));
        assert_eq!(scene.balance_and_held().await, (500_000_000, 500_000_000));
        scene.world.advance(120).await;
        let told = scene.send_events(json!([scene.event("keepalive", &token, 0, json!({"at": began + 359_000}))])).await;
        assert_eq!((&told["extend"], &told["hang_up"]), (&json!([]), &json!([])));
        scene.world.advance(141).await;
        let told = scene.send_events(json!([scene.event("keepalive", &token, 0, json!({"at": began + 501_000}))])).await;
        assert_eq!((&told["extend"], &told["hang_up"]), (&json!([]), &json!([token])));
        scene.send_events(json!([scene.event("ended", &token, 0, json!({"answered_at": began, "at": began + 499_500}))])).await;
        assert_eq!(scene.cdr(&token).await, answered_cdr(500, 500_000_000));
        assert_eq!(scene.balance_and_held().await, (0, 0));
        scene.end().await;
    }

    async fn a_call_whose_hold_expired_continues_while_there_is_balance(db) {
        let scene = Scene::start(db, 60).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        scene.send_events(json!([scene.event("answered", &token, 0, json!({}))])).await;
        scene.world.advance(520).await;
        assert_eq!(scene.balance_and_held().await, (600_000_000, 0));
        // 60 cents are 600 seconds.
        let told = scene.send_events(json!([scene.event("keepalive", &token, 0, json!({"at": began + 520_000}))])).await;
        assert_eq!((&told["extend"], &told["hang_up"]), (&json!([{"call_token": token, "max_seconds": 600}]), &json!([])));
        assert_eq!(scene.balance_and_held().await, (600_000_000, 600_000_000));
        scene.send_events(json!([scene.event("ended", &token, 0, json!({"at": began + 530_000}))])).await;
        scene.end().await;
    }

    async fn the_reservation_covers_the_whole_call_however_long_it_rang(db) {
        let scene = Scene::start(db, 30).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        scene.world.advance(400).await;
        let began = scene.now();
        let told = scene.send_events(json!([scene.event("answered", &token, 0, json!({}))])).await;
        assert_eq!(told, json!({"accepted": 1, "rejected": [], "extend": [], "hang_up": []}));
        // The reservation of an unanswered call would have expired by now.
        scene.world.advance(280).await;
        assert_eq!(scene.balance_and_held().await, (300_000_000, 300_000_000));
        assert_eq!(scene.denied(json!({})).await, ("balance.insufficient".to_owned(), 402));
        scene.send_events(json!([scene.event("ended", &token, 0, json!({"at": began + 300_000}))])).await;
        assert_eq!(scene.cdr(&token).await, answered_cdr(300, 300_000_000));
        assert_eq!(scene.balance_and_held().await, (0, 0));
        scene.end().await;
    }

    async fn a_call_answered_without_a_reservation_is_ended(db) {
        let scene = Scene::start(db, 30).await;
        let late = scene.allowed(json!({})).await["call_token"].clone();
        scene.world.advance(600).await;
        let other = scene.allowed(json!({})).await["call_token"].clone();
        let told = scene.send_events(json!([scene.event("answered", &late, 0, json!({}))])).await;
        assert_eq!(told["hang_up"], json!([late]));
        assert_eq!(scene.balance_and_held().await, (300_000_000, 300_000_000));
        let ends = [&late, &other].map(|token| scene.event("failed", token, 0, json!({})));
        scene.send_events(json!(ends)).await;
        scene.end().await;
    }

    async fn a_call_longer_than_its_reservation_is_charged_and_flagged(db) {
        let scene = Scene::start(db, 30).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        scene.world.advance(400).await;
        scene.send_events(json!([scene.event("ended", &token, 0, json!({"answered_at": began, "at": began + 400_000}))])).await;
        let expected = ("answered".to_owned(), 400, 400_000_000, 400_000_000, true);
        assert_eq!(scene.cdr(&token).await, Some(expected));
        assert_eq!(scene.balance_and_held().await, (-100_000_000, 0));
        scene.end().await;
    }

    async fn a_call_over_an_unknown_route_is_charged_and_flagged(db) {
        let scene = Scene::start(db, 10_000).await;
        let began = scene.now();
        for (upstream, cost, review) in [(scene.upstream.clone(), 60_000_000, false), (key().to_string(), 0, true)] {
            let ended = json!({"answered_at": began, "at": began + 60_000, "upstream_id": upstream});
            let token = scene.allowed(json!({})).await["call_token"].clone();
            assert_eq!(scene.send_events(json!([scene.event("ended", &token, 0, ended)])).await["accepted"], 1);
            assert_eq!(scene.cdr(&token).await, Some(("answered".to_owned(), 60, 60_000_000, cost, review)));
            let shown = scene.admin.get(&format!("/admin/cdrs/{}", token.as_str().unwrap())).await.ok();
            assert_eq!((&shown["upstream_id"], &shown["review"]), (&json!(upstream), &json!(review)));
        }
        scene.end().await;
    }

    async fn a_deck_change_during_a_call_does_not_change_its_price(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        scene.world.advance(10).await;
        let dearer = CALL_DECK.replace("31,Netherlands,NL,0.06,", "31,Netherlands,NL,0.12,");
        assert_eq!(import_deck(&scene.world, &scene.admin, &scene.upstream, "", &dearer).await["status"], "completed");
        let later = scene.allowed(json!({})).await["call_token"].clone();
        scene.world.advance(60).await;
        let ended = json!({"answered_at": began, "at": began + 60_000});
        scene.send_events(json!([scene.event("ended", &token, 0, ended.clone()), scene.event("ended", &later, 0, ended)])).await;
        assert_eq!(scene.cdr(&token).await, answered_cdr(60, 60_000_000));
        assert_eq!(scene.cdr(&later).await, answered_cdr(60, 120_000_000));
        scene.end().await;
    }

    async fn calls_of_a_lost_switch_are_closed_with_what_is_known(db) {
        let scene = Scene::start(db, 10_000).await;
        let talking = scene.allowed(json!({})).await["call_token"].clone();
        let ringing = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        scene.send_events(json!([
            scene.event("answered", &talking, 0, json!({"at": began})),
            scene.event("keepalive", &talking, 0, json!({"at": began + 42_000})),
        ])).await;
        scene.world.advance(700).await;
        // The holds are released, and the calls wait for the switch to return.
        assert_eq!(scene.balance_and_held().await, (100_000_000_000, 0));
        assert_eq!(scene.count("SELECT COUNT(*) FROM live_calls").await, 2);
        scene.world.advance(600).await;
        assert_eq!(scene.count("SELECT COUNT(*) FROM live_calls").await, 0);
        let (status, seconds, charge, _, review) = scene.cdr(&talking).await.unwrap();
        assert_eq!((status.as_str(), seconds, charge, review), ("answered", 42, 42_000_000, true));
        assert_eq!(scene.cdr(&ringing).await, Some(("failed".to_owned(), 0, 0, 0, true)));
        assert_eq!(scene.balance_and_held().await, (99_958_000_000, 0));
        scene.end().await;
    }

    async fn hourly_peak_concurrent_calls_are_stored(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance_to_next(3600).await;
        let mut tokens = Vec::new();
        for _ in 0..3 {
            tokens.push(scene.allowed(json!({})).await["call_token"].clone());
        }
        let ended: Vec<Value> = tokens.iter().take(2).map(|token| scene.event("failed", token, 0, json!({}))).collect();
        scene.send_events(json!(ended)).await;
        scene.world.advance_to_next(3600).await;
        scene.allowed(json!({})).await;
        assert_eq!(scene.count("SELECT peak FROM zone_hours WHERE zone = 'eu-west'").await, 3);
        assert_eq!(scene.count("SELECT live FROM zone_load WHERE zone = 'eu-west'").await, 1);
        scene.end().await;
    }
}
