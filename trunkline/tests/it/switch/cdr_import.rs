//! CDRs imported from other switches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use futures_util::future::join_all;
use rusqlite::Connection;
use serde_json::json;

use crate::world::engines::{both, sqlite};
use crate::world::fixtures::cdrs::{cdr_line, ndjson, send_cdrs};
use crate::world::fixtures::rates::import_deck;
use crate::world::fixtures::switch::{CALL_DECK, SOURCE_IP, Scene, merged};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::process;
use crate::world::{ADMIN_EMAIL, World};

/// Shuffles deterministically.
fn shuffle<T>(things: &mut [T], seed: u64) {
    let mut state = seed;
    for place in (1..things.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        things.swap(place, usize::try_from(state >> 33).unwrap() % (place + 1));
    }
}

sqlite! {
    async fn an_import_ends_its_transaction_early_if_another_one_waits(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let (began, app) = (scene.now() - 300_000, &scene.world.node.app);
        let begun = || app.metrics.database.transaction_wait.get_sample_count();
        for attempt in 0..20 {
            let line = |number| cdr_line(&scene, &format!("{attempt}-{number}"), began, 60, json!({}));
            let text = ndjson(&(0..90).map(line).collect::<Vec<_>>());
            let (before, locker) = (begun(), Connection::open(db.file()).unwrap());
            locker.execute_batch("BEGIN IMMEDIATE").unwrap();
            let wait = async {
                // The writer has taken the import, unless it was a job this time.
                while begun() == before {
                    tokio::task::yield_now().await;
                }
                let other = app.db.tx((), |conn, ()| Box::pin(conn.one::<(i64,)>("SELECT COUNT(*) FROM cdrs", &[])));
                let (seen, ()) = tokio::join!(other, async { locker.execute_batch("COMMIT").unwrap() });
                seen.unwrap().0 % 90
            };
            let (answer, seen) = tokio::join!(send_cdrs(&scene, &text), wait);
            assert_eq!(answer.ok()["accepted"], 90);
            if seen > 0 {
                assert_eq!(seen, 20);
                assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs").await, (attempt + 1) * 90);
                return scene.end().await;
            }
        }
        panic!("the other transaction waited for the whole import");
    }
}

