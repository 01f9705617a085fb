//! Ended calls, in batches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use serde_json::{Value, json};
use values::Rfc3339;

use super::LAB;
use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, ndjson, send_cdrs};
use crate::world::fixtures::events::{create_endpoint, events, subscribe};
use crate::world::fixtures::key;
use crate::world::fixtures::switch::Scene;
use crate::world::receiver::{Receiver, Reply};

/// Begins this many calls, and then ends all of them together.
async fn calls(scene: &Scene, count: usize) {
    let mut ended = Vec::new();
    for _ in 0..count {
        let token = scene.allowed(json!({})).await["call_token"].clone();
        ended.push(scene.event("failed", &token, 0, json!({"sip_code": 486})));
    }
    scene.send_events(json!(ended)).await;
}

/// The ids of the calls of each event that arrived, and when it was written, in milliseconds.
fn timed_batches(receiver: &Receiver) -> Vec<(Vec<String>, i64)> {
    let read = |event: Value| {
        let calls = event["data"]["calls"].as_array().unwrap().iter();
        let ids = calls.map(|call| call["id"].as_str().unwrap().to_owned()).collect();
        (ids, event["timestamp"].as_str().unwrap().parse::<Rfc3339>().unwrap().0.millis())
    };
    receiver.take().into_iter().map(|sent| read(sent.event())).collect()
}

fn batches(receiver: &Receiver) -> Vec<Vec<String>> {
    timed_batches(receiver).into_iter().map(|(ids, _)| ids).collect()
}

both! {
    async fn ended_calls_arrive_in_batches_each_call_once(db) {
        let receiver = Receiver::start().await;
        let scene = Scene::in_world(World::with(db, &LAB).await, 100_000).await;
        let (world, cora) = (&scene.world, &scene.customer);
        calls(&scene, 1).await;
        subscribe(cora, &receiver.url, &["*", "calls.ended"]).await;
        world.advance(10).await;
        receiver.take();
        calls(&scene, 3).await;
        world.advance(5).await;
        let (first, first_at): (Vec<_>, Vec<_>) = timed_batches(&receiver).into_iter().unzip();
        assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [3]);
        // At most every 5 seconds, however slow this test is.
        calls(&scene, 2).await;
        world.advance(1).await;
        calls(&scene, 2).await;
        world.advance(5).await;
        let (second, at): (Vec<_>, Vec<_>) = timed_batches(&receiver).into_iter().unzip();
        assert_eq!(second.iter().flatten().count(), 4);
        let at = first_at.into_iter().chain(at).collect::<Vec<i64>>();
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= 5000), "{at:?}");
        let told: BTreeSet<&String> = first.iter().chain(&second).flatten().collect();
        assert_eq!(told.len(), 7);
        // A CDR as the list has it, and no event of the list.
        let listed = cora.get("/cdrs").await.ok();
        assert_eq!(listed["data"].as_array().unwrap().len(), 8);
        let known = |id: &&&String| listed["data"].as_array().unwrap().iter().any(|cdr| cdr["id"] == ***id);
        assert_eq!(told.iter().filter(known).count(), 7);
        assert!(events(cora, "type=calls.ended").await.is_empty());
        scene.end().await;
    }

    async fn a_replay_sends_the_calls_that_ended_while_an_endpoint_was_disabled(db) {
        let receiver = Receiver::start().await;
        let scene = Scene::in_world(World::with(db, &LAB).await, 100_000).await;
        let (world, cora) = (&scene.world, &scene.customer);
        let endpoint = subscribe(cora, &receiver.url, &["calls.ended"]).await;
        let path = format!("/webhook-endpoints/{}", endpoint["id"].as_str().unwrap());
        cora.patch(&path, json!({"enabled": false})).await.ok();
        calls(&scene, 3).await;
        world.advance(10).await;
        cora.patch(&path, json!({"enabled": true})).await.ok();
        world.advance(10).await;
        assert!(receiver.take().is_empty());
        let body = json!({"from": "2020-01-01T00:00:00Z"});
        cora.with_key(key()).post(&format!("{path}/replay"), body).await.expect(202);
        world.advance(1).await;
        assert_eq!(batches(&receiver).iter().map(Vec::len).collect::<Vec<_>>(), [3]);
        scene.end().await;
    }

    async fn a_batch_has_at_most_five_hundred_calls_and_repeats_as_it_was(db) {
        let receiver = Receiver::start().await;
        let scene = Scene::in_world(World::with(db, &LAB).await, 100_000).await;
        receiver.reply(Reply::Status(500));
        subscribe(&scene.customer, &receiver.url, &["calls.ended"]).await;
        // The deck was not in force a minute ago.
        scene.world.advance(120).await;
        let began = scene.now() - 60_000;
        let line = |number: i64| cdr_line(&scene, &format!("call {number}"), began + number, 6, json!({}));
        let answer = send_cdrs(&scene, &ndjson(&(0..600).map(line).collect::<Vec<_>>())).await.ok();
        assert_eq!(answer["accepted"], 600, "{answer}");
        scene.world.advance(5).await;
        let failed = receiver.take();
        receiver.reply(Reply::Status(200));
        // Longer than the first two pauses.
        scene.world.advance(400).await;
        let repeated = receiver.take();
        let sizes = |sent: &[crate::world::receiver::Received]| -> BTreeSet<(String, usize)> {
            sent.iter().map(|sent| (sent.id().to_owned(), sent.event()["data"]["calls"].as_array().unwrap().len())).collect()
        };
        assert_eq!(sizes(&failed), sizes(&repeated));
        assert_eq!(repeated.len(), sizes(&repeated).len());
        let counts: Vec<usize> = sizes(&repeated).into_iter().map(|(_, count)| count).collect();
        assert_eq!((counts.iter().sum::<usize>(), counts.iter().max()), (600, Some(&500)));
        scene.end().await;
    }

    async fn the_team_can_ask_for_the_calls_of_all_customers(db) {
        let receiver = Receiver::start().await;
        let scene = Scene::in_world(World::with(db, &LAB).await, 100_000).await;
        let body = json!({"url": receiver.url, "event_types": ["calls.ended"]});
        create_endpoint(&scene.admin, "/admin/webhook-endpoints", body).await;
        calls(&scene, 2).await;
        scene.world.advance(5).await;
        let sent = receiver.take();
        assert_eq!((sent.len(), sent[0].event()["data"]["calls"].as_array().unwrap().len()), (1, 2));
        assert!(sent[0].event()["customer_id"].is_string());
        scene.end().await;
    }
}
