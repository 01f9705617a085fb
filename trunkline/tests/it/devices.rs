//! A user's sessions, one per device.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join;
use serde_json::Value;

use crate::world::client::{Answer, Session};
use crate::world::engines::{both, uuid};
use crate::world::{PASSWORD, World};

const CORA: &str = "cora@customer.example";

async fn signed_in_from(world: &World, user_agent: &str) -> Session {
    let caller = world.anyone().header("User-Agent", user_agent);
    let body = caller.post("/auth/sign-in", serde_json::json!({"email": CORA, "password": PASSWORD})).await.ok();
    world.session(&body)
}

async fn devices(session: &Session) -> Vec<Value> {
    session.get("/me/sessions").await.ok()["data"].as_array().unwrap().clone()
}

fn ids(devices: &[Value]) -> Vec<String> {
    devices.iter().map(|device| device["id"].as_str().unwrap().to_owned()).collect()
}

/// Where the `Link` header says the next page is.
fn next_page(world: &World, answer: &Answer) -> Option<String> {
    let (path, rest) = answer.header("link")?.strip_prefix('<')?.split_once('>')?;
    assert_eq!(rest, "; rel=\"next\"");
    Some(format!("http://{}{path}", world.node.public))
}

both! {
    async fn devices_are_listed_newest_first_with_the_current_one_marked(db) {
        let world = World::unlimited(db).await;
        let first = world.customer(CORA).await;
        world.advance(1).await;
        let phone = signed_in_from(&world, "Phone/1.0").await;
        world.customer("carl@customer.example").await;
        let listed = devices(&first).await;
        assert_eq!(listed.len(), 2);
        assert_eq!(listed[0]["user_agent"], "Phone/1.0");
        assert_eq!((&listed[0]["current"], &listed[1]["current"]), (&false.into(), &true.into()));
        assert_eq!(listed[0]["ip"], "127.0.0.1");
        assert!(listed[0]["created_at"].as_str() > listed[1]["created_at"].as_str());
        assert_eq!(devices(&phone).await[0]["current"], true);

        // Refreshing is using.
        world.advance(60).await;
        let refreshed = world.session(&world.refresh(&first.refresh_token).await.ok());
        let listed = devices(&refreshed).await;
        assert!(listed[1]["last_used_at"].as_str() > listed[0]["last_used_at"].as_str());
        assert_eq!(listed[1]["current"], true);
        world.end().await;
    }

    async fn pages_show_every_device_once_while_others_arrive(db) {
        let world = World::unlimited(db).await;
        let session = world.customer(CORA).await;
        for _ in 0..4 {
            world.sign_in(CORA).await;
        }
        let before = ids(&devices(&session).await);
        assert_eq!(before.len(), 5);
        let mut seen = Vec::new();
        let mut at = "/me/sessions?limit=1".to_owned();
        loop {
            let page = session.get(&at).await;
            let next = next_page(&world, &page);
            let body = page.ok();
            assert_eq!(body["meta"]["limit"], 1);
            assert_eq!(body["meta"]["next_cursor"].is_null(), next.is_none());
            seen.extend(ids(body["data"].as_array().unwrap()));
            world.sign_in(CORA).await;
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        assert_eq!(seen, before);
        world.end().await;
    }

    async fn an_invalid_cursor_or_limit_is_refused(db) {
        let world = World::unlimited(db).await;
        let session = world.customer(CORA).await;
        world.sign_in(CORA).await;
        let cursor = session.get("/me/sessions?limit=1").await.ok()["meta"]["next_cursor"].as_str().unwrap().to_owned();
        let altered = format!("B{}", &cursor[1..]);
        for query in ["cursor=x".to_owned(), format!("cursor={altered}"), "cursor=".into()] {
            assert_eq!(session.get(&format!("/me/sessions?{query}")).await.invalid(), ["cursor"], "{query}");
        }
        for limit in ["0", "201", "-1", "ten", "1.5", ""] {
            assert_eq!(session.get(&format!("/me/sessions?limit={limit}")).await.invalid(), ["limit"], "{limit}");
        }
        assert_eq!(session.get("/me/sessions?colour=red").await.invalid(), ["colour"]);
        world.end().await;
    }

    async fn ending_a_device_session_revokes_its_tokens_immediately(db) {
        let world = World::unlimited(db).await;
        let here = world.customer(CORA).await;
        let there = world.sign_in(CORA).await;
        let later = world.session(&world.refresh(&there.refresh_token).await.ok());
        let id = ids(&devices(&here).await)[0].clone();
        here.delete(&format!("/me/sessions/{id}")).await.expect(204);
        for dead in [&there, &later] {
            dead.get("/me").await.problem(401, "auth.token_invalid");
        }
        world.refresh(&later.refresh_token).await.problem(401, "auth.token_invalid");
        assert_eq!(devices(&here).await.len(), 1);
        here.delete(&format!("/me/sessions/{id}")).await.problem(404, "not_found");

        // One's own, too.
        let own = ids(&devices(&here).await)[0].clone();
        here.delete(&format!("/me/sessions/{own}")).await.expect(204);
        here.get("/me").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn another_users_device_is_not_found(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let carl = world.customer("carl@customer.example").await;
        let of_carl = ids(&devices(&carl).await)[0].clone();
        let unknown = uuid().to_string();
        for id in [of_carl.as_str(), &unknown, "x", "00000000", "%27", "..%2f..", "usr_00"] {
            cora.delete(&format!("/me/sessions/{id}")).await.problem(404, "not_found");
        }
        carl.get("/me").await.ok();
        world.end().await;
    }

    async fn a_session_ended_during_a_refresh_leaves_no_valid_token(db) {
        let world = World::unlimited(db).await;
        let here = world.customer(CORA).await;
        for _ in 0..15 {
            let there = world.sign_in(CORA).await;
            let path = format!("/me/sessions/{}", ids(&devices(&here).await)[0]);
            let (ended, refreshed) = join(here.delete(&path), world.refresh(&there.refresh_token)).await;
            ended.expect(204);
            if refreshed.status == 200 {
                let late = world.session(&refreshed.ok());
                late.get("/me").await.problem(401, "auth.token_invalid");
                world.refresh(&late.refresh_token).await.problem(401, "auth.token_invalid");
            }
        }
        world.end().await;
    }
}
