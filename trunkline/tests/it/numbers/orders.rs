//! Orders of numbers that need no documents.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use identity::onboarding::Event;
use serde_json::json;

use crate::world::World;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::key;
use crate::world::fixtures::notifications::notification_codes;
use crate::world::fixtures::numbers::{
    AMSTERDAM, FIRST_MONTH_CENTS, balance_cents, count_transactions, create_group, create_inventory,
    customer_with_trunk, free_numbers, get_order, inventory_csv, list_numbers, new_trunk_id, order_number,
};
use crate::world::fixtures::onboarding::apply_event;

both! {
    async fn an_order_takes_a_number_and_charges_setup_and_the_first_month(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 2, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, "cora@customer.example", 1000).await;
        let ordered = order_number(&customer, &group, &trunk).await.expect(201);
        assert_eq!((&ordered["status"], &ordered["did"]), (&json!("active"), &json!("+31201000000")));
        assert_eq!((&ordered["inventory_id"], &ordered["compliance_intake_id"]), (&json!(group), &json!(null)));
        assert_eq!(balance_cents(&customer).await, 1000 - FIRST_MONTH_CENTS);
        assert_eq!(free_numbers(&world.node.app.db).await, 1);
        let number = &list_numbers(&customer).await[0];
        assert_eq!((&number["e164"], &number["trunk_id"], &number["type"]), (&ordered["did"], &json!(trunk), &json!("local")));
        assert_eq!(number["monthly"], json!({"amount_minor": 150, "currency": "EUR"}));
        let shown = get_order(&customer, &ordered).await;
        let steps: Vec<_> = shown["history"].as_array().unwrap().iter().map(|step| step["status"].clone()).collect();
        assert_eq!(steps, ["provisioning", "active"]);
        assert_eq!(notification_codes(&customer).await, ["number.active"]);
        let of_trunk = customer.get(&format!("/trunks/{trunk}/dids")).await.ok();
        assert_eq!(&of_trunk["data"][0], number);
        customer.get(&format!("/trunks/{}/dids", uuid())).await.problem(404, "not_found");
        assert_eq!(customer.get("/numbers/orders").await.ok()["data"][0]["id"], ordered["id"]);
        world.end().await;
    }

    async fn an_order_a_cent_over_the_balance_changes_nothing(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, "cora@customer.example", FIRST_MONTH_CENTS - 1).await;
        let refused = order_number(&customer, &group, &trunk).await.problem(402, "balance.insufficient");
        assert_eq!((&refused["required"]["amount"], &refused["available"]["amount"]), (&json!("6.50"), &json!("6.49")));
        assert_eq!(balance_cents(&customer).await, FIRST_MONTH_CENTS - 1);
        assert_eq!(free_numbers(&world.node.app.db).await, 1);
        assert_eq!(customer.get("/numbers/orders").await.ok()["data"], json!([]));
        world.top_up(&customer.account_id, 1).await;
        order_number(&customer, &group, &trunk).await.expect(201);
        assert_eq!(balance_cents(&customer).await, 0);
        world.end().await;
    }

    async fn a_refusal_for_low_balance_names_the_missing_amount(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, "cora@customer.example", FIRST_MONTH_CENTS - 1).await;
        let refused = order_number(&customer, &group, &trunk).await.problem(402, "balance.insufficient");
        assert_eq!(
            refused["detail"],
            "This requires 6.50 EUR, but only 6.49 EUR is available. Top up at least 10.00 EUR."
        );
        let euros = |amount: i64| json!({"amount_minor": amount * 100, "currency": "EUR"});
        let limits = json!({"minimum": euros(50), "soft_warn_threshold": euros(0)});
        let path = format!("/admin/customers/{}/balance-limits", customer.account_id);
        admin.call(reqwest::Method::PUT, &path, Some(limits)).await.ok();
        let refused = order_number(&customer, &group, &trunk).await.problem(402, "balance.insufficient");
        assert_eq!(
            refused["detail"],
            "This requires 6.50 EUR, but only -43.51 EUR is available. Top up at least 50.01 EUR."
        );
        world.end().await;
    }

    async fn an_order_by_area_takes_the_cheapest_number_for_the_default_trunk(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        create_inventory(&world, &admin, &inventory_csv(31_201_000_000, 1, &AMSTERDAM.replace("5.00", "9.00"))).await;
        create_inventory(&world, &admin, &inventory_csv(31_202_000_000, 1, AMSTERDAM)).await;
        let customer = world.customer("cora@customer.example").await;
        world.top_up(&customer.account_id, 10_000).await;
        let ask = async |kind: &str, area: &str| {
            let body = json!({"country": "NL", "type": kind, "area_code": area});
            customer.with_key(key()).post("/numbers/order", body).await
        };
        ask("local", "20").await.problem(409, "state.conflict");
        let trunk = new_trunk_id(&customer).await;
        assert_eq!(ask("Geographic", "20").await.expect(201)["did"], "+31202000000");
        assert_eq!(ask("national", "020").await.expect(201)["did"], "+31201000000");
        ask("local", "20").await.problem(409, "inventory.exhausted");
        ask("local", "0").await.problem(409, "inventory.exhausted");
        ask("toll-free", "20").await.problem(409, "inventory.exhausted");
        assert_eq!(ask("premium", "20").await.invalid(), ["type"]);
        assert_eq!(ask("local", "+20").await.invalid(), ["area_code"]);
        let nothing_right = json!({"country": "Holland", "type": "premium", "area_code": "+20"});
        let refused = customer.with_key(key()).post("/numbers/order", nothing_right).await;
        assert_eq!(refused.invalid(), ["area_code", "country", "type"]);
        assert!(list_numbers(&customer).await.iter().all(|number| number["trunk_id"] == trunk));
        world.end().await;
    }

    async fn only_an_approved_account_orders_and_only_for_its_own_trunk(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, "cora@customer.example", 1000).await;
        let (_, strange) = customer_with_trunk(&world, "carl@customer.example", 0).await;
        assert_eq!(order_number(&customer, &group, &strange).await.invalid(), ["trunk_id"]);
        assert_eq!(order_number(&customer, &uuid().to_string(), &trunk).await.invalid(), ["inventory_id"]);
        let neither = order_number(&customer, &uuid().to_string(), &strange).await;
        assert_eq!(neither.invalid(), ["inventory_id", "trunk_id"]);
        apply_event(&world, &customer, Event::Suspended).await;
        order_number(&customer, &group, &trunk).await.problem(403, "account.not_active");
        assert_eq!(free_numbers(&world.node.app.db).await, 1);
        world.end().await;
    }

    async fn the_same_key_orders_once_and_another_body_is_a_conflict(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 3, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, "cora@customer.example", 10_000).await;
        let caller = customer.with_key(key());
        let body = json!({"inventory_id": group, "trunk_id": trunk});
        let many = futures_util::future::join_all((0..8).map(|_| caller.post("/numbers/orders", body.clone()))).await;
        let ids: Vec<_> = many.into_iter().map(|answer| answer.expect(201)["id"].clone()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        let other = json!({"inventory_id": group, "trunk_id": uuid()});
        caller.post("/numbers/orders", other).await.problem(409, "idempotency.conflict");
        assert_eq!(count_transactions(&world.node.app.db, "number_order").await, 1);
        assert_eq!(free_numbers(&world.node.app.db).await, 2);
        world.end().await;
    }

    async fn a_number_moves_to_another_trunk_and_is_released_to_the_inventory(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, "cora@customer.example", 2000).await;
        order_number(&customer, &group, &trunk).await.expect(201);
        let path = format!("/numbers/{}", list_numbers(&customer).await[0]["id"].as_str().unwrap());
        let second = new_trunk_id(&customer).await;
        let moved = customer.with_key(key()).patch(&path, json!({"trunk_id": second})).await.ok();
        assert_eq!(moved["trunk_id"], second);
        assert_eq!(customer.with_key(key()).patch(&path, json!({"trunk_id": uuid()})).await.invalid(), ["trunk_id"]);
        customer.with_key(key()).delete(&format!("/trunks/{second}")).await.problem(409, "resource.in_use");
        customer.with_key(key()).delete(&path).await.expect(204);
        customer.get(&path).await.problem(404, "not_found");
        assert_eq!(balance_cents(&customer).await, 2000 - FIRST_MONTH_CENTS, "what is left of the month is not given back");
        assert_eq!(free_numbers(&world.node.app.db).await, 1);
        customer.with_key(key()).delete(&format!("/trunks/{second}")).await.expect(204);
        order_number(&customer, &group, &trunk).await.expect(201);
        world.end().await;
    }
}
