//! Readers miss no event, although transactions commit in another order than they write.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::world::World;
use crate::world::engines::{postgres, postgres_client, uuid};
use crate::world::fixtures::events::{events, types};
use crate::world::fixtures::trunks::create_trunk;

postgres! {
    async fn a_reader_finds_an_event_that_was_committed_after_a_later_one(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        // It writes first and commits last.
        let (slow, id) = (postgres_client(&db.url).await, uuid());
        let write = format!(
            "BEGIN; INSERT INTO events (id, account_id, kind, data, is_listed, ordinal, created_at)
             SELECT '{id}', account_id, 'rates.changed', '{{}}', TRUE, 0, 1 FROM users WHERE email = 'cora@customer.example'"
        );
        slow.batch_execute(&write).await.unwrap();
        create_trunk(&cora, "Main").await;
        world.settle().await;
        let page = cora.get("/events").await.ok();
        assert_eq!(types(page["data"].as_array().unwrap()), ["trunk.created"]);
        slow.batch_execute("COMMIT").await.unwrap();
        world.settle().await;
        let next = page["meta"]["next_cursor"].as_str().unwrap();
        assert_eq!(types(&events(&cora, &format!("cursor={next}")).await), ["rates.changed"]);
        world.end().await;
    }

    async fn two_nodes_number_events_without_gaps_or_repetitions(db) {
        let world = World::unlimited(db).await;
        let other = world.another_node().await;
        let cora = world.customer("cora@customer.example").await;
        let here = cora.clone();
        let there = other.bearing(cora.token());
        let create = async |caller: crate::world::client::Client, name: &str| {
            for number in 0..20 {
                create_trunk(&caller, &format!("{name} {number}")).await;
            }
        };
        tokio::join!(create(here.into_client(), "here"), create(there, "there"));
        world.settle().await;
        other.settle().await;
        let mut reader = world.node.app.db.read().await.unwrap();
        let sql = "SELECT COUNT(*), COUNT(DISTINCT position), MIN(position), MAX(position) FROM events";
        let (all, distinct, first, last): (i64, i64, i64, i64) = reader.one(sql, &[]).await.unwrap();
        assert_eq!((all, distinct, first, last), (40, 40, 1, 40));
        drop(reader);
        other.stop().await;
        world.end().await;
    }
}
