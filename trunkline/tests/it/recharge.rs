//! Balances that refill themselves.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Mutex;

use billing::recharge::{self, Cards, Charge, Outcome};
use db::DbError;
use db::params;
use platform::app::App;
use platform::jobs::JobError;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use values::AccountId;

use crate::coverage::examples::key;
use crate::onboarding::prospect;
use crate::payments::{LATER_DECLINED, VISA, balance, save_card};
use crate::world::World;
use crate::world::client::{Answer, Client, Session};
use crate::world::engines::{both, uuid};
use crate::world::payer::{Payer, set_up_card};

const PATH: &str = "/account/auto-recharge";

fn eur(minor: i64) -> Value {
    json!({"amount_minor": minor, "currency": "EUR"})
}

async fn put(customer: &Client, body: Value) -> Answer {
    customer.with_key(key()).call(Method::PUT, PATH, Some(body)).await
}

/// A provider that answers as it is told to, and remembers what it was asked for.
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

/// A customer whose balance refills itself by 50 euros below 20.
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
    recharge::attempt(&world.node.app, till, customer.account_id.parse().unwrap()).await.unwrap();
}

fn declined() -> Outcome {
    Outcome::Declined { reason: Some("insufficient funds".into()) }
}

both! {
    async fn settings_have_a_default_and_are_checked(db) {
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

    async fn a_charge_is_sized_to_the_balance_and_made_once(db) {
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

    async fn a_balance_below_its_threshold_is_refilled_from_the_saved_card(db) {
        let world = World::unlimited(db).await;
        let customer = world.customer("c@example.com").await;
        let card = save_card(&world, &customer, VISA).await;
        let wanted = json!({"enabled": true, "threshold": eur(2000), "recharge_amount": eur(5000),
                            "payment_method_id": card["id"]});
        assert_eq!(put(&customer, wanted.clone()).await.ok(), wanted);
        world.settle().await;
        assert_eq!(balance(db, &customer).await, 5000);
        let told = customer.get("/notifications").await.ok();
        assert_eq!(told["data"][0]["code"], "topup.completed");
        assert_eq!(told["data"].as_array().unwrap().len(), 1);
        world.end().await;
    }

    async fn nobody_is_charged_before_it_is_let_in(db) {
        let world = World::unlimited(db).await;
        let (admin, petra) = (world.admin().await, prospect(&world, "petra@prospect.example").await);
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
        assert_eq!(balance(db, &petra).await, 0);
        decide("decline").await;
        assert_eq!(balance(db, &petra).await, 0);
        decide("approve").await;
        assert_eq!(balance(db, &petra).await, 5000);
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
        assert_eq!(balance(db, &customer).await, 500);
        put(&customer, wanted).await.problem(403, "account.not_active");
        make("approved").await;
        assert_eq!(balance(db, &customer).await, 5500);
        world.end().await;
    }

    async fn the_card_that_refills_a_balance_stays_until_another_does_or_none(db) {
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

    async fn a_card_is_not_removed_while_it_is_chosen_to_refill_the_balance(db) {
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

    async fn a_card_that_is_declined_later_is_tried_twice_and_no_more(db) {
        let world = World::unlimited(db).await;
        let customer = world.customer("c@example.com").await;
        let card = save_card(&world, &customer, LATER_DECLINED).await;
        let wanted = json!({"enabled": true, "threshold": eur(2000), "recharge_amount": eur(5000),
                            "payment_method_id": card["id"]});
        put(&customer, wanted).await.ok();
        world.settle().await;
        world.advance(3601).await;
        world.top_up(&customer.account_id, 100).await;
        world.settle().await;
        assert_eq!(balance(db, &customer).await, 100);
        let customer = world.sign_in("c@example.com").await;
        assert_eq!(customer.get(PATH).await.ok()["enabled"], false);
        let told = customer.get("/notifications").await.ok();
        let failures = told["data"].as_array().unwrap().iter().filter(|one| one["code"] == "recharge.failed").count();
        assert_eq!(failures, 2);
        world.end().await;
    }

    async fn an_attempt_that_nobody_ended_is_asked_for_again_under_its_name(db) {
        let world = World::start(db).await;
        let customer = refilling(&world, "c@example.com").await;
        let till = Till::that(Outcome::Pending);
        attempt(&world, &customer, &till).await;
        // Somebody may still be at it.
        attempt(&world, &customer, &till).await;
        assert_eq!(till.amounts().len(), 1);
        world.node.app.clock.advance(std::time::Duration::from_secs(61));
        attempt(&world, &customer, &till).await;
        let asked = till.asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0], asked[1]);
        world.stop().await;
    }

    async fn two_declines_in_a_row_switch_it_off_and_tell_the_customer_and_the_team(db) {
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
        assert_eq!(world.letters().await.pop().unwrap().subject, "Auto-recharge is turned off");

        let off = json!({"enabled": false, "threshold": eur(0), "recharge_amount": eur(100)});
        put(&customer, off).await.ok();
        assert_eq!(admin.get("/admin/dunning").await.ok()["data"], json!([]));
        world.end().await;
    }

    async fn who_tops_up_by_hand_after_a_decline_is_not_spoken_to_about_it(db) {
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

    async fn a_day_has_three_attempts(db) {
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
