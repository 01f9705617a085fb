//! Calls are priced, routed and explained by the plan that their customer had when they began.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use serde_json::{Value, json};
use values::{CallId, Role};
use voice::cdrs;

use crate::world::client::{Client, Session};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs};
use crate::world::fixtures::execute;
use crate::world::fixtures::rate_plans::{assign_plan, create_plan, fixed_rule, update_plan};
use crate::world::fixtures::switch::{Scene, trunk_with_source};
use crate::world::fixtures::upstreams::update_upstream;

const OTHER_SOURCE: &str = "8.8.4.8";

/// A scene whose list prices are twice the cost, 0.12 a minute to the Netherlands, and a second customer.
async fn scene(db: &TestDb) -> (Scene, Session) {
    let scene = Scene::start(db, 100_000).await;
    update_upstream(&scene.admin, &scene.upstream, json!({"markup_percent": 100})).await.ok();
    let carl = scene.world.customer("carl@customer.example").await;
    scene.world.top_up(&carl.account_id, 100_000).await;
    trunk_with_source(&carl, json!({}), OTHER_SOURCE).await;
    (scene, carl)
}

/// Ends a call that was answered a minute ago.
async fn end(scene: &Scene, token: &Value) {
    let now = scene.now();
    let ended = json!({"answered_at": now - 60_000, "at": now});
    scene.send_events(json!([scene.event("ended", token, 0, ended)])).await;
}

/// The charge of a call in nanos.
async fn charge(scene: &Scene, token: &Value) -> i64 {
    scene.cdr(token).await.unwrap().2
}

/// How the customer's and the team's view explain the price of a call.
async fn proofs(customer: &Client, team: &Client, token: &str) -> (Value, Value) {
    (customer.get(&format!("/cdrs/{token}")).await.ok(), team.get(&format!("/admin/cdrs/{token}")).await.ok())
}

