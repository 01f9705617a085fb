//! CDR exports.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, rfc3339, unanswered_line};
use crate::world::fixtures::key;
use crate::world::fixtures::switch::{Scene, merged};
use crate::world::s3::files_below;

/// Requests an export of all CDRs and waits for it.
pub async fn export(world: &World, customer: &Client, changes: Value) -> Value {
    let mut body = json!({"from": rfc3339(world.seconds() * 1000 - 86_400_000), "to": rfc3339(world.seconds() * 1000)});
    for (name, value) in changes.as_object().unwrap() {
        body[name] = value.clone();
    }
    let asked = customer.with_key(key()).post("/cdrs/exports", body).await.expect(202);
    assert_eq!((&asked["status"], &asked["download_url"]), (&json!("queued"), &Value::Null));
    world.settle().await;
    customer.get(&format!("/cdrs/exports/{}", asked["id"].as_str().unwrap())).await.ok()
}

/// The file behind an export's link, as anybody can fetch it who has the link.
pub async fn fetch(world: &World, export: &Value) -> (String, Vec<u8>) {
    let url = export["download_url"].as_str().unwrap();
    let path = url.split_once("/v1").unwrap().1;
    let answer = world.anyone().get(path).await;
    assert_eq!(answer.status, 200);
    let name = answer.header("content-disposition").unwrap().to_owned();
    (name, answer.bytes)
}

