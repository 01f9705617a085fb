//! How calls go on and end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use super::{DECK, Scene};
use crate::coverage::examples::key;
use crate::decks::import;
use crate::world::engines::both;

pub fn answered(seconds: i64, charge: i64) -> Option<(String, i64, i64, i64, bool)> {
    Some(("answered".to_owned(), seconds, charge, charge, false))
}

both! {
    async fn a_call_is_charged_for_what_it_lasted_and_the_rest_is_let_go_of(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let told = scene.tell(json!([scene.event("answered", &token, 0, json!({"at": began}))])).await;
        assert_eq!(told, json!({"accepted": 1, "rejected": [], "extend": [], "hang_up": []}));
        scene.tell(json!([scene.event("ended", &token, 0, json!({"at": began + 90_000}))])).await;
        assert_eq!(scene.record(&token).await, answered(90, 90_000_000));
        assert_eq!(scene.purse().await, (99_910_000_000, 0));
        let lines = scene.customer.get("/account/ledger").await.ok();
        assert_eq!(lines["data"][0]["kind"], "call");
        scene.end().await;
    }

    async fn a_trunk_stays_for_as_long_as_calls_go_over_it(db) {
        let scene = Scene::start(db, 100).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let path = format!("/trunks/{}", scene.trunk);
        scene.customer.with_key(key()).delete(&path).await.problem(409, "resource.in_use");
        scene.tell(json!([scene.event("failed", &token, 0, json!({}))])).await;
        scene.customer.with_key(key()).delete(&path).await.expect(204);
        scene.end().await;
    }

    async fn an_end_alone_is_enough_and_only_the_first_counts(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let ended = |at: i64| json!({"at": began + at, "answered_at": began, "upstream_id": scene.upstream});
        let first = scene.event("ended", &token, 0, ended(60_000));
        let both = json!([first, scene.event("ended", &token, 0, ended(120_000))]);
        assert_eq!(scene.tell(both.clone()).await["accepted"], 2);
        assert_eq!(scene.record(&token).await, answered(60, 60_000_000));
        // Whatever is said afterwards is welcome and changes nothing.
        assert_eq!(scene.tell(both).await["accepted"], 2);
        let late = json!([
            scene.event("answered", &token, 0, json!({})), scene.event("failed", &token, 0, json!({})),
            scene.event("ended", &token, 0, ended(180_000)),
        ]);
        assert_eq!(scene.tell(late).await, json!({"accepted": 3, "rejected": [], "extend": [], "hang_up": []}));
        let alive = json!([scene.event("keepalive", &token, 0, json!({}))]);
        assert_eq!(scene.tell(alive).await["hang_up"], json!([token]));
        assert_eq!(scene.record(&token).await, answered(60, 60_000_000));
        assert_eq!(scene.purse().await, (99_940_000_000, 0));
        scene.end().await;
    }

    async fn events_may_come_in_any_order_and_are_judged_one_by_one(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let told = scene.tell(json!([
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
        assert_eq!(scene.record(&token).await, answered(30, 30_000_000));
        scene.end().await;
    }

    async fn nothing_happens_to_a_call_before_it_began(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let refused = async |kind: &str, more: Value| {
            let told = scene.tell(json!([scene.event(kind, &token, 0, more)])).await;
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
        // Nobody speaks of the call any more, and nothing of what was refused keeps it from being closed.
        scene.world.advance(1300).await;
        assert_eq!(scene.record(&token).await, Some(("failed".to_owned(), 0, 0, 0, true)));

        // A switch's clock may be behind ours; what it tells is shown by ours, and lasts as long.
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let behind = scene.now() - 100_000;
        scene.tell(json!([scene.event("ended", &token, 0, json!({"answered_at": behind, "at": behind + 30_000}))])).await;
        assert_eq!(scene.record(&token).await, answered(30, 30_000_000));
        let shown = scene.world.sign_in("cora@customer.example").await.get(&format!("/cdrs/{}", token.as_str().unwrap())).await.ok();
        assert_eq!(shown["answered_at"], shown["started_at"]);
        scene.end().await;
    }

    async fn of_several_answers_the_earliest_counts(db) {
        let scene = Scene::start(db, 10_000).await;
        let began = scene.now();
        let told_at = |kind: &str, token: &Value, at: i64| scene.event(kind, token, 0, json!({"at": began + at}));
        let apart = scene.allowed(json!({})).await["call_token"].clone();
        let together = scene.allowed(json!({})).await["call_token"].clone();
        for at in [5_000, 2_000, 8_000] {
            scene.tell(json!([told_at("answered", &apart, at)])).await;
        }
        let late = json!({"at": began + 62_000, "answered_at": began + 9_000});
        scene.tell(json!([scene.event("ended", &apart, 0, late.clone())])).await;
        scene.tell(json!([
            scene.event("ended", &together, 0, late), told_at("answered", &together, 5_000), told_at("answered", &together, 2_000),
        ])).await;
        assert_eq!(scene.record(&apart).await, answered(60, 60_000_000));
        assert_eq!(scene.record(&together).await, answered(60, 60_000_000));
        scene.end().await;
    }

    async fn calls_that_nobody_answered_cost_nothing(db) {
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
            scene.tell(json!([scene.event(kind, &token, 20_000, more)])).await;
            assert_eq!(scene.record(&token).await, Some((status.to_owned(), 0, 0, 0, false)));
        }
        assert_eq!(scene.purse().await, (100_000_000_000, 0));
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let vague = scene.tell(json!([scene.event("ended", &token, 0, json!({"status": "answered"}))])).await;
        assert_eq!(vague["rejected"][0]["reason"], "answered_at is missing");
        scene.end().await;
    }

    async fn keepalives_pay_for_the_next_minutes_until_the_money_is_gone(db) {
        let scene = Scene::start(db, 50).await;
        let answer = scene.allowed(json!({})).await;
        let token = answer["call_token"].clone();
        assert_eq!(answer["max_seconds"], 300);
        scene.tell(json!([scene.event("answered", &token, 0, json!({}))])).await;
        let began = scene.now();
        scene.world.advance(60).await;
        let told = scene.tell(json!([scene.event("keepalive", &token, 0, json!({"at": began + 59_000}))])).await;
        assert_eq!((&told["extend"], &told["hang_up"]), (&json!([]), &json!([])));
        scene.world.advance(60).await;
        let told = scene.tell(json!([scene.event("keepalive", &token, 0, json!({"at": began + 119_000}))])).await;
        let extended = told["extend"][0]["max_seconds"].as_i64().unwrap();
        assert!((418..=420).contains(&extended), "{told}");
        scene.world.advance(120).await;
        // 50 cents are 500 seconds.
        let told = scene.tell(json!([scene.event("keepalive", &token, 0, json!({"at": began + 239_000}))])).await;
        assert_eq!(told["extend"], json!([{"call_token": token, "max_seconds": 500}]));
        assert_eq!(scene.purse().await, (500_000_000, 500_000_000));
        scene.world.advance(120).await;
        let told = scene.tell(json!([scene.event("keepalive", &token, 0, json!({"at": began + 359_000}))])).await;
        assert_eq!((&told["extend"], &told["hang_up"]), (&json!([]), &json!([])));
        scene.world.advance(141).await;
        let told = scene.tell(json!([scene.event("keepalive", &token, 0, json!({"at": began + 501_000}))])).await;
        assert_eq!((&told["extend"], &told["hang_up"]), (&json!([]), &json!([token])));
        scene.tell(json!([scene.event("ended", &token, 0, json!({"answered_at": began, "at": began + 499_500}))])).await;
        assert_eq!(scene.record(&token).await, answered(500, 500_000_000));
        assert_eq!(scene.purse().await, (0, 0));
        scene.end().await;
    }

    async fn a_call_whose_money_was_let_go_of_goes_on_for_as_long_as_there_is_some(db) {
        let scene = Scene::start(db, 60).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        scene.tell(json!([scene.event("answered", &token, 0, json!({}))])).await;
        scene.world.advance(520).await;
        assert_eq!(scene.purse().await, (600_000_000, 0));
        // 60 cents are 600 seconds.
        let told = scene.tell(json!([scene.event("keepalive", &token, 0, json!({"at": began + 520_000}))])).await;
        assert_eq!((&told["extend"], &told["hang_up"]), (&json!([{"call_token": token, "max_seconds": 600}]), &json!([])));
        assert_eq!(scene.purse().await, (600_000_000, 600_000_000));
        scene.tell(json!([scene.event("ended", &token, 0, json!({"at": began + 530_000}))])).await;
        scene.end().await;
    }

    async fn money_is_held_for_as_long_as_a_call_can_last_however_long_it_rang(db) {
        let scene = Scene::start(db, 30).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        scene.world.advance(400).await;
        let began = scene.now();
        let told = scene.tell(json!([scene.event("answered", &token, 0, json!({}))])).await;
        assert_eq!(told, json!({"accepted": 1, "rejected": [], "extend": [], "hang_up": []}));
        // The money of a call that nobody answers would be free by now.
        scene.world.advance(280).await;
        assert_eq!(scene.purse().await, (300_000_000, 300_000_000));
        assert_eq!(scene.denied(json!({})).await, ("balance.insufficient".to_owned(), 402));
        scene.tell(json!([scene.event("ended", &token, 0, json!({"at": began + 300_000}))])).await;
        assert_eq!(scene.record(&token).await, answered(300, 300_000_000));
        assert_eq!(scene.purse().await, (0, 0));
        scene.end().await;
    }

    async fn a_call_that_is_answered_when_its_money_is_gone_is_to_end(db) {
        let scene = Scene::start(db, 30).await;
        let late = scene.allowed(json!({})).await["call_token"].clone();
        scene.world.advance(600).await;
        let other = scene.allowed(json!({})).await["call_token"].clone();
        let told = scene.tell(json!([scene.event("answered", &late, 0, json!({}))])).await;
        assert_eq!(told["hang_up"], json!([late]));
        assert_eq!(scene.purse().await, (300_000_000, 300_000_000));
        let ends = [&late, &other].map(|token| scene.event("failed", token, 0, json!({})));
        scene.tell(json!(ends)).await;
        scene.end().await;
    }

    async fn a_call_that_outlasts_its_money_is_charged_in_full_and_looked_at(db) {
        let scene = Scene::start(db, 30).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        scene.world.advance(400).await;
        scene.tell(json!([scene.event("ended", &token, 0, json!({"answered_at": began, "at": began + 400_000}))])).await;
        let expected = ("answered".to_owned(), 400, 400_000_000, 400_000_000, true);
        assert_eq!(scene.record(&token).await, Some(expected));
        assert_eq!(scene.purse().await, (-100_000_000, 0));
        scene.end().await;
    }

    async fn a_call_that_went_to_none_of_its_routes_is_charged_and_looked_at(db) {
        let scene = Scene::start(db, 10_000).await;
        let began = scene.now();
        for (upstream, cost, review) in [(scene.upstream.clone(), 60_000_000, false), (key().to_string(), 0, true)] {
            let ended = json!({"answered_at": began, "at": began + 60_000, "upstream_id": upstream});
            let token = scene.allowed(json!({})).await["call_token"].clone();
            assert_eq!(scene.tell(json!([scene.event("ended", &token, 0, ended)])).await["accepted"], 1);
            assert_eq!(scene.record(&token).await, Some(("answered".to_owned(), 60, 60_000_000, cost, review)));
            let shown = scene.admin.get(&format!("/admin/cdrs/{}", token.as_str().unwrap())).await.ok();
            assert_eq!((&shown["upstream_id"], &shown["review"]), (&json!(upstream), &json!(review)));
        }
        scene.end().await;
    }

    async fn a_deck_that_changes_amid_a_call_changes_nothing_for_it(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        scene.world.advance(10).await;
        let dearer = DECK.replace("31,Netherlands,NL,0.06,", "31,Netherlands,NL,0.12,");
        assert_eq!(import(&scene.world, &scene.admin, &scene.upstream, "", &dearer).await["status"], "completed");
        let later = scene.allowed(json!({})).await["call_token"].clone();
        scene.world.advance(60).await;
        let ended = json!({"answered_at": began, "at": began + 60_000});
        scene.tell(json!([scene.event("ended", &token, 0, ended.clone()), scene.event("ended", &later, 0, ended)])).await;
        assert_eq!(scene.record(&token).await, answered(60, 60_000_000));
        assert_eq!(scene.record(&later).await, answered(60, 120_000_000));
        scene.end().await;
    }

    async fn calls_of_a_switch_that_vanished_are_closed_with_what_is_known(db) {
        let scene = Scene::start(db, 10_000).await;
        let talking = scene.allowed(json!({})).await["call_token"].clone();
        let ringing = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        scene.tell(json!([
            scene.event("answered", &talking, 0, json!({"at": began})),
            scene.event("keepalive", &talking, 0, json!({"at": began + 42_000})),
        ])).await;
        scene.world.advance(700).await;
        // The money is free again, and the calls wait for the switch to come back.
        assert_eq!(scene.purse().await, (100_000_000_000, 0));
        assert_eq!(scene.number("SELECT COUNT(*) FROM live_calls").await, 2);
        scene.world.advance(600).await;
        assert_eq!(scene.number("SELECT COUNT(*) FROM live_calls").await, 0);
        let (status, seconds, charge, _, review) = scene.record(&talking).await.unwrap();
        assert_eq!((status.as_str(), seconds, charge, review), ("answered", 42, 42_000_000, true));
        assert_eq!(scene.record(&ringing).await, Some(("failed".to_owned(), 0, 0, 0, true)));
        assert_eq!(scene.purse().await, (99_958_000_000, 0));
        scene.end().await;
    }

    async fn peaks_of_each_hour_are_written_down(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance_to_next(3600).await;
        let mut tokens = Vec::new();
        for _ in 0..3 {
            tokens.push(scene.allowed(json!({})).await["call_token"].clone());
        }
        let ended: Vec<Value> = tokens.iter().take(2).map(|token| scene.event("failed", token, 0, json!({}))).collect();
        scene.tell(json!(ended)).await;
        scene.world.advance_to_next(3600).await;
        scene.allowed(json!({})).await;
        assert_eq!(scene.number("SELECT peak FROM zone_hours WHERE zone = 'eu-west'").await, 3);
        assert_eq!(scene.number("SELECT live FROM zone_load WHERE zone = 'eu-west'").await, 1);
        scene.end().await;
    }
}
