//! Auto-recharge through the sandbox provider.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Mutex;

use billing::payments::auto_recharge::{self, Cards, Charge, Outcome, SavedCards};
use billing::payments::{self, NewCharge};
use db::DbError;
use db::params;
use platform::app::App;
use platform::jobs::JobError;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use values::{AccountId, Currency, Money, PaymentMethodId};

use crate::world::World;
use crate::world::client::{Answer, Client, Session};
use crate::world::engines::{both, uuid};
use crate::world::fixtures::onboarding::sign_up;
use crate::world::fixtures::payments::{DECLINED_LATER, VISA, ledger_cents, save_card};
use crate::world::fixtures::{execute, key};
use crate::world::payer::{Payer, set_up_card};

const PATH: &str = "/account/auto-recharge";

fn eur(minor: i64) -> Value {
    json!({"amount_minor": minor, "currency": "EUR"})
}

async fn put(customer: &Client, body: Value) -> Answer {
    customer.with_key(key()).call(Method::PUT, PATH, Some(body)).await
}

/// A provider that answers as the test decides and keeps the requests.
struct Till {
    answer: Outcome,
    asked: Mutex<Vec<(Uuid, String)>>,
}

impl Till {
    fn that(answer: Outcome) -> Till {
        Till { answer, asked: Mutex::default() }
    }

    fn amounts(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(_, amount)| amount.clone()).collect()
    }
}

impl Cards for Till {
    async fn charge(&self, _: &App, charge: &Charge) -> Result<Outcome, JobError> {
        self.asked.lock().unwrap().push((charge.id, charge.amount.to_string()));
        Ok(self.answer.clone())
    }
}

/// A customer with auto-recharge of 50 EUR below 20 EUR.
async fn refilling(world: &World, email: &str) -> Session {
    let customer = world.customer(email).await;
    let account: AccountId = customer.account_id.parse().unwrap();
    let saved = world.node.app.db.tx((account, uuid()), |conn, (account, card)| {
        Box::pin(async move {
            conn.exec(
                "INSERT INTO auto_recharges (account_id, enabled, threshold, recharge_amount, payment_method_id,
                                             declines, updated_at)
                 VALUES ($1, TRUE, 20000000000, 50000000000, $2, 0, 0)",
                params![*account, *card],
            )
            .await?;
            Ok::<_, DbError>(())
        })
    });
    saved.await.unwrap();
    customer
}

async fn attempt(world: &World, customer: &Session, till: &Till) {
    auto_recharge::attempt(&world.node.app, till, customer.account_id.parse().unwrap()).await.unwrap();
}

fn declined() -> Outcome {
    Outcome::Declined { reason: Some("insufficient funds".into()) }
}

