//! Handlers that panic or hang, and clients that disconnect.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::probes::{ARRIVED, RELEASE, caller, marks, world};
use crate::world::engines::both;
use crate::world::fixtures::key;

both! {
    async fn a_panicking_handler_is_an_internal_error_and_the_service_continues(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        for _ in 0..3 {
            caller.get("/panics").await.problem(500, "internal");
            caller.post("/panics", json!({"text": "x"})).await.problem(500, "internal");
            let inside = caller.with_key(key()).post("/marks", json!({"text": "panic"})).await;
            let body = inside.problem(500, "internal");
            assert!(!body["detail"].as_str().unwrap().contains("told to"), "the cause leaked: {body}");
        }
        assert_eq!(marks(db).await, 0);
        caller.with_key(key()).post("/marks", json!({"text": "fine"})).await.expect(201);
        world.end().await;
    }

    async fn a_transaction_that_awaits_something_else_does_not_hang(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        let answer = caller.post("/waits", json!({"text": "x"})).await;
        // SQLite has one writer, which must not be blocked; on PostgreSQL it may wait.
        match db.is_shared() {
            true => drop(answer.expect(201)),
            false => drop(answer.problem(500, "internal")),
        }
        assert_eq!(marks(db).await, i64::from(db.is_shared()));
        caller.with_key(key()).post("/marks", json!({"text": "fine"})).await.expect(201);
        world.end().await;
    }

    async fn a_request_whose_client_disconnects_takes_effect_once(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        let key = key();
        let body = r#"{"text": "gone"}"#;
        let request = format!(
            "POST /v1/held HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nIdempotency-Key: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            caller.token(),
            body.len(),
        );
        let mut stream = tokio::net::TcpStream::connect(world.node.public).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        ARRIVED.notified().await;
        let open = &world.node.app.metrics.requests.connections;
        let before = open.get();
        drop(stream);
        while open.get() == before {
            tokio::task::yield_now().await;
        }
        RELEASE.add_permits(1);
        let retry = caller.with_key(key).request(hyper::Method::POST, "/held");
        let retried = caller.send(retry.header("content-type", "application/json").body(body)).await;
        assert_eq!(retried.header("idempotent-replayed"), Some("true"));
        assert_eq!(retried.expect(201)["total"], 1);
        assert_eq!(marks(db).await, 1);
        world.end().await;
    }
}
