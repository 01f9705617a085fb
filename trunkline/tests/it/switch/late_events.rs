//! Late events: amendments and provisional CDRs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::world::engines::both;
use crate::world::fixtures::switch::{Scene, answered_cdr};

/// A call that was closed because no more events came after these, and its start.
async fn vanished(scene: &Scene, told: &[(&str, i64)]) -> (Value, i64) {
    let token = scene.allowed(json!({})).await["call_token"].clone();
    let began = scene.now();
    let events: Vec<Value> =
        told.iter().map(|(kind, after)| scene.event(kind, &token, 0, json!({"at": began + after}))).collect();
    scene.send_events(json!(events)).await;
    scene.world.advance(1300).await;
    assert_eq!(scene.count("SELECT COUNT(*) FROM live_calls").await, 0);
    (token, began)
}

both! {
    async fn a_late_end_event_is_charged_once(db) {
        let scene = Scene::start(db, 10_000).await;
        let (token, began) = vanished(&scene, &[("answered", 0), ("keepalive", 42_000)]).await;
        assert_eq!(scene.cdr(&token).await, Some(("answered".to_owned(), 42, 42_000_000, 42_000_000, true)));
        let ended = json!([scene.event("ended", &token, 0, json!({"answered_at": began, "at": began + 90_000}))]);
        let told = join_all((0..5).map(|_| scene.send_events(ended.clone()))).await;
        assert!(told.iter().all(|told| told["accepted"] == 1), "{told:?}");
        assert_eq!(scene.cdr(&token).await, answered_cdr(90, 90_000_000));
        assert_eq!(scene.balance_and_held().await, (100_000_000_000 - 90_000_000, 0));
        // The first end event counts.
        let later = scene.event("ended", &token, 0, json!({"answered_at": began, "at": began + 120_000}));
        assert_eq!(scene.send_events(json!([later])).await["accepted"], 1);
        assert_eq!(scene.cdr(&token).await, answered_cdr(90, 90_000_000));
        let customer = scene.world.sign_in("cora@customer.example").await;
        let lines = customer.get("/account/ledger").await.ok();
        let calls = lines["data"].as_array().unwrap().iter().filter(|line| line["kind"] == "call");
        let amounts: Vec<&str> = calls.map(|line| line["amount"]["amount"].as_str().unwrap()).collect();
        assert_eq!(amounts, ["-0.048", "-0.042"]);
        let day = customer.get("/cdrs/summary").await.ok();
        assert_eq!((&day["totals"]["attempts"], &day["totals"]["charge"]["amount"]), (&json!(1), &json!("0.09")));
        scene.end().await;
    }

    async fn a_call_of_a_switch_with_a_slow_clock_is_not_lengthened(db) {
        let scene = Scene::start(db, 10_000).await;
        let (token, _) = vanished(&scene, &[("answered", -200_000), ("keepalive", -158_000)]).await;
        assert_eq!(scene.cdr(&token).await, Some(("answered".to_owned(), 42, 42_000_000, 42_000_000, true)));
        // An event from before the call does not keep it from being closed.
        let (token, _) = vanished(&scene, &[("keepalive", -900_000)]).await;
        assert_eq!(scene.cdr(&token).await, Some(("failed".to_owned(), 0, 0, 0, true)));
        scene.end().await;
    }

    async fn a_late_answer_event_is_charged_up_to_the_end(db) {
        let scene = Scene::start(db, 10_000).await;
        let (token, began) = vanished(&scene, &[]).await;
        assert_eq!(scene.cdr(&token).await, Some(("failed".to_owned(), 0, 0, 0, true)));
        // The switch is back: the call lasted at least until now, and must end.
        let alive = json!({"answered_at": began + 2_000, "at": began + 62_000});
        let told = scene.send_events(json!([scene.event("keepalive", &token, 0, alive)])).await;
        assert_eq!(told["hang_up"], json!([token]));
        assert_eq!(scene.cdr(&token).await, Some(("answered".to_owned(), 60, 60_000_000, 60_000_000, true)));
        let ended = json!({"answered_at": began + 2_000, "at": began + 92_000});
        scene.send_events(json!([scene.event("ended", &token, 0, ended)])).await;
        assert_eq!(scene.cdr(&token).await, answered_cdr(90, 90_000_000));
        assert_eq!(scene.balance_and_held().await, (100_000_000_000 - 90_000_000, 0));
        scene.end().await;
    }

    async fn a_short_call_stays_short_if_reported_late_by_a_slow_clock(db) {
        let scene = Scene::start(db, 10_000).await;
        let (token, began) = vanished(&scene, &[]).await;
        scene.send_events(json!([scene.event("answered", &token, 0, json!({"at": began - 235_000}))])).await;
        assert_eq!(scene.cdr(&token).await, Some(("answered".to_owned(), 0, 1_000_000, 1_000_000, true)));
        scene.send_events(json!([scene.event("ended", &token, 0, json!({"at": began - 230_000}))])).await;
        assert_eq!(scene.cdr(&token).await, answered_cdr(5, 5_000_000));
        assert_eq!(scene.balance_and_held().await, (100_000_000_000 - 5_000_000, 0));
        scene.end().await;
    }

    async fn an_end_event_may_overtake_the_answer(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let ended = json!([scene.event("ended", &token, 0, json!({"at": began + 30_000}))]);
        for _ in 0..2 {
            scene.send_events(ended.clone()).await;
            assert_eq!(scene.cdr(&token).await, Some(("no_answer".to_owned(), 0, 0, 0, false)));
        }
        let told = json!([scene.event("answered", &token, 0, json!({"at": began}))]);
        for _ in 0..2 {
            assert_eq!(scene.send_events(told.clone()).await["accepted"], 1);
            assert_eq!(scene.cdr(&token).await, answered_cdr(30, 30_000_000));
        }
        assert_eq!(scene.balance_and_held().await, (100_000_000_000 - 30_000_000, 0));
        // An end event that says "not answered" leaves nothing provisional.
        let busy = scene.allowed(json!({})).await["call_token"].clone();
        scene.send_events(json!([scene.event("failed", &busy, 0, json!({"sip_code": 486}))])).await;
        scene.send_events(json!([scene.event("answered", &busy, 0, json!({}))])).await;
        assert_eq!(scene.cdr(&busy).await, Some(("busy".to_owned(), 0, 0, 0, false)));
        assert_eq!(scene.count("SELECT COUNT(*) FROM open_ends").await, 0);
        scene.end().await;
    }

    async fn a_late_event_takes_back_no_confirmed_charge(db) {
        let scene = Scene::start(db, 10_000).await;
        let (token, began) = vanished(&scene, &[("answered", 0), ("keepalive", 42_000)]).await;
        let ancient = scene.send_events(json!([scene.event("ended", &token, 0, json!({"answered_at": 0, "at": began + 50_000}))])).await;
        assert_eq!(ancient["rejected"][0]["reason"], "the answer is before the authorization");
        // Earlier events are certain: the call did not end before them.
        scene.send_events(json!([scene.event("ended", &token, 0, json!({"at": began + 20_000}))])).await;
        assert_eq!(scene.cdr(&token).await, answered_cdr(42, 42_000_000));
        assert_eq!(scene.balance_and_held().await, (100_000_000_000 - 42_000_000, 0));
        scene.end().await;
    }
}
