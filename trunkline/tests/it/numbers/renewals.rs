//! Monthly renewals.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::notifications::notification_codes;
use crate::world::fixtures::numbers::{
    AMSTERDAM, FIRST_MONTH_CENTS, count_transactions, create_group, customer_with_trunk, free_numbers, list_numbers,
    order_number,
};

const DAY: u64 = 24 * 3600;
const CORA: &str = "cora@customer.example";

async fn cora(world: &World) -> Client {
    world.sign_in(CORA).await.into_client()
}

/// Advances the clock in steps until the customer has this notification.
async fn pass_until(world: &World, step: u64, code: &str) {
    for _ in 0..100 {
        if notification_codes(&cora(world).await).await.iter().any(|known| known == code) {
            return;
        }
        world.advance(step).await;
    }
    panic!("nobody was told of {code}");
}

both! {
    async fn a_year_of_renewals_is_twelve_months_in_the_ledger(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, CORA, 10_000).await;
        order_number(&customer, &group, &trunk).await.expect(201);
        let first = list_numbers(&customer).await[0]["next_renewal_at"].as_str().unwrap().to_owned();
        for _ in 0..73 {
            world.advance(5 * DAY).await;
        }
        world.advance(2 * DAY).await;
        let customer = cora(&world).await;
        let lines = customer.get("/account/ledger?limit=200").await.ok();
        let lines = lines["data"].as_array().unwrap();
        let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
        let renewals = of("number_renewal");
        assert_eq!(renewals.len(), 12);
        assert!(renewals.iter().all(|line| line["amount"]["amount"] == "-1.50"), "{renewals:?}");
        assert_eq!(of("number_order").len(), 1);
        let next = list_numbers(&customer).await[0]["next_renewal_at"].as_str().unwrap().to_owned();
        assert_eq!(next[4..], first[4..], "a year later, the same day and hour");
        assert_ne!(next[..4], first[..4]);
        world.end().await;
    }

    async fn a_number_with_three_unpaid_renewals_is_released(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, CORA, FIRST_MONTH_CENTS).await;
        order_number(&customer, &group, &trunk).await.expect(201);
        let failures = |news: &[String]| news.iter().filter(|code| *code == "number.renewal_failed").count();
        pass_until(&world, DAY, "number.renewal_ahead").await;
        assert_eq!(failures(&notification_codes(&cora(&world).await).await), 0, "the warning comes before");
        pass_until(&world, DAY / 4, "number.renewal_failed").await;
        assert_eq!(list_numbers(&cora(&world).await).await.len(), 1, "it still works");
        world.advance(DAY).await;
        assert_eq!(failures(&notification_codes(&cora(&world).await).await), 2);
        world.advance(DAY).await;
        let customer = cora(&world).await;
        assert!(notification_codes(&customer).await.contains(&"number.released".to_owned()));
        assert!(list_numbers(&customer).await.is_empty());
        assert_eq!(free_numbers(&world.node.app.db).await, 1);
        assert_eq!(count_transactions(&world.node.app.db, "number_renewal").await, 0);
        let subjects: Vec<String> = world.mails().await.into_iter().map(|mail| mail.subject).collect();
        assert_eq!(subjects.iter().filter(|subject| subject.contains("could not be renewed")).count(), 2);
        assert_eq!(subjects.iter().filter(|subject| subject.contains("has been released")).count(), 1);
        world.end().await;
    }

    async fn a_customer_without_money_does_not_stop_the_renewals_of_others(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 3, AMSTERDAM).await;
        let (poor, trunk) = customer_with_trunk(&world, CORA, FIRST_MONTH_CENTS).await;
        order_number(&poor, &group, &trunk).await.expect(201);
        let (rich, trunk) = customer_with_trunk(&world, "dora@customer.example", 10_000).await;
        for _ in 0..2 {
            order_number(&rich, &group, &trunk).await.expect(201);
        }
        pass_until(&world, DAY / 2, "number.renewal_failed").await;
        assert_eq!(count_transactions(&world.node.app.db, "number_renewal").await, 2);
        // Two months pass before the renewals run again: each is charged.
        world.advance(62 * DAY).await;
        assert_eq!(count_transactions(&world.node.app.db, "number_renewal").await, 6);
        world.end().await;
    }

    async fn a_reminder_names_no_renewal_of_the_past(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 2, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, CORA, 2 * FIRST_MONTH_CENTS).await;
        order_number(&customer, &group, &trunk).await.expect(201);
        world.advance(4 * DAY).await;
        order_number(&cora(&world).await, &group, &trunk).await.expect(201);
        pass_until(&world, DAY / 2, "number.renewal_failed").await;
        world.advance(DAY).await;
        let news = cora(&world).await.get("/notifications?limit=200").await.ok();
        let is_reminder = |one: &&Value| one["code"] == "number.renewal_ahead";
        let reminders: Vec<&Value> = news["data"].as_array().unwrap().iter().filter(is_reminder).collect();
        assert_eq!(reminders.len(), 2);
        for reminder in reminders {
            let (sent, first) = (&reminder["created_at"], &reminder["payload"]["first_renewal_at"]);
            assert!(sent.as_str().unwrap() < first.as_str().unwrap(), "{reminder}");
        }
        world.end().await;
    }

    async fn a_failed_renewal_is_caught_up_after_a_top_up(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, CORA, FIRST_MONTH_CENTS).await;
        order_number(&customer, &group, &trunk).await.expect(201);
        let due = list_numbers(&customer).await[0]["next_renewal_at"].clone();
        pass_until(&world, DAY / 2, "number.renewal_failed").await;
        world.top_up(&customer.account_id, 5000).await;
        world.advance(DAY).await;
        let customer = cora(&world).await;
        assert_eq!(count_transactions(&world.node.app.db, "number_renewal").await, 1);
        let number = &list_numbers(&customer).await[0];
        assert_ne!(number["next_renewal_at"], due);
        assert_eq!(number["monthly"], json!({"amount_minor": 150, "currency": "EUR"}));
        world.end().await;
    }
}
