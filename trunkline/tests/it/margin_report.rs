//! `GET /admin/reports/margin`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use values::{AccountId, Role, Time, TimeZone};

use crate::usage::{Sums, all_cdrs, millis, nanos, recounted};
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, rfc3339, unanswered_line};
use crate::world::fixtures::key;
use crate::world::fixtures::numbers::customer_with_trunk;
use crate::world::fixtures::rates::import_deck;
use crate::world::fixtures::switch::{CALL_DECK, Scene};

const DAY: i64 = 86_400_000;
const GROUPS: [(&str, &str); 4] =
    [("day", ""), ("customer", "customer_id"), ("destination", "destination_name"), ("upstream", "upstream_id")];

fn sums(row: &Value) -> Sums {
    assert_eq!(nanos(&row["margin"]), nanos(&row["charge"]) - nanos(&row["cost"]), "{row}");
    #[allow(clippy::cast_possible_truncation)]
    let seconds = (row["minutes"].as_f64().unwrap() * 60.0).round() as i64;
    let count = |name: &str| row[name].as_i64().unwrap();
    [count("attempts"), count("answered"), seconds, nanos(&row["charge"]), nanos(&row["cost"])]
}

fn key_of(row: &Value) -> String {
    row["key"].as_str().unwrap_or_default().to_owned()
}

fn by_key(report: &Value) -> BTreeMap<String, Sums> {
    let rows = report["data"].as_array().unwrap();
    assert!(rows.is_sorted_by_key(key_of), "{report}");
    rows.iter().map(|row| (key_of(row), sums(row))).collect()
}

fn added<'s>(all: impl IntoIterator<Item = &'s Sums>) -> Sums {
    all.into_iter().fold(Sums::default(), |mut total, one| {
        total.iter_mut().zip(one).for_each(|(total, more)| *total += more);
        total
    })
}

/// The rows of all pages, one at a time.
async fn joined(team: &Client, query: &str) -> Vec<Value> {
    let (mut rows, mut next) = (Vec::new(), format!("/admin/reports/margin?{query}&limit=1"));
    loop {
        let page = team.get(&next).await.ok();
        rows.extend(page["data"].as_array().unwrap().iter().cloned());
        let Some(cursor) = page["meta"]["next_cursor"].as_str() else { return rows };
        next = format!("/admin/reports/margin?{query}&limit=1&cursor={cursor}");
    }
}

/// A row as the CSV has it.
fn line_of(row: &Value) -> String {
    let cell = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let safe = |text: String| if text.starts_with('=') { format!("'{text}") } else { text };
    let amount = |name: &str| row[name]["amount"].as_str().unwrap().to_owned();
    let share = row["margin_pct"].as_f64().map(|share| share.to_string()).unwrap_or_default();
    let minutes = row["minutes"].as_f64().unwrap();
    let (attempts, answered) = (&row["attempts"], &row["answered"]);
    let money = ["charge", "cost", "margin"].map(amount).join(",");
    format!("{},{},{attempts},{answered},{minutes},{money},EUR,{share}\n", safe(cell("key")), safe(cell("name")))
}

/// Compares the report by everything with a recount of the CDRs and with the ledger.
async fn compare(scene: &Scene, zone: &str) {
    let team = scene.world.minted(Role::Support).await;
    let cdrs = all_cdrs(&team).await;
    let (from, to) = (rfc3339(scene.now() - 20 * DAY), rfc3339(scene.now() + 1));
    let time_zone: TimeZone = zone.parse().unwrap();
    for (by, field) in GROUPS {
        let query = format!("by={by}&from={from}&to={to}&time_zone={zone}");
        let report = team.get(&format!("/admin/reports/margin?{query}")).await.ok();
        let date = |cdr: &Value| time_zone.format(Time::from_millis(millis(&cdr["started_at"])))[..10].to_owned();
        let key = |cdr: &Value| match by {
            "day" => date(cdr),
            _ => cdr[field].as_str().unwrap_or_default().to_owned(),
        };
        let counted = recounted(&cdrs, |_| 0, key, true);
        let counted: BTreeMap<String, Sums> = counted.into_iter().map(|((key, _), sums)| (key, sums)).collect();
        assert_eq!(by_key(&report), counted, "{query}");
        assert_eq!(sums(&report["totals"]), added(counted.values()), "{query}");
        let revenue =
            scene.count("SELECT CAST(SUM(amount) AS BIGINT) FROM ledger_book_days WHERE book = 'calls'").await;
        assert_eq!(nanos(&report["totals"]["charge"]), revenue, "{query}");
        let rows = joined(&team, &query).await;
        assert_eq!(json!(rows), report["data"], "{query}");
        let csv = team.get(&format!("/admin/reports/margin?{query}&format=csv")).await;
        assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
        let header = "key,name,attempts,answered,minutes,charge,cost,margin,currency,margin_pct\n";
        let expected: String = [header.to_owned()].into_iter().chain(rows.iter().map(line_of)).collect();
        assert_eq!(String::from_utf8(csv.bytes).unwrap(), expected);
    }
    let customers = team.get(&format!("/admin/reports/margin?by=customer&from={from}&to={to}")).await.ok();
    let mut reader = scene.world.node.app.db.read().await.unwrap();
    let books: Vec<(AccountId, i64)> = reader
        .all(
            "SELECT account_id, CAST(SUM(amount) AS BIGINT) FROM ledger_book_days WHERE book = 'calls' GROUP BY 1",
            &[],
        )
        .await
        .unwrap();
    let books: BTreeMap<String, i64> =
        books.into_iter().map(|(account, amount)| (account.uuid().to_string(), amount)).collect();
    let charges = by_key(&customers).into_iter().map(|(key, sums)| (key, sums[3])).filter(|(_, charge)| *charge > 0);
    assert_eq!(charges.collect::<BTreeMap<_, _>>(), books);
}

