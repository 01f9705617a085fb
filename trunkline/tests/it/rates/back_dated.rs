//! Decks with rates from before their import.

use serde_json::{Value, json};
use values::Role;

use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, ndjson, rfc3339, send_cdrs};
use crate::world::fixtures::key;
use crate::world::fixtures::rates::{import_deck, prefixes, set_usd_rate};
use crate::world::fixtures::switch::Scene;
use crate::world::fixtures::upstreams::{create_upstream, update_upstream, upstream_body};

const DAY: i64 = 86_400_000;
const GERMAN: &str = "+4930123456";
const DUTCH: &str = "+31201234567";

/// Imports rows of prefix, rate and the time since when it is to count.
async fn import_rows(scene: &Scene, upstream: &str, query: &str, rows: &[(&str, &str, i64)]) {
    let mut deck = "prefix,destination_name,country,rate_per_minute,effective_at\n".to_owned();
    for (prefix, rate, since) in rows {
        deck += &format!("{prefix},Destination {prefix},DE,{rate},{}\n", rfc3339(*since));
    }
    let report = import_deck(&scene.world, &admin(scene).await, upstream, query, &deck).await;
    assert_eq!(report["status"], "completed", "{report}");
}

async fn admin(scene: &Scene) -> Client {
    scene.world.minted(Role::Admin).await
}

/// Imports a call of a minute: its charge in nanos, or none if the number had no sell rate then.
async fn charge(scene: &Scene, number: &str, began: i64) -> Option<i64> {
    let call_id = key().to_string();
    let line = cdr_line(scene, &call_id, began, 60, json!({"called": number}));
    let answer = send_cdrs(scene, &ndjson(&[line])).await.ok();
    if answer["accepted"] == 0 {
        assert_eq!(answer["suspended"], 1, "{answer}");
        return None;
    }
    let mut conn = scene.world.node.app.db.read().await.unwrap();
    let (charge,) = conn.one("SELECT charge FROM cdrs WHERE call_id = $1", db::params![call_id]).await.unwrap();
    Some(charge)
}

/// The rate of exactly this prefix, as `/rates` shows it.
async fn listed(scene: &Scene, prefix: &str) -> Value {
    let customer = scene.world.minted(Role::Customer).await;
    let page = customer.get(&format!("/rates?prefix={prefix}")).await.ok();
    let rates = page["data"].as_array().unwrap();
    rates.iter().find(|rate| rate["prefix"] == prefix).cloned().unwrap()
}

/// Since when a listed rate counts.
async fn since(scene: &Scene, prefix: &str) -> i64 {
    let shown = listed(scene, prefix).await["effective_at"].clone();
    serde_json::from_value::<values::Rfc3339>(shown).unwrap().0.millis()
}

/// The CDRs of the team's list, newest first.
async fn admin_cdrs(scene: &Scene) -> Vec<Value> {
    let admin = admin(scene).await;
    let page = admin.get("/admin/cdrs").await.ok();
    let mut cdrs = Vec::new();
    for cdr in page["data"].as_array().unwrap() {
        cdrs.push(admin.get(&format!("/admin/cdrs/{}", cdr["id"].as_str().unwrap())).await.ok());
    }
    cdrs
}

