//! Notice of increases: when a dearer price may take effect, and who hears of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use super::{ROWS, price};
use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::cdrs::rfc3339;
use crate::world::fixtures::key;
use crate::world::fixtures::notifications::notification_codes;
use crate::world::fixtures::rate_plans::{assign_plan, create_plan, fixed_rule, update_plan};
use crate::world::fixtures::rates::upstream_with_deck;

const DAY: u64 = 86_400;

/// A world with rates, at the start of an hour, so that none ends in the middle of a test.
async fn start(db: &TestDb) -> (World, Client) {
    let world = World::unlimited(db).await;
    world.advance_to_next(3600).await;
    let admin = world.admin().await.into_client();
    upstream_with_deck(&world, &admin, "A", "EUR", 100.0, ROWS).await;
    (world, admin)
}

/// The earliest moment that a refusal names.
fn earliest(refused: Answer) -> String {
    let body = refused.problem(422, "validation.failed");
    assert_eq!(body["invalid_params"][0]["name"], "effective_at", "{body}");
    let reason = body["invalid_params"][0]["reason"].as_str().unwrap();
    let moment = reason.strip_prefix("must not be before ").unwrap_or_else(|| panic!("{reason}"));
    moment.split(',').next().unwrap().to_owned()
}

/// The details in the audit row of the last change.
async fn noted(db: &TestDb, action: &str) -> Value {
    let sql = "SELECT meta FROM audit_log WHERE action = $1 AND outcome = 'success' ORDER BY seq DESC LIMIT 1";
    let (meta,): (String,) = db.read().await.unwrap().one(sql, params![action]).await.unwrap();
    serde_json::from_str(&meta).unwrap()
}

