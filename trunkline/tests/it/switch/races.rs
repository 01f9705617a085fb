//! Concurrent authorizations and keepalives cannot spend the same money.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::world::engines::{both, postgres, postgres_client};
use crate::world::fixtures::key;
use crate::world::fixtures::switch::{Scene, call_request, trunk_with_source};

/// A deterministic pseudo-random sequence.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

both! {
    async fn a_thousand_concurrent_calls_get_the_balance_for_a_hundred(db) {
        // A reservation is 0.30.
        let scene = Scene::start(db, 3000).await;
        let other = if db.is_shared() { Some(scene.world.another_node().await) } else { None };
        let nodes: Vec<_> = [Some(&scene.world), other.as_ref()].into_iter().flatten().collect();
        let callers = (0..50).map(|caller| {
            let ops = nodes[caller % nodes.len()].operations();
            async move {
                let mut allowed = 0;
                for _ in 0..20 {
                    let answer = ops.post("/switch/authorize", call_request(json!({}))).await.ok();
                    match answer["decision"].as_str() {
                        Some("allow") => allowed += 1,
                        _ => assert_eq!(answer["reason"], "balance.insufficient"),
                    }
                }
                allowed
            }
        });
        let allowed: i64 = join_all(callers).await.into_iter().sum();
        assert_eq!(allowed, 100);
        assert_eq!(scene.balance_and_held().await, (30_000_000_000, 30_000_000_000));
        assert_eq!(scene.count("SELECT COUNT(*) FROM live_calls").await, 100);
        if let Some(other) = other {
            other.stop().await;
        }
        scene.end().await;
    }

    async fn concurrent_repeats_of_an_authorization_are_one_call(db) {
        let scene = Scene::start(db, 3000).await;
        let same = call_request(json!({"call_id": key().to_string()}));
        let answers = join_all((0..20).map(|_| scene.authorize(same.clone()))).await;
        assert!(answers.iter().all(|answer| answer == &answers[0] && answer["decision"] == "allow"), "{answers:?}");
        assert_eq!(scene.count("SELECT COUNT(*) FROM live_calls").await, 1);
        scene.end().await;
    }

    async fn concurrent_calls_are_decided_independently(db) {
        let scene = Scene::start(db, 100_000).await;
        let again = scene.allowed(json!({"call_id": "again"})).await;
        let crowd = join_all((0..60).map(|number| {
            let asked = match number % 6 {
                0 => json!({"call_id": "again"}),
                1 => json!({"called": "112"}),
                2 => json!({"called": "+8112345678"}),
                3 => json!({"called": "+31612345678"}),
                _ => json!({}),
            };
            scene.authorize(asked)
        }))
        .await;
        for (number, answer) in crowd.iter().enumerate() {
            match number % 6 {
                0 => assert_eq!(answer, &again),
                1 => assert_eq!(answer["reason"], "number_not_dialable", "{answer}"),
                2 => assert_eq!(answer["reason"], "destination_not_priced", "{answer}"),
                _ => assert_eq!(answer["decision"], "allow", "{answer}"),
            }
        }
        assert_eq!(scene.count("SELECT COUNT(*) FROM live_calls").await, 31);
        // Twenty-one calls of 0.30 and ten to mobiles, which cost 0.05 more each.
        assert_eq!(scene.balance_and_held().await.1, 21 * 300_000_000 + 10 * 350_000_000);
        scene.end().await;
    }

    async fn concurrent_calls_get_each_channel_once(db) {
        let scene = Scene::start(db, 100_000).await;
        trunk_with_source(&scene.customer, json!({"channel_cap": 25, "cps_limit": 1000}), "8.8.4.8").await;
        let mut tokens = BTreeSet::new();
        for round in 1..=3 {
            let crowd = join_all((0..40).map(|_| scene.authorize(json!({"source_ip": "8.8.4.8"})))).await;
            for answer in crowd {
                match answer["decision"].as_str() {
                    Some("allow") => assert!(tokens.insert(answer["call_token"].as_str().unwrap().to_owned())),
                    _ => assert_eq!(answer["reason"], "channel_cap", "{answer}"),
                }
            }
            assert_eq!(tokens.len(), 25, "after {round} crowds");
        }
        assert_eq!(scene.count("SELECT MAX(live) FROM trunk_load").await, 25);
        assert_eq!(scene.count("SELECT MAX(hour_peak) FROM zone_load").await, 25);
        scene.end().await;
    }

    async fn concurrent_repeats_of_an_end_event_are_charged_once(db) {
        let scene = Scene::start(db, 3000).await;
        let tokens: Vec<Value> =
            join_all((0..10).map(|_| scene.allowed(json!({})))).await.iter().map(|one| one["call_token"].clone()).collect();
        let began = scene.now();
        let told = (0..8).map(|round| {
            let mut tokens = tokens.clone();
            tokens.rotate_left(round);
            let ended = json!({"answered_at": began, "at": began + 10_000});
            let events: Vec<Value> = tokens.iter().map(|token| scene.event("ended", token, 0, ended.clone())).collect();
            let scene = &scene;
            async move { scene.send_events(json!(events)).await }
        });
        for answer in join_all(told).await {
            assert_eq!(answer["accepted"], 10);
        }
        assert_eq!(scene.balance_and_held().await, (29_900_000_000, 0));
        scene.end().await;
    }

    async fn one_call_id_used_for_a_hundred_calls_is_charged_a_hundred_times(db) {
        let scene = Scene::start(db, 3000).await;
        let same = call_request(json!({"call_id": "always-the-same"}));
        let mut tokens = BTreeSet::new();
        for _ in 0..100 {
            let token = scene.allowed(same.clone()).await["call_token"].clone();
            let began = scene.now();
            let ended = json!({"answered_at": began, "at": began + 10_000, "call_id": "always-the-same"});
            assert_eq!(scene.send_events(json!([scene.event("ended", &token, 0, ended)])).await["accepted"], 1);
            tokens.insert(token.as_str().unwrap().to_owned());
        }
        assert_eq!(tokens.len(), 100);
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs WHERE charge = 10000000").await, 100);
        assert_eq!(scene.balance_and_held().await, (29_000_000_000, 0));
        scene.end().await;
    }

    async fn random_keepalives_on_every_node_never_overspend(db) {
        let scene = Scene::start(db, 500).await;
        let other = if db.is_shared() { Some(scene.world.another_node().await) } else { None };
        let nodes: Vec<_> = [Some(&scene.world), other.as_ref()].into_iter().flatten().collect();
        let mut dice = Dice(20);
        // Each call with the moment of its answer and how long it may last.
        let mut calls: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for _ in 0..60 {
            for node in &nodes {
                node.advance(20).await;
            }
            let now = scene.now();
            let mut events = Vec::new();
            for (token, (answered_at, limit)) in &calls {
                let lasted = now - answered_at;
                if lasted >= limit * 1000 || dice.below(30) == 0 {
                    let at = now.min(answered_at + limit * 1000);
                    events.push(scene.event("ended", &json!(token), 0, json!({"at": at, "answered_at": answered_at})));
                } else if dice.below(3) == 0 {
                    events.push(scene.event("keepalive", &json!(token), 0, json!({"at": now})));
                }
            }
            let ops = nodes[usize::try_from(dice.below(nodes.len() as u64)).unwrap()].operations();
            let told = ops.post("/switch/events", json!({"events": events})).await.ok();
            assert_eq!(told["rejected"], json!([]));
            for event in events.iter().filter(|event| event["type"] == "ended") {
                calls.remove(event["call_token"].as_str().unwrap());
            }
            for extended in told["extend"].as_array().unwrap() {
                calls.get_mut(extended["call_token"].as_str().unwrap()).unwrap().1 = extended["max_seconds"].as_i64().unwrap();
            }
            for _ in 0..dice.below(4) {
                let ops = nodes[usize::try_from(dice.below(nodes.len() as u64)).unwrap()].operations();
                let answer = ops.post("/switch/authorize", call_request(json!({}))).await.ok();
                if answer["decision"] == "allow" {
                    let token = answer["call_token"].as_str().unwrap().to_owned();
                    let answered_at = scene.now();
                    scene.send_events(json!([scene.event("answered", &json!(token), 0, json!({"at": answered_at}))])).await;
                    calls.insert(token, (answered_at, answer["max_seconds"].as_i64().unwrap()));
                }
            }
            let (balance, held) = scene.balance_and_held().await;
            assert!(balance >= held && held >= 0, "{held} of {balance} is held");
        }
        assert!(scene.count("SELECT COUNT(*) FROM cdrs").await > 10);
        if let Some(other) = other {
            other.stop().await;
        }
        scene.end().await;
    }
}

