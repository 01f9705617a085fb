//! The operations port: health, readiness, metrics, and the test clock.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use data_encoding::BASE64;
use db::DbError;
use platform::jobs::{self, Class, Kind};
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use values::Role;
use voice::fx;

use crate::world::engines::{both, postgres};
use crate::world::fixtures::metrics::Scrape;
use crate::world::revolut::RevolutServer;
use crate::world::{CLOCK_SECRET, SWITCH_SECRET, World};

const EDGE_1: &str = "8f0e0dbb1c1b4a0d9d5ce6cf9d3b7a6a1f52c4e790d14b3b8a6e25f7c3d09e11";
const EDGE_1_NEXT: &str = "41c9a7d20e5f4b86b1d3f0a87c62e95d7b1e08c3f6a24d59907cbe3d5f18a264";
const EDGE_2: &str = "d3b07a19c58e4f62a0b7e1f4935d28c6e94fa1073bd846c58a2f70d1c6e5b398";

both! {
    async fn an_edge_with_its_own_secret_speaks_for_itself_only(db) {
        let secrets = format!("edge-1:{EDGE_1},edge-1:{EDGE_1_NEXT},edge-2:{EDGE_2}");
        let world = World::with(db, &[("TRUNKLINE_SWITCH_SECRETS", &secrets)]).await;
        let ops = world.anyone_at_operations();
        let as_switch = |secret: &str| ops.header("Authorization", &format!("Bearer {secret}"));
        let call = |edge: &str| json!({
            "edge_id": edge, "call_id": "a84b4c76e66710", "from_tag": "1928301774", "source_ip": "8.8.4.7",
            "calling": "+31201111111", "called": "+31201234567",
        });
        for (secret, edge) in [(EDGE_1, "edge-1"), (EDGE_1_NEXT, "edge-1"), (EDGE_2, "edge-2"), (SWITCH_SECRET, "edge-9")] {
            let switch = as_switch(secret);
            switch.get("/switch/config").await.expect(200);
            switch.post("/switch/authorize", call(edge)).await.expect(200);
            switch.post("/switch/events", json!({"edge_id": edge, "events": []})).await.expect(200);
        }
        for (secret, edge) in [(EDGE_1, "edge-2"), (EDGE_1_NEXT, "edge-10"), (EDGE_2, "edge-1")] {
            let switch = as_switch(secret);
            switch.post("/switch/authorize", call(edge)).await.problem(403, "auth.forbidden");
            switch.post("/switch/events", json!({"edge_id": edge, "events": []})).await.problem(403, "auth.forbidden");
            let events = json!({"events": [{"edge_id": edge}, 7]});
            switch.post("/switch/events", events).await.problem(403, "auth.forbidden");
        }
        as_switch(&EDGE_1.replace('8', "9")).get("/switch/config").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn the_switch_secret_before_the_last_change_is_still_valid(db) {
        let world = World::with(db, &[("TRUNKLINE_SWITCH_SECRET_PREVIOUS", EDGE_1)]).await;
        let ops = world.anyone_at_operations();
        for secret in [SWITCH_SECRET, EDGE_1] {
            ops.header("Authorization", &format!("Bearer {secret}")).get("/switch/config").await.expect(200);
        }
        ops.header("Authorization", &format!("Bearer {EDGE_2}")).get("/switch/config").await.expect(401);
        world.end().await;
    }

    async fn outside_a_lab_the_test_clock_has_a_secret_of_its_own(db) {
        let advance = json!({"advance_seconds": 1});
        let world = World::start(db).await;
        for secret in [SWITCH_SECRET, CLOCK_SECRET] {
            let caller = world.anyone_at_operations().header("Authorization", &format!("Bearer {secret}"));
            caller.post("/ops/clock", advance.clone()).await.expect(200);
            let is_switch = caller.get("/switch/config").await.status == 200;
            assert_eq!(is_switch, secret == SWITCH_SECRET);
        }
        let revolut = [
            ("TRUNKLINE_PAYMENTS", "revolut"), ("TRUNKLINE_REVOLUT_KEY", "sk_0123456789abcdefghij"),
            ("TRUNKLINE_REVOLUT_WEBHOOK_SECRET", "wsk_0123456789abcdefghij"),
        ];
        let world = world.restart_with(&revolut).await;
        let caller = world.anyone_at_operations();
        let switch = caller.header("Authorization", &format!("Bearer {SWITCH_SECRET}"));
        switch.post("/ops/clock", advance.clone()).await.problem(401, "auth.token_invalid");
        caller.header("Authorization", &format!("Bearer {CLOCK_SECRET}")).post("/ops/clock", advance).await.expect(200);
        world.end().await;
    }

    async fn a_healthy_service_is_ready(db) {
        let world = World::unlimited(db).await;
        let anyone = world.anyone_at_operations();
        for (path, words) in [("/healthz", "ok\n"), ("/readyz", "ready\nlab\n")] {
            let answer = anyone.get(path).await;
            assert_eq!((answer.status, answer.bytes.as_slice()), (200, words.as_bytes()));
            let refused = anyone.post(path, json!({})).await;
            assert_eq!(refused.header("allow"), Some("GET, HEAD, OPTIONS"));
            refused.problem(405, "method_not_allowed");
            let looked = anyone.call(Method::HEAD, path, None).await;
            assert_eq!((looked.status, looked.bytes.len()), (200, 0));
            assert_eq!(looked.header("content-length"), Some(words.len().to_string().as_str()));
            let asked = anyone.call(Method::OPTIONS, path, None).await;
            assert_eq!((asked.status, asked.header("allow")), (204, Some("GET, HEAD, OPTIONS")));
        }
        assert_eq!(anyone.get("/v1/me").await.problem(404, "not_found")["instance"], "/v1/me");
        // What is for operators is not for the public.
        for path in ["/healthz", "/metrics", "/ops/clock"] {
            let public = format!("http://{}{path}", world.node.public);
            world.anyone().get(&public).await.problem(404, "not_found");
        }
        world.end().await;
    }

    async fn a_switch_without_its_secret_is_told_both_ways_to_send_it(db) {
        let world = World::unlimited(db).await;
        let anyone = world.anyone_at_operations();
        let bearer = |secret: &str| format!("Bearer {secret}");
        let basic = |user: &str, secret: &str| format!("Basic {}", BASE64.encode(format!("{user}:{secret}").as_bytes()));
        for refused in [bearer("wrong"), basic("switch", "wrong"), basic("admin", SWITCH_SECRET), String::new()] {
            let answer = anyone.header("Authorization", &refused).get("/switch/config").await;
            let offered: Vec<_> = answer.headers.get_all("www-authenticate").iter().collect();
            assert_eq!(offered, ["Bearer", "Basic realm=\"switch\""]);
            let detail = answer.problem(401, "auth.token_invalid")["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains("bearer") && detail.contains("basic"), "{detail}");
        }
        for admitted in [bearer(SWITCH_SECRET), basic("switch", SWITCH_SECRET)] {
            anyone.header("Authorization", &admitted).get("/switch/config").await.ok();
        }
        world.end().await;
    }

    async fn a_few_cdr_imports_wait_for_their_turn_and_more_are_told_to_retry(db) {
        let world = World::unlimited(db).await;
        let head = format!(
            "POST /switch/cdrs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {SWITCH_SECRET}\r\n\
             Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
        );
        // Two run, waiting for their lines, and eight wait for those two.
        let (mut senders, mut answers) = (Vec::new(), JoinSet::new());
        for import in 0..11 {
            let (mut receiver, mut sender) = TcpStream::connect(world.node.ops).await.unwrap().into_split();
            sender.write_all(head.as_bytes()).await.unwrap();
            senders.push(sender);
            answers.spawn(async move {
                let mut heard = String::new();
                receiver.read_to_string(&mut heard).await.unwrap();
                (import, heard)
            });
        }
        let (refused, heard) = answers.join_next().await.unwrap().unwrap();
        assert!(heard.starts_with("HTTP/1.1 429 ") && heard.contains("retry-after: 5"), "{heard}");
        assert!(heard.contains("problem:rate_limited"), "{heard}");
        for (import, sender) in senders.iter_mut().enumerate() {
            if import != refused {
                sender.write_all(b"\n\n").await.unwrap();
            }
        }
        while let Some(answered) = answers.join_next().await {
            let (_, heard) = answered.unwrap();
            assert!(heard.contains("HTTP/1.1 200 ") && heard.contains(r#""accepted":0"#), "{heard}");
        }
        world.end().await;
    }

    async fn a_payment_provider_that_does_not_answer_makes_no_service_unready(db) {
        let revolut = RevolutServer::start().await;
        let world = revolut.world_with(db, &[("TRUNKLINE_JOB_LAG_SECONDS", "60")]).await;
        world.settle().await;
        revolut.fall_silent();
        // More than a node handles at the same time.
        for order in ["1", "2", "3", "4", "5", "6"] {
            revolut.send_webhook(&world, "ORDER_COMPLETED", order, world.node.app.clock.now()).await.ok();
        }
        revolut.until_waiting(4).await;
        world.node.app.clock.advance(Duration::from_secs(120));
        world.anyone_at_operations().get("/readyz").await.expect(200);
        revolut.restart();
        world.end().await;
    }

    async fn a_service_is_not_ready_while_jobs_are_overdue(db) {
        // A server for exchange rates that never answers.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let world = World::with(db, &[("TRUNKLINE_FX_URL", &url), ("TRUNKLINE_JOB_LAG_SECONDS", "600")]).await;
        let (app, ops) = (&world.node.app, world.anyone_at_operations());
        // A schedule first fires after it was first seen.
        world.settle().await;

        // One more than a node runs of a class concurrently. What waits for another service does not count.
        const MONEY: Kind = fx::FETCH.class(Class::Money);
        app.db.tx((), |conn, ()| Box::pin(async move {
            for _ in 0..5 {
                jobs::enqueue(conn, MONEY, json!({})).await?;
            }
            Ok::<_, DbError>(())
        })).await.unwrap();
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(silent.accept().await.unwrap());
        }
        ops.get("/readyz").await.expect(200);

        app.clock.advance(Duration::from_secs(590));
        ops.get("/readyz").await.expect(200);
        app.clock.advance(Duration::from_secs(30));
        let problem = ops.get("/readyz").await.problem(503, "service.unavailable");
        let detail = problem["detail"].as_str().unwrap();
        let scrape = Scrape::of(&world).await;
        assert!(scrape.value(r#"trunkline_jobs_waiting{class="money"}"#) >= 1.0);
        assert!(scrape.value(r#"trunkline_jobs_lag_seconds{class="money"}"#) >= 620.0);
        assert!(detail.starts_with("Jobs of the class money are 62") && detail.ends_with("more than 600."), "{detail}");
        ops.get("/healthz").await.expect(200);

        drop((held, silent));
        world.settle().await;
        ops.get("/readyz").await.expect(200);
        world.end().await;
    }

    async fn a_database_without_the_latest_migrations_is_reported(db) {
        let world = World::unlimited(db).await;
        let ops = world.anyone_at_operations();
        ops.get("/readyz").await.expect(200);
        const NEWEST: &str =
            "DELETE FROM schema_migrations WHERE number = (SELECT MAX(number) FROM schema_migrations)";
        world.node.app.db.tx((), |conn, ()| Box::pin(conn.exec(NEWEST, &[]))).await.unwrap();
        let problem = ops.get("/readyz").await.problem(503, "service.unavailable");
        assert_eq!(problem["detail"], "The database lacks migrations of this release.");
        world.stop().await;
    }

    async fn metrics_are_in_prometheus_format_and_count_requests(db) {
        let world = World::with(db, &[("TRUNKLINE_LIMIT_READS", "2/3600")]).await;
        let caller = world.minted(Role::Customer).await;
        for _ in 0..2 {
            caller.get("/account").await;
        }
        world.anyone().get("/account").await.problem(401, "auth.token_invalid");
        for path in ["/nothing", "/nothing/else"] {
            world.anyone().get(path).await.problem(404, "not_found");
        }
        let answer = world.anyone_at_operations().get("/metrics").await;
        assert!(answer.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
        let text = String::from_utf8(answer.bytes).unwrap();
        for line in text.lines() {
            assert!(line.starts_with("# HELP ") || line.starts_with("# TYPE ") || is_sample(line), "{line}");
        }
        let sample = |labels: &str| {
            let start = format!("trunkline_requests_total{{{labels}}} ");
            text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or("0").to_owned()
        };
        assert_eq!(sample(r#"method="GET",path="/account",status="200""#), "2");
        assert_eq!(sample(r#"method="GET",path="/account",status="401""#), "1");
        // Unknown paths must not become labels.
        assert_eq!(sample(r#"method="GET",path="",status="404""#), "2");
        assert!(text.contains(r#"trunkline_request_seconds_count{method="GET",path="/account"} 3"#), "{text}");
        assert!(text.contains("\ntrunkline_connections "), "{text}");
        world.end().await;
    }

    async fn metrics_are_in_openmetrics_format_if_the_scraper_asks_for_it(db) {
        let world = World::start(db).await;
        world.anyone().get("/me").await.expect(401);
        let scrape = async |accept: &str| {
            let answer = world.anyone_at_operations().header("accept", accept).get("/metrics").await;
            (answer.header("content-type").unwrap().to_owned(), String::from_utf8(answer.bytes).unwrap())
        };
        // As Prometheus asks.
        let (kind, text) = scrape("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1").await;
        assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert!(text.contains("# TYPE trunkline_requests counter\n") && text.ends_with("\n# EOF\n"), "{text}");
        assert!(text.contains("trunkline_requests_total{method=\"GET\",path=\"/me\",status=\"401\"} 1\n"), "{text}");
        assert!(!text.contains(" # {"), "exemplars need traces");
        for accept in ["*/*", "text/plain", "application/openmetrics-text;q=0", "text/plain,application/openmetrics-text;q=0.5"] {
            assert!(scrape(accept).await.0.starts_with("text/plain"), "{accept}");
        }
        world.end().await;
    }

    async fn the_test_clock_needs_the_secret_and_only_moves_forward(db) {
        let world = World::unlimited(db).await;
        let body = json!({"advance_seconds": 1});
        let stranger = world.anyone_at_operations();
        stranger.post("/ops/clock", body.clone()).await.problem(401, "auth.token_invalid");
        for header in ["Bearer wrong", "Bearer", "Basic c3dpdGNoOndyb25n", "Basic ???"] {
            let guess = stranger.header("Authorization", header).post("/ops/clock", body.clone()).await;
            guess.problem(401, "auth.token_invalid");
        }
        let secret = data_encoding::BASE64.encode(format!("switch:{}", SWITCH_SECRET).as_bytes());
        let basic = stranger.header("Authorization", &format!("Basic {secret}"));
        basic.post("/ops/clock", body).await.expect(200);

        let before = world.node.app.clock.now();
        for wrong in [json!(-1), json!(1.5), json!("60"), json!(null), json!(u64::MAX), json!(400_000_000_u64)] {
            let answer = world.operations().post("/ops/clock", json!({"advance_seconds": wrong})).await;
            assert_eq!(answer.invalid(), ["advance_seconds"], "{wrong}");
        }
        let unknown = world.operations().post("/ops/clock", json!({"back": 1})).await;
        assert_eq!(unknown.invalid(), ["advance_seconds", "back"]);
        let garbage = world.operations().request(reqwest::Method::POST, "/ops/clock").body("{");
        world.operations().send(garbage).await.problem(400, "request.malformed");
        assert!(world.node.app.clock.now().since(before).as_secs() < 60, "a refused move moved");

        let moved = world.operations().post("/ops/clock", json!({"advance_seconds": 86_400})).await.ok();
        assert!(moved["now"].as_str().unwrap().ends_with('Z'));
        assert!(world.node.app.clock.now().since(before).as_secs() >= 86_400);
        world.end().await;
    }

    async fn without_the_setting_there_is_no_test_clock(db) {
        let world = World::with(db, &[("TRUNKLINE_TEST_CLOCK", "off")]).await;
        world.operations().post("/ops/clock", json!({"advance_seconds": 1})).await.problem(404, "not_found");
        world.stop().await;
    }
}

postgres! {
    async fn health_checks_report_a_database_outage_and_its_end(db) {
        let world = World::unlimited(db).await;
        let caller = world.minted(Role::Customer).await;
        let ops = world.anyone_at_operations();
        caller.get("/account").await.expect(200);

        db.stop_accepting().await;
        for _ in 0..5 {
            for answer in [
                caller.get("/account").await,
                caller.patch("/account", json!({"company_name": "Nobody"})).await,
                world.anyone().post("/auth/forgot-password", json!({"email": "a@example.com"})).await,
                ops.get("/readyz").await,
            ] {
                assert_eq!(answer.header("retry-after"), Some("1"));
                answer.problem(503, "service.unavailable");
            }
            ops.get("/healthz").await.expect(200);
        }

        db.accept_again().await;
        assert_ne!(caller.get("/account").await.ok()["company_name"], "Nobody");
        caller.patch("/account", json!({"company_name": "Somebody"})).await.expect(200);
        ops.get("/readyz").await.expect(200);
        world.end().await;
    }
}

/// `name{label="value"} 12.5`
fn is_sample(line: &str) -> bool {
    let Some((name, value)) = line.rsplit_once(' ') else { return false };
    let bare = name.split('{').next().unwrap_or_default();
    value.parse::<f64>().is_ok()
        && name.contains('{') == name.ends_with('}')
        && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
