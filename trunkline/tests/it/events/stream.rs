//! The stream of events.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::{both, postgres, uuid};
use crate::world::fixtures::key;
use crate::world::fixtures::trunks::create_trunk;

const CORA: &str = "cora@customer.example";

/// An open stream, read as a client reads it.
struct Stream {
    response: reqwest::Response,
    text: String,
    /// The id that it begins with.
    begins_after: String,
}

/// An event of a stream: its id, its type and the name of the trunk that it tells of.
type Sent = (String, String, String);

impl Stream {
    async fn open(caller: &Client, last: Option<&str>) -> Stream {
        Stream::at(caller, "/events/stream", last).await
    }

    async fn at(caller: &Client, path: &str, last: Option<&str>) -> Stream {
        let mut request = caller.request(Method::GET, path);
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut stream = Stream { response, text: String::new(), begins_after: String::new() };
        let greeting = stream.block().await.unwrap();
        stream.begins_after = greeting.strip_prefix("retry: 2000\nid: ").unwrap().to_owned();
        stream
    }

    /// The next block of lines; none when the stream has ended.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let piece = tokio::time::timeout(Duration::from_secs(60), self.response.chunk()).await;
            match piece.expect("the stream goes on or ends") {
                Ok(Some(piece)) => self.text.push_str(std::str::from_utf8(&piece).unwrap()),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next event; none when the stream has ended.
    async fn event(&mut self) -> Option<Sent> {
        loop {
            let block = self.block().await?;
            if block.starts_with(':') {
                continue;
            }
            let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
            let event: serde_json::Value = serde_json::from_str(&line("data: ")).unwrap();
            assert_eq!((event["id"].as_str(), event["type"].as_str()), (Some(&*line("id: ")), Some(&*line("event: "))));
            let name = event["data"]["name"].as_str().unwrap_or_default().to_owned();
            return Some((line("id: "), line("event: "), name));
        }
    }

    async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(self.event().await.unwrap().2);
        }
        names
    }
}