both! {
    async fn a_call_before_the_import_is_priced_by_a_back_dated_rate(db) {
        let scene = Scene::start(db, 10_000).await;
        let now = scene.now();
        assert_eq!(charge(&scene, GERMAN, now - 5 * DAY).await, None);
        import_rows(&scene, &scene.upstream, "?mode=merge", &[("49", "0.03", now - 10 * DAY)]).await;
        assert_eq!(charge(&scene, GERMAN, now - 5 * DAY).await, Some(30_000_000));
        assert_eq!(charge(&scene, GERMAN, now - 10 * DAY).await, Some(30_000_000));
        assert_eq!(charge(&scene, GERMAN, now - 10 * DAY - 1).await, None);
        // An upstream that did not exist then has the terms that it began with.
        let other = create_upstream(&admin(&scene).await, upstream_body()).await;
        update_upstream(&admin(&scene).await, &other, json!({"markup_percent": 50})).await.ok();
        import_rows(&scene, &other, "", &[("33", "0.03", now - 10 * DAY)]).await;
        assert_eq!(charge(&scene, "+33123456789", now - 5 * DAY).await, Some(33_000_000));
        scene.world.advance(600).await;
        assert_eq!(charge(&scene, "+33123456789", scene.now() - 60_000).await, Some(45_000_000));

        assert_eq!(listed(&scene, "49").await["effective_at"], rfc3339(now - 10 * DAY));
        let customer = scene.world.minted(Role::Customer).await;
        let diff = async |from: i64, to: i64| {
            let path = format!("/rates/diff?from={}&to={}", rfc3339(from), rfc3339(to));
            customer.get(&path).await.ok()
        };
        assert_eq!(prefixes(&diff(now - 10 * DAY - 1, now - 5 * DAY).await), ["33", "49"]);
        assert_eq!(prefixes(&diff(now - 5 * DAY, now - 4 * DAY).await), Vec::<&str>::new());
        let proofs = admin_cdrs(&scene).await;
        let german = proofs.iter().filter(|cdr| cdr["called"] == GERMAN);
        for cdr in german.clone() {
            assert_eq!(cdr["source"]["prefix"], "49", "{cdr}");
            assert_eq!(cdr["source"]["effective_at"], rfc3339(now - 10 * DAY));
            assert_eq!(cdr["source"]["effective_at"], cdr["price"]["effective_at"]);
            assert!(cdr["source"]["deck_id"].is_string());
        }
        // The line that was suspended at first is rated, too.
        assert_eq!(german.count(), 3);
        scene.end().await;
    }

    async fn a_back_dated_rate_does_not_change_a_price_that_was_in_force(db) {
        let scene = Scene::start(db, 10_000).await;
        let first = since(&scene, "31").await;
        scene.world.advance(1000).await;
        let dearer = [("31", "0.3", first - DAY), ("49", "0.03", first - DAY)];
        import_rows(&scene, &scene.upstream, "", &dearer).await;
        let second = since(&scene, "31").await;
        assert!(second > first + 999_000, "{first} {second}");
        scene.world.advance(1000).await;
        // The rate that was in force still counts for its time; before that, and from the import on, the new one does.
        let moments = [first - DAY - 1, first - DAY, first - 1, first, second - 1, second, scene.now() - 60_000];
        let mut charges = Vec::new();
        for moment in moments {
            charges.push(charge(&scene, DUTCH, moment).await.map(|nanos| nanos / 1_000_000));
        }
        assert_eq!(charges, [None, Some(300), Some(300), Some(60), Some(60), Some(300), Some(300)]);
        // A prefix that the import ended, and another brings back.
        let ended = second;
        assert_eq!(charge(&scene, "+442071234567", ended).await, None);
        import_rows(&scene, &scene.upstream, "?mode=merge", &[("44", "0.9", first - DAY)]).await;
        assert_eq!(since(&scene, "44").await, ended);
        assert_eq!(charge(&scene, "+442071234567", ended).await, Some(900_000_000));
        assert_eq!(charge(&scene, "+442071234567", ended - 1).await, Some(600_000_000));
        assert_eq!(charge(&scene, "+442071234567", first - 1).await, Some(900_000_000));
        // An earlier date for the same price counts too.
        import_rows(&scene, &scene.upstream, "?mode=merge", &[("49", "0.03", first - 2 * DAY)]).await;
        assert_eq!(since(&scene, "49").await, first - 2 * DAY);
        assert_eq!(charge(&scene, GERMAN, first - 2 * DAY).await, Some(30_000_000));
        scene.end().await;
    }

    async fn the_lists_show_since_when_each_rate_counts(db) {
        let scene = Scene::start(db, 10_000).await;
        let start = scene.now();
        let merge = "?mode=merge";
        for (query, rate, days) in [("", "0.1", 3), (merge, "0.2", 9), ("", "0.1", 1), (merge, "0.1", 5)] {
            scene.world.advance(600).await;
            let since = start - days * DAY;
            let rows = [("31", rate, since), ("49", "0.03", since - DAY), ("4930", rate, since + DAY / 2)];
            import_rows(&scene, &scene.upstream, query, &rows[..if query.is_empty() { 3 } else { 2 }]).await;
        }
        scene.world.advance(600).await;
        let admin = admin(&scene).await;
        let upstream = admin.get(&format!("/admin/rates?upstream_id={}", scene.upstream)).await.ok();
        let customer = scene.world.minted(Role::Customer).await;
        let exported = String::from_utf8(customer.get("/rates/export").await.bytes).unwrap();
        for (prefix, number) in [("31", DUTCH), ("49", "+4940123456"), ("4930", GERMAN)] {
            let rate = listed(&scene, prefix).await;
            let amount: f64 = rate["rate_per_minute"]["amount"].as_str().unwrap().parse().unwrap();
            let nanos = Some((amount * 1e9).round() as i64);
            let begin = since(&scene, prefix).await;
            assert_eq!(charge(&scene, number, begin).await, nanos, "{rate}");
            assert_eq!(charge(&scene, number, (begin + scene.now()) / 2).await, nanos, "{rate}");
            assert_ne!(charge(&scene, number, begin - 1).await, nanos, "{rate}");
            let shown = &rate["effective_at"];
            let cost = upstream["data"].as_array().unwrap().iter().find(|one| one["prefix"] == prefix).unwrap();
            assert_eq!(&cost["effective_at"], shown);
            let found = customer.get(&format!("/rates/lookup?number={}", &number[1..])).await.ok();
            assert_eq!(&found["effective_at"], shown);
            let row = exported.lines().find(|row| row.starts_with(&format!("{prefix},"))).unwrap();
            assert!(row.contains(shown.as_str().unwrap()), "{row}");
        }
        let proofs = admin_cdrs(&scene).await;
        assert!(proofs.iter().all(|cdr| cdr["source"].is_object()), "{proofs:?}");
        scene.end().await;
    }

    async fn a_rated_call_keeps_its_price_and_its_proof_after_a_back_dated_deck(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        import_cdrs(&scene.world, &[cdr_line(&scene, "imported", began, 60, json!({}))]).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let ended = json!({"answered_at": scene.now() - 3000, "at": scene.now()});
        scene.send_events(json!([scene.event("ended", &token, 0, ended)])).await;
        let before = admin_cdrs(&scene).await;
        assert!(before.iter().all(|cdr| cdr["source"]["prefix"] == "31"), "{before:?}");
        scene.world.advance(600).await;
        // A longer prefix had no rate of its own, so from now on it counts for calls of that time.
        import_rows(&scene, &scene.upstream, "?mode=merge", &[("3120", "0.9", began - DAY)]).await;
        assert_eq!(admin_cdrs(&scene).await, before);
        assert_eq!(charge(&scene, DUTCH, began).await, Some(900_000_000));
        assert_eq!(charge(&scene, "+31301234567", began).await, Some(60_000_000));
        scene.end().await;
    }

    async fn a_back_dated_rate_is_sold_on_the_terms_of_its_time(db) {
        let scene = Scene::start(db, 10_000).await;
        let mut body = upstream_body();
        (body["base_currency"], body["markup_percent"]) = (json!("USD"), json!(0));
        let dollars = create_upstream(&scene.admin, body).await;
        scene.world.advance(600).await;
        let cheap = scene.now();
        scene.world.advance(600).await;
        update_upstream(&admin(&scene).await, &dollars, json!({"markup_percent": 100})).await.ok();
        let marked_up = scene.now();
        scene.world.advance(600).await;
        update_upstream(&admin(&scene).await, &dollars, json!({"status": "disabled"})).await.ok();
        let disabled = scene.now();
        scene.world.advance(600).await;
        update_upstream(&admin(&scene).await, &dollars, json!({"status": "active"})).await.ok();
        set_usd_rate(&admin(&scene).await, "2").await;
        let weak = scene.now();
        scene.world.advance(600).await;
        set_usd_rate(&admin(&scene).await, "1").await;
        import_rows(&scene, &dollars, "", &[("49", "0.06", cheap - 10 * DAY)]).await;
        // The first exchange rate also counts for the time before it.
        assert_eq!(charge(&scene, GERMAN, cheap - 5 * DAY).await, Some(30_000_000));
        assert_eq!(charge(&scene, GERMAN, cheap).await, Some(30_000_000));
        assert_eq!(charge(&scene, GERMAN, marked_up).await, Some(60_000_000));
        assert_eq!(charge(&scene, GERMAN, disabled).await, None);
        assert_eq!(charge(&scene, GERMAN, weak).await, Some(60_000_000));
        scene.world.advance(600).await;
        assert_eq!(charge(&scene, GERMAN, scene.now() - 60_000).await, Some(120_000_000));
        let proofs = admin_cdrs(&scene).await;
        assert!(proofs.iter().all(|cdr| cdr["source"]["exchange_rate"].is_object()), "{proofs:?}");
        scene.end().await;
    }

    async fn customers_are_told_since_when_a_back_dated_rate_counts(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let since = scene.now() - 10 * DAY;
        import_rows(&scene, &scene.upstream, "?mode=merge", &[("49", "0.03", since)]).await;
        let told = scene.customer.get("/notifications").await.ok();
        let told = told["data"].as_array().unwrap();
        let period = &told.iter().find(|one| one["code"] == "rates.changed").unwrap()["payload"];
        assert_eq!(period["from"], rfc3339(since - 1));
        let (from, to) = (period["from"].as_str().unwrap(), period["to"].as_str().unwrap());
        let changes = scene.customer.get(&format!("/rates/diff?from={from}&to={to}")).await.ok();
        assert!(prefixes(&changes).contains(&"49"), "{changes}");
        scene.end().await;
    }
}
