//! Rate limits: per user, per address, per window.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::json;

use super::probes::{caller, world_with};
use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::{TestDb, sqlite};

sqlite! {
    async fn a_rate_limit_counts_down_refuses_and_resets(db) {
        let world = limited(db, &[("TRUNKLINE_LIMIT_READS", "5/600")]).await;
        let caller = caller(&world).await;
        for left in (0..5).rev() {
            let answer = caller.get("/items").await;
            assert_eq!(answer.header("ratelimit-policy"), Some("\"reads\";q=5;w=600"));
            let standing = answer.header("ratelimit").unwrap().to_owned();
            assert!(standing.starts_with(&format!("\"reads\";r={left};t=")), "{standing}");
            answer.expect(200);
        }
        let refused = caller.get("/items").await;
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=600).contains(&wait));
        assert!(refused.header("ratelimit").unwrap().starts_with("\"reads\";r=0;t="));
        assert_eq!(refused.problem(429, "rate_limited")["retry_after"], wait);
        world.advance(wait).await;
        caller.get("/items").await.expect(200);
        world.end().await;
    }

    async fn rate_limits_are_separate_per_user_and_for_reads_and_writes(db) {
        let settings = [("TRUNKLINE_LIMIT_READS", "2/3600"), ("TRUNKLINE_LIMIT_WRITES", "2/3600")];
        let world = limited(db, &settings).await;
        let (one, other) = (caller(&world).await, caller(&world).await);
        assert_eq!(passed(join_all((0..5).map(|_| one.get("/items"))).await), 2);
        assert_eq!(other.get("/items").await.status, 200);
        assert_eq!(one.post("/marks/x", json!({"text": "x"})).await.status, 201);
        world.end().await;
    }

    async fn a_burst_within_the_quota_passes(db) {
        let world = limited(db, &[("TRUNKLINE_LIMIT_READS", "200/3600")]).await;
        let caller = caller(&world).await;
        let answers = join_all((0..200).map(|_| caller.get("/items"))).await;
        assert_eq!(passed(answers), 200);
        caller.get("/items").await.problem(429, "rate_limited");
        world.end().await;
    }

    async fn a_forwarded_address_from_an_untrusted_peer_is_ignored(db) {
        let world = limited(db, &[("TRUNKLINE_LIMIT_SIGN_IN", "3/3600")]).await;
        let claim = |last: u8| world.anyone().header("X-Forwarded-For", &format!("203.0.113.{last}"));
        let callers: Vec<Client> = (1..=5).map(claim).collect();
        let answers = join_all(callers.iter().map(|caller| caller.post("/open-marks", json!({"text": "x"})))).await;
        assert_eq!(passed(answers), 3);
        world.end().await;
    }

    async fn only_the_hop_before_a_trusted_proxy_counts_as_the_address(db) {
        let settings = [("TRUNKLINE_LIMIT_SIGN_IN", "1/3600"), ("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1,10.0.0.0/8")];
        let world = limited(db, &settings).await;
        let status = async |forwarded: &str| {
            let caller = world.anyone().header("X-Forwarded-For", forwarded);
            caller.post("/open-marks", json!({"text": "x"})).await.status
        };
        assert_eq!(status("203.0.113.1").await, 201);
        assert_eq!(status("203.0.113.1").await, 429);
        assert_eq!(status("203.0.113.2").await, 201);
        // Entries before the trusted hops are written by the client and ignored.
        assert_eq!(status("198.51.100.7, 203.0.113.1").await, 429);
        assert_eq!(status("203.0.113.1, 10.1.2.3").await, 429);
        assert_eq!(status("203.0.113.3, 10.1.2.3").await, 201);
        // Some proxies add a port.
        assert_eq!(status("203.0.113.4:5555").await, 201);
        assert_eq!(status("203.0.113.4:6666").await, 429);
        assert_eq!(status("[2001:db8:1:4::1]:443").await, 201);
        assert_eq!(status("2001:db8:1:4::2").await, 429);
        // An IPv6 customer has a whole network to itself.
        assert_eq!(status("2001:db8:1:2::1").await, 201);
        assert_eq!(status("2001:db8:1:2:ffff::9").await, 429);
        assert_eq!(status("2001:db8:1:3::1").await, 201);
        // Without a sound address the proxy's own counts.
        assert_eq!(status("unknown").await, 201);
        assert_eq!(status("").await, 429);
        world.end().await;
    }

    async fn every_limit_can_be_turned_off(db) {
        let world = limited(db, &[("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_LIMIT_READS", "1/3600")]).await;
        let caller = caller(&world).await;
        let answers = join_all((0..20).map(|_| caller.get("/items"))).await;
        assert!(answers.iter().all(|answer| answer.header("ratelimit").is_none()));
        assert_eq!(passed(answers), 20);
        world.end().await;
    }
}

fn passed(answers: Vec<Answer>) -> usize {
    answers.iter().filter(|answer| answer.status < 300).count()
}

/// A world whose clock stands at the full hour, so that no window ends in the middle of a test.
async fn limited(db: &TestDb, settings: &[(&str, &str)]) -> World {
    let world = world_with(db, settings).await;
    let into_the_hour = world.node.app.clock.now().seconds().rem_euclid(3600);
    world.advance(u64::try_from(3600 - into_the_hour).unwrap()).await;
    world
}
