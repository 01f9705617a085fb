//! Rate plans: the prices of some customers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod nodes;
mod notice;

use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, rfc3339};
use crate::world::fixtures::key;
use crate::world::fixtures::rate_plans::{assign_plan, create_plan, fixed_rule, plan_body, update_plan};
use crate::world::fixtures::rates::{import_deck, prefixes, upstream_with_deck};
use crate::world::fixtures::switch::Scene;

const ROWS: &str = "31,Netherlands,NL,0.01\n316,Netherlands mobile,NL,0.02\n49,Germany,DE,0.03\n32,Belgium,BE,0.04\n";

/// A plan with a rule of every kind.
fn rules() -> Value {
    json!([
        fixed_rule("3161", "0.021"),
        {"match": {"destination_name": "Netherlands"}, "markup_pct": -10.5},
        {"match": {"country": "DE"}, "rate_per_minute": {"amount": "0.05", "currency": "EUR"},
         "connect_fee": {"amount": "0.001", "currency": "EUR"}, "increment_seconds": 6, "minimum_seconds": 30},
    ])
}

/// The price per minute that a customer sees.
async fn price(customer: &Client, number: &str) -> String {
    let rate = customer.get(&format!("/rates/lookup?number={number}")).await.ok();
    rate["rate_per_minute"]["amount"].as_str().unwrap().to_owned()
}

