//! Many concurrent orders of a few numbers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use serde_json::json;
use tokio::task::JoinSet;
use values::Role;

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::numbers::{
    AMSTERDAM, count_transactions, create_group, create_inventory, customer_with_trunk, free_numbers, inventory_csv,
    inventory_groups, new_trunk_id,
};
use crate::world::fixtures::{count, key};

const CUSTOMERS: usize = 50;
const ORDERS_EACH: usize = 20;

both! {
    async fn a_thousand_concurrent_orders_rent_out_ten_numbers_once_each(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let group = create_group(&world, &admin, 10, AMSTERDAM).await;
        let mut load = JoinSet::new();
        for _ in 0..CUSTOMERS {
            let customer = world.minted(Role::Customer).await;
            let account = customer.get("/account").await.ok()["id"].as_str().unwrap().to_owned();
            world.top_up(&account, 100_000).await;
            let body = json!({"inventory_id": group, "trunk_id": new_trunk_id(&customer).await});
            for _ in 0..ORDERS_EACH {
                let (caller, body) = (customer.with_key(key()), body.clone());
                load.spawn(async move {
                    loop {
                        let answer = caller.post("/numbers/orders", body.clone()).await;
                        // A 503 of the busy service is retried.
                        if answer.status != 503 {
                            return answer;
                        }
                    }
                });
            }
        }
        let answers = load.join_all().await;
        let (sold, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
        assert_eq!(refused.len(), CUSTOMERS * ORDERS_EACH - 10);
        for answer in refused {
            answer.problem(409, "inventory.exhausted");
        }
        let sold: BTreeSet<String> = sold.into_iter().map(|answer| {
            assert_eq!(answer.body["status"], "active");
            answer.body["did"].as_str().unwrap().to_owned()
        }).collect();
        assert_eq!(sold.len(), 10);
        let db = &world.node.app.db;
        assert_eq!(free_numbers(db).await, 0);
        assert_eq!((count_transactions(db, "number_order").await, count_transactions(db, "number_refund").await), (10, 0));
        assert_eq!(count(db, "SELECT COUNT(*) FROM numbers WHERE released_at IS NULL").await, 10);
        world.end().await;
    }

    async fn one_request_sent_three_times_at_once_gets_the_last_number(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let (customer, trunk) = customer_with_trunk(&world, "cora@customer.example", 100_000).await;
        for round in 0..10 {
            let terms = AMSTERDAM.replace("Amsterdam", &format!("Amsterdam {round}"));
            let upstream = create_inventory(&world, &admin, &inventory_csv(31_201_000_000 + round, 1, &terms)).await;
            let group = inventory_groups(&customer, "").await[0]["id"].clone();
            let (caller, body) = (customer.with_key(key()), json!({"inventory_id": group, "trunk_id": trunk}));
            let order = async || loop {
                let answer = caller.post("/numbers/orders", body.clone()).await;
                // While another one is under way.
                if answer.status != 503 && answer.body["type"] != "urn:service:voice:problem:idempotency.in_progress" {
                    return answer.expect(201)["id"].clone();
                }
            };
            let (first, second, third) = tokio::join!(order(), order(), order());
            assert_eq!((&first, &first), (&second, &third), "round {round} of {upstream}");
        }
        assert_eq!(count_transactions(&world.node.app.db, "number_order").await, 10);
        world.end().await;
    }
}
