//! Filters that take a phone number or its leading digits read it alike.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use server::routes;
use values::Role;

use super::document::description;
use super::name;
use crate::world::World;
use crate::world::engines::both;

/// The names of such parameters.
const NUMBERS: [&str; 4] = ["number", "prefix", "calling", "called"];

both! {
    async fn every_filter_by_number_accepts_the_same_notations_and_no_others(db) {
        let world = World::unlimited(db).await;
        let (customer, team) = (world.minted(Role::Customer).await, world.minted(Role::Support).await);
        let description = description();
        let mut filters = 0;
        for endpoint in routes::table().into_iter().filter(|endpoint| !endpoint.path.contains('{')) {
            let parameters = description["paths"][endpoint.path]["get"]["parameters"].as_array();
            let named = parameters.into_iter().flatten().filter(|parameter| parameter["in"] == "query");
            for filter in named.filter_map(|parameter| parameter["name"].as_str()).filter(|name| NUMBERS.contains(name)) {
                let caller = if endpoint.path.starts_with("/admin/") { &team } else { &customer };
                let ask = async |text: &str| caller.get(&format!("{}?{filter}={text}", endpoint.path)).await;
                let plain = ask("3120").await;
                assert!(matches!(plain.status, 200 | 404), "{}: {}", name(&endpoint), plain.body);
                for text in ["%2B3120", "+3120", "003120", "31%2020", "%2B31-20", "00%2031-20"] {
                    let other = ask(text).await;
                    let shown = |body: &Value| body["data"].clone();
                    assert_eq!((other.status, shown(&other.body)), (plain.status, shown(&plain.body)), "{} {text}", name(&endpoint));
                }
                for text in ["", "abc", "31x", "020", "%2B", "31.20", "1234567890123456"] {
                    assert_eq!(ask(text).await.invalid(), [filter], "{} {text}", name(&endpoint));
                }
                filters += 1;
            }
        }
        assert_eq!(filters, 12, "another filter by number is covered by this test too");
        world.end().await;
    }
}
