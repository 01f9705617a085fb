//! Charges to saved cards.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use api::problem::Code;
use billing::payments::{self, NewCharge, PaymentStatus};
use futures_util::future::join_all;
use identity::onboarding::Event;
use serde_json::{Value, json};
use values::{Currency, Money};

use crate::world::World;
use crate::world::client::Session;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::audit::audit_rows;
use crate::world::fixtures::onboarding::apply_event;
use crate::world::fixtures::payments::{DECLINED_LATER, VISA, count_topups, ledger_cents, save_card};
use crate::world::fixtures::{count, execute};
use crate::world::payer::fresh_key;

fn charge(session: &Session, method: &Value) -> NewCharge {
    NewCharge {
        account: session.account_id.parse().unwrap(),
        method: method["id"].as_str().unwrap().parse().unwrap(),
        amount: Money::from_minor(5_000, Currency::EUR).unwrap(),
        key: uuid(),
    }
}

both! {
    async fn a_saved_card_is_charged_once_however_often_it_is_requested(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let charge = charge(&cora, &save_card(&world, &cora, VISA).await);
        let app = &world.node.app;
        let charged = join_all((0..10).map(|_| payments::charge(app, charge.clone()))).await;
        let charged: Vec<_> = charged.into_iter().map(Result::unwrap).collect();
        // One at a time asks the provider; to the others the outcome may not be known yet.
        assert!(charged.iter().all(|one| one.payment == charged[0].payment && one.decline.is_none()), "{charged:?}");
        assert!(charged.iter().any(|one| one.status == PaymentStatus::Completed), "{charged:?}");
        world.settle().await;
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (5_000, 1));
        assert_eq!(count(db, "SELECT COUNT(*) FROM sandbox_orders WHERE amount IS NOT NULL").await, 1);
        // The response to the charge or the webhook, whichever was first.
        let outcomes: Vec<String> = audit_rows(db, "recharge.settle").await.into_iter().map(|(_, outcome)| outcome).collect();
        assert_eq!(outcomes, ["success"]);
        let listed = cora.get("/payments/topups").await.ok();
        assert_eq!((&listed["data"][0]["status"], &listed["data"][0]["amount_minor"]), (&json!("completed"), &json!(5000)));
        let other = payments::charge(app, NewCharge { amount: Money::from_minor(1, Currency::EUR).unwrap(), ..charge }).await;
        assert_eq!(other.unwrap_err().code(), Code::IdempotencyConflict);
        world.end().await;
    }

    async fn a_declined_charge_takes_nothing_and_says_why(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let declining = charge(&cora, &save_card(&world, &cora, DECLINED_LATER).await);
        let charged = payments::charge(&world.node.app, declining).await.unwrap();
        assert_eq!((charged.status, charged.decline.as_deref()), (PaymentStatus::Failed, Some("card_declined")));
        world.settle().await;
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (0, 0));
        assert_eq!(cora.get("/payments/topups").await.ok()["data"][0]["status"], "failed");
        world.end().await;
    }

    async fn a_charge_of_a_dead_node_is_made_by_another_after_its_lease(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let work = (world.node.app.clone(), charge(&cora, &save_card(&world, &cora, VISA).await));
        let claim = world.node.app.db.tx(work, |conn, (app, charge)| {
            Box::pin(payments::claim_charge(conn, app, charge))
        });
        let payment = claim.await.unwrap();
        execute(db, "UPDATE payments SET sending_until = created_at + 180000 WHERE purpose = 'recharge'").await;

        let charged = payments::run_charge(&world.node.app, payment).await.unwrap();
        assert_eq!(charged.status, PaymentStatus::Pending);
        world.advance(120).await;
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (0, 0));
        world.advance(3600).await;
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (5_000, 1));
        world.end().await;
    }

    async fn a_charge_interrupted_by_a_crash_is_finished_by_the_poller(db) {
        let world = World::with(db, &[("TRUNKLINE_SANDBOX_CALLBACKS", "drop")]).await;
        let cora = world.customer("cora@customer.example").await;
        save_card(&world, &cora, VISA).await;
        world.advance(120).await;
        let method = cora.get("/payments/methods").await.ok()["data"][0].clone();
        let app = world.node.app.clone();
        let claim = |charge: NewCharge| {
            let app = app.clone();
            async move {
                let work = (app.clone(), charge);
                let claim = app.db.tx(work, |conn, (app, charge)| {
                    Box::pin(payments::claim_charge(conn, app, charge))
                });
                claim.await.unwrap()
            }
        };
        // Interrupted before the provider got the request, and after it had charged the card.
        let charges = [charge(&cora, &method), charge(&cora, &method)];
        claim(charges[0].clone()).await;
        let unanswered = claim(charges[1].clone()).await;
        let busy = cora.with_key(fresh_key()).delete(&format!("/payments/methods/{}", method["id"].as_str().unwrap())).await;
        busy.problem(409, "resource.in_use");
        payments::run_charge(&app, unanswered).await.unwrap();
        execute(db, "UPDATE payments SET status = 'pending', provider_order_id = NULL, poll_at = 0 WHERE status = 'completed' AND purpose = 'recharge'").await;
        world.advance(120).await;
        for NewCharge { account, key, .. } in charges {
            let charged = payments::find_charge(&mut app.db.read().await.unwrap(), account, key).await.unwrap().unwrap();
            assert_eq!(charged.status, PaymentStatus::Completed);
        }
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (10_000, 2));
        assert_eq!(count(db, "SELECT COUNT(*) FROM sandbox_orders WHERE amount IS NOT NULL").await, 2);
        world.end().await;
    }

    async fn a_charge_of_a_suspended_account_waits_and_lapses(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let charge = charge(&cora, &save_card(&world, &cora, VISA).await);
        apply_event(&world, &cora, Event::Suspended).await;
        let app = &world.node.app;
        assert_eq!(payments::charge(app, charge.clone()).await.unwrap().status, PaymentStatus::Pending);
        world.advance(120).await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM sandbox_orders WHERE amount IS NOT NULL").await, 0);
        world.advance(24 * 3600).await;
        apply_event(&world, &cora, Event::Reinstated).await;
        assert_eq!(payments::charge(app, NewCharge { key: uuid(), ..charge }).await.unwrap().status, PaymentStatus::Completed);
        assert_eq!(count(db, "SELECT COUNT(*) FROM payments WHERE status = 'expired'").await, 1);
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (5_000, 1));
        world.end().await;
    }

    async fn another_accounts_card_cannot_be_charged(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let dora = world.customer("dora@customer.example").await;
        let stolen = charge(&dora, &save_card(&world, &cora, VISA).await);
        assert_eq!(payments::charge(&world.node.app, stolen).await.unwrap_err().code(), Code::NotFound);
        assert_eq!(count(db, "SELECT COUNT(*) FROM payments WHERE purpose = 'recharge'").await, 0);
        world.end().await;
    }
}
