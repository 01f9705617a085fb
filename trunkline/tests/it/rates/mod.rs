//! Sell rates, costs and routes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod back_dated;
mod deck_notice;
mod history;
mod nodes;

use serde_json::{Value, json};
use values::{Rfc3339, Role};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::rates::{
    DECK, import_deck, large_deck, prefixes, price, set_usd_rate, upload_deck, upstream_with_deck,
};
use crate::world::fixtures::upstreams::{create_upstream, update_upstream, upstream_body};

/// The routes to a number as (name, reason), in their order.
async fn routes(admin: &Client, number: &str) -> Vec<(String, String)> {
    let routes = admin.get(&format!("/admin/routes?number={number}")).await.ok();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    routes["candidates"].as_array().unwrap().iter().map(|one| (text(&one["name"]), text(&one["reason"]))).collect()
}

fn named(routes: &[(&str, &str)]) -> Vec<(String, String)> {
    routes.iter().map(|(name, reason)| ((*name).to_owned(), (*reason).to_owned())).collect()
}

both! {
    async fn the_longest_prefix_prices_a_number_even_where_a_shorter_one_is_cheaper(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        upstream_with_deck(&world, &admin, "A", "EUR", 0.0, "31,Netherlands,NL,0.001\n3161,Netherlands mobile,NL,0.5\n").await;
        let customer = world.minted(Role::Customer).await;
        for form in ["31612345678", "+31612345678", "%2B31612345678", "0031612345678"] {
            let rate = customer.get(&format!("/rates/lookup?number={form}")).await.ok();
            assert_eq!(rate["prefix"], "3161");
            assert_eq!(rate["rate_per_minute"], json!({"amount_minor": 50, "amount": "0.50", "currency": "EUR"}));
            assert_eq!((&rate["country"], &rate["destination_name"]), (&json!("NL"), &json!("Netherlands mobile")));
            assert_eq!((&rate["billing_increment_seconds"], &rate["minimum_seconds"]), (&json!(1), &json!(1)));
        }
        assert_eq!(price(&world, "31201234567").await.as_deref(), Some("0.001"));
        customer.get("/rates/lookup?number=49301234567").await.problem(404, "not_found");
        assert_eq!(customer.get("/rates/lookup?number=0031x").await.invalid(), ["number"]);
        world.end().await;
    }

    async fn the_cheapest_active_upstream_sets_the_sell_rate_by_longest_match(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let a = upstream_with_deck(&world, &admin, "A", "EUR", 10.0, "31,Netherlands,NL,0.01\n").await;
        upstream_with_deck(&world, &admin, "B", "EUR", 0.0, "31,Netherlands,NL,0.02\n3161,Mobile,NL,0.03\n").await;
        // A knows no 3161, so its 31 counts there too, and it is cheaper with its markup.
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.011"));
        let customer = world.minted(Role::Customer).await;
        assert_eq!(prefixes(&customer.get("/rates").await.ok()), ["31", "3161"]);
        assert_eq!(routes(&admin, "31612345678").await, named(&[("A", "cheapest"), ("B", "over_price")]));

        // The upstream with the lowest cost sets the sell rate, whatever its markup.
        update_upstream(&admin, &a, json!({"markup_percent": 300})).await.ok();
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.04"));
        assert_eq!(routes(&admin, "31612345678").await, named(&[("A", "cheapest"), ("B", "within_price")]));

        update_upstream(&admin, &a, json!({"status": "disabled"})).await.ok();
        assert_eq!(routes(&admin, "31201234567").await, named(&[("A", "disabled"), ("B", "cheapest")]));
        world.end().await;
    }

    async fn the_margin_guard_drops_upstreams_above_the_sell_rate(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        upstream_with_deck(&world, &admin, "Cheap", "EUR", 5.0, "31,Netherlands,NL,0.01\n").await;
        upstream_with_deck(&world, &admin, "Dear", "EUR", 0.0, "31,Netherlands,NL,0.0106\n").await;
        let found = admin.get("/admin/routes?number=+31201234567").await.ok();
        assert_eq!((&found["number"], &found["prefix"]), (&json!("+31201234567"), &json!("31")));
        assert_eq!(found["price"]["amount"], "0.0105");
        let [cheap, dear] = found["candidates"].as_array().unwrap().as_slice() else { panic!("{found}") };
        assert_eq!((&cheap["kept"], &cheap["margin"]["amount"]), (&json!(true), &json!("0.0005")));
        assert_eq!((&dear["kept"], &dear["margin"]["amount"]), (&json!(false), &json!("-0.0001")));
        assert_eq!((&dear["reason"], &dear["cost"]["amount"]), (&json!("over_price"), &json!("0.0106")));
        world.end().await;
    }

    async fn the_margin_guard_counts_increments_and_connect_fees(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let asking = async |name: &str, markup: f64, counted: &str| {
            let mut body = upstream_body();
            (body["name"], body["markup_percent"]) = (json!(name), json!(markup));
            let id = create_upstream(&admin, body).await;
            let deck = format!("prefix,destination_name,country,rate_per_minute,connect_fee,billing_increment_seconds,minimum_seconds\n\
                                31,Netherlands,NL,{counted}\n");
            assert_eq!(import_deck(&world, &admin, &id, "", &deck).await["status"], "completed");
        };
        // The customer pays 0.02 a minute, by the second.
        asking("Seconds", 100.0, "0.01,0,1,1").await;
        asking("Dearer seconds", 0.0, "0.02,0,1,1").await;
        asking("Minutes", 0.0, "0.011,0,60,60").await;
        asking("At least half a minute", 0.0, "0.012,0,1,30").await;
        asking("Connection", 0.0, "0.013,0.001,1,1").await;
        let expected = [
            ("Seconds", "cheapest"), ("Minutes", "over_price"), ("At least half a minute", "over_price"),
            ("Connection", "over_price"), ("Dearer seconds", "within_price"),
        ];
        assert_eq!(routes(&admin, "31201234567").await, named(&expected));
        world.end().await;
    }

    async fn an_upstream_without_an_exchange_rate_sells_nothing_and_says_why(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        upstream_with_deck(&world, &admin, "Dollars", "USD", 10.0, "1,United States,US,0.0045\n").await;
        create_upstream(&admin, upstream_body()).await;
        assert_eq!(price(&world, "12125551234").await, None);
        let reasons = routes(&admin, "12125551234").await;
        assert_eq!(reasons, named(&[("Dollars", "no_exchange_rate"), ("Carrier One", "no_rate")]));
        set_usd_rate(&admin, "1.0832").await;
        // 0.0045 / 1.0832 × 1.1 = 0.004569793…
        assert_eq!(price(&world, "12125551234").await.as_deref(), Some("0.004569793"));
        world.end().await;
    }

    async fn a_connect_fee_is_shown_with_every_rate(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let id = create_upstream(&admin, upstream_body()).await;
        let deck = |fee: &str| format!("prefix,destination_name,country,rate_per_minute,connect_fee\n31,Netherlands,NL,0.01,{fee}\n");
        assert_eq!(import_deck(&world, &admin, &id, "", &deck("0.05")).await["status"], "completed");
        let fee = json!({"amount_minor": 6, "amount": "0.055", "currency": "EUR"});
        let asked = json!({"amount_minor": 5, "amount": "0.05", "currency": "EUR"});
        let customer = world.minted(Role::Customer).await;
        assert_eq!(customer.get("/rates").await.ok()["data"][0]["connect_fee"], fee);
        assert_eq!(customer.get("/rates/lookup?number=31201234567").await.ok()["connect_fee"], fee);
        let export = String::from_utf8(customer.get("/rates/export").await.bytes).unwrap();
        let lines: Vec<&str> = export.lines().collect();
        assert!(lines[0].ends_with(",connect_fee") && lines[1].ends_with(",0.055"), "{export}");
        let charged = admin.get("/admin/rates").await.ok()["data"][0].clone();
        assert_eq!((&charged["connect_fee"], &charged["billing_increment_seconds"], &charged["minimum_seconds"]), (&asked, &json!(1), &json!(1)));
        let found = admin.get("/admin/routes?number=31201234567").await.ok();
        assert_eq!((&found["connect_fee"], &found["candidates"][0]["connect_fee"]), (&fee, &asked));

        let from = Rfc3339(world.node.app.clock.now());
        world.advance(10).await;
        assert_eq!(import_deck(&world, &admin, &id, "", &deck("0.1")).await["status"], "completed");
        let to = Rfc3339(world.node.app.clock.now());
        let changed = world.minted(Role::Customer).await.get(&format!("/rates/diff?from={from}&to={to}")).await.ok()["data"][0].clone();
        assert_eq!((&changed["change"], &changed["from"]), (&json!("increased"), &changed["to"]));
        assert_eq!((&changed["from_connect_fee"], &changed["to_connect_fee"]["amount"]), (&fee, &json!("0.11")));
        world.end().await;
    }

    async fn rates_are_paged_in_prefix_order(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let (a, b) = (create_upstream(&admin, upstream_body()).await, create_upstream(&admin, upstream_body()).await);
        import_deck(&world, &admin, &a, "", &large_deck(2_500, "0.01")).await;
        import_deck(&world, &admin, &b, "", DECK).await;
        let customer = world.minted(Role::Customer).await;
        let (mut seen, mut path) = (Vec::new(), "/rates?limit=1000".to_owned());
        loop {
            let page = customer.get(&path).await.ok();
            seen.extend(prefixes(&page).into_iter().map(str::to_owned));
            let Some(cursor) = page["meta"]["next_cursor"].as_str() else { break };
            path = format!("/rates?limit=1000&cursor={cursor}");
        }
        assert_eq!(seen.len(), 2_503);
        assert!(seen.is_sorted());
        assert_eq!((seen[0].as_str(), seen[1].as_str(), seen[2_502].as_str()), ("31", "3100000", "44"));
        assert_eq!(customer.get("/rates?limit=1001").await.invalid(), ["limit"]);

        let below = customer.get("/rates?prefix=31000&limit=1000").await.ok();
        assert_eq!((prefixes(&below).len(), prefixes(&below)[0]), (100, "3100000"));
        assert_eq!(prefixes(&customer.get("/rates?country=GB").await.ok()), ["44"]);
        assert_eq!(prefixes(&customer.get("/rates?q=MOBILE").await.ok()), ["316"]);
        assert_eq!(customer.get("/rates?prefix=x").await.invalid(), ["prefix"]);
        world.end().await;
    }

    async fn the_team_sees_what_each_upstream_charges(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let a = upstream_with_deck(&world, &admin, "A", "USD", 10.0, "31,Netherlands,NL,0.01\n44,United Kingdom,GB,0.02\n").await;
        let b = upstream_with_deck(&world, &admin, "B", "EUR", 0.0, "31,Netherlands,NL,0.03\n").await;
        let mut seen = Vec::new();
        let mut path = "/admin/rates?limit=1".to_owned();
        loop {
            let page = admin.get(&path).await.ok();
            seen.extend(page["data"].as_array().unwrap().clone());
            let Some(cursor) = page["meta"]["next_cursor"].as_str() else { break };
            path = format!("/admin/rates?limit=1&cursor={cursor}");
        }
        let shown: Vec<_> = seen.iter().map(|one| (one["upstream_id"].as_str().unwrap(), one["prefix"].as_str().unwrap())).collect();
        assert_eq!(shown, [(a.as_str(), "31"), (b.as_str(), "31"), (a.as_str(), "44")]);
        assert_eq!(seen[0]["base"], json!({"amount_minor": 1, "amount": "0.01", "currency": "USD"}));
        let only = admin.get(&format!("/admin/rates?upstream_id={b}")).await.ok();
        assert_eq!(prefixes(&only), ["31"]);
        assert_eq!(prefixes(&admin.get("/admin/rates?q=kingdom").await.ok()), ["44"]);
        assert_eq!(prefixes(&admin.get("/admin/rates?prefix=4").await.ok()), ["44"]);
        world.end().await;
    }

    async fn all_rates_can_be_exported_as_csv(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let id = create_upstream(&admin, upstream_body()).await;
        import_deck(&world, &admin, &id, "", &large_deck(2_500, "0.01").replace("Destination 3,", "\"=Korea, South\",")).await;
        let export = world.minted(Role::Customer).await.get("/rates/export").await;
        assert_eq!(export.status, 200);
        assert_eq!(export.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
        assert!(export.header("content-disposition").unwrap().contains("rates-EUR-"));
        let text = String::from_utf8(export.bytes).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2_501);
        assert!(lines[0].starts_with("prefix,country,destination_name,rate_per_minute,currency,"));
        assert!(lines[1].starts_with("3100000,NL,Destination 0,0.011,EUR,1,1,20"), "{}", lines[1]);
        assert!(lines[301].starts_with("3100300,NL,\"'=Korea, South\",0.011,"), "{}", lines[301]);
        world.end().await;
    }

    async fn lookups_during_a_deck_change_see_only_the_old_or_the_new_tariff(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let id = create_upstream(&admin, upstream_body()).await;
        import_deck(&world, &admin, &id, "", &large_deck(500, "0.01")).await;
        let (app, now) = (world.node.app.clone(), world.node.app.clock.now());
        let ahead = now.millis() + 3_600_000;
        let started = std::sync::Arc::new(std::sync::Barrier::new(3));
        let readers: Vec<_> = (0..2).map(|_| {
            let (app, started) = (app.clone(), started.clone());
            std::thread::spawn(move || {
                started.wait();
                let mut seen = std::collections::BTreeSet::new();
                let mut lookups = 0;
                // At least so many, and until the new deck is there.
                while lookups < 50_000 || seen.len() < 2 {
                    let tariff = app.tariff.latest().unwrap();
                    let prices = tariff.prices("EUR".parse().unwrap(), |_| false);
                    let of = |number: &str| {
                        let sell = prices.tariff.sell_rate(number.parse().unwrap(), ahead);
                        sell.map(|sell| sell.rate.nanos_per_minute()).unwrap()
                    };
                    let first = of("3100000");
                    assert!((1..500).step_by(50).all(|number| of(&format!("{}", 3_100_000 + number)) == first));
                    seen.insert(first);
                    lookups += 11;
                }
                seen
            })
        }).collect();
        tokio::task::block_in_place(|| started.wait());
        upload_deck(&admin, &id, "", &large_deck(500, "0.02")).await.expect(202);
        world.settle().await;
        for reader in readers {
            let seen = tokio::task::block_in_place(|| reader.join().unwrap());
            assert_eq!(seen.into_iter().collect::<Vec<_>>(), [11_000_000, 22_000_000]);
        }
        world.end().await;
    }
}
