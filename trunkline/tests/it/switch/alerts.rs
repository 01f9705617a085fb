//! Alerts about unusual calls, and the anonymisation of CDRs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, ndjson, send_cdrs};
use crate::world::fixtures::switch::{Scene, merged};

const DAY: u64 = 24 * 3600;

/// The customer's notifications with this code.
async fn notified(scene: &Scene, code: &str) -> Vec<Value> {
    let customer = scene.world.sign_in("cora@customer.example").await;
    let all = customer.get("/notifications?limit=200").await.ok();
    let of_code = all["data"].as_array().unwrap().iter().filter(|one| one["code"] == code);
    of_code.map(|one| one["payload"].clone()).collect()
}

async fn keep(scene: &Scene, lines: &[Value]) {
    let answer = send_cdrs(scene, &ndjson(lines)).await.ok();
    assert_eq!(answer["accepted"], json!(lines.len()), "{answer}");
}

both! {
    async fn an_hour_of_unusual_spend_is_reported_once_a_day(db) {
        let scene = Scene::start(db, 100_000).await;
        scene.world.advance(4 * DAY).await;
        scene.world.advance_to_next(86_400).await;
        scene.world.advance(9 * 3600 + 600).await;
        let now = scene.now();
        let premium = |id: &str, began: i64, minutes: i64| cdr_line(&scene, id, began, minutes * 60, json!({"called": "+19001234567"}));
        // Two euros an hour on average: 168 minutes at two euros each.
        keep(&scene, &[premium("before", now - 3 * 86_400_000, 168), premium("dear", now - 590_000, 9)]).await;
        scene.world.advance(300).await;
        assert_eq!(notified(&scene, "fraud.spend_jump").await, Vec::<Value>::new());
        // 18 euros were less than ten times as much; 28 are not.
        keep(&scene, &[premium("dearer", now - 500_000, 5)]).await;
        for _ in 0..2 {
            scene.world.advance(300).await;
        }
        let jumps = notified(&scene, "fraud.spend_jump").await;
        assert_eq!(jumps.len(), 1, "{jumps:?}");
        assert_eq!((&jumps[0]["spend"]["amount_minor"], &jumps[0]["average"]["amount_minor"]), (&json!(2800), &json!(200)));
        assert!(jumps[0]["hour"].as_str().unwrap().ends_with("T09:00:00Z"), "{}", jumps[0]);
        let mails = scene.world.mails().await;
        assert_eq!(mails.iter().filter(|mail| mail.subject.starts_with("Unusual spending: ")).count(), 1);
        scene.end().await;
    }

    async fn a_destination_with_a_low_asr_is_reported_once_a_day(db) {
        let scene = Scene::start(db, 100_000).await;
        scene.world.advance(3600).await;
        let began = scene.now() - 600_000;
        let failed = json!({"status": "failed", "answered_at": null});
        let mut lines = Vec::new();
        for number in 0..50 {
            let mut mobile = cdr_line(&scene, &format!("m{number}"), began + number, 6, json!({"called": "+31612345678"}));
            let mut landline = cdr_line(&scene, &format!("l{number}"), began + number, 6, json!({}));
            // One mobile call in fifty is answered, and one in five to other numbers.
            if number > 0 {
                mobile = merged(mobile, failed.clone());
            }
            if number % 5 > 0 {
                landline = merged(landline, failed.clone());
            }
            lines.extend([mobile, landline]);
        }
        let last = lines.pop().unwrap();
        let last_but_one = lines.pop().unwrap();
        keep(&scene, &lines).await;
        scene.world.advance(300).await;
        assert_eq!(notified(&scene, "quality.low_asr").await, Vec::<Value>::new());
        keep(&scene, &[last, last_but_one]).await;
        for _ in 0..2 {
            scene.world.advance(300).await;
        }
        let poor = notified(&scene, "quality.low_asr").await;
        assert_eq!(poor.len(), 1, "{poor:?}");
        let date = poor[0]["date"].clone();
        assert_eq!(poor[0], json!({
            "date": date, "country": "NL", "destination_name": "Netherlands mobile", "attempts": 50, "answered": 1, "asr": 0.02,
        }));
        scene.end().await;
    }

    async fn cdr_numbers_are_anonymised_after_retention_and_nothing_else(db) {
        let scene = Scene::start(db, 1_000_000).await;
        let first = scene.now();
        // Many of them began in the same moment, and not all fit into one batch.
        let of_old: Vec<Value> =
            (0..2_100).map(|number| cdr_line(&scene, &format!("o{number}"), first + number / 1_500, 0, json!({}))).collect();
        keep(&scene, &of_old).await;
        scene.world.advance(399 * DAY).await;
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs WHERE called = 'anonymised'").await, 0);
        keep(&scene, &[cdr_line(&scene, "fresh", scene.now(), 0, json!({}))]).await;
        scene.world.advance(2 * DAY).await;
        let forgotten = "SELECT COUNT(*) FROM cdrs WHERE called = 'anonymised' AND calling = 'anonymised' AND country = 'NL'
                             AND destination_name = 'Netherlands' AND charge = 1000000";
        assert_eq!(scene.count(forgotten).await, 2_100);
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs WHERE called = '+31201234567'").await, 1);
        // A CDR imported after the retention is stored without numbers, and duplicates are still recognised.
        keep(&scene, &[cdr_line(&scene, "late", first + 2, 0, json!({}))]).await;
        assert_eq!(scene.count(forgotten).await, 2_101);
        let again = send_cdrs(&scene, &ndjson(&[cdr_line(&scene, "late", first + 2, 0, json!({}))])).await.ok();
        assert_eq!(again["duplicates"], 1);
        scene.end().await;
    }
}
