//! Calls that are known from events, lines that cannot be rated yet, and lines whose trunk is gone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use values::Rfc3339;

use crate::world::ADMIN_EMAIL;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::cdrs::{cdr_line, ndjson, rfc3339, send_cdrs};
use crate::world::fixtures::key;
use crate::world::fixtures::metrics::Scrape;
use crate::world::fixtures::rates::import_deck;
use crate::world::fixtures::switch::{CALL_DECK, SOURCE_IP, Scene, trunk_with_source};

const UNKNOWN_ID: &str = "0198c0de-7a3b-7c4d-8e5f-001122334455";

/// The events of a call that is answered now and ends after exactly 60 seconds.
fn minute_of(scene: &Scene, token: &Value) -> Value {
    let at = scene.now();
    json!([
        scene.event("answered", token, 0, json!({"at": at})),
        scene.event("ended", token, 0, json!({"at": at + 60_000})),
    ])
}

/// A call of 60 seconds that ended by events: its CDR.
async fn ended_call(scene: &Scene, call_id: &str) -> Value {
    let token = scene.allowed(json!({"call_id": call_id})).await["call_token"].clone();
    scene.send_events(minute_of(scene, &token)).await;
    let cdr = scene.customer.get(&format!("/cdrs/{}", token.as_str().unwrap())).await.ok();
    assert_eq!(cdr["duration_seconds"], 60, "{cdr}");
    cdr
}

/// The reasons of the suspended lines by Call-ID, sorted.
async fn suspended(scene: &Scene, query: &str) -> Vec<(String, String)> {
    let page = scene.admin.get(&format!("/admin/cdrs/suspense{query}")).await.ok();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut lines: Vec<_> =
        page["data"].as_array().unwrap().iter().map(|one| (text(&one["call_id"]), text(&one["reason"]))).collect();
    lines.sort_unstable();
    lines
}

fn counts(answer: &Value) -> (i64, i64, i64) {
    let count = |name: &str| answer[name].as_i64().unwrap();
    (count("accepted"), count("duplicates"), count("suspended"))
}

/// The status of the answer to dropping a suspended line.
async fn drop_line(admin: &Client, id: &str) -> u16 {
    let path = format!("/admin/cdrs/suspense/{id}");
    admin.call(Method::DELETE, &path, Some(json!({"reason": "Test call of the lab"}))).await.status
}

/// The scene's deck with Germany, which it sold from this time on.
fn deck_with_germany_since(at: i64) -> String {
    format!("{CALL_DECK}49,Germany,DE,0.06,0,1,1\n")
        .replace("minimum_seconds\n", "minimum_seconds,effective_at\n")
        .replace(",1,1\n", ",1,1,\n")
        .replace(",60,60\n", ",60,60,\n")
        .replace("49,Germany,DE,0.06,0,1,1,", &format!("49,Germany,DE,0.06,0,1,1,{}", rfc3339(at)))
}

