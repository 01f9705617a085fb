//! Filters of lists, and names beside ids.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use values::{AccountId, Role, Time};

use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, rfc3339};
use crate::world::fixtures::invoices::{call_charge, customer_with_invoice, euros, post_entry, topup_entry};
use crate::world::fixtures::key;
use crate::world::fixtures::numbers::{AMSTERDAM, create_group, customer_with_trunk, new_trunk_id, order_number};
use crate::world::fixtures::onboarding::sign_up;
use crate::world::fixtures::payments::{begin_topup, complete_topup};
use crate::world::fixtures::switch::Scene;
use crate::world::{ADMIN_EMAIL, World};

/// A field of every item of every page of a list.
async fn walk(caller: &Client, path: &str, list: &str, field: &str) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = caller.get(&format!("{path}{cursor}")).await.ok();
        found.extend(page[list].as_array().unwrap().iter().map(|item| item[field].as_str().unwrap().to_owned()));
        let next = if list == "data" { &page["meta"]["next_cursor"] } else { &page["next_cursor"] };
        match next.as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

both! {
    async fn a_ledger_is_filtered_by_kind_and_time(db) {
        let world = World::unlimited(db).await;
        let customer = world.customer("cora@customer.example").await;
        let account: AccountId = customer.account_id.parse().unwrap();
        let base = world.seconds() - 1000;
        let at = |seconds: i64| Time::from_millis((base + seconds) * 1000);
        // The third began before the second and is posted after it, so it is dated like it.
        for (seconds, entry) in [
            (0, topup_entry(account, euros(1000))), (20, call_charge(account, euros(10))), (10, call_charge(account, euros(11))),
            (30, call_charge(account, euros(12))), (40, topup_entry(account, euros(13))),
        ] {
            post_entry(&world, entry, at(seconds)).await;
        }
        let found = async |caller: &Client, path: &str, query: &str| {
            let mut amounts = Vec::new();
            let mut cursor = String::new();
            loop {
                let page = caller.get(&format!("{path}?limit=1{query}{cursor}")).await.ok();
                let euros = |line: &Value| (line["amount"]["amount_minor"].as_i64().unwrap().abs() / 100).to_string();
                amounts.extend(page["data"].as_array().unwrap().iter().map(euros));
                match page["meta"]["next_cursor"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => return amounts.join(" "),
                }
            }
        };
        let team = world.minted(Role::Support).await;
        let of_team = format!("/admin/customers/{}/ledger", customer.account_id);
        for (query, expected) in [
            (String::new(), "13 12 11 10 1000"),
            ("&kind=call".into(), "12 11 10"),
            ("&kind=topup".into(), "13 1000"),
            (format!("&from={}&to={}", rfc3339(at(10).millis()), rfc3339(at(30).millis())), "11 10"),
            (format!("&kind=call&from={}", rfc3339(at(11).millis())), "12 11 10"),
            (format!("&to={}", rfc3339(at(0).millis())), ""),
            ("&kind=refund".into(), ""),
        ] {
            assert_eq!(found(&customer, "/account/ledger", &query).await, expected, "{query}");
            assert_eq!(found(&team, &of_team, &query).await, expected, "{query}");
        }
        assert_eq!(customer.get("/account/ledger?kind=gift").await.invalid(), ["kind"]);
        world.end().await;
    }

    async fn payments_are_filtered_by_status_customer_and_time(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let otto = world.customer("otto@customer.example").await;
        let first = complete_topup(&world, &cora, 1000).await;
        world.advance(10).await;
        let middle = world.seconds();
        begin_topup(&cora, 2000).await;
        complete_topup(&world, &otto, 3000).await;
        let amounts = async |caller: &Client, path: &str, query: &str| {
            let page = caller.get(&format!("{path}?{query}")).await.ok();
            let amount = |item: &Value| item.get("amount_minor").unwrap_or(&item["amount"]["amount_minor"]).to_string();
            page["data"].as_array().unwrap().iter().map(amount).collect::<Vec<_>>().join(" ")
        };
        for (query, expected) in [
            ("status=completed".to_owned(), "1000"), ("status=pending".into(), "2000"), ("status=failed".into(), ""),
            (format!("from={}", rfc3339(middle * 1000)), "2000"), (format!("to={}", rfc3339(middle * 1000)), "1000"),
            (format!("status=completed&from={}", rfc3339(middle * 1000)), ""),
        ] {
            assert_eq!(amounts(&cora, "/payments/topups", &query).await, expected, "{query}");
        }
        let admin = world.minted(Role::Admin).await;
        let id = cora.get("/payments/topups?status=completed").await.ok()["data"][0]["id"].as_str().unwrap().to_owned();
        assert!(first.is_object());
        let refund = format!("/admin/payments/{id}/refund");
        admin.with_key(key()).post(&refund, json!({"reason": "Sent twice"})).await.ok();
        let customer = &cora.account_id;
        for (query, expected) in [
            (String::new(), "3000 2000 1000"), ("status=completed".into(), "3000"), ("status=refunded".into(), "1000"),
            (format!("customer_id={customer}"), "2000 1000"), (format!("customer_id={customer}&status=refunded"), "1000"),
            (format!("customer_id={customer}&status=completed"), ""), (format!("status=pending&from={}", rfc3339(middle * 1000)), "2000"),
            (format!("to={}", rfc3339(middle * 1000)), "1000"),
        ] {
            assert_eq!(amounts(&admin, "/admin/payments", &query).await, expected, "{query}");
        }
        // An expired checkout has failed.
        world.advance(2 * 86_400).await;
        let admin = world.minted(Role::Admin).await;
        assert_eq!(amounts(&admin, "/admin/payments", "status=failed").await, "2000");
        let listed = admin.get("/admin/payments").await.ok();
        assert_eq!(listed["data"][0]["customer_name"], "Customer GmbH");
        world.end().await;
    }

    async fn invoices_have_lines_and_are_filtered(db) {
        let world = World::unlimited(db).await;
        let (customer, invoice) = customer_with_invoice(&world, true).await;
        let (_, _) = customer_with_invoice(&world, false).await;
        let shown = customer.get(&format!("/invoices/{invoice}")).await.ok();
        let lines = shown["lines"].as_array().unwrap();
        let sum: i64 = lines.iter().map(|line| line["net"]["amount_minor"].as_i64().unwrap()).sum();
        assert_eq!((json!(sum), lines[0]["description"].is_string()), (shown["subtotal"]["amount_minor"].clone(), true), "{shown}");
        let team = world.minted(Role::Support).await;
        let account = customer.get("/account").await.ok()["id"].as_str().unwrap().to_owned();
        let count = async |caller: &Client, path: &str, query: &str| {
            caller.get(&format!("{path}?{query}")).await.ok()["data"].as_array().unwrap().len()
        };
        let now = rfc3339(world.seconds() * 1000 + 1000);
        for (query, own, all) in [
            ("status=paid".to_owned(), 1, 1), ("status=issued".into(), 0, 1), (format!("from={now}"), 0, 0), (format!("to={now}"), 1, 2),
        ] {
            assert_eq!(count(&customer, "/invoices", &query).await, own, "{query}");
            assert_eq!(count(&team, "/admin/invoices", &query).await, all, "{query}");
            assert_eq!(count(&team, "/admin/invoices", &format!("{query}&customer_id={account}")).await, own, "{query}");
        }
        let listed = team.get("/admin/invoices").await.ok();
        assert!(listed["data"].as_array().unwrap().iter().all(|one| one["customer_name"].is_string()), "{listed}");
        world.end().await;
    }

    async fn numbers_and_orders_are_filtered_and_the_team_sees_the_same(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let group = create_group(&world, &admin, 5, AMSTERDAM).await;
        let (cora, trunk) = customer_with_trunk(&world, "cora@customer.example", 100_000).await;
        let other = new_trunk_id(&cora).await;
        for trunk in [&trunk, &other, &trunk] {
            order_number(&cora, &group, trunk).await.expect(201);
            world.settle().await;
            world.advance(1).await;
        }
        let all = walk(&cora, "/numbers?limit=1", "data", "e164").await;
        assert_eq!(all.len(), 3);
        let of_team = format!("/admin/customers/{}/numbers", cora.account_id);
        let team = world.minted(Role::Support).await;
        for (caller, path) in [(&*cora, "/numbers"), (&team, of_team.as_str())] {
            let found = async |query: &str| walk(caller, &format!("{path}?limit=1&{query}"), "data", "e164").await;
            assert_eq!(found(&format!("trunk_id={other}")).await, [all[1].clone()]);
            assert_eq!(found("country=NL").await, all);
            assert_eq!(found("country=GB").await, Vec::<String>::new());
            assert_eq!(found(&format!("country=NL&trunk_id={trunk}")).await, [all[0].clone(), all[2].clone()]);
            let mut sorted = all.clone();
            sorted.sort_unstable();
            assert_eq!(found("q=%2B3120").await, sorted);
            assert_eq!(found(&format!("q={}", &all[1][1..])).await, [all[1].clone()]);
            assert_eq!(found(&format!("q=3120&trunk_id={other}")).await, [all[1].clone()]);
            assert_eq!(found("q=49").await, Vec::<String>::new());
        }
        assert_eq!(cora.get("/numbers").await.ok()["data"][0]["trunk_name"], "First");
        let orders = async |query: &str| walk(&cora, &format!("/numbers/orders?limit=1&{query}"), "data", "id").await.len();
        assert_eq!((orders("status=active").await, orders("status=failed").await), (3, 0));
        let later = rfc3339((world.seconds() + 1) * 1000);
        assert_eq!((orders(&format!("from={later}")).await, orders(&format!("status=active&to={later}")).await), (0, 3));
        let listed = team.get(&format!("/admin/customers/{}/orders?status=active", cora.account_id)).await.ok();
        assert_eq!(listed["data"].as_array().unwrap().len(), 3);
        world.end().await;
    }

    async fn beta_signups_are_found_by_name_and_address(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        for email in ["petra@prospect.example", "paul@prospect.example"] {
            sign_up(&world, email).await;
        }
        let found = async |query: &str| walk(&admin, &format!("/admin/beta?limit=1&{query}"), "items", "contact_email").await;
        assert_eq!(found("q=PAUL").await, ["paul@prospect.example"]);
        assert_eq!(found("q=p&status=beta_signup").await, ["paul@prospect.example", "petra@prospect.example"]);
        assert_eq!(found("q=paul&status=beta_declined").await, Vec::<String>::new());
        assert_eq!(found("q=zz").await, Vec::<String>::new());
        assert_eq!(found("q=%C2%B7").await, Vec::<String>::new());
        let listed = admin.get("/admin/beta").await.ok();
        assert_eq!(listed["items"][0]["customer_name"], listed["items"][0]["legal_name"]);
        world.end().await;
    }

    async fn a_balance_says_what_is_held_and_how_long_it_lasts(db) {
        let scene = Scene::start(db, 1000).await;
        scene.world.advance_to_next(3600).await;
        scene.allowed(json!({})).await;
        let customer = scene.world.sign_in("cora@customer.example").await;
        let held = customer.get("/account/balance").await.ok();
        assert_eq!((&held["held"]["amount"], &held["available"]["amount"]), (&json!("0.30"), &json!("9.70")));
        assert_eq!(held["runway"], Value::Null, "nothing was spent yet");
        let admin = scene.world.sign_in(ADMIN_EMAIL).await;
        let limits = json!({"minimum": {"amount_minor": -500, "currency": "EUR"}, "soft_warn_threshold": {"amount_minor": 1, "currency": "EUR"}});
        admin.with_key(key()).call(reqwest::Method::PUT, &format!("/admin/customers/{}/balance-limits", scene.customer.account_id), Some(limits)).await.ok();
        assert_eq!(customer.get("/account/balance").await.ok()["available"]["amount"], "14.70");
        scene.world.advance(1300).await;
        scene.world.advance_to_next(3600).await;
        let hour = scene.now() / 3_600_000 * 3_600_000;
        import_cdrs(&scene.world, &[cdr_line(&scene, "spent", hour - 1_800_000, 1000, json!({}))]).await;
        let customer = scene.world.sign_in("cora@customer.example").await;
        let balance = customer.get("/account/balance").await.ok();
        assert_eq!(balance["available"]["amount"], "14.00", "{balance}");
        // Fourteen weeks are paid for, and the hour of the fifteenth is not.
        let weeks = 15 * 7 * 24 - 1;
        assert_eq!(balance["runway"]["empty_at"], json!(rfc3339(hour + weeks * 3_600_000)));
        assert_eq!(balance["runway"]["days"], json!(105.0));
        let team = scene.world.minted(Role::Support).await;
        let seen = team.get(&format!("/admin/customers/{}/balance", scene.customer.account_id)).await.ok();
        assert_eq!(seen, balance, "the team sees what the customer sees");
        scene.end().await;
    }

    async fn lists_of_the_team_name_customers_users_and_upstreams(db) {
        let scene = Scene::start(db, 1000).await;
        let team = scene.world.minted(Role::Admin).await;
        let trunks = team.get("/admin/trunks").await.ok();
        assert_eq!(trunks["data"][0]["customer_name"], "Customer GmbH");
        let log = team.get("/admin/audit-log?action=trunk.create").await.ok();
        assert_eq!((&log["rows"][0]["customer_name"], &log["rows"][0]["user_email"]), (&json!("Customer GmbH"), &json!("cora@customer.example")));
        let rates = team.get("/admin/rates").await.ok();
        let name = scene.admin.get(&format!("/admin/upstreams/{}", scene.upstream)).await.ok()["name"].clone();
        assert_eq!(rates["data"][0]["upstream_name"], name);
        let imports = team.get(&format!("/admin/upstreams/{}/imports", scene.upstream)).await.ok();
        assert_eq!(imports["data"][0]["upstream_name"], name);
        scene.customer.post("/tickets", crate::world::fixtures::tickets::ticket_body()).await.expect(201);
        assert_eq!(team.get("/admin/tickets").await.ok()["data"][0]["customer_name"], "Customer GmbH");
        scene.end().await;
    }
}
