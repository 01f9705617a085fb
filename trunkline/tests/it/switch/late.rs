//! What is told of calls that were closed by then.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::Scene;
use super::events::answered;
use crate::world::engines::both;

/// A call of which nobody has spoken for long enough after these events, and when it began.
async fn vanished(scene: &Scene, told: &[(&str, i64)]) -> (Value, i64) {
    let token = scene.allowed(json!({})).await["call_token"].clone();
    let began = scene.now();
    let events: Vec<Value> =
        told.iter().map(|(kind, after)| scene.event(kind, &token, 0, json!({"at": began + after}))).collect();
    scene.tell(json!(events)).await;
    scene.world.advance(1300).await;
    assert_eq!(scene.number("SELECT COUNT(*) FROM live_calls").await, 0);
    (token, began)
}

both! {
    async fn an_end_that_is_told_after_the_call_was_closed_is_charged_once(db) {
        let scene = Scene::start(db, 10_000).await;
        let (token, began) = vanished(&scene, &[("answered", 0), ("keepalive", 42_000)]).await;
        assert_eq!(scene.record(&token).await, Some(("answered".to_owned(), 42, 42_000_000, 42_000_000, true)));
        let ended = json!([scene.event("ended", &token, 0, json!({"answered_at": began, "at": began + 90_000}))]);
        let told = join_all((0..5).map(|_| scene.tell(ended.clone()))).await;
        assert!(told.iter().all(|told| told["accepted"] == 1), "{told:?}");
        assert_eq!(scene.record(&token).await, answered(90, 90_000_000));
        assert_eq!(scene.purse().await, (100_000_000_000 - 90_000_000, 0));
        // The end is told by now, and the first counts.
        let later = scene.event("ended", &token, 0, json!({"answered_at": began, "at": began + 120_000}));
        assert_eq!(scene.tell(json!([later])).await["accepted"], 1);
        assert_eq!(scene.record(&token).await, answered(90, 90_000_000));
        let customer = scene.world.sign_in("cora@customer.example").await;
        let lines = customer.get("/account/ledger").await.ok();
        let calls = lines["data"].as_array().unwrap().iter().filter(|line| line["kind"] == "call");
        let amounts: Vec<&str> = calls.map(|line| line["amount"]["amount"].as_str().unwrap()).collect();
        assert_eq!(amounts, ["-0.048", "-0.042"]);
        let day = customer.get("/cdrs/summary").await.ok();
        assert_eq!((&day["totals"]["attempts"], &day["totals"]["charge"]["amount"]), (&json!(1), &json!("0.09")));
        scene.end().await;
    }

    async fn a_call_of_a_switch_whose_clock_is_behind_lasts_no_longer_than_it_was_heard_of(db) {
        let scene = Scene::start(db, 10_000).await;
        let (token, _) = vanished(&scene, &[("answered", -200_000), ("keepalive", -158_000)]).await;
        assert_eq!(scene.record(&token).await, Some(("answered".to_owned(), 42, 42_000_000, 42_000_000, true)));
        // Whatever is said of an age before the call keeps nobody from closing it.
        let (token, _) = vanished(&scene, &[("keepalive", -900_000)]).await;
        assert_eq!(scene.record(&token).await, Some(("failed".to_owned(), 0, 0, 0, true)));
        scene.end().await;
    }

    async fn an_answer_that_is_told_late_is_charged_for_up_to_the_end(db) {
        let scene = Scene::start(db, 10_000).await;
        let (token, began) = vanished(&scene, &[]).await;
        assert_eq!(scene.record(&token).await, Some(("failed".to_owned(), 0, 0, 0, true)));
        // The switch is back: the call has lasted until now at least, and may not go on.
        let alive = json!({"answered_at": began + 2_000, "at": began + 62_000});
        let told = scene.tell(json!([scene.event("keepalive", &token, 0, alive)])).await;
        assert_eq!(told["hang_up"], json!([token]));
        assert_eq!(scene.record(&token).await, Some(("answered".to_owned(), 60, 60_000_000, 60_000_000, true)));
        let ended = json!({"answered_at": began + 2_000, "at": began + 92_000});
        scene.tell(json!([scene.event("ended", &token, 0, ended)])).await;
        assert_eq!(scene.record(&token).await, answered(90, 90_000_000));
        assert_eq!(scene.purse().await, (100_000_000_000 - 90_000_000, 0));
        scene.end().await;
    }

    async fn a_short_call_is_short_though_all_is_told_late_by_a_clock_that_is_behind(db) {
        let scene = Scene::start(db, 10_000).await;
        let (token, began) = vanished(&scene, &[]).await;
        scene.tell(json!([scene.event("answered", &token, 0, json!({"at": began - 235_000}))])).await;
        assert_eq!(scene.record(&token).await, Some(("answered".to_owned(), 0, 1_000_000, 1_000_000, true)));
        scene.tell(json!([scene.event("ended", &token, 0, json!({"at": began - 230_000}))])).await;
        assert_eq!(scene.record(&token).await, answered(5, 5_000_000));
        assert_eq!(scene.purse().await, (100_000_000_000 - 5_000_000, 0));
        scene.end().await;
    }

    async fn an_end_may_overtake_the_answer(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let ended = json!([scene.event("ended", &token, 0, json!({"at": began + 30_000}))]);
        for _ in 0..2 {
            scene.tell(ended.clone()).await;
            assert_eq!(scene.record(&token).await, Some(("no_answer".to_owned(), 0, 0, 0, false)));
        }
        let told = json!([scene.event("answered", &token, 0, json!({"at": began}))]);
        for _ in 0..2 {
            assert_eq!(scene.tell(told.clone()).await["accepted"], 1);
            assert_eq!(scene.record(&token).await, answered(30, 30_000_000));
        }
        assert_eq!(scene.purse().await, (100_000_000_000 - 30_000_000, 0));
        // Whoever says that nobody answered leaves nothing open.
        let busy = scene.allowed(json!({})).await["call_token"].clone();
        scene.tell(json!([scene.event("failed", &busy, 0, json!({"sip_code": 486}))])).await;
        scene.tell(json!([scene.event("answered", &busy, 0, json!({}))])).await;
        assert_eq!(scene.record(&busy).await, Some(("busy".to_owned(), 0, 0, 0, false)));
        assert_eq!(scene.number("SELECT COUNT(*) FROM open_ends").await, 0);
        scene.end().await;
    }

    async fn nothing_that_was_sure_is_taken_back_by_a_late_word(db) {
        let scene = Scene::start(db, 10_000).await;
        let (token, began) = vanished(&scene, &[("answered", 0), ("keepalive", 42_000)]).await;
        let ancient = scene.tell(json!([scene.event("ended", &token, 0, json!({"answered_at": 0, "at": began + 50_000}))])).await;
        assert_eq!(ancient["rejected"][0]["reason"], "the answer is before the authorization");
        // What was heard of the call before is sure: it did not end earlier.
        scene.tell(json!([scene.event("ended", &token, 0, json!({"at": began + 20_000}))])).await;
        assert_eq!(scene.record(&token).await, answered(42, 42_000_000));
        assert_eq!(scene.purse().await, (100_000_000_000 - 42_000_000, 0));
        scene.end().await;
    }
}