both! {
    async fn the_margin_report_equals_the_cdrs_and_the_ledger_to_the_nano(db) {
        let scene = Scene::start(db, 100_000).await;
        let (_, other) = customer_with_trunk(&scene.world, "olga@other.example", 10_000).await;
        let deck = format!("{CALL_DECK}33,=France,FR,0.123456789,0,1,1\n");
        assert_eq!(import_deck(&scene.world, &scene.admin, &scene.upstream, "", &deck).await["status"], "completed");
        let upstream = format!("/admin/upstreams/{}", scene.upstream);
        scene.admin.with_key(key()).patch(&upstream, json!({"markup_percent": 37})).await.ok();
        scene.world.advance(5 * 86_400).await;
        let now = scene.now();
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "a", now - 3 * DAY, 61, json!({"upstream_id": scene.upstream})),
            cdr_line(&scene, "b", now - 2 * DAY, 7, json!({"called": "+442071234567"})),
            cdr_line(&scene, "c", now - 2 * DAY, 33, json!({"called": "+33123456789", "trunk_id": other})),
            cdr_line(&scene, "d", now - 3_600_000, 33, json!({"called": "+31612345678"})),
            unanswered_line(&scene, "e", now - 3_500_000, json!({})),
            cdr_line(&scene, "f", now - 3_400_000, 30, json!({"leg": "origination", "trunk_id": other})),
        ]).await;
        // A call whose events stop, and its end that comes late and names another upstream.
        let late = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        scene.send_events(json!([scene.event("answered", &late, 0, json!({}))])).await;
        scene.world.advance(1300).await;
        compare(&scene, "UTC").await;
        let end = json!({"answered_at": began, "at": began + 77_000, "upstream_id": "0198c0de-7a3b-7c4d-8e5f-001122334455"});
        assert_eq!(scene.send_events(json!([scene.event("ended", &late, 0, end)])).await["accepted"], 1);
        for zone in ["UTC", "Europe/Amsterdam", "America/New_York"] {
            compare(&scene, zone).await;
        }
        let team = scene.world.minted(Role::Admin).await;
        let totals = team.get("/admin/reports/margin").await.ok()["totals"].clone();
        assert!(nanos(&totals["margin"]) > 0, "{totals}");
        assert_eq!((&totals["key"], &totals["name"]), (&Value::Null, &Value::Null));
        let customers = team.get("/admin/reports/margin?by=customer").await.ok();
        let name = scene.world.sign_in("cora@customer.example").await.get("/account").await.ok()["company_name"].clone();
        assert!(customers["data"].as_array().unwrap().iter().any(|row| row["name"] == name), "{customers}");
        scene.end().await;
    }

    async fn later_pages_of_the_margin_report_keep_the_range_of_the_first(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(3 * 86_400).await;
        let now = scene.now();
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "a", now - 2 * DAY, 61, json!({})),
            cdr_line(&scene, "b", now - DAY, 7, json!({"called": "+442071234567"})),
        ]).await;
        let team = scene.world.minted(Role::Support).await;
        let whole = team.get("/admin/reports/margin?by=day").await.ok();
        let first = team.get("/admin/reports/margin?by=day&limit=1").await.ok();
        scene.world.advance(30 * 86_400).await;
        import_cdrs(&scene.world, &[cdr_line(&scene, "c", scene.now() - 1000, 7, json!({}))]).await;
        let team = scene.world.minted(Role::Support).await;
        let cursor = first["meta"]["next_cursor"].as_str().unwrap();
        let second = team.get(&format!("/admin/reports/margin?by=day&limit=1&cursor={cursor}")).await.ok();
        assert_eq!(second["data"][0], whole["data"][1]);
        assert_eq!(second["totals"], whole["totals"]);
        assert_eq!(second["meta"]["next_cursor"], Value::Null);
        scene.end().await;
    }

    async fn the_margin_report_is_for_the_team_and_of_at_most_400_days(db) {
        let scene = Scene::start(db, 0).await;
        let team = scene.world.minted(Role::Support).await;
        let report = team.get("/admin/reports/margin").await.ok();
        assert_eq!((&report["data"], &report["totals"]["attempts"], &report["totals"]["margin_pct"]), (&json!([]), &json!(0), &Value::Null));
        for role in [Role::Admin, Role::Support] {
            let report = scene.world.minted(role).await.get("/admin/reports/margin?by=upstream&format=csv").await;
            assert_eq!((report.status, report.bytes.iter().filter(|byte| **byte == b'\n').count()), (200, 1));
        }
        for query in ["", "?format=csv"] {
            let customer = scene.world.minted(Role::Customer).await;
            customer.get(&format!("/admin/reports/margin{query}")).await.problem(403, "auth.forbidden");
        }
        for (query, field) in [
            ("by=trunk", "by"),
            ("format=xlsx", "format"),
            ("from=2024-01-01T00:00:00Z&to=2026-03-01T00:00:00Z", "to"),
            ("from=2126-01-01T00:00:00Z", "from"),
            ("time_zone=Asia/Kolkata", "time_zone"),
            ("cursor=abc", "cursor"),
            ("limit=201", "limit"),
        ] {
            assert_eq!(team.get(&format!("/admin/reports/margin?{query}")).await.invalid(), [field], "{query}");
        }
        scene.end().await;
    }
}
