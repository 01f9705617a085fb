//! How often and how much one card pays in 24 hours, whichever accounts it pays for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use billing::payments::apply_order;
use futures_util::future::join_all;
use platform::audit::Actor;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::count;
use crate::world::fixtures::payments::{
    VISA, amount_body, begin_topup, complete_topup, get_topup, ledger_cents, pay_topup, save_card, send_webhook,
};
use crate::world::payer::{Payer, fresh_key};
use crate::world::revolut::RevolutServer;

const MASTERCARD: &str = "5555555555554444";

async fn world(db: &TestDb, settings: &[(&str, &str)]) -> World {
    let mut settings = settings.to_vec();
    settings.push(("TRUNKLINE_RATE_LIMITS", "off"));
    World::with(db, &settings).await
}

/// What the provider keeps, and what the ledger says that it keeps, in cents.
async fn kept(db: &TestDb) -> (i64, i64) {
    let orders =
        "SELECT CAST(COALESCE(SUM(amount - refunded), 0) AS BIGINT) FROM sandbox_orders WHERE state = 'completed'";
    let clearing = "SELECT CAST(COALESCE(SUM(-amount), 0) AS BIGINT) FROM ledger_book_days WHERE book = 'clearing'";
    (count(db, orders).await / 10_000_000, count(db, clearing).await / 10_000_000)
}

/// The reason in the newest notification with this code.
async fn reason(customer: &Client, code: &str) -> Value {
    let news = customer.get("/notifications").await.ok();
    news["data"].as_array().unwrap().iter().find(|one| one["code"] == code).unwrap()["payload"]["reason"].clone()
}

both! {
    async fn fifty_payments_with_one_card_do_not_pass_its_limit(db) {
        let world = world(db, &[("TRUNKLINE_CARD_TOPUPS_PER_DAY", "4"), ("TRUNKLINE_SANDBOX_CALLBACKS", "drop")]).await;
        let mut orders = Vec::new();
        for number in 0..5 {
            let customer = world.customer(&format!("c{number}@customer.example")).await;
            for _ in 0..10 {
                let opened = begin_topup(&customer, 2_500).await;
                Payer::at(&opened).send(&[("action", "pay"), ("card", VISA)]).await.expect(303);
                orders.push(opened["topup_id"].as_str().unwrap().to_owned());
            }
        }
        let app = &world.node.app;
        let applied = orders.iter().map(|id| async move {
            let order = app.payments.order(id).await.unwrap().unwrap();
            apply_order(app, order, Actor::System).await.unwrap();
        });
        join_all(applied).await;
        world.settle().await;
        let completed = "SELECT COUNT(*) FROM payments WHERE status = 'completed'";
        let failed = "SELECT COUNT(*) FROM payments WHERE status = 'failed' AND decline = 'card_limit'";
        assert_eq!((count(db, completed).await, count(db, failed).await), (4, 46));
        let balances = "SELECT CAST(SUM(balance) AS BIGINT) FROM ledger_balances";
        assert_eq!((count(db, balances).await / 10_000_000, kept(db).await), (10_000, (10_000, 10_000)));
        // Another card pays, and the same one a day later.
        let customer = world.customer("late@customer.example").await;
        pay_topup(&world, &customer, 2_500, MASTERCARD).await;
        world.advance(24 * 3_600).await;
        assert_eq!(ledger_cents(db, &customer).await, 2_500);
        let again = world.sign_in("late@customer.example").await;
        pay_topup(&world, &again, 2_500, VISA).await;
        world.advance(120).await;
        assert_eq!(ledger_cents(db, &again).await, 5_000);
        world.end().await;
    }

    async fn a_top_up_beyond_the_amount_of_its_card_is_returned(db) {
        let world = world(db, &[("TRUNKLINE_CARD_EUR_PER_DAY", "100")]).await;
        let (cora, dora) = (world.customer("cora@customer.example").await, world.customer("dora@customer.example").await);
        complete_topup(&world, &cora, 6_000).await;
        let opened = begin_topup(&dora, 5_000).await;
        let payer = Payer::at(&opened);
        payer.pay(&world, VISA).await;
        for event in ["order_completed_again", "order_failed"] {
            send_webhook(&world, payer.order_id(), event, world.node.app.clock.now()).await.ok();
            world.settle().await;
        }
        assert_eq!(get_topup(&dora, &opened).await["status"], "failed");
        assert_eq!(reason(&dora, "topup.failed").await, "card_limit");
        assert_eq!((ledger_cents(db, &dora).await, kept(db).await), (0, (6_000, 6_000)));
        let lines = dora.get("/account/ledger").await.ok();
        let kinds: Vec<&Value> = lines["data"].as_array().unwrap().iter().map(|line| &line["kind"]).collect();
        assert_eq!(kinds, ["refund", "topup"]);
        // What was returned does not count.
        pay_topup(&world, &dora, 4_000, VISA).await;
        pay_topup(&world, &dora, 5_000, MASTERCARD).await;
        assert_eq!((ledger_cents(db, &dora).await, kept(db).await), (9_000, (15_000, 15_000)));
        world.end().await;
    }

    async fn auto_recharge_counts_for_the_limit_of_its_card(db) {
        let world = world(db, &[("TRUNKLINE_CARD_EUR_PER_DAY", "100")]).await;
        let (cora, dora) = (world.customer("cora@customer.example").await, world.customer("dora@customer.example").await);
        let card = save_card(&world, &cora, VISA).await;
        let recharge = async |cents: i64| {
            let wanted = json!({"enabled": true, "threshold": amount_body(1_000), "recharge_amount": amount_body(cents),
                                "payment_method_id": card["id"]});
            cora.with_key(fresh_key()).call(Method::PUT, "/account/auto-recharge", Some(wanted)).await.ok();
            world.settle().await;
        };
        complete_topup(&world, &dora, 8_000).await;
        recharge(5_000).await;
        assert_eq!((ledger_cents(db, &cora).await, kept(db).await), (0, (8_000, 8_000)));
        assert_eq!(reason(&cora, "recharge.failed").await, "card_limit");
        assert_eq!(count(db, "SELECT COUNT(*) FROM sandbox_orders WHERE amount IS NOT NULL").await, 1);
        recharge(2_000).await;
        assert_eq!(ledger_cents(db, &cora).await, 2_000);
        // The charge counts for others who pay with the card.
        let opened = begin_topup(&dora, 100).await;
        Payer::at(&opened).pay(&world, VISA).await;
        assert_eq!(get_topup(&dora, &opened).await["status"], "failed");
        world.end().await;
    }

    async fn a_card_at_revolut_is_known_by_its_digits_and_expiry(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world_with(db, &[("TRUNKLINE_CARD_TOPUPS_PER_DAY", "1")]).await;
        let mut balances = Vec::new();
        for (email, last_four) in [("a@example.com", "4444"), ("b@example.com", "4444"), ("c@example.com", "5100")] {
            let customer = world.customer(email).await;
            let opened = begin_topup(&customer, 2_500).await;
            revolut.pay_with(opened["topup_id"].as_str().unwrap(), last_four);
            world.advance(120).await;
            balances.push(ledger_cents(db, &customer).await);
        }
        assert_eq!((balances, revolut.orders("refund").len()), (vec![2_500, 0, 2_500], 1));
        world.end().await;
    }
}
