//! The second factor: one-time codes, recovery codes, and signing in with them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::json;
use values::Role;

use crate::world::authenticator::{Authenticator, texts};
use crate::world::client::Session;
use crate::world::engines::{TestDb, both};
use crate::world::passkey::Passkey;
use crate::world::{ADMIN_EMAIL, World};

const CORA: &str = "cora@customer.example";

/// A customer with a confirmed second factor.
async fn protected(db: &TestDb) -> (World, Session, Authenticator) {
    let world = World::unlimited(db).await;
    let cora = world.customer(CORA).await;
    let app = Authenticator::confirmed(&world, &cora, "/me/2fa").await;
    (world, cora, app)
}

both! {
    async fn a_user_sees_which_second_factors_it_has(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let shown = async || cora.get("/me").await.ok()["user"].clone();
        assert_eq!(shown().await["name"], "Cora Customer");
        let none = json!({"enabled": false, "totp": false, "passkeys": 0, "recovery_codes_left": 0});
        assert_eq!(shown().await["two_factor"], none);
        Passkey::new(&world).register(&cora).await.expect(201);
        let with_passkey = json!({"enabled": true, "totp": false, "passkeys": 1, "recovery_codes_left": 10});
        assert_eq!(shown().await["two_factor"], with_passkey);
        Authenticator::enrol(&cora, "/me/2fa").await;
        assert_eq!(shown().await["two_factor"], with_passkey, "not confirmed yet");
        Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        assert_eq!(shown().await["two_factor"]["totp"], true);
        world.end().await;
    }

    async fn enrolling_shows_the_totp_seed_as_text_url_and_image(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let enrolment = admin.post("/admin/2fa/enroll", json!({})).await;
        assert_eq!(enrolment.header("cache-control"), Some("no-store"));
        let enrolment = enrolment.ok();
        let secret = enrolment["secret"].as_str().unwrap();
        assert_eq!(secret.len(), 32);
        let url = enrolment["otpauth_url"].as_str().unwrap();
        assert!(url.starts_with("otpauth://totp/") && url.contains(secret) && url.contains("issuer=Trunkline"), "{url}");
        assert!(enrolment["qr_svg"].as_str().unwrap().contains("<svg"));

        // Until it is confirmed nothing changes, and enrolling again gives another seed.
        world.sign_in(ADMIN_EMAIL).await;
        let again = admin.post("/admin/2fa/enroll", json!({})).await.ok();
        assert_ne!(again["secret"], enrolment["secret"]);
        let old = Authenticator::new(secret).fresh(&world).await;
        admin.post("/admin/2fa/confirm", json!({"code": old})).await.problem(401, "auth.invalid_credentials");
        world.end().await;
    }

    async fn confirming_needs_a_code_and_gives_ten_recovery_codes_once(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let confirm = "/admin/2fa/confirm";
        admin.post(confirm, json!({"code": "123456"})).await.problem(409, "state.conflict");
        let app = Authenticator::enrol(&admin, "/admin/2fa").await;
        let wrong = app.wrong(&world);
        admin.post(confirm, json!({"code": wrong})).await.problem(401, "auth.invalid_credentials");
        admin.post(confirm, json!({"code": "AAAA-BBBB-CCCC-DDDD"})).await.problem(401, "auth.invalid_credentials");
        for bad in ["12345", "1234567", "abcdef", "", "１２３４５６"] {
            assert_eq!(admin.post(confirm, json!({"code": bad})).await.invalid(), ["code"], "{bad}");
        }
        assert_eq!(admin.post(confirm, json!({"code": 123_456})).await.invalid(), ["code"]);

        let code = app.fresh(&world).await;
        let codes = texts(&admin.post(confirm, json!({"code": code})).await.ok()["recovery_codes"]);
        let distinct: std::collections::BTreeSet<_> = codes.iter().collect();
        assert_eq!(distinct.len(), 10);
        admin.post(confirm, json!({"code": app.fresh(&world).await})).await.problem(409, "state.conflict");
        admin.post("/admin/2fa/enroll", json!({})).await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn a_code_is_accepted_once(db) {
        let (world, _, app) = protected(db).await;
        let code = app.fresh(&world).await;
        world.verify(&world.tmp_token(CORA).await, &code).await.ok();
        world.verify(&world.tmp_token(CORA).await, &code).await.problem(401, "auth.invalid_credentials");

        // The code that confirmed the enrolment was one, too.
        let carl = world.customer("carl@customer.example").await;
        let app = Authenticator::enrol(&carl, "/me/2fa").await;
        let code = app.fresh(&world).await;
        carl.post("/me/2fa/confirm", json!({"code": code})).await.ok();
        let tmp_token = world.tmp_token("carl@customer.example").await;
        world.verify(&tmp_token, &code).await.problem(401, "auth.invalid_credentials");
        world.end().await;
    }

    async fn one_of_twenty_concurrent_uses_of_a_code_succeeds(db) {
        let (world, _, app) = protected(db).await;
        let mut tmp_tokens = Vec::new();
        for _ in 0..20 {
            tmp_tokens.push(world.tmp_token(CORA).await);
        }
        let code = app.fresh(&world).await;
        let answers = join_all(tmp_tokens.iter().map(|tmp_token| world.verify(tmp_token, &code))).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(won.len(), 1);
        for answer in lost {
            answer.problem(401, "auth.invalid_credentials");
        }
        world.end().await;
    }

    async fn codes_of_the_neighbouring_steps_pass_and_those_beyond_do_not(db) {
        let (world, _, app) = protected(db).await;
        world.advance(90).await;
        world.advance_to_next(30).await;
        for (steps, passes) in [(-2, false), (2, false), (-1, true), (0, true), (1, true), (0, false)] {
            let answer = world.verify(&world.tmp_token(CORA).await, &app.code(&world, steps)).await;
            assert_eq!(answer.status == 200, passes, "{steps}");
        }
        world.end().await;
    }

    async fn five_wrong_codes_use_up_a_tmp_token(db) {
        let (world, _, app) = protected(db).await;
        let tmp_token = world.tmp_token(CORA).await;
        let code = app.fresh(&world).await;
        let wrong = app.wrong(&world);
        for _ in 0..5 {
            world.verify(&tmp_token, &wrong).await.problem(401, "auth.invalid_credentials");
        }
        world.verify(&tmp_token, &code).await.problem(401, "auth.token_invalid");
        world.verify(&world.tmp_token(CORA).await, &code).await.ok();
        world.end().await;
    }

    async fn a_tmp_token_is_valid_once_and_for_five_minutes(db) {
        let (world, _, app) = protected(db).await;
        let tmp_token = world.tmp_token(CORA).await;
        world.advance(280).await;
        let code = app.code(&world, 0);
        world.verify(&tmp_token, &code).await.ok();
        world.verify(&tmp_token, &app.code(&world, 1)).await.problem(401, "auth.token_invalid");

        let late = world.tmp_token(CORA).await;
        world.advance(300).await;
        let code = app.fresh(&world).await;
        world.verify(&late, &code).await.problem(401, "auth.token_expired");
        for bad in ["x", "a.b.c", &format!("{late}x")] {
            world.verify(bad, &code).await.problem(401, "auth.token_invalid");
        }
        world.end().await;
    }

    async fn a_recovery_code_works_once_in_any_spelling(db) {
        let (world, _, app) = protected(db).await;
        let [first, second, ..] = &app.recovery_codes[..] else { panic!("no codes") };
        world.verify(&world.tmp_token(CORA).await, first).await.ok();
        world.verify(&world.tmp_token(CORA).await, first).await.problem(401, "auth.invalid_credentials");
        let typed = second.replace('-', "").to_lowercase();
        let tmp_tokens = [world.tmp_token(CORA).await, world.tmp_token(CORA).await, world.tmp_token(CORA).await];
        let answers = join_all(tmp_tokens.iter().map(|tmp_token| world.verify(tmp_token, &typed))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        world.end().await;
    }

    async fn new_recovery_codes_invalidate_the_old_ones(db) {
        let (world, cora, app) = protected(db).await;
        let place = "/me/2fa/recovery-codes";
        cora.post(place, json!({"code": app.wrong(&world)})).await.problem(401, "auth.invalid_credentials");
        let fresh = texts(&cora.post(place, json!({"code": app.fresh(&world).await})).await.ok()["recovery_codes"]);
        assert!(fresh.iter().all(|code| !app.recovery_codes.contains(code)));
        let old = &app.recovery_codes[0];
        world.verify(&world.tmp_token(CORA).await, old).await.problem(401, "auth.invalid_credentials");
        world.verify(&world.tmp_token(CORA).await, &fresh[0]).await.ok();
        world.end().await;
    }

    async fn a_recovery_code_works_only_for_its_own_user(db) {
        let (world, _, app) = protected(db).await;
        let carl = world.customer("carl@customer.example").await;
        Authenticator::confirmed(&world, &carl, "/me/2fa").await;
        let of_carl = world.tmp_token("carl@customer.example").await;
        world.verify(&of_carl, &app.recovery_codes[0]).await.problem(401, "auth.invalid_credentials");
        world.verify(&of_carl, &app.fresh(&world).await).await.problem(401, "auth.invalid_credentials");
        world.end().await;
    }

    async fn without_2fa_the_password_is_enough_again(db) {
        let (world, cora, app) = protected(db).await;
        let waiting = world.tmp_token(CORA).await;
        let disable = "/me/2fa/disable";
        cora.post(disable, json!({"code": app.wrong(&world)})).await.problem(401, "auth.invalid_credentials");
        cora.post(disable, json!({"code": app.fresh(&world).await})).await.expect(204);
        world.sign_in(CORA).await;
        cora.post(disable, json!({"code": "123456"})).await.problem(409, "state.conflict");
        let recovery = &app.recovery_codes[0];
        world.verify(&waiting, recovery).await.problem(409, "state.conflict");

        // After another enrolment the old codes stay invalid.
        let again = Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        world.verify(&world.tmp_token(CORA).await, recovery).await.problem(401, "auth.invalid_credentials");
        world.verify(&world.tmp_token(CORA).await, &again.fresh(&world).await).await.ok();
        world.end().await;
    }

    async fn customers_and_support_enrol_themselves_but_not_at_the_admin_path(db) {
        let world = World::unlimited(db).await;
        world.user("sue@carrier.example", Role::Support).await;
        let sue = world.sign_in("sue@carrier.example").await;
        let cora = world.customer(CORA).await;
        for caller in [&sue, &cora] {
            for action in ["enroll", "confirm", "recovery-codes", "disable"] {
                let answer = caller.post(&format!("/admin/2fa/{action}"), json!({"code": "123456"})).await;
                answer.problem(403, "auth.forbidden");
            }
        }
        let app = Authenticator::confirmed(&world, &sue, "/me/2fa").await;
        let tmp_token = world.tmp_token("sue@carrier.example").await;
        world.verify(&tmp_token, &app.fresh(&world).await).await.ok();
        world.anyone().post("/me/2fa/enroll", json!({})).await.problem(401, "auth.token_invalid");
        world.end().await;
    }
}
