//! Low-balance alerts, once per fall.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::{Client, Session};
use crate::world::engines::both;

const DAY: u64 = 24 * 3600;

/// The codes of all notifications, oldest first.
async fn alert_codes(customer: &Client) -> Vec<String> {
    let page = customer.get("/notifications").await.ok();
    let codes = page["data"].as_array().unwrap().iter().rev();
    codes.map(|one| one["code"].as_str().unwrap().to_owned()).collect()
}

async fn notify_at(customer: &Client, enabled: bool, threshold_pct: i64) {
    let wanted = json!({"enabled": enabled, "threshold_pct": threshold_pct});
    let saved = customer.call(Method::PUT, "/account/low-balance-notify", Some(wanted.clone())).await;
    assert_eq!(saved.ok(), wanted);
}

/// A customer that has used 100 euros and has 100 left.
async fn halfway(world: &World, email: &str) -> Session {
    let customer = world.customer(email).await;
    world.top_up(&customer.account_id, 20_000).await;
    world.use_up(&customer.account_id, 10_000).await;
    customer
}

both! {
    async fn a_low_balance_is_alerted_once_per_fall_by_notification_and_mail(db) {
        let world = World::start(db).await;
        let customer = halfway(&world, "c@example.com").await;
        assert_eq!(alert_codes(&customer).await, [""; 0]);
        // 66.60 of spend more: 33.40 is left, and 20 % of 166.60 is 33.32.
        world.use_up(&customer.account_id, 6660).await;
        assert_eq!(alert_codes(&customer).await, [""; 0]);
        world.use_up(&customer.account_id, 10).await;
        assert_eq!(alert_codes(&customer).await, ["balance.low"]);
        world.use_up(&customer.account_id, 1000).await;
        assert_eq!(alert_codes(&customer).await, ["balance.low"]);
        let mail = world.mails().await.pop().unwrap();
        assert_eq!((mail.to.as_str(), mail.subject.as_str()), ("c@example.com", "Low balance: 33.30 EUR"));

        let page = customer.get("/notifications").await.ok();
        let low = &page["data"][0];
        assert_eq!((&low["severity"], &low["read_at"]), (&json!("warning"), &Value::Null));
        assert_eq!(low["payload"]["balance"]["amount"], "33.30");
        assert_eq!(low["payload"]["threshold"]["amount"], "33.34");
        assert_eq!(low["payload"]["threshold_pct"], 20);
        assert_eq!(low["payload"]["spend_30d"]["amount"], "166.70");

        world.top_up(&customer.account_id, 10_000).await;
        world.use_up(&customer.account_id, 12_000).await;
        assert_eq!(alert_codes(&customer).await, ["balance.low", "balance.low"]);
        world.end().await;
    }

    async fn many_small_charges_trigger_the_low_balance_alert(db) {
        let world = World::start(db).await;
        let customer = halfway(&world, "c@example.com").await;
        for _ in 0..20 {
            world.use_up(&customer.account_id, 370).await;
        }
        assert_eq!(alert_codes(&customer).await, ["balance.low"]);
        world.end().await;
    }

    async fn a_used_up_balance_is_alerted_and_in_dunning_while_negative(db) {
        let world = World::start(db).await;
        let (admin, customer) = (world.admin().await, halfway(&world, "c@example.com").await);
        notify_at(&customer, false, 20).await;
        world.use_up(&customer.account_id, 10_000).await;
        assert_eq!(alert_codes(&customer).await, ["balance.exhausted"]);
        assert_eq!(world.mails().await.pop().unwrap().subject, "Your balance has run out");
        assert_eq!(admin.get("/admin/dunning").await.ok()["data"], json!([]));

        world.use_up(&customer.account_id, 150).await;
        let dunned = admin.get("/admin/dunning").await.ok();
        let row = &dunned["data"][0];
        assert_eq!(row["contact_email"], "c@example.com");
        assert_eq!(row["balance"], json!({"amount_minor": -150, "amount": "-1.50", "currency": "EUR"}));
        assert_eq!(row["monthly_spend_30d"]["amount"], "201.50");
        assert_eq!(row["reasons"][0]["reason"], "negative_balance");
        assert_eq!(alert_codes(&customer).await, ["balance.exhausted"]);

        world.top_up(&customer.account_id, 150).await;
        assert_eq!(admin.get("/admin/dunning").await.ok()["data"], json!([]));
        world.end().await;
    }

    async fn an_account_that_never_had_money_gets_no_alert(db) {
        let world = World::start(db).await;
        let customer = world.customer("c@example.com").await;
        notify_at(&customer, true, 100).await;
        world.settle().await;
        assert_eq!(alert_codes(&customer).await, [""; 0]);
        world.end().await;
    }

    async fn enabling_alerts_at_a_low_balance_alerts_and_disabling_stops_them(db) {
        let world = World::start(db).await;
        let customer = halfway(&world, "c@example.com").await;
        notify_at(&customer, false, 20).await;
        world.use_up(&customer.account_id, 9000).await;
        assert_eq!(alert_codes(&customer).await, [""; 0]);
        notify_at(&customer, true, 20).await;
        world.settle().await;
        assert_eq!(alert_codes(&customer).await, ["balance.low"]);
        world.end().await;
    }

    async fn a_month_without_spend_makes_a_balance_sufficient_again(db) {
        let world = World::start(db).await;
        let customer = halfway(&world, "c@example.com").await;
        world.use_up(&customer.account_id, 8000).await;
        assert_eq!(alert_codes(&customer).await, ["balance.low"]);
        for _ in 0..31 {
            world.advance(DAY).await;
        }
        // Meanwhile the month was invoiced, whose 37.80 of VAT used the balance up. Topped up to 20.00, that is plenty while
        // nothing was used in 30 days; after 17.00 more it is not.
        world.top_up(&customer.account_id, 3780).await;
        let customer = world.sign_in("c@example.com").await;
        world.use_up(&customer.account_id, 1700).await;
        assert_eq!(alert_codes(&customer).await, ["balance.low", "invoice.issued", "balance.exhausted", "balance.low"]);
        world.end().await;
    }

    async fn a_charge_that_crosses_no_threshold_enqueues_no_job(db) {
        let world = World::start(db).await;
        let customer = halfway(&world, "c@example.com").await;
        let app = world.node.app.clone();
        let mark = async || -> i64 {
            let mut reader = app.db.read().await.unwrap();
            let (mark,) = reader.one("SELECT low_water FROM ledger_balances", params![]).await.unwrap();
            mark
        };
        let before = mark().await;
        world.use_up(&customer.account_id, 100).await;
        assert_eq!(mark().await, before);
        world.use_up(&customer.account_id, 7000).await;
        assert!(mark().await < before);
        world.end().await;
    }

    async fn alert_settings_have_a_default_and_bounds(db) {
        let world = World::start(db).await;
        let customer = world.customer("c@example.com").await;
        let path = "/account/low-balance-notify";
        assert_eq!(customer.get(path).await.ok(), json!({"enabled": true, "threshold_pct": 20}));
        for pct in [0, 101] {
            let refused = customer.call(Method::PUT, path, Some(json!({"enabled": true, "threshold_pct": pct}))).await;
            assert_eq!(refused.invalid(), ["threshold_pct"]);
        }
        let refused = customer.call(Method::PUT, path, Some(json!({}))).await;
        assert_eq!(refused.invalid(), ["enabled", "threshold_pct"]);
        world.end().await;
    }
}
