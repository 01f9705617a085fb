//! Prices of calls, calculated by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write;

use db::params;
use serde_json::json;

use crate::world::engines::both;
use crate::world::fixtures::cdrs::send_cdrs;
use crate::world::fixtures::rates::import_deck;
use crate::world::fixtures::switch::Scene;

/// The minute, the connection, increment, minimum, how long the call lasted, and what it costs in billionths.
const CASES: [(&str, &str, u32, u32, i64, i64); 30] = [
    ("0.06", "0", 1, 1, 60, 60_000_000),
    ("0.06", "0", 1, 1, 1, 1_000_000),
    ("0.06", "0", 1, 1, 0, 1_000_000),
    ("0.0045", "0", 1, 1, 90, 6_750_000),
    ("0.0045", "0", 6, 6, 91, 7_200_000),
    ("0.019", "0", 60, 60, 1, 19_000_000),
    ("0.019", "0", 60, 60, 60, 19_000_000),
    ("0.019", "0", 60, 60, 61, 38_000_000),
    ("0.000000001", "0", 1, 1, 1, 0),
    ("0.000000001", "0", 1, 1, 29, 0),
    ("0.000000001", "0", 1, 1, 30, 1),
    ("0.000000001", "0", 1, 1, 89, 1),
    ("0.000000001", "0", 1, 1, 90, 2),
    ("0.000000059", "0", 1, 1, 1, 1),
    ("0.123456789", "0", 1, 1, 1, 2_057_613),
    ("0.123456789", "0", 1, 1, 59, 121_399_176),
    ("0.123456789", "0", 6, 30, 7, 61_728_395),
    ("0.123456789", "0", 6, 30, 31, 74_074_073),
    ("0.123456789", "0.000000001", 7, 13, 13, 28_806_585),
    ("0.123456789", "0.05", 7, 13, 15, 93_209_876),
    ("0.333333333", "0", 1, 0, 0, 0),
    ("0.333333333", "0.1", 1, 0, 0, 100_000_000),
    ("0.333333333", "0", 1, 0, 3599, 19_994_444_424),
    ("0.1", "0", 3600, 0, 1, 6_000_000_000),
    ("0.1", "0", 3600, 3600, 3601, 12_000_000_000),
    ("0", "0.25", 60, 60, 5, 250_000_000),
    ("0", "0", 1, 1, 3600, 0),
    ("0.499999999", "0", 1, 1, 86399, 719_991_665_227),
    ("0.0061", "0", 30, 6, 6, 3_050_000),
    ("0.0061", "0", 30, 6, 36, 6_100_000),
];

both! {
    async fn awkward_prices_match_hand_calculations(db) {
        let scene = Scene::start(db, 10_000_000).await;
        let mut deck = "prefix,destination_name,country,rate_per_minute,connect_fee,billing_increment_seconds,\
                        minimum_seconds\n".to_owned();
        let mut lines = String::new();
        for (place, (minute, fee, increment, minimum, ..)) in CASES.iter().enumerate() {
            writeln!(deck, "81{place:02},Place {place},JP,{minute},{fee},{increment},{minimum}").unwrap();
        }
        assert_eq!(import_deck(&scene.world, &scene.admin, &scene.upstream, "", &deck).await["status"], "completed");
        scene.world.advance(100_000).await;
        let began = scene.now() - 90_000_000;
        for (place, (_, _, _, _, seconds, _)) in CASES.iter().enumerate() {
            let line = json!({
                "call_id": format!("hand-{place:02}"), "leg": "termination", "trunk_id": scene.trunk,
                "calling": "+31201111111", "called": format!("+81{place:02}1234567"), "started_at": began,
                "answered_at": began, "ended_at": began + seconds * 1000, "status": "answered",
            });
            writeln!(lines, "{line}").unwrap();
        }
        let answer = send_cdrs(&scene, &lines).await.ok();
        assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(CASES.len()), &json!([])));
        let mut conn = scene.world.node.app.db.read().await.unwrap();
        let charges: Vec<(String, i64)> =
            conn.all("SELECT call_id, charge FROM cdrs ORDER BY call_id", params![]).await.unwrap();
        drop(conn);
        for ((call, charge), case) in charges.iter().zip(&CASES) {
            assert_eq!(*charge, case.5, "{call}: {case:?}");
        }
        assert_eq!(charges.len(), CASES.len());
        let total: i64 = CASES.iter().map(|case| case.5).sum();
        assert_eq!(scene.balance_and_held().await, (100_000_000_000_000 - total, 0));
        scene.end().await;
    }
}