both! {
    async fn ten_thousand_cdrs_sent_repeatedly_and_shuffled_are_charged_once(db) {
        let scene = Scene::start(db, 10_000_000).await;
        scene.world.advance(4000).await;
        let began = scene.now() - 3_900_000;
        let mut lines: Vec<String> = (0..10_000_i64)
            .map(|number| cdr_line(&scene, &format!("c{number}"), began + number % 1000, number % 300, json!({})).to_string() + "\n")
            .collect();
        let total: i64 = (0..10_000_i64).map(|number| (number % 300).max(1) * 1_000_000).sum();
        let (mut accepted, mut duplicates) = (0, 0);
        for round in 0..10 {
            shuffle(&mut lines, round);
            let text = lines.concat();
            // The cut goes through a line, of which neither half is one.
            let (head, tail) = text.split_at(text[..text.len() / 2].rfind('\n').unwrap() + 20);
            for answer in join_all([head, tail].map(|part| send_cdrs(&scene, part))).await {
                let answer = answer.ok();
                assert_eq!(answer["rejected"].as_array().unwrap().len(), 1, "{answer}");
                accepted += answer["accepted"].as_i64().unwrap();
                duplicates += answer["duplicates"].as_i64().unwrap();
            }
        }
        // A line is cut through in each round; that of the first came whole in a later one.
        assert_eq!((accepted, accepted + duplicates), (10_000, 10 * 9_999));
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs").await, 10_000);
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdr_arrivals").await, 0);
        assert_eq!(scene.balance_and_held().await, (100_000_000_000_000 - total, 0));
        scene.end().await;
    }

    async fn valid_cdr_lines_are_imported_and_bad_ones_named_by_line_number(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        let good = |id: &str| cdr_line(&scene, id, began, 60, json!({}));
        let bad = [
            (json!({"trunk_id": null}), "trunk_id or source_ip is missing"),
            (json!({"called": "112"}), "called is not a dialable number"),
            (json!({"ended_at": began + 86_400_000}), "ended_at is in the future"),
            (json!({"ended_at": began - 1}), "ended_at is before started_at"),
            (json!({"answered_at": began - 1}), "answered_at is before started_at"),
            (json!({"status": "busy"}), "status must be answered if answered_at is sent"),
            (json!({"answered_at": null}), "answered_at is missing"),
            (json!({"started_at": 0, "answered_at": 0}), "started_at is before the year 2000"),
        ];
        let mut lines = vec![good("first")];
        lines.extend(bad.iter().map(|(changes, _)| merged(good("bad"), changes.clone())));
        let mut text = ndjson(&lines);
        text.push_str("\nthis is no JSON\n{\"call_id\": \"x\"}\n");
        text.push_str(&good("last").to_string());
        let answer = send_cdrs(&scene, &text).await.ok();
        assert_eq!((&answer["accepted"], &answer["duplicates"]), (&json!(2), &json!(0)), "{answer}");
        let rejected = answer["rejected"].as_array().unwrap();
        for (place, (_, reason)) in bad.iter().enumerate() {
            assert_eq!(rejected[place], json!({"line": place + 2, "reason": reason}));
        }
        let [torn, poor] = &rejected[bad.len()..] else { panic!("{answer}") };
        assert_eq!((torn["line"].as_u64(), poor["line"].as_u64()), (Some(11), Some(12)));
        assert!(torn["reason"].as_str().unwrap().starts_with("the line is not JSON"));
        assert!(poor["reason"].as_str().unwrap().contains("called"));
        assert_eq!(scene.balance_and_held().await.0, 100_000_000_000 - 120_000_000);
        scene.end().await;
    }

    async fn a_cdr_of_unknown_cost_is_imported_and_flagged(db) {
        let scene = Scene::start(db, 10_000).await;
        let silent = create_upstream(&scene.admin, upstream_body()).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        // An upstream that is down now may have carried calls then.
        scene.send_events(json!([{"event_id": "d", "type": "upstream_down", "at": scene.now(), "upstream_id": scene.upstream}])).await;
        let vain = json!({"upstream_id": silent, "answered_at": null, "status": "busy"});
        let lines = [
            cdr_line(&scene, "named", began, 60, json!({"upstream_id": scene.upstream})),
            cdr_line(&scene, "guessed", began, 60, json!({})),
            cdr_line(&scene, "silent", began, 60, json!({"upstream_id": silent})),
            cdr_line(&scene, "vain", began, 60, vain),
            cdr_line(&scene, "inbound", began, 60, json!({"leg": "origination", "upstream_id": silent})),
        ];
        assert_eq!(send_cdrs(&scene, &ndjson(&lines)).await.ok()["accepted"], 5);
        let mut conn = scene.world.node.app.db.read().await.unwrap();
        let kept: Vec<(String, i64, i64, bool)> =
            conn.all("SELECT call_id, charge, cost, review FROM cdrs ORDER BY call_id", params![]).await.unwrap();
        drop(conn);
        let shown: Vec<_> = kept.iter().map(|(id, charge, cost, review)| (id.as_str(), *charge, *cost, *review)).collect();
        assert_eq!(shown, [
            ("guessed", 60_000_000, 60_000_000, false),
            ("inbound", 0, 0, false),
            ("named", 60_000_000, 60_000_000, false),
            ("silent", 60_000_000, 0, true),
            ("vain", 0, 0, false),
        ]);
        scene.end().await;
    }

    async fn a_cdr_is_identified_by_trunk_call_id_leg_and_start(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        // A start in whole seconds would be the same as the later one.
        let began = (scene.now() - 300_000) / 1000 * 1000 + 500;
        let one = cdr_line(&scene, "same", began, 60, json!({}));
        let by_source = merged(one.clone(), json!({"trunk_id": null, "source_ip": SOURCE_IP, "ended_at": began + 90_000}));
        let other_leg = merged(one.clone(), json!({"leg": "origination"}));
        let later = merged(one.clone(), json!({"started_at": began + 1, "answered_at": began + 1, "ended_at": began + 1001}));
        let answer = send_cdrs(&scene, &ndjson(&[one.clone(), one, by_source, other_leg, later])).await.ok();
        assert_eq!((&answer["accepted"], &answer["duplicates"]), (&json!(3), &json!(2)), "{answer}");
        assert_eq!(answer["differs"], json!([]), "only duplicates of earlier imports are compared: {answer}");
        // A call to one of our numbers costs nothing.
        assert_eq!(scene.balance_and_held().await.0, 100_000_000_000 - 61_000_000);
        scene.end().await;
    }

    async fn a_past_call_is_priced_by_the_deck_of_its_time(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(1000).await;
        let cheap = scene.now() - 500_000;
        for rate in ["0.12", "0.24"] {
            let deck = CALL_DECK.replace("31,Netherlands,NL,0.06,", &format!("31,Netherlands,NL,{rate},"));
            let admin = scene.world.sign_in(ADMIN_EMAIL).await;
            assert_eq!(import_deck(&scene.world, &admin, &scene.upstream, "", &deck).await["status"], "completed");
            scene.world.advance(1000).await;
        }
        let now = scene.now();
        let lines = [(cheap, "one"), (now - 1_500_000, "two"), (now - 500_000, "three"), (cheap + 1, "four")]
            .map(|(began, id)| cdr_line(&scene, id, began, 60, json!({})));
        let answer = send_cdrs(&scene, &ndjson(&lines)).await.ok();
        assert_eq!(answer["accepted"], 4, "{answer}");
        let charge = |sql| scene.count(sql);
        assert_eq!(charge("SELECT charge FROM cdrs WHERE call_id = 'one'").await, 60_000_000);
        assert_eq!(charge("SELECT charge FROM cdrs WHERE call_id = 'two'").await, 120_000_000);
        assert_eq!(charge("SELECT charge FROM cdrs WHERE call_id = 'three'").await, 240_000_000);
        assert_eq!(charge("SELECT cost FROM cdrs WHERE call_id = 'four'").await, 60_000_000);
        scene.end().await;
    }

    async fn a_cdr_file_is_imported_and_verified_on_the_command_line(db) {
        // The program has the system's clock, and takes no CDR from the future.
        let clock = [("TRUNKLINE_TEST_CLOCK", "on"), ("TRUNKLINE_RATE_LIMITS", "off")];
        let scene = Scene::in_world(World::with(db, &clock).await, 10_000).await;
        let good = cdr_line(&scene, "a", scene.now(), 0, json!({}));
        let file = scene.world.data_folder().join("calls.jsonl");
        std::fs::write(&file, ndjson(&[good.clone(), json!({"call_id": "b"})])).unwrap();
        let settings = [("TRUNKLINE_MASTER_SECRET", crate::world::MASTER_SECRET)];
        let run = |arguments: &[&str]| {
            let output = process::run(db, scene.world.data_folder(), &settings, arguments);
            (output.status.success(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
        };
        let arguments = ["cdrs", "import", file.to_str().unwrap()];
        // A script must see that a line is missing, although the others are stored.
        let (is_ok, told, complaint) = run(&arguments);
        assert!(!is_ok && complaint.contains("1 lines were rejected; 1 CDRs imported, 0 duplicates skipped, 0 lines suspended"), "{complaint}");
        assert!(told.contains("line 2: "), "{told}");
        std::fs::write(&file, ndjson(&[json!({"call_id": "b"})])).unwrap();
        let (is_ok, _, complaint) = run(&arguments);
        assert!(!is_ok && complaint.contains("1 lines were rejected; 0 CDRs imported, 0 duplicates skipped"), "{complaint}");
        std::fs::write(&file, ndjson(&[good])).unwrap();
        let (is_ok, told, complaint) = run(&arguments);
        assert!(is_ok && told.contains("0 CDRs imported, 1 duplicates skipped, 0 lines suspended."), "{told}{complaint}");
        let (is_ok, told, _) = run(&["cdrs", "verify"]);
        assert!(is_ok && told.contains("The CDRs are valid: 1 CDRs"), "{told}");
        let spoil = db.tx((), |conn, ()| Box::pin(async move { conn.exec("UPDATE cdr_days SET seconds = seconds + 1", &[]).await }));
        spoil.await.unwrap();
        let (is_ok, _, complaint) = run(&["cdrs", "verify"]);
        assert!(!is_ok && complaint.contains("daily rollup"), "{complaint}");
        scene.world.stop().await;
    }
}
