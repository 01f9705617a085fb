//! Password resets and magic links.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::{join, join_all};
use serde_json::json;
use values::Role;

use crate::world::authenticator::Authenticator;
use crate::world::client::Answer;
use crate::world::engines::both;
use crate::world::fixtures::links::{CORA, forgot_password, magic_token, reset_token};
use crate::world::{PASSWORD, World};

const NEW_PASSWORD: &str = "an entirely new secret";

async fn reset(world: &World, token: &str, password: &str) -> Answer {
    world.anyone().post("/auth/reset-password", json!({"token": token, "new_password": password})).await
}

async fn redeem(world: &World, token: &str) -> Answer {
    world.anyone().post("/auth/magic-link/redeem", json!({"token": token})).await
}

async fn first_login(world: &World, token: &str) -> Answer {
    world.anyone().post("/auth/first-login", json!({"token": token})).await
}

both! {
    async fn requesting_a_link_does_not_reveal_who_has_an_account(db) {
        let world = World::unlimited(db).await;
        world.customer(CORA).await;
        let (known, unknown) = (forgot_password(&world, "CORA@customer.example").await, forgot_password(&world, "no@x.example").await);
        assert_eq!((known.status, unknown.status), (202, 202));
        assert_eq!(known.bytes, unknown.bytes);
        assert_eq!(known.headers.len(), unknown.headers.len());
        let mails = world.mails().await;
        assert_eq!(mails.len(), 1);
        assert!(mails[0].to.contains(CORA));
        assert_eq!(forgot_password(&world, "not an address").await.invalid(), ["email"]);
        world.end().await;
    }

    async fn a_reset_link_changes_the_password_once(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let carl = world.customer("carl@customer.example").await;
        let token = reset_token(&world).await;
        reset(&world, &token, NEW_PASSWORD).await.expect(204);
        reset(&world, &token, "yet another secret").await.problem(401, "auth.token_invalid");
        cora.get("/me").await.problem(401, "auth.token_invalid");
        world.refresh(&cora.refresh_token).await.problem(401, "auth.token_invalid");
        carl.get("/me").await.ok();
        world.try_sign_in(CORA, PASSWORD).await.problem(401, "auth.invalid_credentials");
        world.try_sign_in(CORA, NEW_PASSWORD).await.ok();
        let told = world.mails().await.pop().unwrap();
        assert!(told.to.contains(CORA) && told.subject.contains("password was changed"));
        world.end().await;
    }

    async fn one_of_many_concurrent_uses_of_a_reset_link_succeeds(db) {
        let world = World::unlimited(db).await;
        world.customer(CORA).await;
        let token = reset_token(&world).await;
        let passwords: Vec<String> = (0..10).map(|n| format!("password number {n}")).collect();
        let answers = join_all(passwords.iter().map(|password| reset(&world, &token, password))).await;
        let won: Vec<usize> = (0..10).filter(|n| answers[*n].status == 204).collect();
        assert_eq!(won.len(), 1);
        world.try_sign_in(CORA, &passwords[won[0]]).await.ok();
        world.end().await;
    }

    async fn a_reset_link_lasts_an_hour(db) {
        let world = World::unlimited(db).await;
        world.customer(CORA).await;
        let token = reset_token(&world).await;
        world.advance(3580).await;
        reset(&world, &token, NEW_PASSWORD).await.expect(204);
        let late = reset_token(&world).await;
        world.advance(3600).await;
        reset(&world, &late, "yet another secret").await.problem(401, "auth.token_expired");
        world.try_sign_in(CORA, NEW_PASSWORD).await.ok();
        world.end().await;
    }

    async fn a_weak_password_or_an_unknown_link_changes_nothing(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let token = reset_token(&world).await;
        for weak in ["", "short", "1234567", "nul\u{0}in password", &"x".repeat(201)] {
            assert_eq!(reset(&world, &token, weak).await.invalid(), ["new_password"], "{weak}");
        }
        for unknown in ["x", &token.to_lowercase(), &format!("{token}x"), &token[1..], cora.token()] {
            reset(&world, unknown, NEW_PASSWORD).await.problem(401, "auth.token_invalid");
        }
        cora.get("/me").await.ok();
        world.sign_in(CORA).await;
        reset(&world, &token, NEW_PASSWORD).await.expect(204);
        world.end().await;
    }

    async fn a_reset_leaves_the_second_factor_in_place(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let app = Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        let waiting = world.tmp_token(CORA).await;
        let token = reset_token(&world).await;
        reset(&world, &token, NEW_PASSWORD).await.expect(204);
        world.verify(&waiting, &app.fresh(&world).await).await.problem(401, "auth.token_invalid");
        assert_eq!(world.try_sign_in(CORA, NEW_PASSWORD).await.ok()["status"], "2fa_required");
        world.end().await;
    }

    async fn a_sign_in_with_the_old_password_during_a_reset_does_not_last(db) {
        let world = World::unlimited(db).await;
        world.customer(CORA).await;
        let mut password = PASSWORD.to_owned();
        for round in 0..6 {
            let (token, next) = (reset_token(&world).await, format!("password number {round}"));
            let sign_ins = join_all((0..6).map(|_| world.try_sign_in(CORA, &password)));
            let (sign_ins, changed) = join(sign_ins, reset(&world, &token, &next)).await;
            changed.expect(204);
            for early in sign_ins.into_iter().filter(|answer| answer.status == 200) {
                world.session(&early.ok()).get("/me").await.problem(401, "auth.token_invalid");
            }
            password = next;
        }
        world.try_sign_in(CORA, &password).await.ok();
        world.end().await;
    }

    async fn a_magic_link_signs_in_once(db) {
        let world = World::unlimited(db).await;
        let user = world.user(CORA, Role::Customer).await;
        let token = magic_token(&world, user).await;
        // Mail scanners follow links; following is not redeeming.
        for path in ["/auth/magic-link/redeem", "/auth/first-login"] {
            let looked = world.anyone().get(&format!("{path}?token={token}")).await;
            assert_eq!(looked.header("allow").map(|allow| allow.contains("POST")), Some(true));
            looked.problem(405, "method_not_allowed");
        }
        let body = redeem(&world, &token).await.ok();
        assert_eq!(body["expires_in"], 900);
        world.session(&body).get("/me").await.ok();
        world.refresh(body["refresh_token"].as_str().unwrap()).await.ok();
        redeem(&world, &token).await.problem(401, "auth.token_invalid");
        first_login(&world, &token).await.problem(401, "auth.token_invalid");

        let token = magic_token(&world, user).await;
        let session = first_login(&world, &token).await.ok();
        assert_eq!(session["user"]["id"], user.to_string());
        world.session(&session).get("/me").await.ok();
        first_login(&world, &token).await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn one_of_many_concurrent_uses_of_a_magic_link_succeeds(db) {
        let world = World::unlimited(db).await;
        let user = world.user(CORA, Role::Customer).await;
        let token = magic_token(&world, user).await;
        let answers = join_all((0..20).map(|_| redeem(&world, &token))).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(won.len(), 1);
        for answer in lost {
            answer.problem(401, "auth.token_invalid");
        }
        world.end().await;
    }

    async fn a_magic_link_lasts_three_days_and_a_newer_one_replaces_it(db) {
        let world = World::unlimited(db).await;
        let user = world.user(CORA, Role::Customer).await;
        let old = magic_token(&world, user).await;
        let token = magic_token(&world, user).await;
        redeem(&world, &old).await.problem(401, "auth.token_invalid");
        world.advance(72 * 3600 - 20).await;
        redeem(&world, &token).await.ok();
        let late = magic_token(&world, user).await;
        world.advance(72 * 3600).await;
        redeem(&world, &late).await.problem(401, "auth.token_expired");
        first_login(&world, &late).await.problem(401, "auth.token_expired");
        world.end().await;
    }

    async fn a_reset_link_and_a_magic_link_are_not_interchangeable(db) {
        let world = World::unlimited(db).await;
        let user = world.user(CORA, Role::Customer).await;
        let (magic, reset_link) = (magic_token(&world, user).await, reset_token(&world).await);
        reset(&world, &magic, NEW_PASSWORD).await.problem(401, "auth.token_invalid");
        redeem(&world, &reset_link).await.problem(401, "auth.token_invalid");
        first_login(&world, &reset_link).await.problem(401, "auth.token_invalid");
        redeem(&world, &magic).await.ok();
        reset(&world, &reset_link, NEW_PASSWORD).await.expect(204);
        world.end().await;
    }

    async fn a_magic_link_still_needs_the_second_factor(db) {
        let world = World::unlimited(db).await;
        let user = world.user(CORA, Role::Customer).await;
        let cora = world.sign_in(CORA).await;
        let app = Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        let token = magic_token(&world, user).await;
        redeem(&world, &token).await.problem(403, "auth.forbidden");
        first_login(&world, &token).await.problem(403, "auth.forbidden");
        let code = app.fresh(&world).await;
        cora.post("/me/2fa/disable", json!({"code": code})).await.expect(204);
        redeem(&world, &token).await.ok();
        world.end().await;
    }

    async fn the_links_of_a_deactivated_user_are_invalid(db) {
        let world = World::unlimited(db).await;
        let user = world.user(CORA, Role::Customer).await;
        let (magic, reset_link) = (magic_token(&world, user).await, reset_token(&world).await);
        db.ddl("UPDATE users SET is_active = FALSE;").await;
        redeem(&world, &magic).await.problem(401, "auth.token_invalid");
        reset(&world, &reset_link, NEW_PASSWORD).await.problem(401, "auth.token_invalid");
        world.end().await;
    }
}