both! {
    async fn a_stream_sends_events_of_its_account_as_they_happen(db) {
        let world = World::unlimited(db).await;
        let (cora, other) = (world.customer(CORA).await, world.customer("omar@customer.example").await);
        create_trunk(&cora, "before").await;
        world.settle().await;
        let mut stream = Stream::open(&cora, None).await;
        let mut team = Stream::at(&*world.admin().await, "/admin/events/stream", None).await;
        create_trunk(&other, "theirs").await;
        create_trunk(&cora, "first").await;
        let (id, kind, name) = stream.event().await.unwrap();
        assert_eq!((kind.as_str(), name.as_str()), ("trunk.created", "first"));
        assert_eq!(team.names(2).await, ["theirs", "first"]);
        for name in ["second", "third"] {
            create_trunk(&cora, name).await;
        }
        assert_eq!(stream.names(2).await, ["second", "third"]);
        drop(stream);
        create_trunk(&cora, "fourth").await;
        let mut resumed = Stream::open(&cora, Some(&id)).await;
        assert_eq!(resumed.names(3).await, ["second", "third", "fourth"]);
        world.end().await;
    }

    async fn a_stream_resumes_only_after_an_event_of_its_account(db) {
        let world = World::unlimited(db).await;
        let (cora, other) = (world.customer(CORA).await, world.customer("omar@customer.example").await);
        create_trunk(&other, "theirs").await;
        world.settle().await;
        let theirs = other.get("/events").await.ok()["data"][0]["id"].as_str().unwrap().to_owned();
        for last in [theirs, uuid().to_string(), "1".to_owned()] {
            let refused = cora.header("Last-Event-ID", &last).get("/events/stream").await;
            assert_eq!(refused.invalid(), ["Last-Event-ID"]);
        }
        world.end().await;
    }

    async fn a_stream_that_broke_before_its_first_event_resumes_without_a_gap(db) {
        let world = World::unlimited(db).await;
        let (cora, other) = (world.customer(CORA).await, world.customer("omar@customer.example").await);
        create_trunk(&other, "earlier").await;
        world.settle().await;
        for (caller, earlier) in [(&cora, 0), (&other, 1)] {
            let begins_after = Stream::open(caller, None).await.begins_after;
            create_trunk(caller, "missed").await;
            world.settle().await;
            let mut resumed = Stream::open(caller, Some(&begins_after)).await;
            assert_eq!(resumed.begins_after, begins_after);
            assert_eq!(resumed.names(1).await, ["missed"]);
            let listed = caller.get("/events").await.ok()["data"].as_array().unwrap().len();
            assert_eq!(listed, earlier + 1);
        }
        world.end().await;
    }

    async fn a_user_may_have_five_streams_and_they_take_no_place_of_requests(db) {
        let world = World::with(db, &[("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_REQUESTS_AT_ONCE", "8")]).await;
        let (cora, other) = (world.customer(CORA).await, world.customer("omar@customer.example").await);
        let mut streams = Vec::new();
        for _ in 0..5 {
            streams.push(Stream::open(&cora, None).await);
        }
        let sixth = cora.get("/events/stream").await;
        assert!(sixth.header("retry-after").is_some());
        sixth.problem(429, "rate_limited");
        let mut others = Vec::new();
        for _ in 0..5 {
            others.push(Stream::open(&other, None).await);
        }
        cora.get("/me").await.ok();
        create_trunk(&cora, "Main").await;
        for stream in &mut streams {
            assert_eq!(stream.names(1).await, ["Main"]);
        }
        world.end().await;
    }

    async fn a_stream_ends_with_its_token(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let mut stream = Stream::open(&cora, None).await;
        world.advance(901).await;
        create_trunk(&*world.sign_in(CORA).await, "too late").await;
        assert_eq!(stream.event().await, None);
        world.end().await;
    }

    async fn a_stream_ends_when_its_session_or_key_is_revoked(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let body = json!({"name": "Monitor", "scopes": ["account:read"]});
        let made = cora.with_key(key()).post("/account/api-keys", body).await.expect(201);
        let phone = world.sign_in(CORA).await;
        let mut by_key = Stream::open(&world.bearing(made["secret"].as_str().unwrap()), None).await;
        let mut by_session = Stream::open(&phone, None).await;
        create_trunk(&cora, "before").await;
        assert_eq!((by_key.names(1).await, by_session.names(1).await), (vec!["before".to_owned()], vec!["before".to_owned()]));

        let id = made["id"].as_str().unwrap();
        cora.delete(&format!("/account/api-keys/{id}")).await.expect(204);
        for session in cora.get("/me/sessions").await.ok()["data"].as_array().unwrap() {
            if session["current"] == false {
                cora.delete(&format!("/me/sessions/{}", session["id"].as_str().unwrap())).await.expect(204);
            }
        }
        world.advance(5).await;
        create_trunk(&cora, "after").await;
        assert_eq!((by_key.event().await, by_session.event().await), (None, None));
        world.end().await;
    }

    async fn streams_end_when_the_service_stops(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let mut stream = Stream::open(&cora, None).await;
        let ended = tokio::spawn(async move { stream.event().await });
        world.end().await;
        assert_eq!(ended.await.unwrap(), None);
    }
}

postgres! {
    async fn a_stream_resumes_on_another_node_without_a_gap(db) {
        let world = World::unlimited(db).await;
        let other = world.another_node().await;
        let cora = world.customer(CORA).await;
        let elsewhere = other.bearing(cora.token());
        let mut stream = Stream::open(&cora, None).await;
        let mut last = None;
        for number in 0..10 {
            let name = format!("trunk {number}");
            // Either node may publish it, and the stream changes nodes.
            create_trunk(if number % 2 == 0 { &elsewhere } else { &cora }, &name).await;
            let (id, _, sent) = stream.event().await.unwrap();
            assert_eq!(sent, name);
            if number % 3 == 2 {
                drop(stream);
                create_trunk(&cora, &format!("between {number}")).await;
                let there = if number == 5 { &*cora } else { &elsewhere };
                stream = Stream::open(there, Some(&id)).await;
                assert_eq!(stream.names(1).await, [format!("between {number}")]);
            }
            last = Some(id);
        }
        assert!(last.is_some());
        drop(stream);
        other.stop().await;
        world.end().await;
    }
}
