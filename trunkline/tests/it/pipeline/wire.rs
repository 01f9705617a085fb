//! Requests that are invalid before any handler runs: each is answered with a problem.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::probes::{caller, marks, world};
use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::sqlite;
use crate::world::fixtures::key;

const LIMIT_BYTES: usize = 64 * 1024;

sqlite! {
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

    async fn a_second_content_type_is_refused_even_if_it_is_the_same(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        for second in ["application/json", "text/plain"] {
            let request = caller.with_key(key()).request(Method::POST, "/marks").body(r#"{"text": "x"}"#);
            let twice = request.header("content-type", "application/json").header("content-type", second);
            caller.send(twice).await.problem(400, "request.malformed");
        }
        assert_eq!(marks(db).await, 0);
        world.end().await;
    }

    async fn a_missing_body_is_refused_by_naming_its_required_fields(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let cora = world.customer("cora@customer.example").await;
        let without_body = async |client: &Client, method, path: &str| client.call(method, path, None).await.invalid();
        let impersonate = format!("/admin/customers/{}/impersonate", cora.account_id);
        assert_eq!(without_body(&admin, Method::POST, &impersonate).await, ["reason"]);
        assert_eq!(without_body(&world.anyone(), Method::POST, "/auth/sign-in").await, ["email", "password"]);
        assert_eq!(without_body(&cora, Method::POST, "/me/kyb/documents").await, ["doc_kind", "file"]);
        assert_eq!(without_body(&cora, Method::PATCH, "/account").await, ["body"]);
        let typed = admin.request(Method::POST, &impersonate).header("content-type", "text/plain");
        admin.send(typed).await.problem(415, "request.unsupported_media_type");
        let untyped = admin.request(Method::POST, &impersonate).body("{}");
        admin.send(untyped).await.problem(415, "request.unsupported_media_type");
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

    async fn a_key_that_is_given_twice_is_refused_at_any_depth(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        for body in [
            r#"{"text": "a", "text": "b"}"#, r#"{"text": "a", "text": "a"}"#, r#"{"text": "a", "t\u0065xt": "b"}"#,
            r#"{"text": "a", "more": [{"deep": {"text": 1, "text": 2}}]}"#,
        ] {
            let refused = send(&caller, "application/json", body.as_bytes().to_vec()).await;
            let detail = refused.problem(400, "request.malformed")["detail"].to_string();
            assert!(detail.contains(r#"the key \"text\" is given twice"#), "{body}: {detail}");
        }
        let event = json!({"events": []}).to_string().replace('}', r#","events":[]}"#);
        let operations = world.operations();
        let request = operations.request(Method::POST, "/switch/events").body(event);
        operations.send(request.header("content-type", "application/json")).await.problem(400, "request.malformed");
        assert_eq!(marks(db).await, 0);
        world.end().await;
    }

    async fn a_request_without_exactly_one_host_is_refused(db) {
        let world = world(db).await;
        let ask = async |address, hosts: &str| {
            let request = format!("GET /v1/questions?number=1 HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
            raw_to(address, request.as_bytes()).await
        };
        for hosts in ["", "Host: a\r\nHost: a\r\n", "Host: a\r\nhost: b\r\n", "Host: a b\r\n", "Host: me@a\r\n", "Host:\r\n"] {
            for address in [world.node.public, world.node.ops] {
                let answer = ask(address, hosts).await;
                assert!(answer.starts_with("HTTP/1.1 400 "), "{hosts:?}: {answer}");
                assert_eq!(problem_in(&answer)["type"], "urn:service:voice:problem:request.malformed");
            }
        }
        for hosts in ["Host: api.example.com:8443\r\n", "Host: [2001:db8::1]\r\n", "Host: 127.0.0.1\r\n"] {
            let answer = ask(world.node.public, hosts).await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{hosts:?}: {answer}");
        }
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
        for request in [long, many] {
            let answer = raw(&world, request.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{answer}");
            assert_eq!(problem_in(&answer)["type"], "urn:service:voice:problem:request.headers_too_large");
        }
        let twice = "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab";
        let after_another = "GET /v1/questions?number=1 HTTP/1.1\r\nHost: x\r\n\r\nGET \u{7f} HTTP/1.1\r\n\r\n";
        for request in ["\u{16}\u{3}\u{1} not http\r\n\r\n", &format!("POST /v1/marks HTTP/1.1\r\nHost: x\r\n{twice}"), after_another] {
            let answers = raw(&world, request.as_bytes()).await;
            let at = answers.rfind("HTTP/1.1 400 Bad Request\r\n").unwrap_or_else(|| panic!("{answers}"));
            assert_eq!(problem_in(&answers[at..])["type"], "urn:service:voice:problem:request.malformed");
        }
        assert_eq!(world.anyone().get("/questions?number=1").await.status, 200);
        world.end().await;
    }
}

/// The problem in a response, after checking its headers.
fn problem_in(response: &str) -> Value {
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap();
    let problem: Value = serde_json::from_str(body).unwrap();
    assert_eq!((header("content-type"), header("connection")), ("application/problem+json", "close"));
    assert_eq!(header("content-length"), body.len().to_string());
    assert_eq!(header("x-request-id"), problem["request_id"]);
    assert!(header("date").ends_with("GMT") && header("x-content-type-options") == "nosniff");
    problem
}

async fn send(caller: &Client, media_type: &str, body: Vec<u8>) -> Answer {
    let request = caller.with_key(key()).request(Method::POST, "/marks").header("content-type", media_type);
    caller.send(request.body(body)).await
}

/// Bytes as they are, and everything that comes back until the server closes.
async fn raw(world: &World, request: &[u8]) -> String {
    raw_to(world.node.public, request).await
}

async fn raw_to(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
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
