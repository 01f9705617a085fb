//! Headers of every response, and CORS.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use serde_json::json;

use super::probes::{caller, world, world_with};
use crate::world::World;
use crate::world::client::Answer;
use crate::world::engines::sqlite;
use crate::world::fixtures::key;

const ORIGIN: &str = "https://portal.example";

sqlite! {
    async fn a_valid_request_id_is_echoed_and_any_other_replaced(db) {
        let world = world(db).await;
        for id in ["a", "order-17_b.2", &"x".repeat(64)] {
            let answer = world.anyone().header("X-Request-Id", id).get("/nothing").await;
            assert_eq!(answer.header("x-request-id"), Some(id));
            assert_eq!(answer.problem(404, "not_found")["request_id"], id);
        }
        for id in ["", "a b", "a/b", "<script>", &"x".repeat(65)] {
            let answer = world.anyone().header("X-Request-Id", id).get("/nothing").await;
            let given = answer.header("x-request-id").unwrap().to_owned();
            assert_eq!(given.len(), 32, "{id:?} became {given:?}");
            answer.problem(404, "not_found");
        }
        let (one, other) = (world.anyone().get("/nothing").await, world.anyone().get("/nothing").await);
        assert_ne!(one.header("x-request-id"), other.header("x-request-id"));
        world.end().await;
    }

    async fn every_response_has_the_security_headers(db) {
        let world = world(db).await;
        let caller = caller(&world).await.with_key(key());
        let origin = format!("http://{}", world.node.public);
        let answers = [
            caller.post("/marks", json!({"text": "x"})).await,
            caller.post("/marks", json!({"text": "x"})).await,
            caller.post("/marks", json!({"text": "y"})).await,
            caller.get("/items").await,
            caller.get("/panics").await,
            caller.get("/nothing").await,
            caller.delete("/marks").await,
            caller.call(Method::OPTIONS, "/marks", None).await,
            caller.call(Method::HEAD, "/items", None).await,
            world.anyone().get("/items").await,
            world.anyone().get(&format!("{origin}/v1/openapi.json")).await,
            world.anyone().get(&format!("{origin}/docs")).await,
            world.operations().get("/healthz").await,
            world.operations().get("/nothing").await,
        ];
        for answer in answers {
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(answer.header("x-frame-options"), Some("DENY"));
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
            assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
            assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"));
            assert!(answer.header("strict-transport-security").unwrap().starts_with("max-age="));
            assert!(answer.header("content-security-policy").unwrap().contains("default-src 'none'"));
            assert!(answer.header("cache-control").is_some());
            assert!(answer.header("x-request-id").is_some());
            assert_eq!(answer.header("server"), None);
        }
        world.end().await;
    }

    async fn cors_is_off_by_default(db) {
        let world = world(db).await;
        for answer in from_origin(&world, ORIGIN).await {
            assert!(!shows_cors(&answer), "{:?}", answer.headers);
        }
        world.end().await;
    }

    async fn cors_allows_exactly_the_configured_origins(db) {
        let settings = [("TRUNKLINE_CORS_ORIGINS", "https://portal.example,https://other.example:8443")];
        let world = world_with(db, &settings).await;
        let [preflight, answer, refusal] = from_origin(&world, ORIGIN).await;
        for answer in [&preflight, &answer, &refusal] {
            assert_eq!(answer.header("access-control-allow-origin"), Some(ORIGIN));
            assert_eq!(answer.header("access-control-allow-credentials"), None);
            assert!(answer.headers.get_all("vary").iter().any(|value| value == "origin"));
        }
        assert_eq!(preflight.status, 204);
        assert_eq!(preflight.header("access-control-allow-methods"), Some("GET, HEAD, OPTIONS"));
        assert!(preflight.header("access-control-allow-headers").unwrap().contains("idempotency-key"));
        assert!(answer.header("access-control-expose-headers").unwrap().contains("ratelimit"));
        for stranger in [
            "https://portal.example.evil",
            "http://portal.example",
            "https://other.example",
            "https://Portal.example",
            "null",
        ] {
            for answer in from_origin(&world, stranger).await {
                assert!(!shows_cors(&answer), "{stranger}: {:?}", answer.headers);
            }
        }
        world.end().await;
    }
}

/// A preflight, a success and a refusal, as a page of this origin would cause them.
async fn from_origin(world: &World, origin: &str) -> [Answer; 3] {
    let page = world.anyone().header("Origin", origin);
    [
        page.header("Access-Control-Request-Method", "GET").call(Method::OPTIONS, "/items", None).await,
        page.get("/questions?number=1").await,
        page.get("/items").await,
    ]
}

fn shows_cors(answer: &Answer) -> bool {
    answer.headers.keys().any(|name| name.as_str().starts_with("access-control-"))
}
