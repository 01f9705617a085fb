//! Usage of an account and traffic of all customers over time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use values::{Rfc3339, Role, Time, TimeZone};

use crate::world::ADMIN_EMAIL;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, ndjson, rfc3339, send_cdrs, unanswered_line};
use crate::world::fixtures::rates::import_deck;
use crate::world::fixtures::switch::{CALL_DECK, Scene, merged, trunk_with_source};

/// Attempts, answered calls, seconds, charge and cost in nanos.
pub type Sums = [i64; 5];

/// Nanos of an exact amount.
pub fn nanos(money: &Value) -> i64 {
    let text = money["amount"].as_str().unwrap();
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let (units, fraction) = text.split_once('.').unwrap();
    sign * (units.parse::<i64>().unwrap() * 1_000_000_000 + format!("{fraction:0<9}").parse::<i64>().unwrap())
}

pub fn millis(time: &Value) -> i64 {
    time.as_str().unwrap().parse::<Rfc3339>().unwrap().0.millis()
}

/// What a report shows, by key and start of the interval.
fn shown(report: &Value) -> BTreeMap<(String, i64), Sums> {
    let mut shown = BTreeMap::new();
    for series in report["series"].as_array().unwrap() {
        let key = series["key"].as_str().unwrap_or_default();
        for point in series["points"].as_array().unwrap() {
            let (attempts, answered) = (point["attempts"].as_i64().unwrap(), point["answered"].as_i64().unwrap());
            #[allow(clippy::cast_possible_truncation)]
            let seconds = (point["minutes"].as_f64().unwrap() * 60.0).round() as i64;
            let cost = point.get("cost").map_or(0, nanos);
            if let Some(margin) = point.get("margin") {
                assert_eq!(nanos(margin), nanos(&point["charge"]) - cost);
            }
            let before = shown.insert(
                (key.to_owned(), millis(&point["at"])),
                [attempts, answered, seconds, nanos(&point["charge"]), cost],
            );
            assert_eq!(before, None, "two points of one interval");
        }
    }
    assert_eq!(report["other"], Value::Null);
    shown
}

/// The same from CDRs, by what `key` says.
pub fn recounted(
    cdrs: &[Value],
    start: impl Fn(Time) -> i64,
    key: impl Fn(&Value) -> String,
    with_cost: bool,
) -> BTreeMap<(String, i64), Sums> {
    let mut sums: BTreeMap<(String, i64), Sums> = BTreeMap::new();
    for cdr in cdrs {
        let at = start(Time::from_millis(millis(&cdr["started_at"])));
        let sum = sums.entry((key(cdr), at)).or_default();
        let cost = if with_cost { nanos(&cdr["our_cost"]) } else { 0 };
        let seconds = cdr["duration_seconds"].as_i64().unwrap();
        let added = [1, i64::from(cdr["status"] == "answered"), seconds, nanos(&cdr["customer_charge"]), cost];
        sum.iter_mut().zip(added).for_each(|(sum, more)| *sum += more);
    }
    sums
}

/// All CDRs, with what only their details say.
pub async fn all_cdrs(team: &Client) -> Vec<Value> {
    let mut cdrs = Vec::new();
    for cdr in team.get("/admin/cdrs?limit=1000").await.ok()["data"].as_array().unwrap() {
        let detail = team.get(&format!("/admin/cdrs/{}", cdr["id"].as_str().unwrap())).await.ok();
        cdrs.push(merged(detail, json!({"customer_id": cdr["customer_id"]})));
    }
    cdrs
}

fn text(name: &'static str) -> impl Fn(&Value) -> String {
    move |cdr| cdr[name].as_str().unwrap_or_default().to_owned()
}

