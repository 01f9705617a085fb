//! Pre-hijacking: a stranger signs up with somebody's address and waits. The first proof of the mailbox drops what the
//! stranger set.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use values::Role;

use crate::world::authenticator::Authenticator;
use crate::world::client::{Answer, Session};
use crate::world::engines::both;
use crate::world::fixtures::api_keys::{all_scopes, make_key};
use crate::world::fixtures::events::subscribe;
use crate::world::fixtures::key;
use crate::world::fixtures::links::{forgot_password, magic_token};
use crate::world::fixtures::onboarding::{sign_up, signup_body, submit_kyb_and_card};
use crate::world::form::{Form, pdf};
use crate::world::outbox::Mail;
use crate::world::{PASSWORD, World};

const OWNER: &str = "olga@owner.example";
const NEW_PASSWORD: &str = "an entirely new secret";
const STRICT: &[(&str, &str)] = &[("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_REQUIRE_VERIFIED_EMAIL", "on")];

/// A stranger with the owner's address, a session and a second factor.
async fn stranger(world: &World) -> (Session, Authenticator) {
    let mallory = sign_up(world, OWNER).await;
    let app = Authenticator::confirmed(world, &mallory, "/me/2fa").await;
    (mallory, app)
}

/// The token of the last link mailed to the owner.
async fn mailed_token(world: &World) -> String {
    let is_link = |mail: &Mail| mail.to.contains(OWNER) && mail.text.contains("#token=");
    world.mails().await.into_iter().rfind(is_link).unwrap().token()
}

async fn verify_email(world: &World, body: Value) -> Answer {
    world.anyone().post("/auth/verify-email", body).await
}

async fn is_shut_out(world: &World, stranger: &Session) {
    stranger.get("/me").await.problem(401, "auth.token_invalid");
    world.refresh(&stranger.refresh_token).await.problem(401, "auth.token_invalid");
    world.try_sign_in(OWNER, PASSWORD).await.problem(401, "auth.invalid_credentials");
}

async fn verified_at(session: &Session) -> Value {
    session.get("/me").await.ok()["user"].get("email_verified_at").unwrap().clone()
}

