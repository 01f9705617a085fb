//! Past and future rates.

use identity::balance::CURRENCY;
use platform::routing::tariff::{PastTariff, PastTime};
use serde_json::{Value, json};
use values::{Rfc3339, Role, Time};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::rates::{
    DECK_HEADER, import_deck, large_deck, prefixes, price, set_usd_rate, upstream_with_deck,
};
use crate::world::fixtures::upstreams::{create_upstream, update_upstream, upstream_body};

fn now(world: &World) -> Time {
    world.node.app.clock.now()
}

async fn diff(customer: &Client, from: Time, to: Time) -> Value {
    customer.get(&format!("/rates/diff?from={}&to={}", Rfc3339(from), Rfc3339(to))).await.ok()
}

/// What a minute to a number cost at a moment, in nanos.
async fn price_at(world: &World, number: &str, at: Time) -> Option<i64> {
    let app = &world.node.app;
    let in_force = app.tariff.current(&app.db).await.unwrap();
    let number: rating::Prefix = number.parse().unwrap();
    let input = (in_force, number, at);
    let priced = app.db.report(input, |conn, (in_force, number, at)| {
        Box::pin(async move {
            let past = PastTariff::at(conn, PastTime::known_now(*at), in_force).await?;
            let stretch = past.read_range(conn, *number).await?;
            let prices = stretch.prices(CURRENCY)?;
            let sell = prices.tariff.sell_rate(*number, at.millis());
            Ok::<_, db::DbError>(sell.map(|sell| sell.rate.nanos_per_minute()))
        })
    });
    priced.await.unwrap()
}

both! {
    async fn a_past_price_is_rebuilt_exactly_after_later_changes(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        set_usd_rate(&admin, "1.0832").await;
        let rows = "1,United States,US,0.0045\n1212,New York,US,0.0061\n";
        let id = upstream_with_deck(&world, &admin, "Dollars", "USD", 12.3456, rows).await;
        let moments = [now(&world)];
        let [then] = moments;
        let (was, york) = (price_at(&world, "13105551234", then).await, price_at(&world, "12125551234", then).await);
        // 0.0045 / 1.0832 × 1.123456 = 0.004667237…
        assert_eq!(was, Some(4_667_238));
        world.advance(600).await;
        set_usd_rate(&admin, "1.2").await;
        update_upstream(&admin, &id, json!({"markup_percent": 50})).await.ok();
        import_deck(&world, &admin, &id, "", &format!("{DECK_HEADER}1,United States,US,0.009\n")).await;
        update_upstream(&admin, &id, json!({"status": "disabled"})).await.ok();
        world.advance(600).await;
        assert_eq!(price(&world, "13105551234").await, None);
        assert_eq!(price_at(&world, "13105551234", then).await, was);
        assert_eq!(price_at(&world, "12125551234", then).await, york);
        assert_eq!(price_at(&world, "12125551234", Time::from_millis(0)).await, None);
        world.end().await;
    }

    async fn a_rate_diff_lists_changes_between_two_times(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let customer = world.minted(Role::Customer).await;
        let rows = "31,Netherlands,NL,0.01\n32,Belgium,BE,0.02\n33,France,FR,0.03\n34,Spain,ES,0.04\n";
        let nothing = now(&world);
        world.advance(1).await;
        let id = upstream_with_deck(&world, &admin, "A", "EUR", 0.0, rows).await;
        let before = now(&world);
        world.advance(60).await;
        let rows = "31,Netherlands,NL,0.01\n32,Belgium,BE,0.01\n33,France,FR,0.05\n35,Portugal,PT,0.04\n";
        import_deck(&world, &admin, &id, "", &format!("{DECK_HEADER}{rows}")).await;
        let changes = diff(&customer, before, now(&world)).await;
        let told: Vec<_> = changes["data"].as_array().unwrap().iter()
            .map(|one| (one["prefix"].as_str().unwrap(), one["change"].as_str().unwrap())).collect();
        assert_eq!(told, [("32", "decreased"), ("33", "increased"), ("34", "removed"), ("35", "added")]);
        assert_eq!(changes["data"][1]["from"]["amount"], "0.03");
        assert_eq!(changes["data"][1]["to"]["amount"], "0.05");
        assert_eq!((&changes["data"][2]["to"], &changes["data"][3]["from"]), (&Value::Null, &Value::Null));
        assert_eq!(changes["data"][2]["destination_name"], "Spain");
        assert_eq!(prefixes(&diff(&customer, nothing, before).await), ["31", "32", "33", "34"]);
        assert_eq!(prefixes(&diff(&customer, before, before).await), Vec::<&str>::new());
        let backwards = format!("/rates/diff?from={}&to={}", Rfc3339(now(&world)), Rfc3339(nothing));
        assert_eq!(customer.get(&backwards).await.invalid(), ["to"]);
        world.end().await;
    }

    async fn a_future_rate_applies_from_its_date(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let id = upstream_with_deck(&world, &admin, "A", "EUR", 0.0, "31,Netherlands,NL,0.01\n").await;
        let tomorrow = Time::from_millis(now(&world).millis() + 86_400_000);
        let header = "prefix,destination_name,country,rate_per_minute,effective_at\n";
        let deck = format!("{header}31,Netherlands,NL,0.02,{}\n", Rfc3339(tomorrow));
        import_deck(&world, &admin, &id, "", &deck).await;
        assert_eq!(price(&world, "31201234567").await.as_deref(), Some("0.01"));
        let customer = world.minted(Role::Customer).await;
        let changes = diff(&customer, now(&world), tomorrow).await;
        assert_eq!((&changes["data"][0]["change"], &changes["data"][0]["to"]["amount"]), (&json!("increased"), &json!("0.02")));
        world.advance(86_400).await;
        assert_eq!(price(&world, "31201234567").await.as_deref(), Some("0.02"));
        world.end().await;
    }

    async fn a_rate_diff_of_large_decks_is_paged(db) {
        const PREFIXES: usize = 100_000;
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let id = create_upstream(&admin, upstream_body()).await;
        // A short prefix, far from the stretches, prices what one of the decks does not know.
        let deck = large_deck(PREFIXES, "0.01") + "3,Everywhere,NL,0.5\n";
        import_deck(&world, &admin, &id, "", &deck).await;
        let before = now(&world);
        world.advance(60).await;
        let mut lines: Vec<String> = deck.lines().map(str::to_owned).collect();
        let changed: Vec<usize> = (0..PREFIXES).step_by(9_973).collect();
        for place in &changed {
            lines[place + 1] = lines[place + 1].replace("0.01", "0.02");
        }
        import_deck(&world, &admin, &id, "", &lines.join("\n")).await;
        let after = now(&world);
        world.advance(60).await;
        // Neither of the two is in force any more, so both are read from the database.
        import_deck(&world, &admin, &id, "", &large_deck(10, "0.01")).await;
        let customer = world.minted(Role::Customer).await;
        let scope = format!("/rates/diff?limit=3&from={}&to={}", Rfc3339(before), Rfc3339(after));
        let (mut seen, mut path) = (Vec::new(), scope.clone());
        loop {
            let page = customer.get(&path).await.ok();
            assert!(page["data"].as_array().unwrap().len() <= 3);
            seen.extend(prefixes(&page).into_iter().map(str::to_owned));
            let Some(cursor) = page["meta"]["next_cursor"].as_str() else { break };
            path = format!("{scope}&cursor={cursor}");
        }
        let expected: Vec<String> = changed.iter().map(|place| (3_100_000 + place).to_string()).collect();
        assert_eq!(seen, expected);
        world.end().await;
    }
}
