//! Requests that are invalid before any handler runs: each is answered with a problem.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::probes::{caller, marks, world};
use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::fixtures::key;

const LIMIT_BYTES: usize = 64 * 1024;

both! {
    async fn an_unknown_path_is_a_problem(db) {
        let world = world(db).await;
        for path in ["/nothing", "/marks/", "/marks/a/b", "//marks", "/%2e%2e/marks", "/marks%00"] {
            world.anyone().get(path).await.problem(404, "not_found");
        }
        let outside = world.anyone().get(&format!("http://{}/nowhere", world.node.public)).await;
        assert_eq!(outside.problem(404, "not_found")["instance"], "/nowhere");
        world.end().await;
    }

    async fn an_unknown_method_is_refused_with_the_allowed_ones(db) {
        let world = world(db).await;
        for method in [Method::DELETE, Method::TRACE, Method::from_bytes(b"BREW").unwrap()] {
            let answer = world.anyone().call(method, "/marks", None).await;
            assert_eq!(answer.header("allow"), Some("POST, OPTIONS"));
            answer.problem(405, "method_not_allowed");
        }
        world.end().await;
    }

    async fn a_body_over_the_limit_is_refused_with_or_without_a_length(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        let large = format!(r#"{{"text": "{}"}}"#, "x".repeat(LIMIT_BYTES));
        send(&caller, "application/json", large.into_bytes()).await.problem(413, "request.too_large");
        let chunked = chunked(&world, &caller, LIMIT_BYTES / 1000 + 2).await;
        assert!(chunked.starts_with("HTTP/1.1 413 "), "{chunked}");
        assert!(chunked.contains("application/problem+json"), "{chunked}");
        let exact = format!(r#"{{"text":{}"x"}}"#, " ".repeat(LIMIT_BYTES - r#"{"text":"x"}"#.len()));
        assert_eq!(exact.len(), LIMIT_BYTES);
        send(&caller, "application/json", exact.into_bytes()).await.expect(201);
        world.end().await;
    }

    async fn only_json_is_read_as_json(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        let body = br#"{"text": "x"}"#.to_vec();
        for media_type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "", "multipart/form-data"]
        {
            send(&caller, media_type, body.clone()).await.problem(415, "request.unsupported_media_type");
        }
        send(&caller, "Application/JSON; charset=utf-8", body).await.expect(201);
        world.end().await;
    }

    async fn a_body_that_is_not_json_is_malformed(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        let nested = "[".repeat(10_000);
        let closed = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let in_field = format!(r#"{{"text": {}"#, r#"{"a":"#.repeat(5_000));
        let bodies: [&[u8]; 12] = [
            b"",
            b" ",
            b"{",
            b"nul",
            b"{\"text\": \"x\"} {}",
            b"{'text': 'x'}",
            b"{\"text\": \"\xff\xfe\"}",
            b"\xef\xbb\xbf{}",
            b"{\"text\": \"x\", \"count\": 1e999}",
            nested.as_bytes(),
            closed.as_bytes(),
            in_field.as_bytes(),
        ];
        for body in bodies {
            let answer = send(&caller, "application/json", body.to_vec()).await;
            let start = String::from_utf8_lossy(&body[..body.len().min(40)]);
            assert_eq!(answer.status, 400, "{start:?} gave {}", answer.body);
            answer.problem(400, "request.malformed");
        }
        assert_eq!(marks(db).await, 0);
        world.end().await;
    }

    async fn json_that_does_not_fit_names_the_invalid_fields(db) {
        let world = world(db).await;
        let caller = caller(&world).await.with_key(key());
        let cases = [
            (json!({}), vec!["text"]),
            (json!([]), vec!["body"]),
            (json!(null), vec!["body"]),
            (json!({"text": "a\u{0}b"}), vec!["text"]),
            (json!({"text": ""}), vec!["text"]),
            (json!({"text": "x".repeat(201)}), vec!["text"]),
            (json!({"text": null, "count": "1", "more": 1}), vec!["count", "more", "text"]),
            (json!({"text": "x", "count": 1.5}), vec!["count"]),
            (json!({"text": "x", "count": u64::MAX}), vec!["count"]),
            (json!({"text": "x", "count": 1e300}), vec!["count"]),
        ];
        for (body, names) in cases {
            let answer = caller.post("/marks", body.clone()).await;
            assert_eq!(answer.status, 422, "{body} gave {}", answer.body);
            let mut failing = answer.invalid();
            failing.dedup();
            assert_eq!(failing, names, "{body}");
        }
        assert_eq!(marks(db).await, 0);
        world.end().await;
    }

    async fn an_integer_may_be_written_with_a_decimal_point(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        let largest = 9_007_199_254_740_992_i64;
        for (text, count) in [("10.0", 10), ("1e3", 1000), ("-0.0", 0), ("9007199254740992.0", largest)] {
            let body = format!(r#"{{"text": "x", "count": {text}}}"#);
            assert_eq!(send(&caller, "application/json", body.into_bytes()).await.expect(201)["count"], count);
        }
        world.end().await;
    }

    async fn a_duplicate_field_breaks_nothing(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        let answer = send(&caller, "application/json", br#"{"text": "a", "text": "b"}"#.to_vec()).await;
        assert!(matches!(answer.status, 201 | 400 | 422), "{}", answer.status);
        world.end().await;
    }

    async fn unknown_query_fields_are_refused(db) {
        let world = world(db).await;
        let ask = async |query: &str| world.anyone().get(&format!("/questions?{query}")).await;
        assert_eq!(ask("number=7&text=a%20b+c").await.ok(), json!({"number": 7, "text": "a b c"}));
        assert_eq!(ask("").await.invalid(), ["number"]);
        assert_eq!(ask("number=seven").await.invalid(), ["number"]);
        assert_eq!(ask("number=1&number=2").await.invalid(), ["number"]);
        assert_eq!(ask("number=1&more=2").await.invalid(), ["more"]);
        assert_eq!(ask("number=1&text=%00").await.invalid(), ["text"]);
        assert_eq!(ask("number=99999999999999999999").await.invalid(), ["number"]);
        assert_eq!(ask("number=x&text=%00&more=1&more=2").await.invalid(), ["more", "number", "text"]);
        ask("number=1&text=%FF").await.problem(400, "request.malformed");
        world.end().await;
    }

    async fn an_http_1_0_client_is_answered_and_its_connection_closed(db) {
        let world = world(db).await;
        let answer = raw(&world, b"GET /v1/questions?number=1 HTTP/1.0\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.0 200 ") && answer.ends_with(r#"{"number":1,"text":null}"#), "{answer}");
        world.end().await;
    }

    async fn pipelined_requests_are_answered_in_order(db) {
        let world = world(db).await;
        let one = |number: u32, last: &str| {
            format!("GET /v1/questions?number={number} HTTP/1.1\r\nHost: x\r\n{last}\r\n")
        };
        let requests = [one(1, ""), one(2, ""), one(3, "Connection: close\r\n")].concat();
        let answer = raw(&world, requests.as_bytes()).await;
        let at = |number: u32| answer.find(&format!("\"number\":{number}")).unwrap();
        assert!(at(1) < at(2) && at(2) < at(3));
        world.end().await;
    }

    async fn an_oversized_or_malformed_request_head_is_refused(db) {
        let world = world(db).await;
        let long = format!("GET /v1/questions HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "x".repeat(200_000));
        let many = format!("GET /v1/questions HTTP/1.1\r\nHost: x\r\n{}\r\n", "X-Many: 1\r\n".repeat(200));
        // These never become a request, so hyper itself answers them, without a body; what the client still had to say
        // may cut the answer off.
        for request in [long, many] {
            let answer = raw(&world, request.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 431 ") || answer.is_empty(), "{answer}");
        }
        let answer = raw(&world, b"\x16\x03\x01 not http\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert_eq!(world.anyone().get("/questions?number=1").await.status, 200);
        world.end().await;
    }
}

async fn send(caller: &Client, media_type: &str, body: Vec<u8>) -> Answer {
    let request = caller.with_key(key()).request(Method::POST, "/marks").header("content-type", media_type);
    caller.send(request.body(body)).await
}

/// Bytes as they are, and everything that comes back until the server closes.
async fn raw(world: &World, request: &[u8]) -> String {
    let mut stream = tokio::net::TcpStream::connect(world.node.public).await.unwrap();
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// A chunked body of this many thousand bytes.
async fn chunked(world: &World, caller: &Client, chunks: usize) -> String {
    let head = format!(
        "POST /v1/marks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nIdempotency-Key: {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        caller.token(),
        key(),
    );
    let chunk = format!("3e8\r\n{}\r\n", " ".repeat(1000));
    raw(world, format!("{head}{}0\r\n\r\n", chunk.repeat(chunks)).as_bytes()).await
}
