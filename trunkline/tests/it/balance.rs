//! The balance, its transactions, and credits by the team.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use values::{Date, Role};

use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::{both, uuid};
use crate::world::fixtures::key;

fn eur(minor: i64) -> Value {
    json!({"amount_minor": minor, "currency": "EUR"})
}

async fn credit(admin: &Client, customer: &str, minor: i64) -> Answer {
    let body = json!({"customer_id": customer, "amount": eur(minor), "reason": "For the outage of Monday"});
    admin.with_key(key()).post("/admin/credits", body).await
}

both! {
    async fn a_new_account_has_a_balance_of_zero(db) {
        let world = World::start(db).await;
        let customer = world.customer("c@example.com").await;
        let balance = customer.get("/account/balance").await.ok();
        let expected = json!({
            "current": {"amount_minor": 0, "amount": "0.00", "currency": "EUR"},
            "minimum": eur(0),
            "soft_warn_threshold": eur(2000),
            "last_debit_at": null,
            "held": {"amount_minor": 0, "amount": "0.00", "currency": "EUR"},
            "available": {"amount_minor": 0, "amount": "0.00", "currency": "EUR"},
            "runway": null,
        });
        assert_eq!(balance, expected);
        let ledger = customer.get("/account/ledger").await.ok();
        assert_eq!(ledger, json!({"data": [], "meta": {"next_cursor": null, "limit": 50}}));
        world.end().await;
    }

    async fn a_credit_appears_in_the_customers_transactions(db) {
        let world = World::start(db).await;
        let (admin, customer) = (world.admin().await, world.customer("c@example.com").await);
        let line = credit(&admin, &customer.account_id, 1250).await.expect(201);
        assert_eq!(line["kind"], "credit");
        assert_eq!(line["amount"], json!({"amount_minor": 1250, "amount": "12.50", "currency": "EUR"}));
        assert_eq!(line["balance_after"]["amount_minor"], 1250);
        assert_eq!(line["description"], "For the outage of Monday");
        assert_eq!(customer.get("/account/ledger").await.ok()["data"], json!([line]));
        let balance = customer.get("/account/balance").await.ok();
        assert_eq!((&balance["current"]["amount_minor"], &balance["last_debit_at"]), (&json!(1250), &Value::Null));
        world.end().await;
    }

    async fn a_negative_credit_takes_no_more_than_is_available(db) {
        let world = World::start(db).await;
        let (admin, customer) = (world.admin().await, world.customer("c@example.com").await);
        credit(&admin, &customer.account_id, 1000).await.expect(201);
        let taken = credit(&admin, &customer.account_id, -400).await.expect(201);
        assert_eq!((&taken["kind"], &taken["amount"]["amount_minor"]), (&json!("correction"), &json!(-400)));
        let refused = credit(&admin, &customer.account_id, -601).await.problem(402, "balance.insufficient");
        assert_eq!(refused["required"], json!({"amount_minor": 601, "amount": "6.01", "currency": "EUR"}));
        assert_eq!(refused["available"], json!({"amount_minor": 600, "amount": "6.00", "currency": "EUR"}));
        assert_eq!(refused["detail"], "This takes back 6.01 EUR, but only 6.00 EUR is available on the customer's balance.");
        let balance = customer.get("/account/balance").await.ok();
        assert_eq!(balance["current"]["amount_minor"], 600);
        assert!(balance["last_debit_at"].is_string());
        world.end().await;
    }

    async fn more_than_the_limit_in_a_day_needs_a_second_admin(db) {
        let world = World::unlimited(db).await;
        let (admin, customer) = (world.admin().await, world.customer("cora@customer.example").await);
        let credits = join_all((0..8).map(|_| credit(&admin, &customer.account_id, 25_000))).await;
        let posted = credits.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(posted, 4, "1000 EUR in parts of 250");
        let refused = credit(&admin, &customer.account_id, 1).await.problem(409, "state.conflict");
        assert!(refused["detail"].as_str().unwrap().contains("credit request"), "{refused}");
        // Another customer has its own limit, and a day later there is another one.
        let other = world.customer("otto@customer.example").await;
        credit(&admin, &other.account_id, 100_000).await.expect(201);
        credit(&admin, &other.account_id, -100_000).await.expect(201);
        world.advance(24 * 60 * 60).await;
        credit(&world.minted(Role::Admin).await, &customer.account_id, 100_000).await.expect(201);
        world.end().await;
    }

    async fn a_credit_request_is_posted_once_when_another_admin_approves_it(db) {
        let world = World::unlimited(db).await;
        let (author, customer) = (world.admin().await, world.customer("cora@customer.example").await);
        let body = json!({
            "customer_id": customer.account_id, "amount": {"amount_minor": 500_000, "currency": "EUR"}, "reason": "Outage",
        });
        let make = async || author.with_key(key()).post("/admin/credit-requests", body.clone()).await;
        let made = make().await.expect(201);
        assert_eq!((&made["status"], &made["decided_by"]), (&json!("pending"), &Value::Null));
        let path = |made: &Value, decision: &str| format!("/admin/credit-requests/{}/{decision}", made["id"].as_str().unwrap());
        let own = author.with_key(key()).call(Method::POST, &path(&made, "approve"), None).await.problem(409, "state.conflict");
        assert!(own["detail"].as_str().unwrap().contains("Another admin"), "{own}");
        assert_eq!(customer.get("/account/balance").await.ok()["current"]["amount_minor"], 0);

        let second = world.minted(Role::Admin).await;
        let approve = path(&made, "approve");
        let approved = join_all((0..5).map(async |_| second.with_key(key()).call(Method::POST, &approve, None).await)).await;
        assert_eq!(approved.iter().filter(|answer| answer.status == 200).count(), 1);
        assert_eq!(customer.get("/account/balance").await.ok()["current"]["amount_minor"], 500_000);
        second.with_key(key()).call(Method::POST, &path(&made, "reject"), None).await.problem(409, "state.conflict");

        let (rejected, withdrawn) = (make().await.expect(201), make().await.expect(201));
        assert_eq!(second.with_key(key()).call(Method::POST, &path(&rejected, "reject"), None).await.ok()["status"], "rejected");
        assert_eq!(author.with_key(key()).call(Method::POST, &path(&withdrawn, "reject"), None).await.ok()["status"], "rejected");
        second.with_key(key()).call(Method::POST, &path(&rejected, "approve"), None).await.problem(409, "state.conflict");
        let listed = second.get("/admin/credit-requests").await.ok();
        let statuses: Vec<_> = listed["data"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
        assert_eq!(statuses, ["rejected", "rejected", "approved"]);
        assert_eq!(customer.get("/account/balance").await.ok()["current"]["amount_minor"], 500_000);
        world.end().await;
    }

    async fn a_credit_line_above_the_limit_needs_a_second_admin(db) {
        let world = World::start(db).await;
        let (author, second) = (world.minted(Role::Admin).await, world.minted(Role::Admin).await);
        let customer = world.customer("cora@customer.example").await;
        let path = format!("/admin/customers/{}/balance-limits", customer.account_id);
        let set = async |minor: i64| {
            let limits = json!({"minimum": eur(minor), "soft_warn_threshold": eur(0)});
            author.call(Method::PUT, &path, Some(limits)).await
        };
        set(-100_000).await.ok();
        let refused = set(-100_001).await.problem(409, "state.conflict");
        assert!(refused["detail"].as_str().unwrap().contains("credit_line"), "{refused}");
        let request = async |amount: Value| {
            let body = json!({"customer_id": customer.account_id, "kind": "credit_line", "amount": amount, "reason": "Good payer"});
            author.with_key(key()).post("/admin/credit-requests", body).await
        };
        assert_eq!(request(eur(100_000_001)).await.invalid(), ["amount"]);
        let made = request(eur(500_000)).await.expect(201);
        assert_eq!((&made["kind"], &made["status"]), (&json!("credit_line"), &json!("pending")));
        let approve = format!("/admin/credit-requests/{}/approve", made["id"].as_str().unwrap());
        author.with_key(key()).call(Method::POST, &approve, None).await.problem(409, "state.conflict");
        assert_eq!(second.get(&path).await.ok()["minimum"], eur(-100_000));
        second.with_key(key()).call(Method::POST, &approve, None).await.ok();
        assert_eq!(second.get(&path).await.ok()["minimum"], eur(-500_000));
        // What was approved can be kept and lowered, and not raised again alone.
        set(-500_000).await.ok();
        set(-400_000).await.ok();
        set(-400_001).await.problem(409, "state.conflict");
        assert_eq!(customer.get("/account/balance").await.ok()["current"]["amount_minor"], 0);
        world.end().await;
    }

    async fn an_invalid_credit_is_refused(db) {
        let world = World::start(db).await;
        let (admin, customer) = (world.admin().await, world.customer("c@example.com").await);
        assert_eq!(credit(&admin, &customer.account_id, 0).await.invalid(), ["amount"]);
        assert_eq!(credit(&admin, &uuid().to_string(), 100).await.invalid(), ["customer_id"]);
        assert_eq!(credit(&admin, &admin.account_id, 100).await.invalid(), ["customer_id"]);
        let body = json!({"customer_id": customer.account_id, "amount": {"amount_minor": 1, "currency": "USD"},
                          "reason": "x"});
        assert_eq!(admin.with_key(key()).post("/admin/credits", body).await.invalid(), ["amount.currency"]);
        let body = json!({"customer_id": customer.account_id, "amount": eur(1), "reason": " "});
        assert_eq!(admin.with_key(key()).post("/admin/credits", body).await.invalid(), ["reason"]);
        world.end().await;
    }

    async fn a_credit_repeated_under_its_key_is_posted_once(db) {
        let world = World::start(db).await;
        let (admin, customer) = (world.admin().await, world.customer("c@example.com").await);
        let body = json!({"customer_id": customer.account_id, "amount": eur(100), "reason": "Sorry"});
        let admin = admin.with_key(key());
        let first = admin.post("/admin/credits", body.clone()).await.expect(201);
        assert_eq!(admin.post("/admin/credits", body).await.expect(201), first);
        assert_eq!(customer.get("/account/balance").await.ok()["current"]["amount_minor"], 100);
        world.end().await;
    }

    async fn transactions_are_paged_newest_first_while_others_arrive(db) {
        let world = World::start(db).await;
        let customer = world.customer("c@example.com").await;
        for cents in 1..=5 {
            world.top_up(&customer.account_id, cents).await;
        }
        let first = customer.get("/account/ledger?limit=2").await.ok();
        world.top_up(&customer.account_id, 6).await;
        let cursor = first["meta"]["next_cursor"].as_str().unwrap();
        let second = customer.get(&format!("/account/ledger?limit=3&cursor={cursor}")).await.ok();
        let amounts = |page: &Value| -> Vec<i64> {
            page["data"].as_array().unwrap().iter().map(|line| line["amount"]["amount_minor"].as_i64().unwrap()).collect()
        };
        assert_eq!((amounts(&first), amounts(&second)), (vec![5, 4], vec![3, 2, 1]));
        assert_eq!(second["meta"]["next_cursor"], Value::Null);
        world.end().await;
    }

    async fn a_customer_does_not_see_anothers_transactions(db) {
        let world = World::start(db).await;
        let (one, other) = (world.customer("one@example.com").await, world.customer("other@example.com").await);
        world.top_up(&one.account_id, 100).await;
        assert_eq!(other.get("/account/ledger").await.ok()["data"], json!([]));
        assert_eq!(other.get("/account/balance").await.ok()["current"]["amount_minor"], 0);
        world.end().await;
    }

    async fn the_team_sets_a_customers_minimum_balance(db) {
        let world = World::start(db).await;
        let (admin, customer) = (world.admin().await, world.customer("c@example.com").await);
        let path = format!("/admin/customers/{}/balance-limits", customer.account_id);
        let limits = json!({"minimum": eur(-5000), "soft_warn_threshold": eur(10000)});
        assert_eq!(admin.call(Method::PUT, &path, Some(limits.clone())).await.ok(), limits);
        assert_eq!(admin.get(&path).await.ok(), limits);
        let balance = customer.get("/account/balance").await.ok();
        assert_eq!((&balance["minimum"], &balance["soft_warn_threshold"]), (&eur(-5000), &eur(10000)));
        credit(&admin, &customer.account_id, -5000).await.expect(201);
        credit(&admin, &customer.account_id, -1).await.problem(402, "balance.insufficient");
        let dear = json!({"minimum": eur(100_000_001), "soft_warn_threshold": eur(0)});
        assert_eq!(admin.call(Method::PUT, &path, Some(dear)).await.invalid(), ["minimum"]);
        world.end().await;
    }

    async fn the_history_has_the_balance_at_the_end_of_each_day(db) {
        let world = World::unlimited(db).await;
        let (_, customer) = (world.admin().await, world.customer("cora@customer.example").await);
        let empty = customer.get("/account/balance/history").await.ok();
        assert_eq!(empty["data"].as_array().unwrap().len(), 30);
        assert!(empty["data"].as_array().unwrap().iter().all(|day| day["balance"]["amount_minor"] == 0), "{empty}");
        world.advance_to_next(86_400).await;
        let first = Date::from(world.node.app.clock.now());
        for cents in [1000, -400] {
            credit(&world.minted(Role::Admin).await, &customer.account_id, cents).await.expect(201);
        }
        world.advance(2 * 86_400).await;
        credit(&world.minted(Role::Admin).await, &customer.account_id, 50).await.expect(201);
        world.advance(86_400).await;
        let customer = world.sign_in("cora@customer.example").await;
        let shown = async |query: &str| {
            let history = customer.get(&format!("/account/balance/history{query}")).await.ok();
            let days = history["data"].as_array().unwrap().iter();
            days.map(|day| day["balance"]["amount_minor"].as_i64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(shown(&format!("?from={first}")).await, [600, 600, 650, 650]);
        assert_eq!(shown(&format!("?from={first}&to={first}")).await, [600]);
        assert_eq!(shown("").await.split_at(25).1, [0, 600, 600, 650, 650]);
        assert_eq!(shown("?to=2020-12-31").await, vec![0; 30]);
        let refused = ["?from=2020-01-01", "?from=2020-02-01&to=2020-01-01", "?from=2999-01-01"];
        for query in refused {
            assert_eq!(customer.get(&format!("/account/balance/history{query}")).await.invalid(), ["from"], "{query}");
        }
        world.end().await;
    }
}