both! {
    async fn a_magic_link_drops_what_a_stranger_set_before_it(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let (mallory, app) = stranger(&world).await;
        let waiting = world.tmp_token(OWNER).await;
        admin.post(&format!("/admin/beta/{}/approve", mallory.account_id), json!({})).await.ok();
        let token = mailed_token(&world).await;
        let owner = world.session(&world.anyone().post("/auth/first-login", json!({"token": token})).await.ok());
        is_shut_out(&world, &mallory).await;
        world.verify(&waiting, &app.fresh(&world).await).await.problem(401, "auth.token_invalid");
        assert!(verified_at(&owner).await.is_string());
        let told = world.mails().await.pop().unwrap();
        assert!(told.to.contains(OWNER) && told.subject.contains("confirmed"), "{}", told.subject);

        // The owner chooses a password, and later links leave it in place.
        forgot_password(&world, OWNER).await.expect(202);
        let body = json!({"token": mailed_token(&world).await, "new_password": NEW_PASSWORD});
        world.anyone().post("/auth/reset-password", body).await.expect(204);
        let token = magic_token(&world, owner.user_id.parse().unwrap()).await;
        world.anyone().post("/auth/first-login", json!({"token": token})).await.ok();
        world.try_sign_in(OWNER, NEW_PASSWORD).await.ok();
        world.end().await;
    }

    async fn a_first_password_reset_drops_a_strangers_second_factor(db) {
        let world = World::unlimited(db).await;
        let (mallory, _) = stranger(&world).await;
        forgot_password(&world, OWNER).await.expect(202);
        let body = json!({"token": mailed_token(&world).await, "new_password": NEW_PASSWORD});
        world.anyone().post("/auth/reset-password", body).await.expect(204);
        is_shut_out(&world, &mallory).await;
        let owner = world.session(&world.try_sign_in(OWNER, NEW_PASSWORD).await.ok());
        assert!(verified_at(&owner).await.is_string());

        // From then on a reset leaves the second factor in place.
        Authenticator::confirmed(&world, &owner, "/me/2fa").await;
        forgot_password(&world, OWNER).await.expect(202);
        let body = json!({"token": mailed_token(&world).await, "new_password": "yet another secret"});
        world.anyone().post("/auth/reset-password", body).await.expect(204);
        assert_eq!(world.try_sign_in(OWNER, "yet another secret").await.ok()["status"], "2fa_required");
        world.end().await;
    }

    async fn a_verification_link_without_the_password_drops_it(db) {
        let world = World::unlimited(db).await;
        let (mallory, _) = stranger(&world).await;
        let token = mailed_token(&world).await;
        verify_email(&world, json!({"token": token})).await.expect(204);
        is_shut_out(&world, &mallory).await;
        verify_email(&world, json!({"token": token})).await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn a_verification_link_keeps_the_credentials_of_who_knows_the_password(db) {
        let world = World::unlimited(db).await;
        let (petra, app) = stranger(&world).await;
        assert_eq!(verified_at(&petra).await, Value::Null);
        let token = mailed_token(&world).await;
        // A wrong password does not use the link up.
        let wrong = verify_email(&world, json!({"token": token, "password": "not the password"})).await;
        wrong.problem(401, "auth.invalid_credentials");
        verify_email(&world, json!({"token": token, "password": PASSWORD})).await.expect(204);
        assert!(verified_at(&petra).await.is_string());
        world.refresh(&petra.refresh_token).await.ok();
        let tmp_token = world.tmp_token(OWNER).await;
        world.verify(&tmp_token, &app.fresh(&world).await).await.ok();

        // What was set before the proof is the owner's now.
        let token = magic_token(&world, petra.user_id.parse().unwrap()).await;
        world.anyone().post("/auth/first-login", json!({"token": token})).await.problem(403, "auth.forbidden");
        petra.post("/me/email-verification", json!({})).await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn the_first_proof_ends_keys_and_webhook_endpoints_of_a_stranger(db) {
        let world = World::unlimited(db).await;
        let mallory = sign_up(&world, OWNER).await;
        let made = make_key(&mallory, &all_scopes(false)).await;
        subscribe(&mallory, "https://mallory.example/hook", &["*"]).await;
        world.program(&made).get("/account/balance").await.expect(200);
        forgot_password(&world, OWNER).await.expect(202);
        let body = json!({"token": mailed_token(&world).await, "new_password": NEW_PASSWORD});
        world.anyone().post("/auth/reset-password", body).await.expect(204);
        world.program(&made).get("/account/balance").await.problem(401, "auth.token_invalid");
        world.settle().await;
        let owner = world.session(&world.try_sign_in(OWNER, NEW_PASSWORD).await.ok());
        for list in ["/account/api-keys", "/webhook-endpoints"] {
            assert_eq!(owner.get(list).await.ok()["data"], json!([]), "{list}");
        }
        world.end().await;
    }

    async fn a_request_whose_body_a_stranger_holds_back_is_refused_after_the_proof(db) {
        let world = World::unlimited(db).await;
        let mallory = sign_up(&world, OWNER).await;
        let body = json!({"new_password": "chosen by the stranger"}).to_string();
        let mut stream = TcpStream::connect(world.node.public).await.unwrap();
        let head = format!(
            "POST /v1/me/password HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
            mallory.token(),
            body.len(),
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // The body is asked for once the token has been accepted.
        let asked = b"HTTP/1.1 100 Continue\r\n\r\n";
        let mut heard = vec![0; asked.len()];
        stream.read_exact(&mut heard).await.unwrap();
        assert_eq!(heard, asked);
        verify_email(&world, json!({"token": mailed_token(&world).await})).await.expect(204);
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
        world.try_sign_in(OWNER, "chosen by the stranger").await.problem(401, "auth.invalid_credentials");
        world.end().await;
    }

    async fn whoever_proves_the_mailbox_and_knows_the_password_keeps_keys_and_endpoints(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, OWNER).await;
        let made = make_key(&petra, &all_scopes(false)).await;
        subscribe(&petra, "https://petra.example/hook", &["*"]).await;
        verify_email(&world, json!({"token": mailed_token(&world).await, "password": PASSWORD})).await.expect(204);
        world.settle().await;
        world.program(&made).get("/account/balance").await.expect(200);
        assert_eq!(petra.get("/webhook-endpoints").await.ok()["data"].as_array().unwrap().len(), 1);
        world.end().await;
    }

    async fn a_verification_link_can_be_requested_again_and_voids_the_older(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, OWNER).await;
        let first = mailed_token(&world).await;
        petra.post("/me/email-verification", json!({})).await.expect(202);
        let second = mailed_token(&world).await;
        assert_ne!(first, second);
        verify_email(&world, json!({"token": first, "password": PASSWORD})).await.problem(401, "auth.token_invalid");
        world.advance(72 * 3600).await;
        verify_email(&world, json!({"token": second, "password": PASSWORD})).await.problem(401, "auth.token_expired");
        let petra = world.sign_in(OWNER).await;
        petra.post("/me/email-verification", json!({})).await.expect(202);
        let third = mailed_token(&world).await;
        for other in ["/auth/first-login", "/auth/magic-link/redeem"] {
            world.anyone().post(other, json!({"token": third})).await.problem(401, "auth.token_invalid");
        }
        verify_email(&world, json!({"token": third, "password": PASSWORD})).await.expect(204);
        world.end().await;
    }

    async fn kyb_card_and_approval_need_a_verified_address(db) {
        let world = World::with(db, STRICT).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, OWNER).await;
        for kind in ["company_registration", "proof_of_address", "director_id"] {
            Form::document(kind, "paper.pdf", &pdf(kind)).post(&petra, "/me/kyb/documents").await.expect(201);
        }
        let intake = petra.get("/compliance/intakes").await.ok()["data"][0]["id"].as_str().unwrap().to_owned();
        let approve = format!("/admin/beta/{}/approve", petra.account_id);
        let start_card = || petra.with_key(key());
        petra.post("/me/kyb/submit", json!({})).await.problem(403, "account.not_active");
        petra.post(&format!("/compliance/intakes/{intake}/submit"), json!({})).await.problem(403, "account.not_active");
        start_card().post("/me/card-setup", json!({})).await.problem(403, "account.not_active");
        let refused = admin.post(&approve, json!({})).await.problem(409, "state.conflict");
        assert!(refused["detail"].as_str().unwrap().contains("email"), "{refused}");

        let body = json!({"token": mailed_token(&world).await, "password": PASSWORD});
        verify_email(&world, body).await.expect(204);
        petra.post("/me/kyb/submit", json!({})).await.ok();
        start_card().post("/me/card-setup", json!({})).await.expect(201);
        admin.post(&approve, json!({})).await.ok();
        world.end().await;
    }

    async fn a_submitted_kyb_intake_is_not_approved_before_the_address_is_verified(db) {
        let world = World::with(db, STRICT).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, OWNER).await;
        submit_kyb_and_card(db, &petra.account_id).await;
        let id = admin.get("/admin/kyb").await.ok()["items"][0]["id"].as_str().unwrap().to_owned();
        let refused = admin.post(&format!("/admin/kyb/{id}/approve"), json!({})).await.problem(409, "state.conflict");
        assert!(refused["detail"].as_str().unwrap().contains("email"), "{refused}");
        world.end().await;
    }

    async fn a_signup_without_a_password_confirms_its_address_and_is_approved(db) {
        let world = World::with(db, STRICT).await;
        let admin = world.admin().await;
        let signup = json!({"email": OWNER, "company": "Owner BV", "expected_volume": "much"});
        let id = world.anyone().post("/signup", signup).await.expect(202)["signup_id"].as_str().unwrap().to_owned();
        let approve = format!("/admin/beta/{id}/approve");
        admin.post(&approve, json!({})).await.problem(409, "state.conflict");
        verify_email(&world, json!({"token": mailed_token(&world).await})).await.expect(204);
        admin.post(&approve, json!({})).await.ok();
        let token = mailed_token(&world).await;
        world.anyone().post("/auth/first-login", json!({"token": token})).await.ok();
        world.end().await;
    }

    async fn team_members_and_admins_are_shown_with_their_verified_address(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        assert!(verified_at(&admin).await.is_string());
        let new = json!({"email": "sue@carrier.example", "name": "Sue", "roles": ["support"]});
        let sue = admin.post("/admin/users", new).await.expect(201);
        assert_eq!(sue["email_verified_at"], Value::Null);
        let token = world.mails().await.pop().unwrap().token();
        world.anyone().post("/auth/first-login", json!({"token": token})).await.ok();
        let listed = admin.get("/admin/users").await.ok();
        assert!(listed["data"].as_array().unwrap().iter().all(|user| user["email_verified_at"].is_string()), "{listed}");
        world.user("cora@customer.example", Role::Customer).await;
        world.end().await;
    }

    async fn users_from_before_count_as_verified_if_they_used_a_link(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer("cora@customer.example").await);
        let carl = world.user("carl@customer.example", Role::Customer).await;
        let token = magic_token(&world, carl).await;
        let carl = world.session(&world.anyone().post("/auth/first-login", json!({"token": token})).await.ok());
        let migration = include_str!("../../../migrations/0048_verified_emails.sql");
        let updates: String = migration.split_inclusive(';').filter(|part| part.contains("UPDATE users")).collect();
        db.ddl("UPDATE users SET email_verified_at = NULL;").await;
        db.ddl(&updates).await;
        assert!(verified_at(&admin).await.is_string() && verified_at(&carl).await.is_string());
        assert_eq!(verified_at(&cora).await, Value::Null);
        world.end().await;
    }

    async fn a_known_address_that_signs_up_again_stays_unverified(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, OWNER).await;
        world.anyone().post("/beta/signup", signup_body(OWNER)).await.expect(202);
        assert_eq!(verified_at(&petra).await, Value::Null);
        world.end().await;
    }
}
