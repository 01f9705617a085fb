//! Rollups and peak concurrent calls.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::DbError;
use db::params;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, rfc3339, unanswered_line};
use crate::world::fixtures::switch::{Scene, trunk_with_source};

async fn signed_in(scene: &Scene) -> Client {
    scene.world.sign_in("cora@customer.example").await.into_client()
}

both! {
    async fn rollups_are_by_destination_per_day_and_by_trunk_per_period(db) {
        let scene = Scene::start(db, 10_000).await;
        let other = trunk_with_source(&scene.customer, json!({}), "8.8.4.9").await;
        scene.world.advance_to_next(86_400).await;
        scene.world.advance(7200).await;
        let midnight = scene.now() / 86_400_000 * 86_400_000;
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "a", midnight, 90, json!({})),
            cdr_line(&scene, "b", midnight + 60_000, 31, json!({})),
            unanswered_line(&scene, "c", midnight + 1, json!({"trunk_id": other})),
            cdr_line(&scene, "d", midnight + 2, 60, json!({"called": "+442071234567", "trunk_id": other})),
            cdr_line(&scene, "e", midnight + 3, 30, json!({"leg": "origination"})),
            cdr_line(&scene, "yesterday", midnight - 1, 60, json!({})),
        ]).await;
        let customer = signed_in(&scene).await;
        let today = customer.get("/cdrs/summary").await.ok();
        assert_eq!(today["date"], json!(rfc3339(midnight)[..10]));
        let shown: Vec<String> = today["rows"].as_array().unwrap().iter().chain([&today["totals"]]).map(|row| {
            let name = row.get("destination_name").and_then(Value::as_str).unwrap_or("-");
            format!("{name} {} {} {} {}", row["attempts"], row["answered"], row["minutes"], row["charge"]["amount"])
        }).collect();
        assert_eq!(shown, [
            "- 1 1 0.5 \"0.00\"",
            "United Kingdom 1 1 1.0 \"0.60\"",
            "Netherlands 3 2 2.0166666666666666 \"0.121\"",
            "- 5 4 3.5166666666666666 \"0.721\"",
        ]);
        let before = customer.get(&format!("/cdrs/summary?date={}", &rfc3339(midnight - 1)[..10])).await.ok();
        assert_eq!((&before["totals"]["attempts"], &before["rows"][0]["country"]), (&json!(1), &json!("NL")));
        assert_eq!(customer.get("/cdrs/summary?date=2001-02-03").await.ok()["rows"], json!([]));

        let rate = async |query: &str| {
            let shown = customer.get(&format!("/asr-acd{query}")).await.ok();
            (shown["period"].clone(), shown["asr"].as_f64().unwrap(), shown["acd_seconds"].clone(), shown["sample_size"].clone())
        };
        assert_eq!(rate("").await, (json!("24h"), 5.0 / 6.0, json!(54), json!(6)));
        assert_eq!(rate(&format!("?period=7d&trunk_id={other}")).await, (json!("7d"), 0.5, json!(60), json!(2)));
        // Yesterday's last hour has left the day of 24 hours by then, and the month has not.
        scene.world.advance(22 * 3600).await;
        let customer = signed_in(&scene).await;
        let sample = async |query: &str| customer.get(&format!("/asr-acd?period={query}")).await.ok()["sample_size"].clone();
        assert_eq!((sample("24h").await, sample("30d").await), (json!(0), json!(6)));
        for path in ["/asr-acd?period=1h", "/capacity?period=day", "/cdrs/summary?date=today"] {
            assert_eq!(customer.get(path).await.invalid().len(), 1, "{path}");
        }
        scene.end().await;
    }

    async fn peaks_and_quotas_follow_live_calls(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance_to_next(86_400).await;
        let hour = scene.now() / 3_600_000;
        let mut tokens = Vec::new();
        for zone in ["eu-west", "eu-west", "eu-west", "us-east"] {
            tokens.push(scene.allowed(json!({"zone": zone})).await["call_token"].clone());
        }
        let ended: Vec<Value> = tokens.iter().take(2).map(|token| scene.event("failed", token, 0, json!({}))).collect();
        scene.send_events(json!(ended)).await;
        let customer = signed_in(&scene).await;
        let quotas = customer.get("/quotas").await.ok();
        assert_eq!(quotas, json!({"data": [
            {"zone": "eu-west", "in_use": 1, "limit": 1000, "peak_today": 3},
            {"zone": "eu-central", "in_use": 0, "limit": 1000, "peak_today": 0},
            {"zone": "us-east", "in_use": 1, "limit": 1000, "peak_today": 1},
        ]}));
        let week = customer.get("/capacity").await.ok();
        let points = week["points"].as_array().unwrap();
        assert_eq!((points.len(), &week["period"]), (168, &json!("week")));
        assert_eq!(points[167], json!({"bucket_start": rfc3339(hour * 3_600_000), "peak_concurrent": 4}));
        assert_eq!(points[166]["peak_concurrent"], 0);

        // Within the hour after, nothing changes but the hour.
        scene.world.advance_to_next(3600).await;
        let points = signed_in(&scene).await.get("/capacity?period=week").await.ok()["points"].clone();
        assert_eq!((&points[166]["peak_concurrent"], &points[167]["peak_concurrent"]), (&json!(4), &json!(2)));
        scene.world.advance_to_next(86_400).await;
        let customer = signed_in(&scene).await;
        let month = customer.get("/capacity?period=month").await.ok();
        let points = month["points"].as_array().unwrap();
        assert_eq!((points.len(), &points[28]["peak_concurrent"]), (30, &json!(4)));
        assert_eq!(points[28]["bucket_start"], json!(rfc3339(hour * 3_600_000)));
        assert_eq!(customer.get("/quotas").await.ok()["data"][0]["peak_today"], 0);
        scene.end().await;
    }

    async fn a_current_hour_does_not_keep_past_hours_from_being_counted(db) {
        let scene = Scene::start(db, 10_000).await;
        // The trunk has to be older than the call.
        scene.world.advance(3600).await;
        scene.world.advance_to_next(86_400).await;
        let hour = scene.now() / 3_600_000;
        let crowd = db.tx(hour, |conn, hour| Box::pin(async move {
            for account in 1..=1000_u128 {
                let sql = "INSERT INTO peaks_due (account_id, hour, arrivals) VALUES ($1, $2, 1)";
                conn.exec(sql, params![Uuid::from_u128(account), *hour]).await?;
            }
            Ok::<_, DbError>(())
        }));
        crowd.await.unwrap();
        import_cdrs(&scene.world, &[cdr_line(&scene, "a", scene.now() - 3_600_000, 40, json!({}))]).await;
        scene.world.advance(60).await;
        assert_eq!(signed_in(&scene).await.get("/capacity").await.ok()["points"][166]["peak_concurrent"], 1);
        scene.world.advance(3600).await;
        assert_eq!(scene.count("SELECT COUNT(*) FROM peaks_due").await, 0);
        scene.end().await;
    }

    async fn peaks_of_zones_at_different_times_do_not_add_up(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance_to_next(86_400).await;
        for zone in ["eu-west", "us-east"] {
            let mut ended = Vec::new();
            for _ in 0..3 {
                let token = scene.allowed(json!({"zone": zone})).await["call_token"].clone();
                ended.push(scene.event("failed", &token, 0, json!({})));
            }
            scene.send_events(json!(ended)).await;
        }
        let points = signed_in(&scene).await.get("/capacity").await.ok()["points"].clone();
        assert_eq!(points[167]["peak_concurrent"], 3);
        // Written down by the first change of the next hour, and no more than before.
        scene.world.advance_to_next(3600).await;
        scene.allowed(json!({})).await;
        let points = signed_in(&scene).await.get("/capacity").await.ok()["points"].clone();
        assert_eq!((&points[166]["peak_concurrent"], &points[167]["peak_concurrent"]), (&json!(3), &json!(1)));
        scene.end().await;
    }

    async fn imported_cdrs_count_towards_peak_concurrent_calls(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance_to_next(86_400).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        scene.send_events(json!([scene.event("failed", &token, 60_000, json!({}))])).await;
        scene.world.advance_to_next(3600).await;
        scene.world.advance(1200).await;
        let hour = scene.now() / 3_600_000 * 3_600_000;
        let before = hour - 3_600_000;
        // Two overlap the call of ours, one follows when another ends, and one reaches into this hour.
        for (id, began, seconds) in [("a", before + 10_000, 40), ("b", before + 30_000, 20), ("c", before + 50_000, 60)] {
            import_cdrs(&scene.world, &[cdr_line(&scene, id, began, seconds, json!({}))]).await;
        }
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "d", hour - 60_000, 120, json!({})),
            cdr_line(&scene, "e", hour + 60_000, 60, json!({})),
        ]).await;
        scene.world.advance(60).await;
        let peaks = async || {
            let points = signed_in(&scene).await.get("/capacity").await.ok()["points"].clone();
            (points[166]["peak_concurrent"].clone(), points[167]["peak_concurrent"].clone())
        };
        assert_eq!(peaks().await, (json!(3), json!(1)));
        // Live calls count with imported ones until the hour is over.
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let now = scene.now();
        import_cdrs(&scene.world, &[cdr_line(&scene, "f", now, 0, json!({"ended_at": now + 30_000}))]).await;
        scene.world.advance(60).await;
        assert_eq!(peaks().await, (json!(3), json!(2)));
        scene.send_events(json!([scene.event("failed", &token, 0, json!({}))])).await;
        scene.world.advance_to_next(3600).await;
        scene.world.advance(60).await;
        assert_eq!(scene.count("SELECT COUNT(*) FROM peaks_due").await, 0);
        scene.end().await;
    }

    async fn an_hour_without_events_counts_its_ongoing_calls(db) {
        let scene = Scene::start(db, 100_000).await;
        scene.world.advance_to_next(86_400).await;
        let began = scene.now();
        let token = scene.allowed(json!({})).await["call_token"].clone();
        scene.send_events(json!([scene.event("answered", &token, 0, json!({}))])).await;
        while scene.now() < began + 2 * 3_600_000 {
            scene.world.advance(240).await;
            scene.send_events(json!([scene.event("keepalive", &token, 0, json!({}))])).await;
        }
        scene.send_events(json!([scene.event("ended", &token, 0, json!({"answered_at": began}))])).await;
        let points = signed_in(&scene).await.get("/capacity").await.ok()["points"].clone();
        let peaks: Vec<&Value> = (164..168).map(|place| &points[place]["peak_concurrent"]).collect();
        assert_eq!(peaks, [0, 1, 1, 1]);
        scene.end().await;
    }
}
