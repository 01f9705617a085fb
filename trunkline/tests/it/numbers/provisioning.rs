//! Orders that wait for the DID supplier.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use crate::world::World;
use crate::world::did_supplier::{DidSupplierServer, Says};
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::notifications::notification_codes;
use crate::world::fixtures::numbers::{
    AMSTERDAM, FIRST_MONTH_CENTS, balance_cents, count_transactions, create_group, customer_with_trunk, free_numbers,
    get_order, list_numbers, order_number,
};

const CORA: &str = "cora@customer.example";

both! {
    async fn a_supplier_outage_delays_the_order_and_its_key_replays(db) {
        let supplier = DidSupplierServer::start(&[Says::Away]).await;
        let world = World::with(db, &supplier.settings()).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, CORA, 1000).await;
        let caller = customer.with_key(key());
        let body = json!({"inventory_id": group, "trunk_id": trunk});
        for _ in 0..2 {
            caller.post("/numbers/orders", body.clone()).await.problem(503, "upstream.unavailable");
        }
        let orders = customer.get("/numbers/orders").await.ok();
        assert_eq!(orders["data"].as_array().unwrap().len(), 1);
        assert_eq!(orders["data"][0]["status"], "provisioning");
        assert_eq!(balance_cents(&customer).await, 1000 - FIRST_MONTH_CENTS);
        supplier.says(&[Says::Active]);
        world.advance(60).await;
        let answered = caller.post("/numbers/orders", body).await.expect(201);
        assert_eq!((&answered["id"], &answered["status"]), (&orders["data"][0]["id"], &json!("active")));
        assert_eq!(count_transactions(&world.node.app.db, "number_order").await, 1);
        let asked = supplier.asked();
        assert_eq!(asked.len(), 3);
        assert!(asked.iter().all(|question| *question == asked[0]), "always under the same key: {asked:?}");
        assert_eq!(asked[0].path, "/api/numbers/31201000000/activate");
        world.end().await;
    }

    async fn the_key_of_an_order_holds_for_as_long_as_the_supplier_is_away(db) {
        let supplier = DidSupplierServer::start(&[Says::Away]).await;
        let world = World::with(db, &supplier.settings()).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 2, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, CORA, 2000).await;
        let (order_key, body) = (key(), json!({"inventory_id": group, "trunk_id": trunk}));
        customer.with_key(order_key).post("/numbers/orders", body.clone()).await.problem(503, "upstream.unavailable");
        world.advance(24 * 3600 + 60).await;
        let customer = world.sign_in(CORA).await;
        customer.with_key(order_key).post("/numbers/orders", body.clone()).await.problem(503, "upstream.unavailable");
        assert_eq!(count_transactions(&world.node.app.db, "number_order").await, 1);
        supplier.says(&[Says::Active]);
        let answered = customer.with_key(order_key).post("/numbers/orders", body).await.expect(201);
        assert_eq!(answered["status"], "active");
        assert_eq!(count_transactions(&world.node.app.db, "number_order").await, 1);
        world.end().await;
    }

    async fn a_slow_did_supplier_is_waited_for(db) {
        let supplier = DidSupplierServer::start(&[Says::Pending]).await;
        let world = World::with(db, &supplier.settings()).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, CORA, 1000).await;
        let ordered = order_number(&customer, &group, &trunk).await.expect(201);
        assert_eq!(ordered["status"], "provisioning");
        world.advance(60).await;
        assert_eq!(get_order(&customer, &ordered).await["status"], "provisioning");
        supplier.says(&[Says::Active]);
        world.advance(600).await;
        assert_eq!(get_order(&customer, &ordered).await["status"], "active");
        world.end().await;
    }

    async fn a_number_refused_by_the_supplier_is_refunded_and_withdrawn(db) {
        let supplier = DidSupplierServer::start(&[Says::Refused]).await;
        let world = World::with(db, &supplier.settings()).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 2, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, CORA, 1000).await;
        let failed = order_number(&customer, &group, &trunk).await.expect(201);
        assert_eq!((&failed["status"], &failed["failure_reason"]), (&json!("failed"), &json!("ported away")));
        assert_eq!(balance_cents(&customer).await, 1000);
        assert_eq!(notification_codes(&customer).await, ["number.failed"]);
        assert_eq!(free_numbers(&world.node.app.db).await, 1);
        let withdrawn = admin.get("/admin/did-inventory?is_active=false").await.ok();
        assert_eq!(withdrawn["data"][0]["e164"], "+31201000000");
        supplier.says(&[Says::Active]);
        assert_eq!(order_number(&customer, &group, &trunk).await.expect(201)["did"], "+31201000001");
        world.end().await;
    }

    async fn an_order_fails_after_a_supplier_outage_of_three_days(db) {
        let supplier = DidSupplierServer::start(&[Says::Away]).await;
        let world = World::with(db, &supplier.settings()).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, CORA, 1000).await;
        order_number(&customer, &group, &trunk).await.problem(503, "upstream.unavailable");
        for _ in 0..5 {
            world.advance(24 * 3600).await;
        }
        let customer = world.sign_in(CORA).await;
        assert_eq!(customer.get("/numbers/orders").await.ok()["data"][0]["status"], "failed");
        assert_eq!(balance_cents(&customer).await, 1000);
        assert_eq!(free_numbers(&world.node.app.db).await, 0, "the supplier may have let it work, and has not heard yet");
        supplier.says(&[Says::Active]);
        world.advance(3600).await;
        assert_eq!(free_numbers(&world.node.app.db).await, 1);
        assert!(supplier.asked().last().unwrap().path.ends_with("/deactivate"));
        world.end().await;
    }

    async fn a_released_number_is_free_once_the_supplier_deactivated_it(db) {
        let supplier = DidSupplierServer::start(&[Says::Active, Says::Away]).await;
        let world = World::with(db, &supplier.settings()).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (customer, trunk) = customer_with_trunk(&world, CORA, 2000).await;
        order_number(&customer, &group, &trunk).await.expect(201);
        let path = format!("/numbers/{}", list_numbers(&customer).await[0]["id"].as_str().unwrap());
        customer.with_key(key()).delete(&path).await.expect(204);
        world.settle().await;
        order_number(&customer, &group, &trunk).await.problem(409, "inventory.exhausted");
        supplier.says(&[Says::Active]);
        world.advance(60).await;
        order_number(&customer, &group, &trunk).await.expect(201);
        world.end().await;
    }
}