both! {
    async fn an_increase_takes_effect_when_its_notice_ends_and_a_decrease_at_once(db) {
        let (world, admin) = start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let plan = create_plan(&admin, json!({"markup_pct": -10})).await;
        assign_plan(&admin, &cora.account_id, Some(&plan), json!({})).await.ok();
        assert_eq!(price(&cora, "3120").await, "0.018");
        // A week is not over in six days.
        let day = |days: i64| rfc3339(world.node.app.clock.now().millis() + days * 86_400_000);
        let soon = earliest(update_plan(&admin, &plan, json!({"markup_pct": -5, "effective_at": day(6)})).await);
        assert!(day(7) <= soon && soon < day(8), "{soon}");
        // One dearer part is enough, whatever the others do.
        for rule in [
            json!({"match": {"prefix": "3161"}, "markup_pct": -1}),
            json!({"match": {"country": "NL"}, "markup_pct": -50, "increment_seconds": 6}),
            json!({"match": {"country": "NL"}, "markup_pct": -50, "minimum_seconds": 2}),
            json!({"match": {"country": "NL"}, "markup_pct": -50, "connect_fee": {"amount": "0.0001", "currency": "EUR"}}),
        ] {
            earliest(update_plan(&admin, &plan, json!({"rules": [rule]})).await);
        }
        earliest(assign_plan(&admin, &cora.account_id, None, json!({})).await);
        update_plan(&admin, &plan, json!({"markup_pct": -5, "effective_at": soon})).await.ok();
        assert_eq!(price(&cora, "3120").await, "0.018");
        world.advance(8 * DAY).await;
        let (cora, admin) = (world.sign_in("cora@customer.example").await, world.minted(Role::Admin).await);
        assert_eq!(price(&cora, "3120").await, "0.019");
        update_plan(&admin, &plan, json!({"markup_pct": -20, "rules": [fixed_rule("31", "0.001")]})).await.ok();
        assert_eq!((price(&cora, "3120").await, price(&cora, "4930").await), ("0.001".to_owned(), "0.048".to_owned()));
        world.end().await;
    }

    async fn a_planned_decrease_cannot_be_withdrawn_without_notice(db) {
        let (world, admin) = start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let plan = create_plan(&admin, json!({"markup_pct": -10})).await;
        assign_plan(&admin, &cora.account_id, Some(&plan), json!({})).await.ok();
        let day = |days: i64| rfc3339(world.node.app.clock.now().millis() + days * 86_400_000);
        update_plan(&admin, &plan, json!({"markup_pct": -20, "effective_at": day(2)})).await.ok();
        earliest(update_plan(&admin, &plan, json!({"markup_pct": -15})).await);
        update_plan(&admin, &plan, json!({"markup_pct": -30})).await.ok();
        assert_eq!(price(&cora, "3120").await, "0.014");
        // The last version also replaced the one that was planned.
        world.advance(3 * DAY).await;
        let cora = world.sign_in("cora@customer.example").await;
        assert_eq!(price(&cora, "3120").await, "0.014");
        world.end().await;
    }

    async fn the_longer_notice_of_plan_and_customer_counts(db) {
        let (world, admin) = start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let cheap = create_plan(&admin, json!({"markup_pct": -10, "notice_days": 0})).await;
        let shown = assign_plan(&admin, &cora.account_id, Some(&cheap), json!({"notice_days": 30})).await.ok();
        assert_eq!((&shown["notice_days"], &shown["rate_plan_id"]), (&json!(30), &json!(cheap)));
        let day = |days: i64| rfc3339(world.node.app.clock.now().millis() + days * 86_400_000);
        let soon = earliest(update_plan(&admin, &cheap, json!({"markup_pct": 0})).await);
        assert!(day(30) <= soon && soon < day(31), "{soon}");
        let dear = create_plan(&admin, json!({"notice_days": 60})).await;
        // A notice that is shortened by the same request still counts.
        let soon = earliest(assign_plan(&admin, &cora.account_id, Some(&dear), json!({"notice_days": 1})).await);
        assert!(day(60) <= soon && soon < day(61), "{soon}");
        let planned = assign_plan(&admin, &cora.account_id, Some(&dear), json!({"effective_at": soon})).await.ok();
        assert_eq!(planned["rate_plan_id"], json!(cheap));
        let history = planned["history"].as_array().unwrap();
        assert_eq!((&history[0]["rate_plan_id"], &history[0]["effective_at"]), (&json!(dear), &json!(soon)));
        assert_eq!((history.len(), &history[1]["number"]), (2, &json!(1)));
        // Without a plan, only the notice changes.
        let path = format!("/admin/customers/{}/rate-plan", cora.account_id);
        let kept = admin.with_key(key()).call(Method::PUT, &path, Some(json!({"notice_days": 45}))).await.ok();
        assert_eq!((&kept["notice_days"], &kept["rate_plan_id"]), (&json!(45), &json!(cheap)));
        // Nobody gets less than a week unless it was agreed before.
        let (carl, dear) = (world.customer("carl@customer.example").await, create_plan(&admin, json!({"markup_pct": 10, "notice_days": 0})).await);
        let soon = earliest(assign_plan(&admin, &carl.account_id, Some(&dear), json!({"notice_days": 0})).await);
        assert!(day(7) <= soon && soon < day(8), "{soon}");
        assign_plan(&admin, &carl.account_id, None, json!({"notice_days": 0})).await.ok();
        assign_plan(&admin, &carl.account_id, Some(&dear), json!({})).await.ok();
        assert_eq!(price(&carl, "3120").await, "0.022");
        world.end().await;
    }

    async fn a_waived_notice_needs_a_reason_and_is_audited(db) {
        let (world, admin) = start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let plan = create_plan(&admin, json!({"markup_pct": 10})).await;
        let assign = async |changes: Value| assign_plan(&admin, &cora.account_id, Some(&plan), changes).await;
        earliest(assign(json!({})).await);
        assert_eq!(assign(json!({"waive_notice": true})).await.invalid(), ["waive_notice"]);
        assert_eq!(assign(json!({"reason": "agreed"})).await.invalid(), ["reason"]);
        assert_eq!(assign(json!({"effective_at": "2020-01-01T00:00:00Z"})).await.invalid(), ["effective_at"]);
        let shown = assign(json!({"waive_notice": true, "reason": "agreed by phone"})).await.ok();
        assert_eq!(shown["history"][0]["waive_reason"], "agreed by phone");
        assert_eq!(noted(db, "rate_plan.assign").await["waive_notice"], "agreed by phone");
        assert_eq!(price(&cora, "3120").await, "0.022");
        update_plan(&admin, &plan, json!({"markup_pct": 20, "waive_notice": true, "reason": "typing error"})).await.ok();
        let note = noted(db, "rate_plan.update").await;
        assert_eq!((&note["waive_notice"], &note["version"]), (&json!("typing error"), &json!(2)));
        assert_eq!(price(&cora, "3120").await, "0.024");
        world.end().await;
    }

    async fn only_customers_whose_prices_change_hear_of_it(db) {
        let (world, admin) = start(db).await;
        let (cora, carl) = (world.customer("cora@customer.example").await, world.customer("carl@customer.example").await);
        let plan = create_plan(&admin, json!({"markup_pct": -10})).await;
        let heard = async || {
            world.settle().await;
            let mut counts = [0, 0];
            for (count, customer) in counts.iter_mut().zip([&cora, &carl]) {
                *count = notification_codes(customer).await.iter().filter(|code| *code == "rates.changed").count();
            }
            counts
        };
        assert_eq!(heard().await, [0, 0]);
        assign_plan(&admin, &cora.account_id, Some(&plan), json!({})).await.ok();
        assert_eq!(heard().await, [1, 0]);
        update_plan(&admin, &plan, json!({"markup_pct": -20})).await.ok();
        assert_eq!(heard().await, [2, 0]);
        update_plan(&admin, &plan, json!({"name": "Another name"})).await.ok();
        assert_eq!(heard().await, [2, 0]);
        let mails = world.mails().await;
        let told = mails.iter().filter(|mail| mail.to.contains("cora@customer.example") && mail.subject.contains("ates"));
        assert_eq!(told.count(), 2);
        world.end().await;
    }
}
