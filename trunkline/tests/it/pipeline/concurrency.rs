//! Overload and shutdown: requests over the limit are refused, running ones finish.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::probes::{ARRIVED, RELEASE, world, world_with};
use crate::world::World;
use crate::world::client::Answer;
use crate::world::engines::{both, sqlite};
use crate::world::fixtures::metrics::Scrape;

const REFUSED: &str = "trunkline_requests_total{method=\"POST\",path=\"/open-marks\",status=\"503\"}";

both! {
    async fn requests_over_the_concurrency_limit_are_refused(db) {
        let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_REQUESTS_AT_ONCE", "8")];
        let world = world_with(db, &settings).await;
        let mut running = hold(&world, 8).await;
        let refused = world.anyone().get("/questions?number=1").await;
        assert_eq!(refused.header("retry-after"), Some("1"));
        refused.problem(503, "service.unavailable");
        // Health checks are not refused with the clients.
        world.operations().get("/readyz").await.expect(200);
        RELEASE.add_permits(8);
        while let Some(answer) = running.join_next().await {
            assert_eq!(answer.unwrap().ok()["text"], "let go");
        }
        world.anyone().get("/questions?number=1").await.expect(200);
        world.end().await;
    }

    async fn only_a_caller_with_many_slow_bodies_is_refused(db) {
        let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1")];
        let world = world_with(db, &settings).await;
        let mut slow = Vec::new();
        while Scrape::of(&world).await.value(REFUSED) == 0.0 {
            slow.push(begin_body(&world, "203.0.113.7").await);
        }
        assert!(slow.len() > 64, "{}", slow.len());
        let mut refused = begin_body(&world, "203.0.113.7").await;
        let mut answer = [0; 12];
        refused.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 503");
        let from = |address: &str| world.anyone().header("X-Forwarded-For", address);
        for address in ["203.0.113.7", "203.0.113.8"] {
            from(address).get("/questions?number=1").await.expect(200);
        }
        from("203.0.113.8").post("/open-marks", json!({"text": "x"})).await.expect(201);
        world.end().await;
    }

    async fn a_stopping_service_finishes_running_requests_and_accepts_none(db) {
        let world = world(db).await;
        let (public, ops_address, ops) = (world.node.public, world.node.ops, world.operations());
        let mut running = hold(&world, 1).await;
        ops.get("/readyz").await.expect(200);
        let stopping = tokio::spawn(world.stop());
        while TcpStream::connect(public).await.is_ok() {
            tokio::task::yield_now().await;
        }
        // The load balancer sees it while requests are still running.
        let unready = ops.get("/readyz").await;
        assert_eq!(unready.header("retry-after"), Some("1"));
        unready.problem(503, "service.unavailable");
        ops.get("/healthz").await.expect(200);
        assert!(!stopping.is_finished());
        RELEASE.add_permits(1);
        let answer = running.join_next().await.unwrap().unwrap();
        assert_eq!(answer.ok()["text"], "let go");
        tokio::time::timeout(Duration::from_secs(20), stopping).await.unwrap().unwrap();
        assert!(TcpStream::connect(ops_address).await.is_err());
    }
}

/// More than tokio has.
const BLOCKING_THREADS: usize = 600;

sqlite! {
    async fn a_document_that_is_made_waits_for_no_thread(db) {
        let world = World::start(db).await;
        let pages = || async {
            for coding in ["identity", "gzip", "br"] {
                world.anyone().header("Accept-Encoding", coding).get("/openapi.json").await.expect(200);
            }
        };
        pages().await;
        let gate = Arc::new(Semaphore::new(0));
        for _ in 0..BLOCKING_THREADS {
            let gate = gate.clone();
            tokio::task::spawn_blocking(move || Handle::current().block_on(gate.acquire()).map(drop));
        }
        let again = tokio::time::timeout(Duration::from_secs(20), pages()).await;
        gate.close();
        again.unwrap();
        world.end().await;
    }
}

/// A request whose body does not arrive.
async fn begin_body(world: &World, address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(world.node.public).await.unwrap();
    let head = format!(
        "POST /v1/open-marks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         X-Forwarded-For: {address}\r\nContent-Length: 100\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// This many requests that wait in their handler until they are released.
async fn hold(world: &World, count: usize) -> JoinSet<Answer> {
    let mut running = JoinSet::new();
    for _ in 0..count {
        let caller = world.anyone();
        running.spawn(async move { caller.get("/held").await });
        ARRIVED.notified().await;
    }
    running
}