both! {
    async fn a_call_known_from_events_is_not_charged_again_by_a_file(db) {
        let scene = Scene::start(db, 10_000).await;
        // The number was sold for some seconds when the call begins.
        scene.world.advance(10).await;
        let cdr = ended_call(&scene, "known").await;
        scene.world.advance(600).await;
        let began = cdr["started_at"].as_str().unwrap().parse::<Rfc3339>().unwrap().0.millis();
        let charged = scene.balance_and_held().await;
        let second = began / 1000 * 1000;
        let exact = cdr_line(&scene, "known", began, 60, json!({}));
        let in_seconds = cdr_line(&scene, "known", second, 60, json!({"started_at": rfc3339(second)}));
        let longer = cdr_line(&scene, "known", began, 75, json!({}));
        for (line, differs) in [
            (exact, json!([])),
            (in_seconds, json!([])),
            (longer, json!([{"line": 1, "ours": 60, "theirs": 75}])),
        ] {
            let answer = send_cdrs(&scene, &ndjson(&[line])).await.ok();
            assert_eq!(counts(&answer), (0, 1, 0), "{answer}");
            assert_eq!(answer["differs"], differs);
        }
        assert_eq!(scene.balance_and_held().await, charged);
        // Another leg is another call, as is another start.
        let others = [
            cdr_line(&scene, "known", began, 60, json!({"leg": "origination"})),
            cdr_line(&scene, "known", second + 1000, 60, json!({})),
        ];
        assert_eq!(counts(&send_cdrs(&scene, &ndjson(&others)).await.ok()), (2, 0, 0));
        scene.end().await;
    }

    async fn a_live_call_in_a_file_is_charged_once_when_it_ends(db) {
        let scene = Scene::start(db, 10_000).await;
        let token = scene.allowed(json!({"call_id": "live"})).await["call_token"].clone();
        let began = scene.count("SELECT started_at FROM live_calls").await;
        let line = ndjson(&[cdr_line(&scene, "live", began, 0, json!({"ended_at": began}))]);
        let end = minute_of(&scene, &token);
        let (files, _) = tokio::join!(join_all((0..5).map(|_| send_cdrs(&scene, &line))), scene.send_events(end));
        // At most a few files at once are read.
        for answer in files.into_iter().filter(|answer| answer.status == 200) {
            assert_eq!(counts(&answer.ok()), (0, 1, 0));
        }
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs").await, 1);
        assert_eq!(scene.balance_and_held().await, (100_000_000_000 - 60_000_000, 0));
        scene.end().await;
    }

    async fn a_line_that_cannot_be_rated_is_suspended_and_rated_after_a_deck(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        let lines = [
            cdr_line(&scene, "unsold", began, 60, json!({"called": "+4930123456"})),
            cdr_line(&scene, "trunk", began, 60, json!({"trunk_id": UNKNOWN_ID})),
            cdr_line(&scene, "address", began, 60, json!({"trunk_id": null, "source_ip": "8.8.4.9"})),
            cdr_line(&scene, "upstream", began, 60, json!({"upstream_id": UNKNOWN_ID})),
            cdr_line(&scene, "good", began, 60, json!({})),
        ];
        let answer = send_cdrs(&scene, &ndjson(&lines)).await.ok();
        assert_eq!((counts(&answer), &answer["rejected"]), ((1, 0, 4), &json!([])), "{answer}");
        assert_eq!(counts(&send_cdrs(&scene, &ndjson(&lines)).await.ok()), (0, 5, 0), "nothing is suspended twice");
        let unknown = |id: &str, reason: &str| (id.to_owned(), reason.to_owned());
        let rest = vec![
            unknown("address", "unknown_trunk"), unknown("trunk", "unknown_trunk"), unknown("upstream", "unknown_upstream"),
        ];
        let mut all = rest.clone();
        all.insert(2, unknown("unsold", "not_sold"));
        assert_eq!(suspended(&scene, "").await, all);
        assert_eq!(suspended(&scene, "?reason=not_sold").await, [unknown("unsold", "not_sold")]);
        assert_eq!(suspended(&scene, "?call_id=trunk").await, [unknown("trunk", "unknown_trunk")]);
        let summary = scene.admin.get("/admin/cdrs/suspense/summary").await.ok();
        assert_eq!(summary, json!({"total": 4, "reasons": [
            {"reason": "not_sold", "lines": 1}, {"reason": "unknown_trunk", "lines": 2},
            {"reason": "unknown_upstream", "lines": 1},
        ]}));
        assert!((Scrape::of(&scene.world).await.value("trunkline_cdrs_suspended") - 4.0).abs() < 0.1);
        scene.customer.get("/admin/cdrs/suspense").await.expect(403);

        let rerated = scene.admin.with_key(key()).post("/admin/cdrs/suspense/rerate", json!({})).await.ok();
        assert_eq!(rerated, json!({"rated": 0, "duplicates": 0, "still": 4}));

        // A deck that sold the number then.
        let admin = scene.world.sign_in(ADMIN_EMAIL).await;
        let deck = deck_with_germany_since(began - 1000);
        assert_eq!(import_deck(&scene.world, &admin, &scene.upstream, "", &deck).await["status"], "completed");
        scene.world.settle().await;
        assert_eq!(suspended(&scene, "").await, rest);
        assert_eq!(scene.count("SELECT charge FROM cdrs WHERE call_id = 'unsold'").await, 60_000_000);
        assert_eq!(counts(&send_cdrs(&scene, &ndjson(&lines[..1])).await.ok()), (0, 1, 0), "it is rated once");
        scene.end().await;
    }

    async fn files_in_seconds_and_in_milliseconds_at_once_charge_a_call_once(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let began = (scene.now() - 300_000) / 1000 * 1000;
        let file = |millis: i64| {
            let lines = (0..50).map(|number| cdr_line(&scene, &format!("c{number}"), began + millis, 60, json!({})));
            ndjson(&lines.collect::<Vec<_>>())
        };
        let (in_seconds, in_millis) = (file(0), file(250));
        let sent = [&in_seconds, &in_millis, &in_seconds, &in_millis].map(|lines| send_cdrs(&scene, lines));
        let accepted: i64 = join_all(sent).await.into_iter().map(|answer| counts(&answer.ok()).0).sum();
        assert_eq!((accepted, scene.count("SELECT COUNT(*) FROM cdrs").await), (50, 50));
        assert_eq!(scene.balance_and_held().await.0, 100_000_000_000 - 50 * 60_000_000);
        scene.end().await;
    }

    async fn a_suspended_line_is_rated_once_by_many_requests_at_once(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let line = cdr_line(&scene, "early", scene.now() - 300_000, 60, json!({"trunk_id": null, "source_ip": "8.8.4.9"}));
        assert_eq!(counts(&send_cdrs(&scene, &ndjson(&[line])).await.ok()), (0, 0, 1));
        trunk_with_source(&scene.customer, json!({"name": "New"}), "8.8.4.9").await;
        let rerate = async || scene.admin.with_key(key()).post("/admin/cdrs/suspense/rerate", json!({})).await;
        let results: Vec<Value> = join_all((0..20).map(|_| rerate())).await.into_iter().map(|answer| answer.ok()).collect();
        assert_eq!(results.iter().map(|result| result["rated"].as_i64().unwrap()).sum::<i64>(), 1, "{results:?}");
        assert_eq!(scene.balance_and_held().await.0, 100_000_000_000 - 60_000_000);
        assert_eq!(scene.admin.get("/admin/cdrs/suspense/summary").await.ok()["total"], 0);
        scene.end().await;
    }

    async fn a_call_suspended_in_seconds_and_in_milliseconds_is_rated_once(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let second = (scene.now() - 300_000) / 1000 * 1000;
        for began in [second + 123, second] {
            let line = cdr_line(&scene, "same", began, 60, json!({"trunk_id": null, "source_ip": "8.8.4.9"}));
            assert_eq!(counts(&send_cdrs(&scene, &ndjson(&[line])).await.ok()), (0, 0, 1));
        }
        trunk_with_source(&scene.customer, json!({"name": "New"}), "8.8.4.9").await;
        let rerated = scene.admin.with_key(key()).post("/admin/cdrs/suspense/rerate", json!({})).await.ok();
        assert_eq!(rerated, json!({"rated": 1, "duplicates": 1, "still": 0}));
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs").await, 1);
        assert_eq!(scene.balance_and_held().await.0, 100_000_000_000 - 60_000_000);
        assert_eq!(suspended(&scene, "").await, []);
        scene.end().await;
    }

    async fn a_line_that_is_dropped_while_it_is_rated_is_not_charged(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        // To rate them, a past tariff is loaded.
        let admin = scene.world.sign_in(ADMIN_EMAIL).await;
        let deck = CALL_DECK.replace("31,Netherlands,NL,0.06,", "31,Netherlands,NL,0.12,");
        assert_eq!(import_deck(&scene.world, &admin, &scene.upstream, "", &deck).await["status"], "completed");
        let by_address = json!({"trunk_id": null, "source_ip": "8.8.4.9"});
        let lines: Vec<Value> =
            (0..40).map(|number| cdr_line(&scene, &format!("c{number}"), began, 60, by_address.clone())).collect();
        assert_eq!(counts(&send_cdrs(&scene, &ndjson(&lines)).await.ok()), (0, 0, 40));
        trunk_with_source(&scene.customer, json!({"name": "New"}), "8.8.4.9").await;
        let page = admin.get("/admin/cdrs/suspense?limit=100").await.ok();
        let id = |one: &Value| one["id"].as_str().unwrap().to_owned();
        let ids: Vec<String> = page["data"].as_array().unwrap().iter().map(id).collect();
        let drops = ids.iter().map(|id| drop_line(&admin, id));
        let keyed = admin.with_key(key());
        let rerate = keyed.post("/admin/cdrs/suspense/rerate", json!({}));
        let (rerated, dropped) = tokio::join!(rerate, join_all(drops));
        let (rerated, dropped) = (rerated.ok(), dropped.iter().filter(|status| **status == 204).count());
        let rated = rerated["rated"].as_i64().unwrap();
        assert_eq!((rated + dropped as i64, &rerated["duplicates"]), (40, &json!(0)), "{rerated}");
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs").await, rated);
        assert_eq!(scene.balance_and_held().await.0, 100_000_000_000 - rated * 60_000_000);
        assert_eq!(admin.get("/admin/cdrs/suspense/summary").await.ok()["total"], 0);
        scene.end().await;
    }

    async fn lines_behind_many_that_stay_suspended_are_rated_too(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        let stuck = |number: i64| cdr_line(&scene, &format!("s{number}"), began, 60, json!({"trunk_id": UNKNOWN_ID}));
        let file = ndjson(&(0..20_000).map(stuck).collect::<Vec<_>>());
        assert_eq!(counts(&send_cdrs(&scene, &file).await.ok()), (0, 0, 20_000));
        let lines = [
            cdr_line(&scene, "address", began, 60, json!({"trunk_id": null, "source_ip": "8.8.4.9"})),
            cdr_line(&scene, "unsold", began, 60, json!({"called": "+4930123456"})),
        ];
        assert_eq!(counts(&send_cdrs(&scene, &ndjson(&lines)).await.ok()), (0, 0, 2));
        // The request tries the oldest lines, a job the others.
        trunk_with_source(&scene.customer, json!({"name": "New"}), "8.8.4.9").await;
        let rerated = scene.admin.with_key(key()).post("/admin/cdrs/suspense/rerate", json!({})).await.ok();
        assert_eq!(rerated, json!({"rated": 0, "duplicates": 0, "still": 20_002}));
        scene.world.settle().await;
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs WHERE call_id = 'address'").await, 1);
        // After a deck it takes one job after another.
        let admin = scene.world.sign_in(ADMIN_EMAIL).await;
        let deck = deck_with_germany_since(began - 1000);
        assert_eq!(import_deck(&scene.world, &admin, &scene.upstream, "", &deck).await["status"], "completed");
        scene.world.settle().await;
        assert_eq!(scene.count("SELECT COUNT(*) FROM cdrs WHERE call_id = 'unsold'").await, 1);
        assert_eq!(admin.get("/admin/cdrs/suspense/summary").await.ok()["total"], 20_000);
        scene.end().await;
    }

    async fn a_suspended_line_is_dropped_only_with_an_audited_reason(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let began = scene.now() - 300_000;
        let line = cdr_line(&scene, "trunk", began, 60, json!({"trunk_id": UNKNOWN_ID}));
        assert_eq!(counts(&send_cdrs(&scene, &ndjson(&[line])).await.ok()), (0, 0, 1));
        let page = scene.admin.get("/admin/cdrs/suspense").await.ok();
        let path = format!("/admin/cdrs/suspense/{}", page["data"][0]["id"].as_str().unwrap());
        scene.admin.call(Method::DELETE, &path, Some(json!({}))).await.expect(422);
        scene.admin.call(Method::DELETE, &path, Some(json!({"reason": "Test call of the lab"}))).await.expect(204);
        scene.admin.call(Method::DELETE, &path, Some(json!({"reason": "Again"}))).await.expect(404);
        assert_eq!(suspended(&scene, "").await, []);
        assert_eq!(scene.admin.get("/admin/cdrs/suspense/summary").await.ok()["total"], 0);
        let log = scene.admin.get("/admin/audit-log?action=cdr.drop").await.ok();
        let dropped = log["rows"].as_array().unwrap().iter().find(|row| row["outcome"] == "success").unwrap();
        let meta: Value = serde_json::from_str(dropped["meta"].as_str().unwrap()).unwrap();
        assert_eq!((&meta["reason"], &meta["call_id"]), (&json!("Test call of the lab"), &json!("trunk")), "{log}");
        scene.end().await;
    }

    async fn a_call_belongs_to_whoever_had_the_trunk_or_address_when_it_began(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(400).await;
        let began = scene.now() - 300_000;
        let other = trunk_with_source(&scene.customer, json!({"name": "Other"}), "8.8.4.20").await;
        let entry = scene.customer.get(&format!("/trunks/{}/ip-allow-list", scene.trunk)).await.ok()["data"][0]["id"].clone();
        let path = format!("/trunks/{}/ip-allow-list/{}", scene.trunk, entry.as_str().unwrap());
        scene.customer.with_key(key()).delete(&path).await.expect(204);
        scene.customer.with_key(key()).delete(&format!("/trunks/{other}")).await.expect(204);
        // Another customer gets the address.
        let rival = scene.world.customer("rival@customer.example").await;
        trunk_with_source(&rival, json!({}), SOURCE_IP).await;
        scene.world.advance(400).await;

        let by_address = json!({"trunk_id": null, "source_ip": SOURCE_IP});
        let lines = [
            cdr_line(&scene, "removed address", began, 60, by_address.clone()),
            cdr_line(&scene, "deleted trunk", began, 60, json!({"trunk_id": other})),
            cdr_line(&scene, "too late", scene.now() - 60_000, 60, json!({"trunk_id": other})),
            cdr_line(&scene, "rival's", scene.now() - 60_000, 60, by_address),
        ];
        let answer = send_cdrs(&scene, &ndjson(&lines)).await.ok();
        assert_eq!(counts(&answer), (3, 0, 1), "{answer}");
        assert_eq!(suspended(&scene, "").await, [("too late".to_owned(), "unknown_trunk".to_owned())]);
        let calls = |page: Value| page["data"].as_array().unwrap().len();
        assert_eq!(calls(scene.customer.get("/cdrs").await.ok()), 2);
        assert_eq!(calls(rival.get("/cdrs").await.ok()), 1);
        scene.end().await;
    }

    async fn a_call_from_an_address_that_nobody_had_any_more_is_charged_to_nobody(db) {
        let scene = Scene::start(db, 10_000).await;
        let former = trunk_with_source(&scene.customer, json!({"name": "Former"}), "8.8.4.30").await;
        scene.customer.with_key(key()).delete(&format!("/trunks/{former}")).await.expect(204);
        scene.world.advance(300).await;
        let began = scene.now();
        scene.world.advance(120).await;
        let rival = scene.world.customer("rival@customer.example").await;
        trunk_with_source(&rival, json!({}), "8.8.4.30").await;
        let line = cdr_line(&scene, "between", began, 60, json!({"trunk_id": null, "source_ip": "8.8.4.30"}));
        let answer = send_cdrs(&scene, &ndjson(&[line])).await.ok();
        assert_eq!(counts(&answer), (0, 0, 1), "{answer}");
        assert_eq!(suspended(&scene, "").await, [("between".to_owned(), "unknown_trunk".to_owned())]);
        scene.end().await;
    }
}
