//! Webhooks of top-ups: repeated, late, out of order or missing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::json;

use crate::world::World;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::audit::audit_rows;
use crate::world::fixtures::payments::{VISA, begin_topup, count_topups, get_topup, ledger_cents, send_webhook};
use crate::world::payer::Payer;
use db::Entropy;

async fn world(db: &TestDb, callbacks: &str) -> World {
    World::with(db, &[("TRUNKLINE_SANDBOX_CALLBACKS", callbacks), ("TRUNKLINE_RATE_LIMITS", "off")]).await
}

/// The same items in random order.
fn shuffled<T>(things: Vec<T>) -> Vec<T> {
    let mut numbered: Vec<([u8; 8], T)> = things.into_iter().map(|thing| (Entropy.bytes(), thing)).collect();
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, thing)| thing).collect()
}

both! {
    async fn a_hundred_concurrent_webhooks_post_one_top_up(db) {
        let world = world(db, "drop").await;
        let cora = world.customer("cora@customer.example").await;
        let opened = begin_topup(&cora, 2_500).await;
        let payer = Payer::at(&opened);
        payer.pay(&world, VISA).await;
        let siblings = ["order_processing", "order_authorised", "order_failed", "order_cancelled"];
        let mut events = vec!["order_completed"; 100];
        events.extend(siblings.iter().cycle().take(20));
        let (here, order, now) = (&world, payer.order_id(), world.node.app.clock.now());
        let told = shuffled(events).into_iter().map(|event| async move { send_webhook(here, order, event, now).await.ok() });
        assert_eq!(join_all(told).await, vec![json!({"ok": true}); 120]);
        world.settle().await;
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (2_500, 1));
        assert_eq!(get_topup(&cora, &opened).await["status"], "completed");
        assert_eq!(audit_rows(db, "topup.settle").await.len(), 1);
        world.end().await;
    }

    async fn a_top_up_is_credited_without_any_webhook(db) {
        let world = world(db, "drop").await;
        let cora = world.customer("cora@customer.example").await;
        let opened = begin_topup(&cora, 2_500).await;
        Payer::at(&opened).pay(&world, VISA).await;
        assert_eq!(ledger_cents(db, &cora).await, 0);
        world.advance(120).await;
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (2_500, 1));
        assert_eq!(get_topup(&cora, &opened).await["status"], "completed");
        assert_eq!(audit_rows(db, "topup.settle").await, [(Some("system".to_owned()), "success".to_owned())]);
        world.end().await;
    }

    async fn late_repeated_and_unordered_webhooks_credit_once(db) {
        let world = world(db, "delay,duplicate,reorder").await;
        let cora = world.customer("cora@customer.example").await;
        let paid = begin_topup(&cora, 2_500).await;
        let declined = begin_topup(&cora, 9_900).await;
        Payer::at(&paid).pay(&world, VISA).await;
        Payer::at(&declined).choose(&world, &[("action", "decline")]).await;
        for _ in 0..4 {
            world.advance(200).await;
        }
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (2_500, 1));
        assert_eq!(audit_rows(db, "payment.callback").await.len(), 8);
        assert_eq!(audit_rows(db, "topup.settle").await.len(), 2);
        world.end().await;
    }
}