/// Compares every grouping of both reports with a recount.
async fn compare(scene: &Scene) {
    let customer = scene.world.sign_in("cora@customer.example").await;
    let team = scene.world.minted(Role::Support).await;
    let cdrs = all_cdrs(&team).await;
    let own: Vec<Value> =
        cdrs.iter().filter(|cdr| cdr["account_id"] == json!(scene.customer.account_id)).cloned().collect();
    let range = format!("from={}&to={}", rfc3339(scene.now() - 20 * 86_400_000), rfc3339(scene.now() + 1));
    let hour = |at: Time| at.millis() / 3_600_000 * 3_600_000;
    let day = |at: Time| at.millis() / 86_400_000 * 86_400_000;
    let amsterdam: TimeZone = "Europe/Amsterdam".parse().unwrap();
    let local = |at: Time| amsterdam.day_start(at).unwrap().millis();
    let groups = [
        ("", None),
        ("destination", Some("destination_name")),
        ("country", Some("country")),
        ("trunk", Some("trunk_id")),
    ];
    let team_groups = [("customer", Some("customer_id")), ("upstream", Some("upstream_id"))];
    for (group, field) in groups.iter().chain(&team_groups) {
        let key = |cdr: &Value| field.map_or(String::new(), |field| text(field)(cdr));
        let by = if group.is_empty() { String::new() } else { format!("&group_by={group}") };
        for (interval, start) in [
            ("interval=hour", &hour as &dyn Fn(Time) -> i64),
            ("interval=day", &day),
            ("interval=day&time_zone=Europe/Amsterdam", &local),
        ] {
            let report = team.get(&format!("/admin/traffic?{range}&{interval}{by}")).await.ok();
            assert_eq!(shown(&report), recounted(&cdrs, start, key, true), "traffic {interval} {group}");
            let of_customer =
                format!("/admin/traffic?{range}&{interval}{by}&customer_id={}", scene.customer.account_id);
            if team_groups.iter().any(|(name, _)| name == group) {
                assert_eq!(team.get(&of_customer).await.invalid(), ["group_by"]);
                continue;
            }
            let report = team.get(&of_customer).await.ok();
            assert_eq!(shown(&report), recounted(&own, start, key, true), "traffic of a customer {interval} {group}");
            let report = customer.get(&format!("/usage?{range}&{interval}{by}")).await.ok();
            assert_eq!(shown(&report), recounted(&own, start, key, false), "usage {interval} {group}");
        }
    }
}

