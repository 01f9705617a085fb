//! The dashboards of the team.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use backoffice::dashboards::flush_traffic;
use serde_json::{Value, json};
use values::Role;

use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::passkey::Passkey;
use crate::world::{ADMIN_EMAIL, World};

async fn operational(team: &Client, window: &str) -> Value {
    team.get(&format!("/admin/dashboard/operational?window={window}")).await.ok()
}

/// The number beside a name in a list of counts.
fn count(list: &Value, field: &str, name: impl Into<Value>) -> i64 {
    let name = name.into();
    let found = list.as_array().unwrap().iter().find(|row| row[field] == name);
    found.map_or(0, |row| row["count"].as_i64().unwrap())
}

fn sum(buckets: &Value) -> i64 {
    buckets.as_array().unwrap().iter().map(|bucket| bucket["count"].as_i64().unwrap()).sum()
}

both! {
    async fn request_totals_add_up_over_all_nodes_and_a_restart(db) {
        let world = World::unlimited(db).await;
        world.advance_to_next(3600).await;
        let (team, customer) = (world.minted(Role::Support).await, world.minted(Role::Customer).await);
        let account = customer.get("/me/account").await.ok()["id"].as_str().unwrap().to_owned();
        let before = operational(&team, "1h").await;

        for _ in 0..3 {
            let other = world.another_node().await;
            // It starts by the wall's clock, which may be an hour behind.
            other.advance(world.seconds().abs_diff(other.seconds())).await;
            let there = other.bearing(customer.token());
            for _ in 0..5 {
                there.get("/me").await.expect(200);
                customer.get("/me").await.expect(200);
            }
            there.get("/trunks/unknown").await.problem(404, "not_found");
            there.patch("/account", json!({"company_name": "Renamed"})).await.expect(200);
            other.stop().await;
        }
        customer.get("/nowhere").await.problem(404, "not_found");

        for window in ["1h", "24h", "7d"] {
            let after = operational(&team, window).await;
            let asked = i64::from(window == "24h") + 2 * i64::from(window == "7d");
            let gained = |path: &dyn Fn(&Value) -> i64| path(&after) - path(&before);
            // The dashboards that were asked for before this one are requests too.
            assert_eq!(gained(&|it| it["requests"]["total"].as_i64().unwrap()), 1 + 3 * 12 + 1 + asked, "{window}");
            assert_eq!(gained(&|it| count(&it["requests"]["by_status"], "status", 200)), 1 + 3 * 11 + asked);
            assert_eq!(gained(&|it| count(&it["requests"]["by_status"], "status", 404)), 4);
            assert_eq!(gained(&|it| it["errors"]["total"].as_i64().unwrap()), 4);
            assert_eq!(gained(&|it| count(&it["errors"]["by_route"], "route", "GET /trunks/{id}")), 3);
            assert_eq!(gained(&|it| count(&it["errors"]["by_route"], "route", "")), 1);
            assert_eq!(gained(&|it| count(&it["errors"]["by_account"], "account_id", account.clone())), 3);
            assert_eq!(gained(&|it| count(&it["audit_volume"]["by_action"], "action", "account.update")), 3);
            assert_eq!(sum(&after["requests"]["ts_buckets"]), after["requests"]["total"].as_i64().unwrap());
            assert_eq!(sum(&after["errors"]["ts_buckets"]), after["errors"]["total"].as_i64().unwrap());
            let spans = after["requests"]["ts_buckets"].as_array().unwrap().len();
            assert_eq!(spans, match window { "1h" => 60, "24h" => 24, _ => 168 });
            let (p50, p99) = (after["latency"]["p50"].as_f64().unwrap(), after["latency"]["p99"].as_f64().unwrap());
            assert!(0.0 < p50 && p50 <= p99, "{}", after["latency"]);
        }
        world.end().await;
    }

    async fn the_dashboard_covers_an_hour_and_latency_without_requests_is_null(db) {
        let world = World::unlimited(db).await;
        let team = world.minted(Role::Admin).await;
        team.get("/me").await.expect(200);
        operational(&team, "1h").await;
        operational(&team, "1h").await;
        flush_traffic(&world.node.app).await.unwrap();
        world.advance(3 * 3600).await;
        let team = world.minted(Role::Admin).await;
        let hour = operational(&team, "1h").await;
        assert_eq!((&hour["requests"]["total"], &hour["latency"]), (&json!(0), &Value::Null));
        let day = operational(&team, "24h").await;
        assert!(day["requests"]["total"].as_i64().unwrap() >= 3, "{day}");
        team.get("/admin/dashboard/operational?window=5m").await.invalid();
        world.end().await;
    }

    async fn the_security_dashboard_names_sources_of_failed_attempts(db) {
        let world = World::with(db, &[("TRUNKLINE_LIMIT_SIGN_IN", "16/3600")]).await;
        world.advance_to_next(3600).await;
        let admin = world.admin().await;
        let cora = world.customer("cora@example.com").await;
        let shown = admin.get("/admin/dashboard/security").await.ok();
        let two_factor = &shown["admin_2fa"];
        assert_eq!((&two_factor["total_admins"], &two_factor["enrolled"]), (&json!(1), &json!(0)));
        assert_eq!(two_factor["not_enrolled"][0]["days_since_admin_role"], 0);
        assert_eq!(shown["locked_users"], json!([]));

        world.refresh(&cora.refresh_token).await.ok();
        world.advance(11).await;
        world.refresh(&cora.refresh_token).await.problem(401, "auth.token_invalid");
        // Until both the address is over its limit and the user has to wait.
        for _ in 0..4 {
            world.advance(61).await;
            for _ in 0..4 {
                world.try_sign_in("cora@example.com", "not her password").await;
            }
        }

        let shown = admin.get("/admin/dashboard/security").await.ok();
        let failed = &shown["failed_sign_ins"];
        assert!(failed["total"].as_i64().unwrap() >= 8, "{failed}");
        assert_eq!(count(&failed["by_ip"], "ip", "127.0.0.1"), failed["total"].as_i64().unwrap());
        assert_eq!(sum(&failed["ts_buckets"]), failed["total"].as_i64().unwrap());
        assert_eq!(shown["locked_users"][0]["email"], "cora@example.com");
        assert!(count(&shown["rate_limited"]["by_route"], "route", "POST /auth/sign-in") >= 1, "{shown}");
        let reuse = &shown["token_reuse"];
        assert_eq!((&reuse["total"], reuse["recent"].as_array().unwrap().len()), (&json!(1), 1));
        assert_eq!(reuse["recent"][0]["ip"], "127.0.0.1");
        world.end().await;
    }

    async fn an_admin_with_a_second_factor_is_shown_as_enrolled(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        crate::world::authenticator::Authenticator::confirmed(&world, &admin, "/admin/2fa").await;
        let shown = admin.get("/admin/dashboard/security").await.ok();
        assert_eq!(shown["admin_2fa"]["enrolled"], 1);
        assert_eq!(shown["admin_2fa"]["not_enrolled"], json!([]));
        assert_eq!(shown["admin_2fa"]["recently_used"].as_array().unwrap().len(), 1);
        world.end().await;
    }

    async fn a_recovery_code_counts_as_use_of_the_second_factor_of_an_admin_with_a_passkey(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let made = Passkey::new(&world).register(&admin).await.expect(201);
        let used = |shown: &Value| shown["admin_2fa"]["recently_used"].as_array().unwrap().len();
        assert_eq!(used(&admin.get("/admin/dashboard/security").await.ok()), 0);
        let code = made["recovery_codes"][0].as_str().unwrap();
        world.verify(&world.tmp_token(ADMIN_EMAIL).await, code).await.ok();
        assert_eq!(used(&admin.get("/admin/dashboard/security").await.ok()), 1);
        world.end().await;
    }
}
