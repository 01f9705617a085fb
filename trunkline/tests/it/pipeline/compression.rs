//! Compressed responses: what is compressed, in which coding, and what its ETag is good for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Read;

use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use super::probes::{caller, world};
use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::sqlite;
use crate::world::fixtures::key;
use crate::world::fixtures::rates::{DECK_HEADER, large_deck, upstream_with_deck};

fn unpacked(answer: &Answer) -> Vec<u8> {
    let mut text = Vec::new();
    match answer.header("content-encoding") {
        Some("gzip") => flate2::read::GzDecoder::new(answer.bytes.as_slice()).read_to_end(&mut text).unwrap(),
        Some("br") => brotli::Decompressor::new(answer.bytes.as_slice(), 4096).read_to_end(&mut text).unwrap(),
        coding => panic!("the coding is {coding:?}"),
    };
    text
}

fn accepting(client: &Client, codings: &str) -> Client {
    client.header("Accept-Encoding", codings)
}

/// All values of a header, in lower case.
fn vary(answer: &Answer) -> Vec<String> {
    answer.headers.get_all("vary").iter().map(|value| value.to_str().unwrap().to_lowercase()).collect()
}

sqlite! {
    async fn a_long_answer_is_packed_as_its_reader_prefers(db) {
        let world = world(db).await;
        let asked = format!("/questions?number=1&text={}", "long+and+longer+".repeat(200));
        let plain = world.anyone().get(&asked).await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
        for (accepted, coding) in [
            ("gzip, deflate, br", Some("gzip")),
            ("gzip;q=0.5, br", Some("br")),
            ("br;q=0, gzip;q=0", None),
            ("identity", None),
            ("deflate", None),
        ] {
            let answer = accepting(&world.anyone(), accepted).get(&asked).await;
            assert_eq!((answer.status, answer.header("content-encoding")), (200, coding), "{accepted}");
            assert_eq!(vary(&answer), ["accept-encoding"], "{accepted}");
            if coding.is_some() {
                assert_eq!(answer.header("content-length"), Some(answer.bytes.len().to_string().as_str()));
                assert!(answer.bytes.len() * 5 < plain.bytes.len(), "{} bytes", answer.bytes.len());
                assert_eq!(unpacked(&answer), plain.bytes, "{accepted}");
                let head = accepting(&world.anyone(), accepted).call(Method::HEAD, &asked, None).await;
                assert_eq!(head.header("content-encoding"), coding);
                assert_eq!(head.header("content-length"), answer.header("content-length"));
            }
        }
        let short = accepting(&world.anyone(), "gzip").get("/questions?number=1").await;
        assert_eq!((short.header("content-encoding"), vary(&short)), (None, vec!["accept-encoding".to_owned()]));
        world.end().await;
    }

    async fn answers_that_issue_secrets_or_repeat_the_request_are_not_packed(db) {
        let world = world(db).await;
        let caller = accepting(&caller(&world).await, "gzip, br").with_key(key());
        let made = caller.post("/marks", json!({"text": "x".repeat(200)})).await;
        assert_eq!((made.status, made.header("content-encoding")), (201, None));
        let asked = format!("/questions?{}", "nothing=of+this+is+known&".repeat(200));
        let refused = accepting(&world.anyone(), "gzip").get(&asked).await;
        assert_eq!(refused.header("content-encoding"), None);
        refused.problem(422, "validation.failed");
        world.end().await;
    }

    async fn the_tag_of_a_packed_answer_guards_reads_and_changes(db) {
        let world = World::start(db).await;
        let caller = world.minted(Role::Customer).await;
        let name = "Kanaal ".repeat(28);
        let address = json!({"line1": "L".repeat(200), "line2": "L".repeat(200), "city": "C".repeat(100),
                             "postal_code": "1015 CJ", "country": "NL"});
        let body = json!({"company_name": name.trim(), "postal_address": address, "invoice_address": address});
        caller.patch("/account", body).await.ok();
        let plain = caller.get("/account").await;
        let packed = accepting(&caller, "gzip").get("/account").await;
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{} bytes", plain.bytes.len());
        let (plain, tag) = (plain.header("etag").unwrap(), packed.header("etag").unwrap());
        assert_ne!(plain, tag, "two bodies have one strong tag");
        for known in [plain, tag, &format!("W/{tag}")] {
            let unchanged = accepting(&caller, "gzip").header("If-None-Match", known).get("/account").await;
            assert_eq!((unchanged.status, unchanged.bytes.len()), (304, 0));
            assert_eq!(unchanged.header("etag"), Some(known.trim_start_matches("W/")));
            assert_eq!(unchanged.header("content-encoding"), None);
            assert!(vary(&unchanged).contains(&"accept-encoding".to_owned()));
        }
        caller.header("If-Match", tag).patch("/account", json!({"company_name": "Kanaal"})).await.ok();
        let late = caller.header("If-Match", tag).patch("/account", json!({"company_name": "Gracht"})).await;
        late.problem(412, "precondition.failed");
        world.end().await;
    }

    async fn a_table_is_packed_while_it_is_sent(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let rows = large_deck(2000, "0.0045").replace(DECK_HEADER, "");
        upstream_with_deck(&world, &admin, "A", "EUR", 0.0, &rows).await;
        let caller = world.minted(Role::Customer).await;
        let plain = caller.get("/rates/export").await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
        for coding in ["gzip", "br"] {
            let packed = accepting(&caller, coding).get("/rates/export").await;
            assert_eq!((packed.header("content-encoding"), packed.header("content-length")), (Some(coding), None));
            assert_eq!(unpacked(&packed), plain.bytes);
        }
        world.end().await;
    }

    async fn documents_are_packed_once_and_known_by_their_tag(db) {
        let world = World::start(db).await;
        let url = format!("http://{}/v1/openapi.json", world.node.public);
        let plain = world.anyone().get(&url).await;
        let packed = accepting(&world.anyone(), "gzip, br").get(&url).await;
        assert_eq!(packed.header("content-encoding"), Some("br"), "a document is worth the effort");
        assert_eq!(unpacked(&packed), plain.bytes);
        assert_eq!(serde_json::from_slice::<Value>(&plain.bytes).unwrap()["openapi"], "3.1.0");
        assert_ne!(packed.header("etag"), plain.header("etag"));
        for answer in [&plain, &packed] {
            let known = accepting(&world.anyone(), "br").header("If-None-Match", answer.header("etag").unwrap());
            assert_eq!(known.get(&url).await.status, 304);
            assert_eq!(vary(answer), ["accept-encoding"]);
        }
        world.end().await;
    }
}
