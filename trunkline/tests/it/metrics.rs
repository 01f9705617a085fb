//! Metrics as Prometheus scrapes them: each event moves its counter by the exact amount.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::{AtomicU64, Ordering};

use db::{Conn, DbError};
use platform::jobs::{self, Kind};
use reqwest::Method;
use serde_json::json;
use voice::fx;
use voice::upstreams::decks;

use crate::world::World;
use crate::world::engines::{both, postgres};
use crate::world::fixtures::metrics::Scrape;
use crate::world::fixtures::rates::import_deck;
use crate::world::fixtures::switch::{CALL_DECK, Scene, call_request};

async fn enqueue(world: &World, kind: Kind) {
    let db = &world.node.app.db;
    db.tx(kind, |conn, kind| Box::pin(jobs::enqueue(conn, *kind, json!({})))).await.unwrap();
    world.settle().await;
}

/// Moves a counter that only this file uses.
async fn count(conn: &mut Conn) -> Result<u64, DbError> {
    conn.count(|metrics| metrics.ledger.transactions.of("test"), 5);
    conn.exec("UPDATE versions SET version = version + 1 WHERE name = 'tariff'", &[]).await
}

both! {
    async fn calls_money_and_decks_have_metrics(db) {
        let scene = Scene::start(db, 50).await;
        let before = Scrape::of(&scene.world).await;
        assert_eq!(
            before.values([
                r#"trunkline_deck_imports_total{outcome="completed"}"#, "trunkline_deck_rows_total", "trunkline_decks",
                "trunkline_deck_prefixes", r#"trunkline_ledger_transactions_total{kind="topup"}"#,
                "trunkline_calls_in_progress", r#"trunkline_jobs_waiting{class="money"}"#, "trunkline_jobs_dead",
            ]),
            [1.0, 4.0, 1.0, 4.0, 1.0, 0.0, 0.0, 0.0]
        );
        assert!(before.value("trunkline_deck_bytes") > 0.0);

        let token = scene.allowed(json!({})).await["call_token"].clone();
        assert_eq!(scene.denied(json!({"called": "+81312345678"})).await.0, "destination_not_priced");
        for _ in 0..2 {
            assert_eq!(scene.denied(json!({"source_ip": "1.2.3.4"})).await.0, "source_not_allowed");
        }
        // The balance covers only some seconds, which are reserved. Only what is denied counts as refused.
        scene.allowed(json!({})).await;
        assert_eq!(scene.denied(json!({})).await.0, "balance.insufficient");
        scene.world.operations().post("/switch/authorize", json!({})).await.problem(422, "validation.failed");
        let during = Scrape::of(&scene.world).await;
        assert_eq!(
            during.values([
                "trunkline_calls_allowed_total",
                r#"trunkline_calls_refused_total{reason="destination_not_priced"}"#,
                r#"trunkline_calls_refused_total{reason="source_not_allowed"}"#,
                r#"trunkline_calls_refused_total{reason="balance.insufficient"}"#,
                r#"trunkline_ledger_refusals_total{kind="call"}"#,
                r#"trunkline_rate_lookups_total{outcome="found"}"#,
                r#"trunkline_rate_lookups_total{outcome="missed"}"#,
                "trunkline_calls_in_progress",
                r#"trunkline_requests_total{method="POST",path="/switch/authorize",status="200"}"#,
                r#"trunkline_requests_total{method="POST",path="/switch/authorize",status="422"}"#,
            ]),
            [2.0, 1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 2.0, 6.0, 1.0]
        );

        let ended = scene.event("ended", &token, 1000, json!({"answered_at": scene.now()}));
        let stranger = scene.event("ended", &json!("00000000-0000-7000-8000-000000000000"), 0, json!({}));
        scene.send_events(json!([ended, ended, stranger, {"nonsense": true}])).await;
        let (ops, now) = (scene.world.operations(), scene.now());
        let line = json!({
            "call_id": "elsewhere", "leg": "termination", "trunk_id": scene.trunk, "called": "+31201234567",
            "started_at": now, "answered_at": now, "ended_at": now + 5000, "status": "answered",
        });
        for _ in 0..2 {
            ops.send(ops.request(Method::POST, "/switch/cdrs").body(line.to_string())).await.expect(200);
        }
        let after = Scrape::of(&scene.world).await;
        assert_eq!(
            after.values([
                r#"trunkline_call_events_total{outcome="accepted"}"#,
                r#"trunkline_call_events_total{outcome="rejected"}"#,
                r#"trunkline_cdrs_total{source="switch"}"#,
                r#"trunkline_cdrs_total{source="import"}"#,
                r#"trunkline_ledger_transactions_total{kind="call"}"#,
                "trunkline_calls_in_progress",
            ]),
            [2.0, 2.0, 1.0, 1.0, 2.0, 1.0]
        );
        import_deck(&scene.world, &scene.admin, &scene.upstream, "?dry_run=true", CALL_DECK).await;
        import_deck(&scene.world, &scene.admin, &scene.upstream, "", "prefix\n31\n").await;
        let last = Scrape::of(&scene.world).await;
        assert_eq!(
            last.values([
                r#"trunkline_deck_imports_total{outcome="completed"}"#,
                r#"trunkline_deck_imports_total{outcome="failed"}"#,
            ]),
            [1.0, 1.0]
        );
        every_metric_is_documented(&last);
        scene.end().await;
    }

    async fn jobs_are_counted_by_outcome(db) {
        let world = World::with(db, &[("TRUNKLINE_FX_URL", "http://127.0.0.1:1/")]).await;
        let sample = |kind: &str, outcome: &str| {
            format!(r#"trunkline_jobs_total{{kind="{kind}",outcome="{outcome}"}}"#)
        };
        enqueue(&world, fx::FETCH).await;
        enqueue(&world, fx::FETCH.attempts(1)).await;
        // It needs a payload that says of whom.
        enqueue(&world, decks::IMPORT).await;
        enqueue(&world, decks::PULL_DUE).await;
        let scrape = Scrape::of(&world).await;
        assert_eq!(
            scrape.values([
                &sample("fx.fetch", "failure"), &sample("fx.fetch", "dead"), &sample("decks.import", "dead"),
                "trunkline_jobs_dead", r#"trunkline_jobs_waiting{class="outside"}"#,
                r#"trunkline_jobs_lag_seconds{class="outside"}"#,
            ]),
            [1.0, 1.0, 1.0, 2.0, 0.0, 0.0]
        );
        assert!(scrape.value(&sample(decks::PULL_DUE.name, "success")) >= 1.0);
        assert_eq!(scrape.value(r#"trunkline_job_seconds_count{kind="fx.fetch"}"#), 2.0);
        world.stop().await;
    }

    async fn transactions_are_counted_and_their_counters_only_if_they_commit(db) {
        let counted = |sample: &str| Scrape::of_metrics(db.metrics()).value(sample);
        let (committed, undone, failed, errors, retries) = (
            r#"trunkline_db_transactions_total{outcome="committed"}"#,
            r#"trunkline_db_transactions_total{outcome="rolled_back"}"#,
            r#"trunkline_db_transactions_total{outcome="failed"}"#,
            r#"trunkline_db_errors_total{kind="constraint"}"#,
            "trunkline_db_retries_total",
        );
        let ours = r#"trunkline_ledger_transactions_total{kind="test"}"#;
        let before = [committed, undone, failed, errors, retries].map(counted);
        for _ in 0..3 {
            db.tx((), |conn, ()| Box::pin(count(conn))).await.unwrap();
        }
        let refused = db.tx((), |conn, ()| Box::pin(async move {
            count(conn).await?;
            Err::<(), _>(DbError::other("on second thoughts"))
        }));
        refused.await.unwrap_err();
        let twice = db.tx((), |conn, ()| Box::pin(async move {
            count(conn).await?;
            conn.exec("INSERT INTO versions (name, version, changed_at) SELECT name, 0, 0 FROM versions", &[]).await
        }));
        twice.await.unwrap_err();
        let after = [committed, undone, failed, errors, retries].map(counted);
        let moved: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        assert_eq!(moved, [3.0, 2.0, 0.0, 1.0, 0.0]);
        assert_eq!(counted(ours), 15.0);
        let waits = counted(r#"trunkline_db_wait_seconds_count{purpose="transaction"}"#);
        assert!(waits >= 5.0);
        if !db.is_shared() {
            assert!(counted("trunkline_db_group_transactions_sum") >= 5.0);
            return;
        }

        // A conflict is retried, and the counters of the first attempt are discarded.
        static ATTEMPTS: AtomicU64 = AtomicU64::new(0);
        let raced = db.tx((), |conn, ()| Box::pin(async move {
            count(conn).await?;
            if ATTEMPTS.fetch_add(1, Ordering::SeqCst) == 0 { Err(conn.retry_conflict()) } else { Ok(()) }
        }));
        raced.await.unwrap();
        assert_eq!((counted(retries) - before[4], counted(ours), counted(committed) - before[0]), (1.0, 20.0, 4.0));
    }
}

postgres! {
    async fn metrics_are_served_without_the_database(db) {
        let world = World::unlimited(db).await;
        world.operations().post("/switch/authorize", call_request(json!({}))).await.expect(200);
        db.stop_accepting().await;
        let scrape = Scrape::of(&world).await;
        assert_eq!(scrape.value(r#"trunkline_calls_refused_total{reason="source_not_allowed"}"#), 1.0);
        assert!(scrape.0.contains("\ntrunkline_db_waiting "));
        assert!(!scrape.0.contains("trunkline_jobs_lag_seconds"));
        world.stop().await;
    }
}

/// `docs/operations.md` has a row for each, of the right kind.
fn every_metric_is_documented(scrape: &Scrape) {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operations.md");
    let page = std::fs::read_to_string(page).unwrap();
    let described: Vec<&str> = scrape.0.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    assert!(described.len() > 25, "{described:?}");
    for metric in described {
        let (name, kind) = metric.split_once(' ').unwrap();
        assert!(page.contains(&format!("| `{name}` | {kind} |")), "docs/operations.md has no row for {metric}");
    }
}
