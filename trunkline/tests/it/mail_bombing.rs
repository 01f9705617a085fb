//! Mail bombing: strangers cannot make the service fill somebody's mailbox, and a new link voids the older.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::fixtures::links::{CORA, reset_token};
use crate::world::fixtures::onboarding::{sign_up, signup_body};

const HOUR: i64 = 3600;
/// Any number of requests, from many networks.
const MANY: &[(&str, &str)] = &[
    ("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1"),
    ("TRUNKLINE_LIMIT_SIGN_IN_EMAIL_ALL", "1000/60"),
    ("TRUNKLINE_LIMIT_SIGNUP", "1000/60"),
];

fn from(world: &World, number: usize) -> Client {
    world.anyone().header("X-Forwarded-For", &format!("203.0.113.{number}"))
}

async fn mails_to(world: &World, email: &str) -> usize {
    world.mails().await.into_iter().filter(|mail| mail.to.contains(email)).count()
}

fn same(first: &Answer, other: &Answer) {
    assert_eq!((first.status, &first.bytes), (other.status, &other.bytes));
    let names = |answer: &Answer| answer.headers.keys().map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(first), names(other));
}

both! {
    async fn an_address_gets_five_reset_mails_an_hour_however_many_are_requested(db) {
        let world = World::with(db, MANY).await;
        world.customer(CORA).await;
        world.advance_to_next(HOUR).await;
        let mut answers = Vec::new();
        for n in 0..9 {
            answers.push(from(&world, n).post("/auth/forgot-password", json!({"email": CORA})).await);
            from(&world, n).post("/auth/forgot-password", json!({"email": "nobody@x.example"})).await.expect(202);
        }
        assert_eq!(mails_to(&world, CORA).await, 5);
        // Nobody learns that the address had enough.
        for answer in &answers[1..] {
            same(&answers[0], answer);
        }
        // The newest link works, and no other. Mails of one moment may arrive in any order.
        let mut statuses = Vec::new();
        for mail in world.mails().await {
            let body = json!({"token": mail.token(), "new_password": "an entirely new secret"});
            statuses.push(from(&world, 9).post("/auth/reset-password", body).await.status);
        }
        statuses.sort();
        assert_eq!(statuses, [204, 401, 401, 401, 401]);
        world.advance_to_next(HOUR).await;
        from(&world, 1).post("/auth/forgot-password", json!({"email": CORA})).await.expect(202);
        assert!(world.mails().await.pop().unwrap().text.contains("reset"));
        world.end().await;
    }

    async fn repeated_signups_and_verification_mails_count_as_mails_too(db) {
        let world = World::with(db, MANY).await;
        let email = "petra@prospect.example";
        world.advance_to_next(HOUR).await;
        let petra = sign_up(&world, email).await;
        for n in 0..9 {
            let again = from(&world, n).post("/beta/signup", signup_body(email)).await;
            again.expect(202);
        }
        assert_eq!(mails_to(&world, email).await, 5);
        let refused = petra.post("/me/email-verification", json!({})).await;
        assert!(refused.header("retry-after").is_some());
        refused.problem(429, "rate_limited");
        // Reset links are counted apart, so that nobody is kept from resetting the password.
        from(&world, 1).post("/auth/forgot-password", json!({"email": email})).await.expect(202);
        assert_eq!(mails_to(&world, email).await, 6);
        world.advance_to_next(HOUR).await;
        world.session(&world.try_sign_in(email, crate::world::PASSWORD).await.ok())
            .post("/me/email-verification", json!({})).await.expect(202);
        assert_eq!(mails_to(&world, email).await, 7);
        world.end().await;
    }

    async fn a_new_reset_link_voids_the_older_ones(db) {
        let world = World::unlimited(db).await;
        world.customer(CORA).await;
        let (older, newer) = (reset_token(&world).await, reset_token(&world).await);
        let reset = |token: &str| {
            let (anyone, token) = (world.anyone(), token.to_owned());
            let body = json!({"token": token, "new_password": "an entirely new secret"});
            async move { anyone.post("/auth/reset-password", body).await }
        };
        reset(&older).await.problem(401, "auth.token_invalid");
        reset(&newer).await.expect(204);
        world.end().await;
    }
}
