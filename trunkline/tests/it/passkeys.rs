//! Passkeys: a second factor, a sign-in without a password, and a proof of identity.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use data_encoding::BASE64URL_NOPAD;
use futures_util::future::join_all;
use serde_json::{Value, json};
use values::Role;

use crate::world::client::Session;
use crate::world::engines::{TestDb, both};
use crate::world::passkey::{Key, Passkey};
use crate::world::{PASSWORD, World};

const CORA: &str = "cora@customer.example";
const WRONG: &str = "auth.invalid_credentials";

/// A customer with a passkey.
async fn protected(db: &TestDb) -> (World, Session, Passkey) {
    let world = World::unlimited(db).await;
    let cora = world.customer(CORA).await;
    let passkey = Passkey::registered(&world, &cora).await;
    (world, cora, passkey)
}

async fn present(world: &World, passkey: Value) -> crate::world::client::Answer {
    world.anyone().post("/auth/passkey", json!({"passkey": passkey})).await
}

both! {
    async fn a_passkey_signs_in_without_a_password(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let mut passkey = Passkey::new(&world);
        let made = passkey.register(&cora).await.expect(201);
        assert_eq!(made["recovery_codes"].as_array().unwrap().len(), 10);
        let listed = cora.get("/me/passkeys").await.ok();
        assert_eq!((&listed["data"][0]["id"], &listed["data"][0]["last_used_at"]), (&made["id"], &Value::Null));

        let session = world.session(&world.passkey_sign_in(&mut passkey, None).await.ok());
        assert_eq!(session.get("/me").await.ok()["user"]["email"], CORA);
        assert!(cora.get("/me/passkeys").await.ok()["data"][0]["last_used_at"].is_string());
        // A second one brings no recovery codes, and the authenticator is told of the first.
        let options = cora.post("/me/passkeys/registration", json!({})).await.ok();
        assert_eq!(options["excludeCredentials"].as_array().unwrap().len(), 1);
        let second = cora.post("/me/passkeys", Passkey::new(&world).attestation(&options)).await.expect(201);
        assert_eq!(second["recovery_codes"], Value::Null);
        let mails = world.mails().await;
        assert_eq!(mails.iter().filter(|mail| mail.subject.starts_with("A passkey was added")).count(), 2);
        world.end().await;
    }

    async fn a_passkey_may_have_a_key_of_any_offered_kind(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let options = cora.post("/me/passkeys/registration", json!({})).await.ok();
        let offered: Vec<_> = options["pubKeyCredParams"].as_array().unwrap().iter().map(|kind| &kind["alg"]).collect();
        assert_eq!(offered, [-7, -8, -257]);
        let mut passkeys = [Key::es256(), Key::eddsa(), Key::rs256()].map(|key| Passkey::with_key(&world, key));
        for passkey in &mut passkeys {
            passkey.register(&cora).await.expect(201);
        }
        for passkey in &mut passkeys {
            let session = world.session(&world.passkey_sign_in(passkey, None).await.ok());
            assert_eq!(session.get("/me").await.ok()["user"]["email"], CORA);
            let mut forged = passkey.assertion(&world.passkey_options(None).await);
            let mut signature = BASE64URL_NOPAD.decode(forged["signature"].as_str().unwrap().as_bytes()).unwrap();
            *signature.last_mut().unwrap() ^= 1;
            forged["signature"] = BASE64URL_NOPAD.encode(&signature).into();
            present(&world, forged).await.problem(401, WRONG);
        }
        // The signature of one is not that of another.
        let options = world.passkey_options(None).await;
        let signature = passkeys[1].assertion(&options)["signature"].clone();
        for other in [0, 2] {
            let mut mixed = passkeys[other].assertion(&options);
            mixed["signature"] = signature.clone();
            present(&world, mixed).await.problem(401, WRONG);
        }
        world.end().await;
    }

    async fn after_the_password_a_passkey_takes_the_place_of_a_code(db) {
        let (world, _, mut passkey) = protected(db).await;
        // It need not check its user then.
        passkey.verifies_user = false;
        world.passkey_sign_in(&mut passkey, None).await.problem(401, WRONG);
        let tmp_token = world.tmp_token(CORA).await;
        let options = world.passkey_options(Some(&tmp_token)).await;
        assert_eq!(options["allowCredentials"].as_array().unwrap().len(), 1);
        world.passkey_sign_in(&mut passkey, Some(&tmp_token)).await.ok();
        world.passkey_sign_in(&mut passkey, Some(&tmp_token)).await.problem(401, "auth.token_invalid");

        // Not after the password of somebody else.
        let carl = world.customer("carl@customer.example").await;
        Passkey::registered(&world, &carl).await;
        let of_carl = world.tmp_token("carl@customer.example").await;
        world.passkey_sign_in(&mut passkey, Some(&of_carl)).await.problem(401, WRONG);
        world.end().await;
    }

    async fn an_answer_counts_once_and_only_for_its_own_challenge(db) {
        let (world, cora, mut passkey) = protected(db).await;
        let options = world.passkey_options(None).await;
        let answer = passkey.assertion(&options);
        let answers = join_all((0..8).map(|_| present(&world, answer.clone()))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        // The same challenge, signed again.
        present(&world, passkey.assertion(&options)).await.problem(401, WRONG);

        let late = world.passkey_options(None).await;
        world.advance(300).await;
        present(&world, passkey.assertion(&late)).await.problem(401, WRONG);
        let registration = cora.post("/me/passkeys/registration", json!({})).await.ok();
        let mut foreign = world.passkey_options(None).await;
        foreign["challenge"] = registration["challenge"].clone();
        present(&world, passkey.assertion(&foreign)).await.problem(401, WRONG);
        foreign["challenge"] = "AQIDBAUGBwg".into();
        present(&world, passkey.assertion(&foreign)).await.problem(401, WRONG);
        world.end().await;
    }

    async fn answers_for_another_site_or_with_another_signature_are_refused(db) {
        let (world, _, mut passkey) = protected(db).await;
        let own = std::mem::replace(&mut passkey.origin, "https://trunkline.evil.example".into());
        world.passkey_sign_in(&mut passkey, None).await.problem(401, WRONG);
        passkey.origin = own;
        let mut options = world.passkey_options(None).await;
        options["rpId"] = "evil.example".into();
        present(&world, passkey.assertion(&options)).await.problem(401, WRONG);

        let options = world.passkey_options(None).await;
        for part in ["credential_id", "authenticator_data", "signature", "client_data_json"] {
            let mut answer = passkey.assertion(&options);
            let mut bytes = BASE64URL_NOPAD.decode(answer[part].as_str().unwrap().as_bytes()).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            answer[part] = BASE64URL_NOPAD.encode(&bytes).into();
            present(&world, answer).await.problem(401, WRONG);
        }
        world.passkey_sign_in(&mut Passkey::new(&world), None).await.problem(401, WRONG);
        world.passkey_sign_in(&mut passkey, None).await.ok();
        world.end().await;
    }

    async fn a_copied_passkey_is_found_out_by_its_counter(db) {
        let (world, cora, mut passkey) = protected(db).await;
        world.passkey_sign_in(&mut passkey, None).await.ok();
        passkey.count -= 1;
        world.passkey_sign_in(&mut passkey, None).await.problem(401, WRONG);
        passkey.count += 1;
        world.passkey_sign_in(&mut passkey, None).await.ok();
        // Many have none.
        let mut synced = Passkey::new(&world);
        synced.has_counter = false;
        synced.register(&cora).await.expect(201);
        for _ in 0..2 {
            world.passkey_sign_in(&mut synced, None).await.ok();
        }
        world.end().await;
    }

    async fn a_passkey_is_a_proof_of_identity(db) {
        let (world, cora, mut passkey) = protected(db).await;
        world.advance(840).await;
        let cora = world.session(&world.refresh(&cora.refresh_token).await.ok());
        world.advance(61).await;
        cora.post("/me/passkeys/registration", json!({})).await.problem(403, "auth.reauthentication_required");
        let prove = "/auth/reauthenticate";
        assert_eq!(cora.post(prove, json!({"password": PASSWORD})).await.invalid(), ["code"]);
        let carl = world.customer("carl@customer.example").await;
        let mut stranger = Passkey::registered(&world, &carl).await;
        let options = world.passkey_options(None).await;
        let of_carl = json!({"passkey": stranger.assertion(&options)});
        cora.post(prove, of_carl).await.problem(401, WRONG);
        let own = json!({"passkey": passkey.assertion(&options)});
        cora.post(prove, own.clone()).await.ok();
        cora.post("/me/passkeys/registration", json!({})).await.ok();
        cora.post(prove, own).await.problem(401, WRONG);
        world.end().await;
    }

    async fn without_its_last_passkey_the_password_is_enough_again(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let mut passkey = Passkey::new(&world);
        let made = passkey.register(&cora).await.expect(201);
        let recovery = made["recovery_codes"][0].as_str().unwrap();
        world.verify(&world.tmp_token(CORA).await, recovery).await.ok();
        let waiting = world.tmp_token(CORA).await;

        // A passkey belongs to one user.
        let carl = world.customer("carl@customer.example").await;
        passkey.register(&carl).await.problem(409, "resource.in_use");
        let path = format!("/me/passkeys/{}", made["id"].as_str().unwrap());
        carl.delete(&path).await.problem(404, "not_found");
        cora.delete(&path).await.expect(204);
        world.passkey_sign_in(&mut passkey, None).await.problem(401, WRONG);
        world.sign_in(CORA).await;
        let second = made["recovery_codes"][1].as_str().unwrap();
        world.verify(&waiting, second).await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn a_registration_answers_a_challenge_of_its_own_user(db) {
        let (world, cora, _) = protected(db).await;
        let carl = world.customer("carl@customer.example").await;
        let options = carl.post("/me/passkeys/registration", json!({})).await.ok();
        let mut passkey = Passkey::new(&world);
        let answer = passkey.attestation(&options);
        assert_eq!(cora.post("/me/passkeys", answer.clone()).await.invalid(), ["client_data_json"]);
        let mut broken = answer.clone();
        broken["attestation_object"] = "oA".into();
        assert_eq!(carl.post("/me/passkeys", broken).await.invalid(), ["attestation_object"]);
        carl.post("/me/passkeys", answer.clone()).await.expect(201);
        carl.post("/me/passkeys", answer).await.problem(401, WRONG);
        world.end().await;
    }

    async fn a_passkey_is_the_second_factor_that_the_team_needs(db) {
        let world = World::with(db, &[("TRUNKLINE_REQUIRE_TEAM_2FA", "on"), ("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let admin = world.admin().await;
        admin.get("/admin/users").await.problem(403, "auth.second_factor_required");
        let mut passkey = Passkey::registered(&world, &admin).await;
        let listed = admin.get("/admin/users").await.ok();
        assert_eq!(listed["data"][0]["has_second_factor"], true, "{listed}");
        let security = admin.get("/admin/dashboard/security").await.ok();
        assert_eq!(security["admin_2fa"]["enrolled"], 1, "{security}");

        // A lost one is removed by another admin.
        let user = admin.get("/me").await.ok()["user"]["id"].as_str().unwrap().to_owned();
        let other = world.minted(Role::Admin).await;
        Passkey::registered(&world, &other).await;
        other.post(&format!("/admin/users/{user}/2fa-reset"), json!({})).await.ok();
        world.passkey_sign_in(&mut passkey, None).await.problem(401, WRONG);
        world.end().await;
    }
}
