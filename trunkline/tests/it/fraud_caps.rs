//! Fraud caps.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use identity::onboarding::Event;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::onboarding::apply_event;

const PATH: &str = "/fraud-caps";

fn caps(spend: &str, rate: &str) -> Value {
    let money = |amount: &str| json!({"amount": amount, "currency": "EUR"});
    json!({"max_spend_per_day": money(spend), "max_rate_per_minute": money(rate)})
}

async fn put(customer: &Client, body: Value) -> Answer {
    customer.call(Method::PUT, PATH, Some(body)).await
}

/// The details in the audit row of the last change.
async fn noted(db: &TestDb) -> Value {
    let sql = "SELECT meta FROM audit_log WHERE action = 'fraud_caps.update' ORDER BY seq DESC LIMIT 1";
    let (meta,): (String,) = db.read().await.unwrap().one(sql, params![]).await.unwrap();
    serde_json::from_str(&meta).unwrap()
}

both! {
    async fn fraud_caps_are_low_by_default(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let shown = |spend: i64, rate: i64, exact: &str| json!({
            "max_spend_per_day": {"amount_minor": spend, "currency": "EUR"},
            "max_rate_per_minute": {"amount_minor": rate, "amount": exact, "currency": "EUR"},
        });
        assert_eq!(cora.get(PATH).await.ok(), shown(5000, 50, "0.50"));
        assert_eq!(put(&cora, caps("20", "0.0125")).await.ok(), shown(2000, 1, "0.0125"));
        assert_eq!(cora.get(PATH).await.ok(), shown(2000, 1, "0.0125"));
        let carl = world.customer("carl@customer.example").await;
        assert_eq!(carl.get(PATH).await.ok(), shown(5000, 50, "0.50"));
        world.end().await;
    }

    async fn a_fraud_cap_is_positive_and_in_the_accounts_currency(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        assert_eq!(put(&cora, caps("0", "-1")).await.invalid(), ["max_rate_per_minute", "max_spend_per_day"]);
        assert_eq!(put(&cora, caps("10.001", "0.001")).await.invalid(), ["max_spend_per_day"]);
        let mut dollars = caps("10", "1");
        dollars["max_rate_per_minute"]["currency"] = json!("USD");
        assert_eq!(put(&cora, dollars).await.invalid(), ["max_rate_per_minute.currency"]);
        assert_eq!(put(&cora, json!({})).await.invalid(), ["max_rate_per_minute", "max_spend_per_day"]);
        apply_event(&world, &cora, Event::Suspended).await;
        put(&cora, caps("10", "1")).await.problem(403, "account.not_active");
        assert_eq!(cora.get(PATH).await.ok()["max_spend_per_day"]["amount_minor"], 5000);
        world.end().await;
    }

    async fn every_fraud_cap_change_is_audited_with_the_old_value(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        put(&cora, caps("20", "0.0125")).await.ok();
        let expected = json!({
            "max_spend_per_day": {"from": "50.00 EUR", "to": "20.00 EUR"},
            "max_rate_per_minute": {"from": "0.50 EUR", "to": "0.0125 EUR"},
        });
        assert_eq!(noted(db).await, expected);
        put(&cora, caps("30", "0.0125")).await.ok();
        assert_eq!(noted(db).await["max_spend_per_day"], json!({"from": "20.00 EUR", "to": "30.00 EUR"}));
        world.end().await;
    }

    async fn a_raised_fraud_cap_is_reported_by_mail_and_a_lowered_one_is_not(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        put(&cora, caps("20", "0.20")).await.ok();
        put(&cora, caps("20", "0.20")).await.ok();
        assert_eq!(world.mails().await.len(), 0);
        put(&cora, caps("10", "0.25")).await.ok();
        let mails = world.mails().await;
        assert_eq!(mails.len(), 1);
        assert_eq!((mails[0].to.as_str(), mails[0].subject.as_str()), ("cora@customer.example", "Your fraud caps were raised"));
        for words in ["0.25 EUR", "(before: 0.20 EUR)", "10.00 EUR", "(before: 20.00 EUR)", "127.0.0.1"] {
            let text = mails[0].text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(words), "{words}: {text}");
        }
        world.end().await;
    }
}