both! {
    async fn cdr_exports_as_csv_and_json_lines_agree(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(4000).await;
        let began = scene.now() - 3_600_000;
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "=1+1", began + 1500, 60, json!({"called": "+31612345678", "calling": "+3120\"x\", y"})),
            unanswered_line(&scene, "second", began, json!({})),
        ]).await;
        let customer = scene.world.sign_in("cora@customer.example").await;
        let csv = export(&scene.world, &customer, json!({})).await;
        assert_eq!((&csv["status"], &csv["format"], &csv["compression"]), (&json!("ready"), &json!("csv"), &json!("none")));
        let (name, bytes) = fetch(&scene.world, &csv).await;
        assert!(name.ends_with(".csv"), "{name}");
        assert_eq!((&csv["rows_count"], &csv["size_bytes"]), (&json!(2), &json!(bytes.len())));
        let table = String::from_utf8(bytes).unwrap();
        let page = customer.get("/cdrs").await.ok();
        let [first, second] = [&page["data"][0], &page["data"][1]];
        let trunk = &scene.trunk;
        let (at, later) = (rfc3339(began), rfc3339(began + 1500));
        let end = rfc3339(began + 61_500);
        assert_eq!(table, format!(
            "id,call_id,leg,started_at,answered_at,ended_at,duration_seconds,calling,called,country,destination_name,status,\
             customer_charge_amount,customer_charge_currency,trunk_id\n\
             {},second,termination,{at},,{at},0,+31201111111,+31201234567,NL,Netherlands,busy,0.00,EUR,{trunk}\n\
             {},'=1+1,termination,{later},{later},{end},60,\"'+3120\"\"x\"\", y\",+31612345678,NL,Netherlands mobile,answered,\
             0.11,EUR,{trunk}\n",
            second["id"].as_str().unwrap(), first["id"].as_str().unwrap(),
        ));
        // The sum is that of the bytes.
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, table.as_bytes());
        assert_eq!(csv["sha256"], json!(data_encoding::HEXLOWER.encode(digest.as_ref())));

        let packed = export(&scene.world, &customer, json!({"format": "jsonl", "compression": "gzip"})).await;
        let (name, bytes) = fetch(&scene.world, &packed).await;
        assert!(name.ends_with(".jsonl.gz"), "{name}");
        let mut text = String::new();
        MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines, [second.clone(), first.clone()]);

        let none = json!({"from": "2020-01-01T00:00:00Z", "to": "2020-12-31T00:00:00Z", "format": "jsonl"});
        let empty = export(&scene.world, &customer, none).await;
        assert_eq!((&empty["rows_count"], &empty["size_bytes"]), (&json!(0), &json!(0)));
        let told = customer.get("/notifications").await.ok();
        let told = told["data"].as_array().unwrap().iter().find(|one| one["payload"]["export_id"] == csv["id"]).unwrap();
        assert_eq!((&told["code"], &told["payload"]["rows_count"]), (&json!("export.ready"), &json!(2)));
        let listed = customer.get("/cdrs/exports").await.ok();
        assert_eq!(listed["data"].as_array().unwrap().len(), 3);
        assert_eq!((&listed["data"][2]["id"], &listed["data"][2]["sha256"]), (&csv["id"], &csv["sha256"]));
        scene.end().await;
    }

    async fn an_export_has_the_cdrs_that_its_filters_match_in_its_time_zone(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(4000).await;
        let began = scene.now() - 3_600_000;
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "mobile", began, 60, json!({"called": "+31612345678"})),
            cdr_line(&scene, "british", began + 1000, 60, json!({"called": "+442071234567"})),
            unanswered_line(&scene, "busy", began + 2000, json!({})),
        ]).await;
        let customer = scene.world.sign_in("cora@customer.example").await;
        let filters = json!({"called": "+31", "status": "answered"});
        let made = export(&scene.world, &customer, json!({"filters": filters, "time_zone": "Asia/Kolkata"})).await;
        assert_eq!((&made["status"], &made["rows_count"], &made["time_zone"]), (&json!("ready"), &json!(1), &json!("Asia/Kolkata")));
        assert_eq!(made["filters"], json!({"called": "31", "status": "answered"}));
        let table = String::from_utf8(fetch(&scene.world, &made).await.1).unwrap();
        let zone: values::TimeZone = "Asia/Kolkata".parse().unwrap();
        let local = zone.format(values::Time::from_millis(began));
        assert!(local.ends_with("+05:30"));
        assert_eq!(table.lines().count(), 2);
        assert!(table.contains(&format!(",mobile,termination,{local},{local},")), "{table}");
        let lines = export(&scene.world, &customer, json!({"filters": {"call_id": "british"}, "format": "jsonl", "time_zone": "Europe/Amsterdam"})).await;
        let line: Value = serde_json::from_slice(&fetch(&scene.world, &lines).await.1).unwrap();
        assert_eq!((&line["call_id"], &line["trunk_name"]), (&json!("british"), &json!("Main")));
        let at = line["started_at"].as_str().unwrap();
        assert!(!at.ends_with('Z') && at.parse::<values::Rfc3339>().unwrap().0.millis() == began + 1000, "{at}");
        let range = json!({"from": rfc3339(began), "to": rfc3339(began + 1)});
        let refused = async |changes: Value| {
            customer.with_key(key()).post("/cdrs/exports", merged(range.clone(), changes)).await
        };
        assert_eq!(refused(json!({"filters": {"upstream_id": scene.upstream}})).await.invalid(), ["filters.upstream_id"]);
        assert_eq!(refused(json!({"time_zone": "Mars/Olympus"})).await.invalid(), ["time_zone"]);
        scene.end().await;
    }

    async fn the_team_exports_the_cdrs_of_all_customers_with_cost_and_margin(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(4000).await;
        let began = scene.now() - 3_600_000;
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "one", began, 60, json!({"upstream_id": scene.upstream})),
            unanswered_line(&scene, "two", began + 1, json!({})),
        ]).await;
        let team = scene.world.minted(values::Role::Admin).await;
        let range = json!({"from": rfc3339(began), "to": rfc3339(scene.now())});
        team.post("/admin/cdrs/exports", range.clone()).await.problem(400, "idempotency.key_required");
        let request = crate::world::fixtures::switch::merged(range, json!({"filters": {"upstream_id": scene.upstream}}));
        let asked = team.with_key(key()).post("/admin/cdrs/exports", request).await.expect(202);
        scene.world.settle().await;
        let path = format!("/admin/cdrs/exports/{}", asked["id"].as_str().unwrap());
        let made = team.get(&path).await.ok();
        assert_eq!((&made["status"], &made["filters"]), (&json!("ready"), &json!({"upstream_id": scene.upstream})));
        let table = String::from_utf8(fetch(&scene.world, &made).await.1).unwrap();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[0].ends_with(",trunk_name,customer_id,customer_name,upstream_id,upstream_name,our_cost_amount,our_cost_currency,margin_amount,margin_currency"));
        let one = lines.iter().find(|line| line.contains(",one,termination,")).unwrap();
        assert!(one.contains(&scene.upstream) && one.ends_with(",0.06,EUR,0.00,EUR"), "{one}");
        assert_eq!(team.get("/admin/cdrs/exports").await.ok()["data"][0]["id"], asked["id"]);
        let customer = scene.world.sign_in("cora@customer.example").await;
        customer.get(&path["/admin".len()..]).await.problem(404, "not_found");
        assert_eq!(customer.get("/cdrs/exports").await.ok()["data"], json!([]));
        scene.end().await;
    }

    async fn a_long_export_survives_failed_attempts_and_is_purged_after_a_week(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(4000).await;
        let began = scene.now() - 3_900_000;
        // More than two pages, many of them of one moment.
        let lines: Vec<Value> = (0..10_700).map(|number| unanswered_line(&scene, &format!("c{number}"), began + number / 2000, json!({}))).collect();
        import_cdrs(&scene.world, &lines).await;
        let files = scene.world.data_folder().join("files");
        let (incoming, away) = (files.join("incoming"), files.join("away"));
        std::fs::rename(&incoming, &away).unwrap();
        let customer = scene.world.sign_in("cora@customer.example").await;
        let failing = export(&scene.world, &customer, json!({})).await;
        assert_eq!((&failing["status"], &failing["download_url"]), (&json!("running"), &Value::Null));
        std::fs::rename(&away, &incoming).unwrap();
        scene.world.advance(60).await;
        let path = format!("/cdrs/exports/{}", failing["id"].as_str().unwrap());
        let ready = customer.get(&path).await.ok();
        assert_eq!((&ready["status"], &ready["rows_count"]), (&json!("ready"), &json!(10_700)), "{ready}");
        let (_, bytes) = fetch(&scene.world, &ready).await;
        let table = String::from_utf8(bytes).unwrap();
        let ids: std::collections::BTreeSet<&str> = table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
        assert_eq!((table.lines().count(), ids.len()), (10_701, 10_700));

        scene.world.advance(7 * 86_400).await;
        let customer = scene.world.sign_in("cora@customer.example").await;
        let gone = customer.get(&path).await.ok();
        assert_eq!((&gone["status"], &gone["download_url"], &gone["sha256"]), (&json!("expired"), &Value::Null, &Value::Null));
        let link = ready["download_url"].as_str().unwrap().split_once("/v1").unwrap().1.to_owned();
        scene.world.anyone().get(&link).await.problem(404, "not_found");
        scene.world.advance(2 * 86_400).await;
        let hash = ready["sha256"].as_str().unwrap();
        assert!(!files_below(&files).iter().any(|file| file.ends_with(hash)));
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdr_exports WHERE content_hash IS NOT NULL").await, 0);
        scene.end().await;
    }

    async fn an_export_that_keeps_failing_fails_and_can_be_requested_again(db) {
        let scene = Scene::start(db, 0).await;
        let files = scene.world.data_folder().join("files");
        let (incoming, away) = (files.join("incoming"), files.join("away"));
        std::fs::rename(&incoming, &away).unwrap();
        let customer = scene.world.sign_in("cora@customer.example").await;
        let first = export(&scene.world, &customer, json!({})).await;
        for _ in 0..8 {
            scene.world.advance(1300).await;
        }
        std::fs::rename(&away, &incoming).unwrap();
        let customer = scene.world.sign_in("cora@customer.example").await;
        let failed = customer.get(&format!("/cdrs/exports/{}", first["id"].as_str().unwrap())).await.ok();
        assert_eq!(failed["status"], "failed");
        assert!(failed["reason"].as_str().unwrap().contains("create another export"), "{failed}");
        assert_eq!(export(&scene.world, &customer, json!({})).await["status"], "ready");
        scene.end().await;
    }

    async fn an_export_has_a_bounded_range_a_key_and_an_hourly_limit(db) {
        let world = World::start(db).await;
        world.advance_to_next(3600).await;
        let customer = world.customer("cora@customer.example").await;
        for (from, to) in [("2026-01-02", "2026-01-02"), ("2026-01-02", "2026-01-01"), ("2024-01-01", "2026-01-01")] {
            let body = json!({"from": format!("{from}T00:00:00Z"), "to": format!("{to}T00:00:00Z")});
            assert_eq!(customer.with_key(key()).post("/cdrs/exports", body).await.invalid(), ["to"], "{from} {to}");
        }
        let body = json!({"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00Z"});
        let wrong = json!({"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00Z", "format": "xlsx", "columns": []});
        assert_eq!(customer.with_key(key()).post("/cdrs/exports", wrong).await.invalid(), ["columns", "format"]);
        let keyed = customer.with_key(key());
        let first = keyed.post("/cdrs/exports", body.clone()).await.expect(202);
        assert_eq!(keyed.post("/cdrs/exports", body.clone()).await.expect(202)["id"], first["id"]);
        for _ in 1..10 {
            customer.with_key(key()).post("/cdrs/exports", body.clone()).await.expect(202);
        }
        let refused = customer.with_key(key()).post("/cdrs/exports", body.clone()).await;
        assert!(refused.header("retry-after").is_some());
        refused.problem(429, "rate_limited");
        world.end().await;
    }
}
