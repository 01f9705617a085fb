//! Guessing second factors: each wrong code makes the next one wait, wherever it comes from.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::json;

use crate::world::authenticator::Authenticator;
use crate::world::client::{Answer, Session};
use crate::world::engines::{TestDb, both};
use crate::world::{PASSWORD, World};

const CORA: &str = "cora@customer.example";

/// A customer with a confirmed second factor, and all limits on.
async fn protected(db: &TestDb) -> (World, Session, Authenticator) {
    let world = World::start(db).await;
    let cora = world.customer(CORA).await;
    let app = Authenticator::confirmed(&world, &cora, "/me/2fa").await;
    (world, cora, app)
}

/// A wrong code with a `tmp_token` of its own, 90 seconds after the one before, so that no rate limit is met.
async fn guess(world: &World, app: &Authenticator) -> Answer {
    world.advance(90).await;
    let tmp_token = world.tmp_token(CORA).await;
    world.verify(&tmp_token, &app.wrong(world)).await
}

async fn warnings(world: &World) -> usize {
    let mails = world.mails().await;
    mails.iter().filter(|mail| mail.to == CORA && mail.subject.starts_with("Wrong codes")).count()
}

both! {
    async fn wrong_codes_wait_ever_longer_whatever_their_tmp_token(db) {
        let (world, _, app) = protected(db).await;
        for _ in 0..5 {
            guess(&world, &app).await.problem(401, "auth.invalid_credentials");
        }
        assert_eq!(warnings(&world).await, 0);
        // Waits of 30 and 60 seconds have passed when the next guess comes, that of two minutes has not.
        guess(&world, &app).await.problem(401, "auth.invalid_credentials");
        assert_eq!(warnings(&world).await, 1);
        guess(&world, &app).await.problem(401, "auth.invalid_credentials");
        let refused = guess(&world, &app).await.problem(429, "rate_limited");
        let wait = refused["retry_after"].as_u64().unwrap();
        assert!((1..=31).contains(&wait), "{wait}");

        // The right code waits too; a recovery code, which nobody guesses, does not.
        let tmp_token = world.tmp_token(CORA).await;
        world.verify(&tmp_token, &app.code(&world, 0)).await.problem(429, "rate_limited");
        world.verify(&tmp_token, &app.recovery_codes[0]).await.ok();
        world.advance(120).await;
        let code = app.fresh(&world).await;
        world.verify(&world.tmp_token(CORA).await, &code).await.ok();

        // The owner's sign-in gives the attacker no new guesses; a quiet day does.
        world.advance(240).await;
        guess(&world, &app).await.problem(401, "auth.invalid_credentials");
        guess(&world, &app).await.problem(429, "rate_limited");
        world.advance(86_401).await;
        for _ in 0..5 {
            guess(&world, &app).await.problem(401, "auth.invalid_credentials");
        }
        world.end().await;
    }

    async fn who_does_not_know_the_password_cannot_make_the_owner_wait(db) {
        let (world, _, app) = protected(db).await;
        for _ in 0..4 {
            world.advance_to_next(60).await;
            world.try_sign_in(CORA, "not the password").await.problem(401, "auth.invalid_credentials");
            world.verify("a.b.c", &app.wrong(&world)).await.problem(401, "auth.token_invalid");
        }
        world.advance_to_next(60).await;
        world.verify(&world.tmp_token(CORA).await, &app.code(&world, 0)).await.ok();
        world.end().await;
    }

    async fn guesses_in_a_session_and_at_sign_in_count_together(db) {
        let (world, cora, app) = protected(db).await;
        world.advance_to_next(60).await;
        let wrong = json!({"code": app.wrong(&world)});
        for path in ["/me/2fa/disable", "/me/2fa/recovery-codes", "/auth/reauthenticate", "/me/2fa/disable"] {
            cora.post(path, wrong.clone()).await.problem(401, "auth.invalid_credentials");
        }
        guess(&world, &app).await.problem(401, "auth.invalid_credentials");
        cora.post("/me/2fa/disable", wrong).await.problem(429, "rate_limited");
        let code = json!({"code": app.code(&world, 0)});
        cora.post("/auth/reauthenticate", code).await.problem(429, "rate_limited");
        world.end().await;
    }

    async fn of_parallel_password_guesses_in_a_session_five_are_checked(db) {
        let world = World::start(db).await;
        let cora = world.customer(CORA).await;
        world.advance_to_next(60).await;
        let wrong = json!({"password": "not the password"});
        let answers = join_all((0..8).map(|_| cora.post("/auth/reauthenticate", wrong.clone()))).await;
        let (checked, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 401);
        assert_eq!(checked.len(), 5);
        for answer in refused {
            answer.problem(429, "rate_limited");
        }
        cora.post("/auth/reauthenticate", json!({"password": PASSWORD})).await.problem(429, "rate_limited");
        world.advance(60).await;
        cora.post("/auth/reauthenticate", json!({"password": PASSWORD})).await.ok();
        world.end().await;
    }

    async fn every_change_of_a_factor_and_a_used_recovery_code_is_mailed(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let app = Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        let used = &app.recovery_codes[0];
        assert!(used.replace('-', "").len() * 5 >= 112, "{used}");
        world.verify(&world.tmp_token(CORA).await, used).await.ok();
        let code = app.fresh(&world).await;
        cora.post("/me/2fa/recovery-codes", json!({"code": code})).await.ok();
        let code = app.fresh(&world).await;
        cora.post("/me/2fa/disable", json!({"code": code})).await.expect(204);
        let expected = [
            "Two-factor authentication is on",
            "A recovery code was used",
            "Your recovery codes were replaced",
            "Two-factor authentication is off",
        ];
        let mut mails = world.mails().await;
        mails.retain(|mail| mail.to == CORA && expected.contains(&mail.subject.as_str()));
        let subjects: Vec<&str> = mails.iter().map(|mail| mail.subject.as_str()).collect();
        assert_eq!(subjects, expected);
        let text = mails[1].text.replace('\n', " ");
        assert!(text.contains("Unused recovery codes: 9"), "{text}");
        world.end().await;
    }
}