postgres! {
    async fn keepalives_lock_the_days_of_all_their_calls_before_the_balance(db) {
        let scene = Scene::start(db, 3000).await;
        // A call of the day before and one of today.
        let seconds_to_midnight = 86_400 - scene.world.seconds() % 86_400;
        scene.world.advance(seconds_to_midnight.unsigned_abs() - 30).await;
        let mut tokens = Vec::new();
        for _ in 0..2 {
            let token = scene.allowed(json!({})).await["call_token"].clone();
            scene.send_events(json!([scene.event("answered", &token, 0, json!({}))])).await;
            tokens.push(token);
            scene.world.advance(70).await;
        }
        let other = postgres_client(&db.url).await;
        other.batch_execute("BEGIN; UPDATE daily_spend SET told = told WHERE day = (SELECT MAX(day) FROM daily_spend)").await.unwrap();
        let events: Vec<Value> = tokens.iter().map(|token| scene.event("keepalive", token, 0, json!({}))).collect();
        let ops = scene.world.operations();
        let sent = tokio::spawn(async move { ops.post("/switch/events", json!({"events": events})).await.ok() });
        db.until_one_waits().await;
        // What a decision does next.
        other.batch_execute("SELECT * FROM ledger_balances FOR UPDATE NOWAIT; COMMIT").await.unwrap();
        assert_eq!(sent.await.unwrap()["extend"].as_array().unwrap().len(), 2);
        scene.end().await;
    }

    async fn concurrent_authorizations_fail_cleanly_without_the_database(db) {
        let scene = Scene::start(db, 100_000).await;
        scene.allowed(json!({})).await;
        db.stop_accepting().await;
        let ops = scene.world.operations();
        for answer in join_all((0..40).map(|_| ops.post("/switch/authorize", call_request(json!({}))))).await {
            assert_eq!(answer.header("retry-after"), Some("1"));
            answer.problem(503, "service.unavailable");
        }
        db.accept_again().await;
        let crowd = join_all((0..40).map(|_| scene.authorize(json!({})))).await;
        assert!(crowd.iter().all(|answer| answer["decision"] == "allow"), "{crowd:?}");
        assert_eq!(scene.count("SELECT COUNT(*) FROM live_calls").await, 41);
        assert_eq!(scene.balance_and_held().await.1, 41 * 300_000_000);
        scene.end().await;
    }
}
