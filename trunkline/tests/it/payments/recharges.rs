//! Auto-recharge through an unreliable provider.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::Session;
use crate::world::engines::both;
use crate::world::fixtures::count;
use crate::world::fixtures::payments::{amount_body, ledger_cents, save_revolut_card};
use crate::world::payer::fresh_key;
use crate::world::revolut::RevolutServer;

const CORA: &str = "cora@customer.example";
const RECHARGES: &str = "SELECT COUNT(*) FROM payments WHERE purpose = 'recharge'";
const OPEN_ATTEMPTS: &str = "SELECT COUNT(*) FROM recharge_attempts WHERE status = 'open'";

/// A customer with auto-recharge of 50 EUR below 20 EUR, and an unreachable provider.
async fn unheard(world: &World, revolut: &RevolutServer) -> Session {
    let cora = world.customer(CORA).await;
    let card = save_revolut_card(world, revolut, &cora).await;
    revolut.stop();
    let wanted = json!({"enabled": true, "threshold": amount_body(2_000), "recharge_amount": amount_body(5_000),
                        "payment_method_id": card["id"]});
    cora.with_key(fresh_key()).call(Method::PUT, "/account/auto-recharge", Some(wanted)).await.ok();
    world.settle().await;
    cora
}

/// The reasons in the customer's notifications of failed recharges.
async fn failures(world: &World) -> Vec<Value> {
    let told = world.sign_in(CORA).await.get("/notifications").await.ok();
    let failed = told["data"].as_array().unwrap().iter().filter(|news| news["code"] == "recharge.failed");
    failed.map(|news| news["payload"]["reason"].clone()).collect()
}

async fn make(world: &World, cora: &Session, status: &str) {
    let admin = world.minted(Role::Admin).await;
    admin.patch(&format!("/admin/customers/{}", cora.account_id), json!({"onboarding_status": status})).await.ok();
    world.settle().await;
}

/// The charges that reached the provider.
fn charges(revolut: &RevolutServer) -> usize {
    revolut.orders("payment").iter().filter(|order| order["amount"] == 5_000).count()
}

both! {
    async fn a_recharge_kept_waiting_by_the_provider_ends_with_its_payment(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = unheard(&world, &revolut).await;
        for _ in 0..12 {
            world.advance(600).await;
        }
        assert_eq!((count(db, RECHARGES).await, count(db, OPEN_ATTEMPTS).await), (1, 1));
        revolut.restart();
        revolut.next_charge("declined", Some("insufficient_funds"));
        world.advance(1_800).await;
        assert_eq!(failures(&world).await, ["insufficient_funds"]);
        assert_eq!(count(db, OPEN_ATTEMPTS).await, 0);
        // The card is tried again after an hour.
        world.advance(3_601).await;
        assert_eq!((ledger_cents(db, &cora).await, charges(&revolut), count(db, RECHARGES).await), (5_000, 2, 2));
        assert_eq!(count(db, OPEN_ATTEMPTS).await, 0);
        world.end().await;
    }

    async fn a_recharge_paid_unnoticed_is_followed_by_the_missing_amount(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = unheard(&world, &revolut).await;
        world.use_up(&cora.account_id, 7_000).await;
        revolut.restart();
        world.advance(1_800).await;
        assert_eq!((ledger_cents(db, &cora).await, count(db, RECHARGES).await), (3_000, 2));
        assert_eq!(count(db, OPEN_ATTEMPTS).await, 0);
        assert!(failures(&world).await.is_empty());
        world.end().await;
    }

    async fn a_recharge_of_a_suspended_account_lapses_and_is_decided_again(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = unheard(&world, &revolut).await;
        make(&world, &cora, "suspended").await;
        revolut.restart();
        for _ in 0..6 {
            world.advance(12 * 3_600).await;
        }
        assert_eq!((count(db, RECHARGES).await, count(db, OPEN_ATTEMPTS).await), (1, 0));
        assert_eq!((charges(&revolut), failures(&world).await.len()), (0, 1));
        make(&world, &cora, "approved").await;
        assert_eq!((ledger_cents(db, &cora).await, charges(&revolut)), (5_000, 1));
        world.end().await;
    }

    async fn a_recharge_that_was_switched_off_meanwhile_is_not_sent(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world(db).await;
        let cora = unheard(&world, &revolut).await;
        let mut settings = cora.get("/account/auto-recharge").await.ok();
        settings["enabled"] = json!(false);
        settings.as_object_mut().unwrap().retain(|name, _| {
            ["enabled", "threshold", "recharge_amount", "payment_method_id"].contains(&name.as_str())
        });
        cora.with_key(fresh_key()).call(Method::PUT, "/account/auto-recharge", Some(settings)).await.ok();
        revolut.restart();
        for _ in 0..6 {
            world.advance(12 * 3_600).await;
        }
        assert_eq!((charges(&revolut), count(db, OPEN_ATTEMPTS).await), (0, 0));
        world.end().await;
    }
}
