//! A deck imported on one node applies on every node.

use values::Role;

use crate::world::World;
use crate::world::engines::postgres;
use crate::world::fixtures::rates::{DECK_HEADER, import_deck, price, upstream_with_deck};

postgres! {
    async fn a_deck_imported_on_one_node_prices_calls_on_the_other(db) {
        let first = World::unlimited(db).await;
        let second = first.another_node().await;
        let admin = first.admin().await;
        let id = upstream_with_deck(&first, &admin, "A", "EUR", 0.0, "31,Netherlands,NL,0.01\n").await;
        // A request waits for the current tariff.
        assert_eq!(price(&second, "31201234567").await.as_deref(), Some("0.01"));
        let deck = format!("{}31,Netherlands,NL,0.02\n", DECK_HEADER);
        import_deck(&first, &admin, &id, "", &deck).await;
        // Without a request, the cache is reloaded in the background.
        let known = || {
            let tariff = second.node.app.tariff.latest()?;
            let prices = tariff.prices("EUR".parse().unwrap(), |_| false);
            let at = second.node.app.clock.now().millis() + 60_000;
            let sell = prices.tariff.sell_rate("31201234567".parse().unwrap(), at);
            Some(sell?.rate.nanos_per_minute())
        };
        while known() != Some(20_000_000) {
            tokio::task::yield_now().await;
        }
        let customer = second.minted(Role::Customer).await;
        assert_eq!(customer.get("/rates").await.ok()["data"][0]["rate_per_minute"]["amount"], "0.02");
        second.end().await;
        first.end().await;
    }
}
