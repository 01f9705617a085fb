//! Notifications of an account.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::notifications::notify;

fn vat_ids(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|one| one["payload"]["vat_id"].as_str().unwrap()).collect()
}

both! {
    async fn notifications_are_paged_newest_first(db) {
        let world = World::start(db).await;
        let customer = world.customer("c@example.com").await;
        for vat_id in ["NL1", "NL2", "NL3"] {
            notify(&world, &customer.account_id, vat_id).await;
            world.advance(1).await;
        }
        let first = customer.get("/notifications?limit=2").await.ok();
        assert_eq!(vat_ids(&first), ["NL3", "NL2"]);
        notify(&world, &customer.account_id, "NL4").await;
        let cursor = first["meta"]["next_cursor"].as_str().unwrap();
        let second = customer.get(&format!("/notifications?limit=2&cursor={cursor}")).await.ok();
        assert_eq!((vat_ids(&second), &second["meta"]["next_cursor"]), (vec!["NL1"], &Value::Null));
        let one = &first["data"][0];
        assert_eq!((&one["code"], &one["severity"]), (&json!("vat.valid"), &json!("info")));
        world.end().await;
    }

    async fn a_notification_keeps_the_time_it_was_first_read(db) {
        let world = World::start(db).await;
        let customer = world.customer("c@example.com").await;
        for vat_id in ["NL1", "NL2", "NL3"] {
            notify(&world, &customer.account_id, vat_id).await;
            world.advance(1).await;
        }
        assert_eq!(customer.get("/notifications/unread-count").await.ok(), json!({"unread": 3}));
        let id = customer.get("/notifications").await.ok()["data"][1]["id"].as_str().unwrap().to_owned();
        let path = format!("/notifications/{id}/read");
        let read = customer.post(&path, json!({})).await.ok();
        assert!(read["read_at"].is_string());
        world.advance(60).await;
        assert_eq!(customer.post(&path, json!({})).await.ok(), read);
        let unread = customer.get("/notifications?unread=true").await.ok();
        assert_eq!(vat_ids(&unread), ["NL3", "NL1"]);

        assert_eq!(customer.post("/notifications/read-all", json!({})).await.ok(), json!({"read": 2}));
        assert_eq!(customer.get("/notifications?unread=true").await.ok()["data"], json!([]));
        assert_eq!(customer.get("/notifications/unread-count").await.ok(), json!({"unread": 0}));
        assert_eq!(customer.get("/notifications").await.ok()["data"].as_array().unwrap().len(), 3);
        world.end().await;
    }

    async fn another_accounts_notifications_are_not_found(db) {
        let world = World::start(db).await;
        let (one, other) = (world.customer("one@example.com").await, world.customer("other@example.com").await);
        notify(&world, &one.account_id, "NL1").await;
        assert_eq!(other.get("/notifications").await.ok()["data"], json!([]));
        assert_eq!(other.post("/notifications/read-all", json!({})).await.ok(), json!({"read": 0}));
        assert_eq!(one.get("/notifications/unread-count").await.ok(), json!({"unread": 1}));
        world.end().await;
    }

    async fn notifications_are_purged_after_400_days(db) {
        let world = World::start(db).await;
        let customer = world.customer("c@example.com").await;
        notify(&world, &customer.account_id, "NL1").await;
        world.advance(399 * 24 * 3600).await;
        let customer = world.sign_in("c@example.com").await;
        assert_eq!(customer.get("/notifications").await.ok()["data"].as_array().unwrap().len(), 1);
        world.advance(2 * 24 * 3600).await;
        let customer = world.sign_in("c@example.com").await;
        assert_eq!(customer.get("/notifications").await.ok()["data"], json!([]));
        world.end().await;
    }
}