both! {
    async fn customers_on_different_plans_pay_different_prices_for_one_number(db) {
        let (scene, carl) = scene(db).await;
        let by_cost = create_plan(&scene.admin, json!({"name": "By cost", "base": "cost", "markup_pct": 10})).await;
        let rules = json!([fixed_rule("3120", "0.1"), {"match": {"country": "NL"}, "markup_pct": -1}]);
        let fixed = create_plan(&scene.admin, json!({"name": "Fixed", "markup_pct": -5, "rules": rules})).await;
        assign_plan(&scene.admin, &scene.customer.account_id, Some(&by_cost), json!({})).await.ok();
        assign_plan(&scene.admin, &carl.account_id, Some(&fixed), json!({})).await.ok();
        let first = scene.allowed(json!({})).await["call_token"].clone();
        let second = scene.allowed(json!({"source_ip": OTHER_SOURCE})).await["call_token"].clone();
        scene.world.advance(120).await;
        end(&scene, &first).await;
        end(&scene, &second).await;
        assert_eq!((charge(&scene, &first).await, charge(&scene, &second).await), (66_000_000, 100_000_000));

        // Afterwards nothing is as it was, and both prices are explained to the nano.
        update_plan(&scene.admin, &by_cost, json!({"markup_pct": 5})).await.ok();
        update_plan(&scene.admin, &fixed, json!({"rules": [fixed_rule("31", "0.09")]})).await.ok();
        update_upstream(&scene.admin, &scene.upstream, json!({"markup_percent": 300})).await.ok();
        let (own, seen) = proofs(&scene.customer, &scene.admin, first.as_str().unwrap()).await;
        assert_eq!((&own["price"]["rate_per_minute"]["amount"], &own["price"]["rule"]), (&json!("0.066"), &json!("markup")));
        assert_eq!((&seen["source"]["markup_percent"], &seen["source"]["rate_per_minute"]["amount"]), (&json!(100), &json!("0.06")), "{seen}");
        let plan = &seen["rate_plan"];
        assert_eq!((&plan["name"], &plan["version"], &plan["base"]), (&json!("By cost"), &json!(1), &json!("cost")));
        assert_eq!((&plan["rate_plan_id"], &plan["markup_pct"], &plan["rule"]), (&json!(by_cost), &json!(10), &Value::Null));
        let (own, seen) = proofs(&carl, &scene.admin, second.as_str().unwrap()).await;
        assert_eq!((&own["price"]["prefix"], &own["price"]["rule"]), (&json!("3120"), &json!("prefix")));
        assert_eq!((&own["price"]["charge"]["amount"], &seen["our_cost"]["amount"]), (&json!("0.10"), &json!("0.06")));
        assert_eq!((&seen["rate_plan"]["name"], &seen["rate_plan"]["rule"]["match"]), (&json!("Fixed"), &json!({"prefix": "3120"})));
        assert!(seen["source"].is_object(), "{seen}");
        // A customer learns neither the plan nor the cost.
        let text = own.to_string();
        for secret in ["Fixed", "rate_plan", "cost", "upstream"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        carl.get(&format!("/cdrs/{}", first.as_str().unwrap())).await.problem(404, "not_found");
        scene.end().await;
    }

    async fn a_call_keeps_the_price_it_began_with(db) {
        let (scene, _) = scene(db).await;
        let account = scene.customer.account_id.clone();
        let listed = scene.allowed(json!({})).await["call_token"].clone();
        let plan = create_plan(&scene.admin, json!({"markup_pct": -25})).await;
        assign_plan(&scene.admin, &account, Some(&plan), json!({})).await.ok();
        let planned = scene.allowed(json!({})).await["call_token"].clone();
        update_plan(&scene.admin, &plan, json!({"markup_pct": -30})).await.ok();
        let changed = scene.allowed(json!({})).await["call_token"].clone();
        let waived = json!({"waive_notice": true, "reason": "end of the trial"});
        assign_plan(&scene.admin, &account, None, waived).await.ok();
        let last = scene.allowed(json!({})).await["call_token"].clone();
        scene.world.advance(120).await;
        let mut plans = Vec::new();
        for (token, nanos) in [(listed, 120), (planned, 90), (changed, 84), (last, 120)] {
            end(&scene, &token).await;
            assert_eq!(charge(&scene, &token).await, nanos * 1_000_000);
            let seen = scene.admin.get(&format!("/admin/cdrs/{}", token.as_str().unwrap())).await.ok();
            assert!(seen["source"].is_object(), "{seen}");
            plans.push((seen["rate_plan"]["version"].clone(), seen["price"]["rule"].clone()));
        }
        let expected = [(Value::Null, "list"), (json!(1), "markup"), (json!(2), "markup"), (Value::Null, "list")];
        assert_eq!(plans, expected.map(|(version, rule)| (version, json!(rule))));
        scene.end().await;
    }

    async fn a_plan_below_cost_routes_nothing_and_says_so(db) {
        let (scene, _) = scene(db).await;
        let plan = create_plan(&scene.admin, json!({"base": "cost", "markup_pct": -10})).await;
        let account = &scene.customer.account_id;
        assign_plan(&scene.admin, account, Some(&plan), json!({})).await.ok();
        let (reason, _) = scene.denied(json!({})).await;
        assert_eq!(reason, "no_route");
        let call = json!({"trunk_id": scene.trunk, "called": "+31201234567"});
        let simulated = scene.customer.post("/calls/simulate", call).await.ok();
        assert_eq!((&simulated["reason"], &simulated["rate"]["amount"]), (&json!("no_route"), &json!("0.054")));
        let routes = scene.admin.get(&format!("/admin/routes?number=31201234567&customer_id={account}")).await.ok();
        assert_eq!((&routes["candidates"][0]["reason"], &routes["candidates"][0]["kept"]), (&json!("over_price"), &json!(false)));
        update_plan(&scene.admin, &plan, json!({"allow_below_cost": true})).await.ok();
        let token = scene.allowed(json!({})).await["call_token"].clone();
        scene.world.advance(120).await;
        end(&scene, &token).await;
        assert_eq!(charge(&scene, &token).await, 54_000_000);
        scene.end().await;
    }

    async fn verification_notices_a_call_with_another_plan_or_another_amount(db) {
        let (scene, _) = scene(db).await;
        let plan = create_plan(&scene.admin, json!({"rules": [fixed_rule("31", "0.07")]})).await;
        assign_plan(&scene.admin, &scene.customer.account_id, Some(&plan), json!({})).await.ok();
        // Later than a transaction may last.
        scene.world.advance(120).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        scene.world.advance(120).await;
        end(&scene, &token).await;
        let app = scene.world.node.app.clone();
        let verify = async || app.db.snapshot((), |conn, ()| Box::pin(cdrs::verify(conn))).await.unwrap();
        assert!(verify().await.is_ok());
        execute(db, "UPDATE cdrs SET rate_per_minute = 80000000, charge = 80000000").await;
        assert_eq!(verify().await.unwrap_err().what, "rate by plan");
        execute(db, "UPDATE cdrs SET rate_plan_version_id = NULL").await;
        assert_eq!(verify().await.unwrap_err().what, "rate plan version");
        scene.world.stop().await;
    }

    async fn an_imported_call_is_priced_by_the_plan_of_its_time(db) {
        let (scene, _) = scene(db).await;
        let account = scene.customer.account_id.clone();
        scene.world.advance(60).await;
        let list = scene.now() - 30_000;
        let first = create_plan(&scene.admin, json!({"markup_pct": -25})).await;
        assign_plan(&scene.admin, &account, Some(&first), json!({})).await.ok();
        scene.world.advance(600).await;
        let earlier = scene.now() - 300_000;
        let admin = scene.world.minted(Role::Admin).await;
        let second = create_plan(&admin, json!({"markup_pct": -25, "rules": [fixed_rule("31", "0.07")]})).await;
        assign_plan(&admin, &account, Some(&second), json!({})).await.ok();
        // Longer than nodes know plans by heart.
        scene.world.advance(7200).await;
        let later = scene.now() - 3_600_000;
        let lines = [("list", list), ("earlier", earlier), ("later", later)];
        import_cdrs(&scene.world, &lines.map(|(id, began)| cdr_line(&scene, id, began, 60, json!({})))).await;
        let mut conn = scene.world.node.app.db.read().await.unwrap();
        let sql = "SELECT id, charge FROM cdrs ORDER BY started_at";
        let charged: Vec<(CallId, i64)> = conn.all(sql, params![]).await.unwrap();
        drop(conn);
        assert_eq!(charged.iter().map(|(_, charge)| *charge).collect::<Vec<_>>(), [120_000_000, 90_000_000, 70_000_000]);
        let admin = scene.world.minted(Role::Admin).await;
        for ((id, _), plan) in charged.iter().zip([Value::Null, json!(first), json!(second)]) {
            let seen = admin.get(&format!("/admin/cdrs/{id}")).await.ok();
            assert_eq!(seen["rate_plan"]["rate_plan_id"], plan);
            assert!(seen["source"].is_object(), "{seen}");
        }
        scene.end().await;
    }
}