both! {
    async fn a_customer_sees_the_prices_of_its_plan_everywhere_and_others_the_list(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        upstream_with_deck(&world, &admin, "A", "EUR", 100.0, ROWS).await;
        let (cora, carl) = (world.customer("cora@customer.example").await, world.customer("carl@customer.example").await);
        let plan = create_plan(&admin, json!({"markup_pct": -25, "rules": rules()})).await;
        let before = world.node.app.clock.now().millis() - 1;
        let waived = json!({"waive_notice": true, "reason": "agreed by mail"});
        assign_plan(&admin, &cora.account_id, Some(&plan), waived).await.ok();

        // The list is the cost doubled.
        for (number, list, own) in [
            ("31201234567", "0.02", "0.0179"),
            ("31612345678", "0.04", "0.021"),
            ("31699999999", "0.04", "0.03"),
            ("49301234567", "0.06", "0.05"),
            ("3221234567", "0.08", "0.06"),
        ] {
            assert_eq!((price(&carl, number).await, price(&cora, number).await), (list.to_owned(), own.to_owned()));
        }
        let german = cora.get("/rates/lookup?number=4930").await.ok();
        assert_eq!(german["connect_fee"]["amount"], "0.001");
        assert_eq!((&german["billing_increment_seconds"], &german["minimum_seconds"]), (&json!(6), &json!(30)));
        assert_eq!(prefixes(&carl.get("/rates").await.ok()), ["31", "316", "32", "49"]);
        assert_eq!(prefixes(&cora.get("/rates").await.ok()), ["31", "316", "3161", "32", "49"]);
        assert_eq!(prefixes(&cora.get("/rates?prefix=316").await.ok()), ["316", "3161"]);
        let file = String::from_utf8(cora.get("/rates/export").await.bytes).unwrap();
        assert!(file.contains("3161,NL,Netherlands mobile,0.021,EUR,"), "{file}");
        let now = world.node.app.clock.now().millis();
        let diff = format!("/rates/diff?from={}&to={}", rfc3339(before), rfc3339(now));
        assert_eq!(prefixes(&carl.get(&diff).await.ok()), Vec::<&str>::new());
        let differences = cora.get(&diff).await.ok();
        assert_eq!(prefixes(&differences), ["31", "316", "3161", "32", "49"]);
        assert_eq!((&differences["data"][0]["from"]["amount"], &differences["data"][0]["to"]["amount"]), (&json!("0.02"), &json!("0.0179")));

        let routes = async |query: &str| admin.get(&format!("/admin/routes?number=3120{query}")).await.ok();
        let list = routes("").await;
        assert_eq!((&list["price"]["amount"], &list["rule"]), (&json!("0.02"), &json!("list")));
        let own = routes(&format!("&customer_id={}", cora.account_id)).await;
        assert_eq!((&own["price"]["amount"], &own["rule"]), (&json!("0.0179"), &json!("destination_name")));
        admin.get(&format!("/admin/routes?number=3120&customer_id={}", key())).await.problem(404, "not_found");
        world.end().await;
    }

    async fn a_plan_keeps_its_versions_and_is_deleted_only_if_nobody_had_it(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        upstream_with_deck(&world, &admin, "A", "EUR", 100.0, ROWS).await;
        let cora = world.customer("cora@customer.example").await;
        let made = admin.with_key(key()).post("/admin/rate-plans", plan_body(json!({"name": "Wholesale", "rules": rules()}))).await.expect(201);
        let plan = made["id"].as_str().unwrap();
        assert_eq!((&made["version"], &made["rule_count"], &made["customers"]), (&json!(1), &json!(3), &json!(0)));
        assert_eq!((&made["notice_days"], &made["allow_below_cost"]), (&json!(7), &json!(false)));
        assert_eq!(made["rules"][1], json!({"match": {"destination_name": "Netherlands"}, "markup_pct": -10.5}));
        admin.with_key(key()).post("/admin/rate-plans", plan_body(json!({"name": "Wholesale"}))).await.problem(409, "resource.in_use");

        let renamed = update_plan(&admin, plan, json!({"name": "Retail", "notice_days": 14})).await.ok();
        assert_eq!((&renamed["name"], &renamed["notice_days"], &renamed["version"]), (&json!("Retail"), &json!(14), &json!(1)));
        let changed = update_plan(&admin, plan, json!({"markup_pct": -5, "rules": []})).await.ok();
        assert_eq!((&changed["version"], &changed["rules"], &changed["markup_pct"]), (&json!(2), &json!([]), &json!(-5)));
        assert_eq!(admin.get(&format!("/admin/rate-plans/{plan}")).await.ok(), changed);
        let unused = create_plan(&admin, json!({})).await;
        let listed = admin.get("/admin/rate-plans").await.ok();
        assert_eq!(listed["data"].as_array().unwrap().len(), 2);
        assert!(listed["data"][0].get("rules").is_none());

        assign_plan(&admin, &cora.account_id, Some(plan), json!({})).await.ok();
        admin.with_key(key()).delete(&format!("/admin/rate-plans/{plan}")).await.problem(409, "resource.in_use");
        assert_eq!(admin.get(&format!("/admin/rate-plans/{plan}")).await.ok()["customers"], 1);
        admin.with_key(key()).delete(&format!("/admin/rate-plans/{unused}")).await.expect(204);
        admin.get(&format!("/admin/rate-plans/{unused}")).await.problem(404, "not_found");
        assert_eq!(assign_plan(&admin, &cora.account_id, Some(&unused), json!({})).await.invalid(), ["rate_plan_id"]);
        world.end().await;
    }

    async fn every_fault_of_a_rule_is_named(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let amount = |amount: &str, currency: &str| json!({"amount": amount, "currency": currency});
        let rules = json!([
            {"match": {"prefix": "31", "country": "NL"}, "markup_pct": 1},
            {"match": {"prefix": "32"}},
            {"match": {"prefix": "33"}, "markup_pct": 1, "rate_per_minute": amount("0.1", "EUR")},
            {"match": {"prefix": "34"}, "rate_per_minute": amount("-0.1", "EUR")},
            {"match": {"prefix": "35"}, "rate_per_minute": amount("0.1", "USD")},
            {"match": {"prefix": "36"}, "markup_pct": -100.5},
            {"match": {"prefix": "37"}, "markup_pct": 1, "increment_seconds": 0},
            {"match": {"prefix": "38"}, "markup_pct": 1},
            {"match": {"prefix": "+38"}, "markup_pct": 2},
        ]);
        let refused = admin.with_key(key()).post("/admin/rate-plans", plan_body(json!({"rules": rules}))).await;
        assert_eq!(refused.invalid(), [
            "rules.0.match", "rules.1.rate_per_minute", "rules.2.rate_per_minute", "rules.3.rate_per_minute",
            "rules.4.rate_per_minute.currency", "rules.5.markup_pct", "rules.6.increment_seconds", "rules.8.match",
        ]);
        world.end().await;
    }

    async fn only_admins_change_plans_and_customers_never_see_them(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        upstream_with_deck(&world, &admin, "A", "EUR", 100.0, ROWS).await;
        let (support, cora) = (world.minted(Role::Support).await, world.customer("cora@customer.example").await);
        let plan = create_plan(&admin, json!({})).await;
        support.get(&format!("/admin/rate-plans/{plan}")).await.ok();
        update_plan(&support, &plan, json!({"markup_pct": -1})).await.problem(403, "auth.forbidden");
        assign_plan(&support, &cora.account_id, Some(&plan), json!({})).await.problem(403, "auth.forbidden");
        for path in ["/admin/rate-plans".to_owned(), format!("/admin/customers/{}/rate-plan", cora.account_id)] {
            cora.get(&path).await.problem(403, "auth.forbidden");
        }
        admin.get(&format!("/admin/customers/{}/rate-plan", key())).await.problem(404, "not_found");
        world.end().await;
    }

    async fn a_preview_names_the_rule_that_decides_with_cost_and_margin(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        upstream_with_deck(&world, &admin, "A", "EUR", 100.0, ROWS).await;
        let plan = create_plan(&admin, json!({"base": "cost", "markup_pct": -1, "rules": rules()})).await;
        let preview = async |query: &str| admin.get(&format!("/admin/rate-plans/{plan}/preview?{query}")).await;
        let mobile = preview("number=31612345678").await.ok();
        assert_eq!((&mobile["prefix"], &mobile["rule"]), (&json!("3161"), &json!("prefix")));
        assert_eq!((&mobile["rate_per_minute"]["amount"], &mobile["list_rate_per_minute"]["amount"]), (&json!("0.021"), &json!("0.04")));
        assert_eq!((&mobile["cost"]["amount"], &mobile["margin"]["amount"]), (&json!("0.02"), &json!("0.001")));
        assert_eq!((&mobile["matched"]["match"], &mobile["is_below_cost"]), (&json!({"prefix": "3161"}), &json!(false)));
        let belgian = preview("prefix=32").await.ok();
        assert_eq!((&belgian["rule"], &belgian["matched"]), (&json!("markup"), &Value::Null));
        assert_eq!((&belgian["margin"]["amount"], &belgian["is_below_cost"]), (&json!("-0.0004"), &json!(true)));
        preview("prefix=99").await.problem(404, "not_found");
        assert_eq!(preview("").await.invalid(), ["number"]);
        assert_eq!(preview("number=31&prefix=31").await.invalid(), ["number"]);
        world.end().await;
    }

    async fn the_impact_of_a_plan_prices_the_calls_of_the_last_thirty_days(db) {
        let scene = Scene::start(db, 100_000).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "a", began, 60, json!({})),
            cdr_line(&scene, "b", began + 1, 30, json!({"called": "+31612345678"})),
            cdr_line(&scene, "c", began + 2, 60, json!({"called": "+442071234567"})),
        ]).await;
        let admin = scene.world.minted(Role::Admin).await;
        // The Netherlands cost 0.06, mobile 0.06 and 0.05 by the minute, the United Kingdom 0.6.
        let rules = json!([fixed_rule("31", "0.12"), {"match": {"country": "GB"}, "markup_pct": -50}]);
        let plan = create_plan(&admin, json!({"rules": rules})).await;
        let path = format!("/admin/rate-plans/{plan}/impact");
        assert_eq!(admin.get(&path).await.ok()["total"]["calls"], 0);
        let impact = admin.get(&format!("{path}?customer_id={}", scene.customer.account_id)).await.ok();
        let total = &impact["total"];
        assert_eq!((&total["calls"], &impact["is_complete"]), (&json!(3), &json!(true)));
        // 0.06 + 0.11 + 0.6, and 0.12 + 0.17 + 0.3.
        assert_eq!((&total["revenue"]["amount"], &total["planned_revenue"]["amount"]), (&json!("0.77"), &json!("0.59")), "{impact}");
        assert_eq!((&total["cost"]["amount"], &total["planned_margin"]["amount"]), (&json!("0.77"), &json!("-0.18")));
        assert_eq!(impact["below_cost"][0]["destination_name"], "United Kingdom");
        assert_eq!((&impact["below_cost"][0]["planned_margin"]["amount"], impact["below_cost"].as_array().unwrap().len()), (&json!("-0.30"), 1));
        let waived = json!({"waive_notice": true, "reason": "agreed by mail"});
        assign_plan(&admin, &scene.customer.account_id, Some(&plan), waived).await.ok();
        assert_eq!(admin.get(&path).await.ok()["total"], *total);
        // A deck that sells the number no more leaves the call unpriced.
        let deck = "prefix,destination_name,country,rate_per_minute\n31,Netherlands,NL,0.06\n";
        import_deck(&scene.world, &admin, &scene.upstream, "", deck).await;
        let impact = admin.get(&path).await.ok();
        assert_eq!((&impact["unpriced_calls"], &impact["total"]["calls"]), (&json!(1), &json!(2)));
        scene.end().await;
    }
}
