//! Refusals before the body is read: the response still arrives, and the connection stays usable if it can.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::probes::{caller, world};
use crate::world::World;
use crate::world::engines::sqlite;
use crate::world::fixtures::key;
use crate::world::fixtures::metrics::Scrape;

const REFUSED: &str = "trunkline_requests_total{method=\"POST\",path=\"/marks\",status=\"401\"}";

sqlite! {
    async fn a_refusal_before_the_body_leaves_the_connection_usable(db) {
        let world = world(db).await;
        let mut stream = TcpStream::connect(world.node.public).await.unwrap();
        let body = r#"{"text": "late"}"#;
        for refusals in 1..=3 {
            let head = format!("POST /v1/marks HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).await.unwrap();
            // It is refused by now, and the rest of it is still to come.
            while Scrape::of(&world).await.value(REFUSED) < f64::from(refusals) {
                tokio::task::yield_now().await;
            }
            stream.write_all(body.as_bytes()).await.unwrap();
            let refused = answer(&mut stream).await;
            assert!(refused.starts_with("HTTP/1.1 401 ") && !refused.contains("connection: close"), "{refused}");
        }
        stream.write_all(b"GET /v1/questions?number=7 HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let answered = answer(&mut stream).await;
        assert!(answered.starts_with("HTTP/1.1 200 ") && answered.contains(r#""number":7"#), "{answered}");
        world.end().await;
    }

    async fn a_client_that_sends_too_much_still_reads_the_refusal(db) {
        let world = world(db).await;
        let length = 48 * 1024 * 1024;
        let token = caller(&world).await.token().to_owned();
        let headers = format!("Authorization: Bearer {token}\r\nContent-Length: {length}\r\n");
        let mut stream = post(&world, &headers).await;
        let piece = vec![b' '; 1024 * 1024];
        for _ in 0..48 {
            stream.write_all(&piece).await.unwrap();
        }
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await.unwrap();
        assert!(heard.starts_with("HTTP/1.1 413 ") && heard.contains("connection: close"), "{heard}");
        world.anyone().get("/questions?number=1").await.ok();
        world.end().await;
    }

    async fn expect_continue_is_refused_without_asking_for_the_body(db) {
        let world = world(db).await;
        let mut stream = post(&world, "Content-Length: 10\r\nExpect: 100-continue\r\n").await;
        let heard = answer(&mut stream).await;
        assert!(heard.starts_with("HTTP/1.1 401 "), "{heard}");
        world.end().await;
    }

    async fn a_body_on_an_endpoint_without_one_is_refused_as_unknown(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let path = "/notifications/read-all";
        assert_eq!(cora.post(path, json!({"x": 1, "y": 2})).await.invalid(), ["x", "y"]);
        assert_eq!(cora.post(path, json!([])).await.invalid(), ["body"]);
        let request = cora.request(reqwest::Method::POST, path).header("content-type", "application/json");
        cora.send(request.body("{nope")).await.problem(400, "request.malformed");
        let request = cora.request(reqwest::Method::POST, path).header("content-type", "application/json");
        cora.send(request.body(" ".repeat(65 * 1024))).await.problem(413, "request.too_large");
        cora.post(path, json!({})).await.ok();
        let request = cora.request(reqwest::Method::POST, path);
        cora.send(request).await.ok();
        world.end().await;
    }
}

async fn post(world: &World, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(world.node.public).await.unwrap();
    let key = key();
    let head = format!(
        "POST /v1/marks HTTP/1.1\r\nHost: x\r\nIdempotency-Key: {key}\r\n\
         Content-Type: application/json\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// One response, by its Content-Length.
async fn answer(stream: &mut TcpStream) -> String {
    let mut heard = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&heard).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.unwrap().parse().unwrap() {
                return text;
            }
        }
        assert_ne!(stream.read_buf(&mut heard).await.unwrap(), 0, "cut off: {text}");
    }
}