both! {
    async fn usage_and_traffic_equal_a_recount_of_the_cdrs(db) {
        let scene = Scene::start(db, 100_000).await;
        let other = trunk_with_source(&scene.customer, json!({"name": "Other"}), "8.8.4.9").await;
        scene.world.advance(3 * 86_400).await;
        let now = scene.now();
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "a", now - 2 * 86_400_000, 61, json!({"upstream_id": scene.upstream})),
            cdr_line(&scene, "b", now - 86_400_000, 7, json!({"trunk_id": other, "called": "+442071234567"})),
            cdr_line(&scene, "c", now - 3_600_000, 33, json!({"called": "+31612345678"})),
            unanswered_line(&scene, "d", now - 3_500_000, json!({})),
            cdr_line(&scene, "e", now - 3_400_000, 30, json!({"leg": "origination"})),
        ]).await;
        // A call of the switch, one whose events stop, and its end that comes late and names another upstream.
        let token = scene.allowed(json!({})).await["call_token"].clone();
        scene.send_events(json!([
            scene.event("answered", &token, 0, json!({})), scene.event("ended", &token, 90_000, json!({})),
        ])).await;
        let late = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        scene.send_events(json!([scene.event("answered", &late, 0, json!({}))])).await;
        scene.world.advance(1300).await;
        compare(&scene).await;
        let end = json!({"answered_at": began, "at": began + 77_000, "upstream_id": "0198c0de-7a3b-7c4d-8e5f-001122334455"});
        let told = scene.send_events(json!([scene.event("ended", &late, 0, end)])).await;
        assert_eq!(told["accepted"], 1, "{told}");
        compare(&scene).await;
        // A line that cannot be rated at first.
        let began = scene.now() - 60_000;
        let line = cdr_line(&scene, "german", began, 45, json!({"called": "+4930123456"}));
        assert_eq!(send_cdrs(&scene, &ndjson(&[line])).await.ok()["suspended"], 1);
        compare(&scene).await;
        let admin = scene.world.sign_in(ADMIN_EMAIL).await;
        let deck = format!("{CALL_DECK}49,Germany,DE,0.123456789,0,1,1\n").replace(
            "minimum_seconds\n", "minimum_seconds,effective_at\n").replace(",1,1\n", ",1,1,\n").replace(",60,60\n", ",60,60,\n")
            .replace("0.123456789,0,1,1,", &format!("0.123456789,0,1,1,{}", rfc3339(began - 1000)));
        assert_eq!(import_deck(&scene.world, &admin, &scene.upstream, "", &deck).await["status"], "completed");
        scene.world.settle().await;
        assert_eq!(scene.count("SELECT COUNT(*) FROM suspended_cdrs").await, 0);
        compare(&scene).await;
        scene.end().await;
    }

    async fn anonymised_cdrs_stay_in_usage_and_traffic(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        import_cdrs(&scene.world, &[cdr_line(&scene, "old", scene.now() - 60_000, 61, json!({}))]).await;
        let month = format!("from={}&to={}&interval=day", rfc3339(scene.now() - 86_400_000), rfc3339(scene.now()));
        let team = scene.world.minted(Role::Support).await;
        let before = team.get(&format!("/admin/traffic?{month}&group_by=destination")).await.ok();
        assert_eq!(before["series"][0]["points"][0]["attempts"], 1);
        scene.world.advance(402 * 86_400).await;
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs WHERE called = 'anonymised'").await, 1);
        let team = scene.world.minted(Role::Support).await;
        assert_eq!(team.get(&format!("/admin/traffic?{month}&group_by=destination")).await.ok(), before);
        scene.end().await;
    }

    async fn a_series_has_names_asr_and_acd_and_leaves_empty_points_out(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(4 * 86_400).await;
        scene.world.advance_to_next(86_400).await;
        scene.world.advance(7200).await;
        let midnight = scene.now() / 86_400_000 * 86_400_000;
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "a", midnight, 90, json!({})),
            unanswered_line(&scene, "b", midnight + 1, json!({})),
            cdr_line(&scene, "c", midnight - 3 * 86_400_000, 30, json!({"called": "+442071234567"})),
        ]).await;
        let customer = scene.world.sign_in("cora@customer.example").await;
        let report = customer.get("/usage?group_by=country").await.ok();
        assert_eq!((&report["interval"], &report["time_zone"]), (&json!("day"), &json!("UTC")));
        // The highest charge first.
        assert_eq!((&report["series"][0]["key"], &report["series"][0]["name"]), (&json!("GB"), &json!("United Kingdom")));
        let dutch = &report["series"][1];
        assert_eq!(dutch["points"].as_array().unwrap().len(), 1);
        let point = &dutch["points"][0];
        assert_eq!((&point["asr"], &point["acd_seconds"], &point["minutes"]), (&json!(0.5), &json!(90), &json!(1.5)));
        assert_eq!(point["charge"]["amount"], "0.09");
        let trunks = customer.get("/usage?group_by=trunk&interval=hour").await.ok();
        assert_eq!((&trunks["series"][0]["key"], &trunks["series"][0]["name"]), (&json!(scene.trunk), &json!("Main")));
        assert_eq!(customer.get("/usage?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z").await.ok()["series"], json!([]));
        let stranger = scene.world.minted(Role::Customer).await;
        assert_eq!(stranger.get("/usage").await.ok()["series"], json!([]));
        let team = scene.world.minted(Role::Support).await;
        let by_customer = team.get("/admin/traffic?group_by=customer").await.ok();
        assert_eq!(by_customer["series"][0]["name"], customer.get("/account").await.ok()["company_name"]);
        let by_upstream = team.get("/admin/traffic?group_by=upstream").await.ok();
        assert!(by_upstream["series"].as_array().unwrap().iter().any(|one| one["key"] == json!(scene.upstream)), "{by_upstream}");
        for (query, field) in [
            ("interval=hour&from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z", "to"),
            ("from=2024-01-01T00:00:00Z&to=2026-03-01T00:00:00Z", "to"),
            ("from=2126-01-01T00:00:00Z", "from"),
            ("time_zone=Asia/Kolkata", "time_zone"),
            ("time_zone=Mars/Olympus", "time_zone"),
            ("group_by=upstream", "group_by"),
        ] {
            assert_eq!(customer.get(&format!("/usage?{query}")).await.invalid(), [field], "{query}");
        }
        scene.end().await;
    }

    async fn more_than_5000_points_are_summed_up_in_other(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(86_400).await;
        let now = scene.now();
        // Fourteen destinations in each of 400 hours.
        let db = &scene.world.node.app.db;
        let account: values::AccountId = scene.customer.account_id.parse().unwrap();
        let filled = db.tx((account, now / 3_600_000), |conn, (account, hour)| Box::pin(async move {
            for number in 0..5600i64 {
                conn.exec(
                    "INSERT INTO usage_destinations (account_id, span, slot, country, destination_name, attempts, answered, seconds, charge, cost)
                     VALUES ($1, 1, $2, 'NL', $3, 1, 1, 60, $4, 0)",
                    db::params![*account, *hour - number / 14, format!("D{:02}", number % 14), number % 14],
                ).await?;
            }
            Ok::<_, db::DbError>(())
        }));
        filled.await.unwrap();
        let customer = scene.world.sign_in("cora@customer.example").await;
        let query = format!("/usage?interval=hour&group_by=destination&from={}", rfc3339(now - 17 * 86_400_000));
        let report = customer.get(&query).await.ok();
        let series = report["series"].as_array().unwrap();
        let points = |one: &Value| one["points"].as_array().unwrap().len();
        assert!(series.iter().map(points).sum::<usize>() + points(&report["other"]) <= 5000);
        assert_eq!((series.len(), &series[0]["key"]), (11, &json!("D13")));
        let other = report["other"]["points"].as_array().unwrap();
        assert_eq!((other.len(), &other[0]["attempts"]), (400, &json!(3)));
        scene.world.stop().await;
    }

    async fn traffic_of_more_rows_than_a_statement_returns_is_summed_up_by_the_database(db) {
        let scene = Scene::start(db, 10_000).await;
        let now = scene.now();
        // 50,001 destinations, each by two upstreams in the same hour.
        let filled = scene.world.node.app.db.tx(now / 3_600_000, |conn, hour| Box::pin(async move {
            for _ in 0..2 {
                let upstream: values::UpstreamId = conn.new_id();
                conn.exec(
                    "INSERT INTO usage_routes
                         (span, slot, country, destination_name, upstream_id, attempts, answered, seconds, charge, cost)
                     WITH RECURSIVE numbers (number) AS (
                         SELECT CAST(0 AS BIGINT) UNION ALL SELECT number + 1 FROM numbers WHERE number < 50000
                     )
                     SELECT 1, $1, 'NL', 'D' || number, $2, 1, 1, 60, number, 0 FROM numbers",
                    db::params![*hour, upstream],
                ).await?;
            }
            Ok::<_, db::DbError>(())
        }));
        filled.await.unwrap();
        let team = scene.world.minted(Role::Support).await;
        let report = team.get("/admin/traffic?interval=hour&group_by=destination").await.ok();
        let largest = &report["series"][0];
        assert_eq!((&largest["key"], &largest["points"][0]["attempts"]), (&json!("D50000"), &json!(2)));
        let others = 50_001 - report["series"].as_array().unwrap().len();
        assert_eq!(report["other"]["points"][0]["attempts"], json!(2 * others));
        scene.world.stop().await;
    }
}
