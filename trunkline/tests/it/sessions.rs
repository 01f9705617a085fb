//! Sign-in and sessions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::json;

use crate::world::authenticator::Authenticator;
use crate::world::engines::both;
use crate::world::{ADMIN_EMAIL, PASSWORD, World};

const DAY: u64 = 24 * 3600;

both! {
    async fn bootstrap_sign_in_refresh_second_factor_and_reset_work_together(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let app = Authenticator::confirmed(&world, &admin, "/admin/2fa").await;

        // Signed out: no new tokens, and the access token lives out its time.
        admin.post("/auth/sign-out", json!({"refresh_token": admin.refresh_token})).await.expect(204);
        world.refresh(&admin.refresh_token).await.problem(401, "auth.token_invalid");
        admin.get("/me").await.ok();
        world.advance(900).await;
        admin.get("/me").await.problem(401, "auth.token_expired");

        // Signed in again, with a code, and refreshed.
        let tmp_token = world.tmp_token(ADMIN_EMAIL).await;
        let code = app.fresh(&world).await;
        let first = world.session(&world.verify(&tmp_token, &code).await.ok());
        let second = world.session(&world.refresh(&first.refresh_token).await.ok());
        second.get("/me").await.ok();

        // A spent token that comes back ends the family.
        world.advance(11).await;
        world.refresh(&first.refresh_token).await.problem(401, "auth.token_invalid");
        world.refresh(&second.refresh_token).await.problem(401, "auth.token_invalid");
        second.get("/me").await.problem(401, "auth.token_invalid");
        first.get("/me").await.problem(401, "auth.token_invalid");
        let mut mails = world.mails().await;
        mails.retain(|mail| mail.subject.contains("signed you out of a session"));
        assert!(mails.len() == 1 && mails[0].to.contains(ADMIN_EMAIL));

        // A forgotten password.
        let code = app.fresh(&world).await;
        let third = world.session(&world.verify(&world.tmp_token(ADMIN_EMAIL).await, &code).await.ok());
        let waiting = world.tmp_token(ADMIN_EMAIL).await;
        world.advance_to_next(60).await;
        world.anyone().post("/auth/forgot-password", json!({"email": ADMIN_EMAIL})).await.expect(202);
        let link = world.mails().await.pop().unwrap();
        let reset = json!({"token": link.token(), "new_password": "an entirely new secret"});
        world.anyone().post("/auth/reset-password", reset).await.expect(204);
        third.get("/me").await.problem(401, "auth.token_invalid");
        world.refresh(&third.refresh_token).await.problem(401, "auth.token_invalid");
        world.try_sign_in(ADMIN_EMAIL, PASSWORD).await.problem(401, "auth.invalid_credentials");

        // A sign-in begun with the old password cannot be completed.
        let code = app.fresh(&world).await;
        world.verify(&waiting, &code).await.problem(401, "auth.token_invalid");
        let asked = world.try_sign_in(ADMIN_EMAIL, "an entirely new secret").await.ok();
        world.verify(asked["tmp_token"].as_str().unwrap(), &code).await.ok();
        world.end().await;
    }

    async fn a_session_has_its_user_and_lifetime(db) {
        let world = World::start(db).await;
        world.bootstrap(ADMIN_EMAIL).await.expect(201);
        let before = world.seconds();
        let answer = world.try_sign_in("  Admin@Carrier.Example ", PASSWORD).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("etag"), None);
        let body = answer.ok();
        let expires_at = body["expires_at"].as_i64().unwrap();
        assert!((before + 900..=world.seconds() + 900).contains(&expires_at));
        assert_eq!(body["token_type"], "Bearer");
        assert_eq!(body["user"]["email"], ADMIN_EMAIL);
        assert_eq!(body["user"]["roles"], json!(["admin"]));
        assert!(body["user"]["id"].as_str().unwrap().starts_with("usr_"));
        assert!(body["user"]["account_id"].as_str().unwrap().starts_with("acc_"));

        let me = world.session(&body).get("/me").await.ok();
        assert_eq!(me["user"]["id"], body["user"]["id"]);
        assert_eq!(me["account"]["company_name"], "Carrier BV");
        world.end().await;
    }

    async fn a_wrong_password_and_an_unknown_address_look_alike(db) {
        let world = World::start(db).await;
        world.customer("cora@customer.example").await;
        let mut wrong = world.try_sign_in("cora@customer.example", "not the password").await
            .problem(401, "auth.invalid_credentials");
        let mut unknown = world.try_sign_in("nobody@customer.example", PASSWORD).await
            .problem(401, "auth.invalid_credentials");
        wrong["request_id"].take();
        unknown["request_id"].take();
        assert_eq!(wrong, unknown);
        world.end().await;
    }

    async fn one_of_fifty_concurrent_refreshes_succeeds_and_the_family_lives(db) {
        let world = World::unlimited(db).await;
        let session = world.customer("cora@customer.example").await;
        let answers = join_all((0..50).map(|_| world.refresh(&session.refresh_token))).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!((won.len(), lost.len()), (1, 49));
        for answer in lost {
            answer.problem(401, "auth.token_invalid");
        }
        let winner = world.session(&won.into_iter().next().unwrap().ok());
        winner.get("/me").await.ok();
        session.get("/me").await.ok();
        world.session(&world.refresh(&winner.refresh_token).await.ok()).get("/me").await.ok();
        assert!(world.mails().await.is_empty());
        world.end().await;
    }

    async fn a_refresh_can_be_repeated_until_the_new_token_is_used(db) {
        let world = World::start(db).await;
        let first = world.customer("cora@customer.example").await;
        let second = world.session(&world.refresh(&first.refresh_token).await.ok());
        world.refresh(&first.refresh_token).await.problem(401, "auth.token_invalid");
        world.advance(5).await;
        world.refresh(&first.refresh_token).await.problem(401, "auth.token_invalid");
        second.get("/me").await.ok();

        let third = world.session(&world.refresh(&second.refresh_token).await.ok());
        world.refresh(&first.refresh_token).await.problem(401, "auth.token_invalid");
        for dead in [&first, &second, &third] {
            dead.get("/me").await.problem(401, "auth.token_invalid");
        }
        world.refresh(&third.refresh_token).await.problem(401, "auth.token_invalid");
        assert_eq!(world.mails().await.len(), 1);
        world.end().await;
    }

    async fn reuse_of_a_refresh_token_ends_its_session_and_is_mailed_once(db) {
        let world = World::start(db).await;
        let stolen = world.customer("cora@customer.example").await;
        let other = world.sign_in("cora@customer.example").await;
        world.refresh(&stolen.refresh_token).await.ok();
        world.advance(11).await;
        let answers = join_all((0..10).map(|_| world.refresh(&stolen.refresh_token))).await;
        for answer in answers {
            answer.problem(401, "auth.token_invalid");
        }
        stolen.get("/me").await.problem(401, "auth.token_invalid");
        other.get("/me").await.ok();
        world.refresh(&other.refresh_token).await.ok();
        assert_eq!(world.mails().await.len(), 1);
        world.end().await;
    }

    async fn only_the_owner_signs_a_session_out(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let carl = world.customer("carl@customer.example").await;
        let of_carl = json!({"refresh_token": carl.refresh_token});
        cora.post("/auth/sign-out", of_carl.clone()).await.problem(404, "not_found");
        cora.post("/auth/sign-out", json!({"refresh_token": "garbage"})).await.problem(401, "auth.token_invalid");
        world.anyone().post("/auth/sign-out", of_carl.clone()).await.problem(401, "auth.token_invalid");
        carl.post("/auth/sign-out", of_carl.clone()).await.expect(204);
        carl.post("/auth/sign-out", of_carl).await.expect(204);
        world.refresh(&carl.refresh_token).await.problem(401, "auth.token_invalid");
        world.refresh(&cora.refresh_token).await.ok();
        world.end().await;
    }

    async fn a_session_ends_after_thirty_days_despite_refreshes(db) {
        let world = World::start(db).await;
        let mut session = world.customer("cora@customer.example").await;
        for _ in 1..30 {
            world.advance(DAY).await;
            session = world.session(&world.refresh(&session.refresh_token).await.ok());
        }
        session.get("/me").await.ok();
        world.advance(DAY).await;
        world.refresh(&session.refresh_token).await.problem(401, "auth.token_invalid");
        world.sign_in("cora@customer.example").await;
        world.end().await;
    }

    async fn bad_refresh_tokens_are_refused_alike(db) {
        let world = World::start(db).await;
        let session = world.customer("cora@customer.example").await;
        let changed = format!("{}A", &session.refresh_token[..session.refresh_token.len() - 1]);
        for token in ["x", "../../etc/passwd", "' OR 1=1 --", &"a".repeat(2048), session.token(), &changed] {
            if token != session.refresh_token {
                world.refresh(token).await.problem(401, "auth.token_invalid");
            }
        }
        assert_eq!(world.refresh("").await.invalid(), ["refresh_token"]);
        assert_eq!(world.refresh(&"a".repeat(2049)).await.invalid(), ["refresh_token"]);
        assert_eq!(world.anyone().post("/auth/refresh", json!({})).await.invalid(), ["refresh_token"]);
        world.end().await;
    }
}