both! {
    async fn auto_recharge_settings_have_defaults_and_are_validated(db) {
        let world = World::start(db).await;
        let customer = world.customer("c@example.com").await;
        let untouched = json!({"enabled": false, "threshold": eur(2000), "recharge_amount": eur(10000),
                               "payment_method_id": null});
        assert_eq!(customer.get(PATH).await.ok(), untouched);
        let wanted = json!({"enabled": false, "threshold": eur(0), "recharge_amount": eur(100),
                            "payment_method_id": null});
        assert_eq!(put(&customer, wanted.clone()).await.ok(), wanted);
        assert_eq!(customer.get(PATH).await.ok(), wanted);

        let refused = put(&customer, json!({"enabled": true, "threshold": eur(-1), "recharge_amount": eur(99)})).await;
        assert_eq!(refused.invalid(), ["payment_method_id", "recharge_amount", "threshold"]);
        let part = json!({"amount": "10.005", "currency": "EUR"});
        let dollars = json!({"amount_minor": 1000, "currency": "USD"});
        let refused = put(&customer, json!({"enabled": false, "threshold": part, "recharge_amount": dollars})).await;
        assert_eq!(refused.invalid(), ["recharge_amount.currency", "threshold"]);
        let strange = json!({"enabled": true, "threshold": eur(0), "recharge_amount": eur(100),
                             "payment_method_id": uuid()});
        assert_eq!(put(&customer, strange).await.invalid(), ["payment_method_id"]);
        world.end().await;
    }

    async fn an_auto_recharge_is_sized_to_the_balance_and_charged_once(db) {
        let world = World::start(db).await;
        let customer = refilling(&world, "c@example.com").await;
        let till = Till::that(Outcome::Paid);
        // 0 is below 20, and 50 is enough.
        attempt(&world, &customer, &till).await;
        assert_eq!(till.amounts(), ["50.00 EUR"]);
        world.top_up(&customer.account_id, 5000).await;
        attempt(&world, &customer, &till).await;
        assert_eq!(till.amounts(), ["50.00 EUR"]);
        world.end().await;
    }

    async fn a_balance_below_its_threshold_is_recharged_from_the_saved_card(db) {
        let world = World::unlimited(db).await;
        let customer = world.customer("c@example.com").await;
        let card = save_card(&world, &customer, VISA).await;
        let wanted = json!({"enabled": true, "threshold": eur(2000), "recharge_amount": eur(5000),
                            "payment_method_id": card["id"]});
        assert_eq!(put(&customer, wanted.clone()).await.ok(), wanted);
        world.settle().await;
        assert_eq!(ledger_cents(db, &customer).await, 5000);
        let told = customer.get("/notifications").await.ok();
        assert_eq!(told["data"][0]["code"], "topup.completed");
        assert_eq!(told["data"].as_array().unwrap().len(), 1);
        world.end().await;
    }

    async fn a_card_saved_at_another_provider_is_declined(db) {
        let world = World::unlimited(db).await;
        let customer = world.customer("c@example.com").await;
        let card = save_card(&world, &customer, VISA).await;
        db.ddl("UPDATE payment_methods SET provider = 'revolut';").await;
        let wanted = |card: &Value| {
            json!({"enabled": true, "threshold": eur(2000), "recharge_amount": eur(5000), "payment_method_id": card["id"]})
        };
        put(&customer, wanted(&card)).await.ok();
        world.settle().await;
        let told = &customer.get("/notifications").await.ok()["data"][0];
        assert_eq!(told["code"], "recharge.failed");
        assert_eq!(told["payload"]["reason"], "the card is saved at another payment provider");
        let card = save_card(&world, &customer, VISA).await;
        put(&customer, wanted(&card)).await.ok();
        world.advance(3_601).await;
        assert_eq!(ledger_cents(db, &customer).await, 5000);
        world.end().await;
    }

    async fn an_attempt_waits_for_a_charge_that_went_to_a_former_provider(db) {
        let world = World::unlimited(db).await;
        let customer = world.customer("c@example.com").await;
        let card: Uuid = save_card(&world, &customer, VISA).await["id"].as_str().unwrap().parse().unwrap();
        let (account, amount) = (customer.account_id.parse().unwrap(), Money::from_minor(5_000, Currency::EUR).unwrap());
        let charge = Charge { id: uuid(), account, payment_method: card, amount };
        let app = world.node.app.clone();
        let new = NewCharge { account, method: PaymentMethodId::new(card), amount, key: charge.id };
        let claim = app.db.tx((app.clone(), new), |conn, (app, new)| Box::pin(payments::claim_charge(conn, app, new)));
        claim.await.unwrap();
        db.ddl("UPDATE payment_methods SET provider = 'revolut'; UPDATE payments SET provider = 'revolut';").await;
        let outcome = SavedCards.charge(&app, &charge).await.unwrap();
        assert!(matches!(outcome, Outcome::Pending), "{outcome:?}");
        let other = SavedCards.charge(&app, &Charge { id: uuid(), ..charge }).await.unwrap();
        assert!(matches!(other, Outcome::Declined { .. }), "{other:?}");
        world.end().await;
    }

    async fn no_prospect_is_charged_before_approval(db) {
        let world = World::unlimited(db).await;
        let (admin, petra) = (world.admin().await, sign_up(&world, "petra@prospect.example").await);
        Payer::at(&set_up_card(&petra).await).pay(&world, VISA).await;
        let card = petra.get("/payments/methods").await.ok()["data"][0].clone();
        let wanted = json!({"enabled": true, "threshold": eur(2000), "recharge_amount": eur(5000),
                            "payment_method_id": card["id"]});
        put(&petra, wanted).await.ok();
        let decide = async |what: &str| {
            admin.post(&format!("/admin/beta/{}/{what}", petra.account_id), json!({})).await.ok();
            world.settle().await;
        };
        world.settle().await;
        assert_eq!(ledger_cents(db, &petra).await, 0);
        decide("decline").await;
        assert_eq!(ledger_cents(db, &petra).await, 0);
        decide("approve").await;
        assert_eq!(ledger_cents(db, &petra).await, 5000);
        world.end().await;
    }

    async fn nothing_is_charged_while_an_account_is_suspended(db) {
        let world = World::unlimited(db).await;
        let (admin, customer) = (world.admin().await, world.customer("c@example.com").await);
        world.top_up(&customer.account_id, 3000).await;
        let card = save_card(&world, &customer, VISA).await;
        let wanted = json!({"enabled": true, "threshold": eur(2000), "recharge_amount": eur(5000),
                            "payment_method_id": card["id"]});
        put(&customer, wanted.clone()).await.ok();
        let make = async |status: &str| {
            let path = format!("/admin/customers/{}", customer.account_id);
            admin.patch(&path, json!({"onboarding_status": status})).await.ok();
            world.settle().await;
        };
        make("suspended").await;
        world.use_up(&customer.account_id, 2500).await;
        assert_eq!(ledger_cents(db, &customer).await, 500);
        put(&customer, wanted).await.problem(403, "account.not_active");
        make("approved").await;
        assert_eq!(ledger_cents(db, &customer).await, 5500);
        world.end().await;
    }

    async fn the_auto_recharge_card_stays_until_another_or_none_is_chosen(db) {
        let world = World::unlimited(db).await;
        let customer = world.customer("c@example.com").await;
        let card = save_card(&world, &customer, VISA).await;
        let mut wanted = json!({"enabled": true, "threshold": eur(2000), "recharge_amount": eur(5000),
                                "payment_method_id": card["id"]});
        put(&customer, wanted.clone()).await.ok();
        world.settle().await;
        let its_path = format!("/payments/methods/{}", card["id"].as_str().unwrap());
        customer.with_key(key()).delete(&its_path).await.problem(409, "resource.in_use");
        wanted["enabled"] = json!(false);
        put(&customer, wanted).await.ok();
        customer.with_key(key()).delete(&its_path).await.expect(204);
        assert_eq!(customer.get(PATH).await.ok()["payment_method_id"], Value::Null);
        world.end().await;
    }

    async fn a_card_chosen_for_auto_recharge_cannot_be_deleted(db) {
        let world = World::unlimited(db).await;
        let customer = world.customer("c@example.com").await;
        for _ in 0..5 {
            let card = save_card(&world, &customer, VISA).await;
            let mut wanted = json!({"enabled": true, "threshold": eur(0), "recharge_amount": eur(5000),
                                    "payment_method_id": card["id"]});
            let its_path = format!("/payments/methods/{}", card["id"].as_str().unwrap());
            let (keyed, chosen) = (customer.with_key(key()), put(&customer, wanted.clone()));
            let (removed, chosen) = futures_util::future::join(keyed.delete(&its_path), chosen).await;
            assert!(matches!((removed.status, chosen.status), (204, 422) | (409, 200)), "{} {}", removed.body, chosen.body);
            wanted["enabled"] = json!(false);
            if chosen.status == 200 {
                put(&customer, wanted).await.ok();
                customer.with_key(key()).delete(&its_path).await.expect(204);
            }
        }
        world.end().await;
    }

    async fn a_later_declined_card_is_tried_twice(db) {
        let world = World::unlimited(db).await;
        let customer = world.customer("c@example.com").await;
        let card = save_card(&world, &customer, DECLINED_LATER).await;
        let wanted = json!({"enabled": true, "threshold": eur(2000), "recharge_amount": eur(5000),
                            "payment_method_id": card["id"]});
        put(&customer, wanted).await.ok();
        world.settle().await;
        world.advance(3601).await;
        world.top_up(&customer.account_id, 100).await;
        world.settle().await;
        assert_eq!(ledger_cents(db, &customer).await, 100);
        let customer = world.sign_in("c@example.com").await;
        assert_eq!(customer.get(PATH).await.ok()["enabled"], false);
        let told = customer.get("/notifications").await.ok();
        let failures = told["data"].as_array().unwrap().iter().filter(|one| one["code"] == "recharge.failed").count();
        assert_eq!(failures, 2);
        world.end().await;
    }

    async fn an_unfinished_recharge_attempt_is_repeated_under_its_key(db) {
        let world = World::start(db).await;
        let customer = refilling(&world, "c@example.com").await;
        let till = Till::that(Outcome::Pending);
        attempt(&world, &customer, &till).await;
        // Another node may still be charging.
        attempt(&world, &customer, &till).await;
        assert_eq!(till.amounts().len(), 1);
        // The service would resume the attempt itself.
        execute(db, "DELETE FROM jobs WHERE kind = 'recharge.attempt'").await;
        world.node.app.clock.advance(std::time::Duration::from_secs(61));
        attempt(&world, &customer, &till).await;
        let asked = till.asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0], asked[1]);
        world.stop().await;
    }

    async fn two_declines_disable_auto_recharge_and_notify_customer_and_team(db) {
        let world = World::start(db).await;
        let (admin, customer) = (world.admin().await, refilling(&world, "c@example.com").await);
        let till = Till::that(declined());
        attempt(&world, &customer, &till).await;
        assert_eq!(customer.get(PATH).await.ok()["enabled"], true);
        // A declined card rests for an hour.
        attempt(&world, &customer, &till).await;
        assert_eq!(till.amounts().len(), 1);
        world.settle().await;
        let hour_passes = world.node.app.db.tx((), |conn, ()| {
            Box::pin(async move {
                let sql = "UPDATE auto_recharges SET declined_at = declined_at - 3600000";
                conn.exec(sql, params![]).await.map(drop)
            })
        });
        hour_passes.await.unwrap();
        attempt(&world, &customer, &till).await;
        assert_eq!(till.amounts().len(), 2);
        assert_eq!(customer.get(PATH).await.ok()["enabled"], false);

        let told = customer.get("/notifications").await.ok();
        let disabled: Vec<&Value> = told["data"].as_array().unwrap().iter().map(|one| &one["payload"]["disabled"]).collect();
        assert_eq!(disabled, [true, false]);
        assert_eq!(told["data"][0]["code"], "recharge.failed");
        assert_eq!(told["data"][0]["payload"]["reason"], "insufficient funds");
        let dunned = admin.get("/admin/dunning").await.ok();
        assert_eq!(dunned["data"][0]["reasons"][0]["reason"], "failed_recharge");
        assert_eq!(world.mails().await.pop().unwrap().subject, "Auto-recharge is turned off");

        let off = json!({"enabled": false, "threshold": eur(0), "recharge_amount": eur(100)});
        put(&customer, off).await.ok();
        assert_eq!(admin.get("/admin/dunning").await.ok()["data"], json!([]));
        world.end().await;
    }

    async fn a_manual_top_up_after_a_decline_ends_dunning(db) {
        let world = World::start(db).await;
        let (admin, customer) = (world.admin().await, refilling(&world, "c@example.com").await);
        attempt(&world, &customer, &Till::that(declined())).await;
        let reasons = async || {
            let listed = admin.get("/admin/dunning").await.ok();
            listed["data"][0]["reasons"][0]["reason"].clone()
        };
        assert_eq!(reasons().await, "failed_recharge");
        world.top_up(&customer.account_id, 1999).await;
        assert_eq!(reasons().await, "failed_recharge");
        world.top_up(&customer.account_id, 1).await;
        assert_eq!(reasons().await, Value::Null);
        world.end().await;
    }

    async fn auto_recharge_makes_at_most_three_attempts_a_day(db) {
        let world = World::start(db).await;
        let customer = refilling(&world, "c@example.com").await;
        // Away from midnight.
        world.advance_to_next(24 * 3600).await;
        let till = Till::that(Outcome::Paid);
        for _ in 0..5 {
            attempt(&world, &customer, &till).await;
        }
        assert_eq!(till.amounts().len(), 3);
        world.end().await;
    }
}
