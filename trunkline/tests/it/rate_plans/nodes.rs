//! A plan changed on one node prices calls on every node.

use serde_json::json;

use super::{ROWS, price};
use crate::world::World;
use crate::world::engines::postgres;
use crate::world::fixtures::rate_plans::{assign_plan, create_plan, update_plan};
use crate::world::fixtures::rates::upstream_with_deck;

postgres! {
    async fn a_plan_changed_on_one_node_is_in_force_on_the_other(db) {
        let first = World::unlimited(db).await;
        let second = first.another_node().await;
        let admin = first.admin().await.into_client();
        upstream_with_deck(&first, &admin, "A", "EUR", 100.0, ROWS).await;
        let cora = second.customer("cora@customer.example").await;
        assert_eq!(price(&cora, "31201234567").await, "0.02");
        let plan = create_plan(&admin, json!({"markup_pct": -10})).await;
        assign_plan(&admin, &cora.account_id, Some(&plan), json!({})).await.ok();
        assert_eq!(price(&cora, "31201234567").await, "0.018");
        update_plan(&admin, &plan, json!({"markup_pct": -20})).await.ok();
        assert_eq!(price(&cora, "31201234567").await, "0.016");
        // Without a request, the cache is reloaded in the background.
        let account = cora.account_id.parse().unwrap();
        update_plan(&admin, &plan, json!({"markup_pct": -30})).await.ok();
        let stored = first.node.app.plans.current(&first.node.app.db).await.unwrap();
        let version = stored.of(account, first.node.app.clock.now()).unwrap().in_force.version_id;
        let known = || {
            let app = &second.node.app;
            Some(app.plans.latest()?.of(account, app.clock.now())?.in_force.version_id)
        };
        while known() != Some(version) {
            tokio::task::yield_now().await;
        }
        second.end().await;
        first.end().await;
    }
}
