//! Users of a customer's account: invitations, roles, and the last owner.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::{Answer, Client, Session};
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::links::CORA;
use crate::world::fixtures::onboarding::{sign_up, signup_body};

const TESS: &str = "tess@customer.example";
const NEW_PASSWORD: &str = "an entirely new secret";

async fn invite(owner: &Client, email: &str, role: &str) -> Answer {
    let body = json!({"email": email, "name": "Tess Technical", "account_role": role});
    owner.with_key(key()).post("/account/users", body).await
}

/// Invites a user, who follows the link in the mail.
async fn join(world: &World, owner: &Client, email: &str, role: &str) -> Session {
    invite(owner, email, role).await.expect(201);
    let mail = world.mails().await.into_iter().rfind(|mail| mail.to.contains(email)).unwrap();
    let session = world.anyone().post("/auth/first-login", json!({"token": mail.token()})).await.ok();
    world.session(&session)
}

async fn users(owner: &Client) -> Vec<Value> {
    owner.get("/account/users").await.ok()["data"].as_array().unwrap().clone()
}

/// The user with this address, as the owner sees it.
async fn listed(owner: &Client, email: &str) -> Value {
    users(owner).await.into_iter().find(|user| user["email"] == email).unwrap()
}

fn path(user: &Value) -> String {
    format!("/account/users/{}", user["id"].as_str().unwrap())
}

both! {
    async fn an_invited_user_signs_in_by_mail_and_chooses_a_password(db) {
        let world = World::unlimited(db).await;
        let owner = world.customer(CORA).await;
        let invited = invite(&owner, TESS, "technical").await.expect(201);
        assert_eq!((&invited["status"], &invited["last_sign_in_at"]), (&json!("invited"), &json!(null)));
        assert_eq!(invited, listed(&owner, TESS).await);
        let mail = world.mails().await.into_iter().rfind(|mail| mail.to.contains(TESS)).unwrap();
        assert!(mail.text.contains("Customer GmbH invited you"), "{}", mail.text);
        let tess = world.anyone().post("/auth/first-login", json!({"token": mail.token()})).await.ok();
        let tess = world.session(&tess);
        assert_eq!(tess.account_id, owner.account_id);
        let me = tess.get("/me").await.ok();
        assert_eq!((&me["user"]["account_role"], &me["user"]["has_password"]), (&json!("technical"), &json!(false)));
        tess.post("/me/password", json!({"new_password": NEW_PASSWORD})).await.expect(204);
        world.try_sign_in(TESS, NEW_PASSWORD).await.ok();
        let active = listed(&owner, TESS).await;
        assert_eq!(active["status"], "active");
        assert!(active["last_sign_in_at"].is_string());
        assert_eq!(listed(&owner, CORA).await["account_role"], "owner");
        world.end().await;
    }

    async fn the_contact_who_leaves_hands_the_accounts_mail_on(db) {
        let world = World::unlimited(db).await;
        let (cora, admin) = (world.customer(CORA).await, world.admin().await);
        let tess = join(&world, &cora, TESS, "owner").await;
        let contact = async || {
            let customer = admin.get(&format!("/admin/customers/{}", cora.account_id)).await.ok();
            customer["contact_email"].as_str().unwrap().to_owned()
        };
        assert_eq!(contact().await, CORA);
        tess.patch(&path(&listed(&tess, CORA).await), json!({"status": "deactivated"})).await.ok();
        assert_eq!(contact().await, TESS);
        // Whoever is no contact changes nothing.
        tess.delete(&path(&listed(&tess, CORA).await)).await.expect(204);
        assert_eq!(contact().await, TESS);
        let found = admin.get("/admin/customers?q=tess").await.ok();
        assert_eq!(found["data"][0]["contact_email"], TESS);
        world.end().await;
    }

    async fn an_owner_cannot_undo_the_teams_deactivation(db) {
        let world = World::unlimited(db).await;
        let (owner, admin) = (world.customer(CORA).await, world.admin().await);
        let tess = join(&world, &owner, TESS, "technical").await;
        let by_team = format!("/admin/customers/{}/users/{}", owner.account_id, tess.user_id);
        let member = path(&listed(&owner, TESS).await);
        // Also after an owner has done the same.
        for deactivated_by_owner in [false, true] {
            if deactivated_by_owner {
                owner.patch(&member, json!({"status": "deactivated"})).await.ok();
            }
            admin.post(&format!("{by_team}/deactivate"), json!({})).await.ok();
            assert_eq!(listed(&owner, TESS).await["blocked"], true);
            owner.patch(&member, json!({"status": "active"})).await.problem(409, "state.conflict");
            owner.delete(&member).await.problem(409, "state.conflict");
            owner.patch(&member, json!({"name": "Tess Renamed"})).await.ok();
            admin.post(&format!("{by_team}/reactivate"), json!({})).await.ok();
            let reactivated = listed(&owner, TESS).await;
            assert_eq!((&reactivated["blocked"], &reactivated["status"]), (&json!(false), &json!("active")));
        }
        owner.delete(&member).await.expect(204);
        world.end().await;
    }

    async fn reactivating_at_the_same_time_does_not_undo_the_teams_deactivation(db) {
        let world = World::unlimited(db).await;
        let (owner, admin) = (world.customer(CORA).await, world.admin().await);
        let tess = join(&world, &owner, TESS, "technical").await;
        let member = path(&listed(&owner, TESS).await);
        owner.patch(&member, json!({"status": "deactivated"})).await.ok();
        let by_team = format!("/admin/customers/{}/users/{}/deactivate", owner.account_id, tess.user_id);
        let reactivations = join_all((0..50).map(|_| owner.patch(&member, json!({"status": "active"}))));
        let (answers, deactivated) = futures_util::future::join(reactivations, admin.post(&by_team, json!({}))).await;
        deactivated.ok();
        for answer in answers {
            assert!([200, 409].contains(&answer.status), "{}", answer.status);
        }
        let user = listed(&owner, TESS).await;
        assert_eq!((&user["blocked"], &user["status"]), (&json!(true), &json!("deactivated")));
        tess.get("/me").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn a_late_invitation_is_sent_again_to_the_same_user(db) {
        let world = World::unlimited(db).await;
        let owner = world.customer(CORA).await;
        let first = invite(&owner, TESS, "viewer").await.expect(201);
        let late = world.mails().await.pop().unwrap().token();
        world.advance(72 * 3600 + 1).await;
        world.anyone().post("/auth/first-login", json!({"token": late})).await.problem(401, "auth.token_expired");
        // A reset of its password brings nothing, and does not take the address away from it.
        let before = world.mails().await.len();
        world.anyone().post("/auth/forgot-password", json!({"email": TESS})).await.expect(202);
        world.settle().await;
        assert_eq!(world.mails().await.len(), before);
        let owner = world.sign_in(CORA).await;
        let again = invite(&owner, TESS, "viewer").await.expect(201);
        assert_eq!(again["id"], first["id"]);
        let token = world.mails().await.into_iter().rfind(|mail| mail.to.contains(TESS)).unwrap().token();
        world.anyone().post("/auth/first-login", json!({"token": token})).await.ok();
        assert_eq!(users(&owner).await.len(), 2);
        world.end().await;
    }

    async fn a_new_role_counts_from_the_next_request(db) {
        let world = World::unlimited(db).await;
        let owner = world.customer(CORA).await;
        let tess = join(&world, &owner, TESS, "viewer").await;
        let alert = json!({"enabled": true, "threshold_pct": 30});
        let set_alert = async || tess.call(reqwest::Method::PUT, "/account/low-balance-notify", Some(alert.clone())).await;
        set_alert().await.problem(403, "auth.forbidden");
        tess.get("/account/balance").await.ok();
        tess.get("/account/users").await.problem(403, "auth.forbidden");
        let user = listed(&owner, TESS).await;
        owner.patch(&path(&user), json!({"account_role": "billing"})).await.ok();
        set_alert().await.ok();
        tess.patch("/account", json!({"company_name": "Tess BV"})).await.problem(403, "auth.forbidden");
        tess.with_key(key()).post("/trunks", json!({})).await.problem(403, "auth.forbidden");
        tess.post("/tickets", json!({})).await.problem(422, "validation.failed");
        let told = world.mails().await.into_iter().rfind(|mail| mail.to.contains(TESS)).unwrap();
        assert!(told.text.contains("your role to billing"), "{}", told.text);
        world.end().await;
    }

    async fn the_last_owner_can_be_neither_removed_nor_demoted(db) {
        let world = World::unlimited(db).await;
        let owner = world.customer(CORA).await;
        // An invited owner does not count yet.
        let invited = invite(&owner, TESS, "owner").await.expect(201);
        let me = path(&listed(&owner, CORA).await);
        for change in [json!({"account_role": "viewer"}), json!({"status": "deactivated"})] {
            owner.patch(&me, change).await.problem(409, "state.conflict");
        }
        owner.delete(&me).await.problem(409, "state.conflict");
        owner.patch(&me, json!({"name": "Cora C."})).await.ok();
        let token = world.mails().await.into_iter().rfind(|mail| mail.to.contains(TESS)).unwrap().token();
        let tess = world.anyone().post("/auth/first-login", json!({"token": token})).await.ok();
        let tess = world.session(&tess);
        // Each demotes the other, at once: one of them stays.
        let (hers, mine) = (path(&invited), me.clone());
        let demoted = join_all([
            owner.patch(&hers, json!({"account_role": "viewer"})),
            tess.patch(&mine, json!({"account_role": "viewer"})),
        ]);
        let statuses: Vec<u16> = demoted.await.into_iter().map(|answer| answer.status).collect();
        assert!(statuses.contains(&200) && statuses.iter().any(|status| matches!(status, 403 | 409)), "{statuses:?}");
        let remaining = if statuses[0] == 200 { owner.into_client() } else { tess.into_client() };
        let owners = users(&remaining).await.into_iter().filter(|user| user["account_role"] == "owner");
        assert_eq!(owners.count(), 1);
        world.end().await;
    }

    async fn an_invitation_does_not_tell_whose_address_is_known(db) {
        let world = World::unlimited(db).await;
        let owner = world.customer(CORA).await;
        let stranger = world.customer("vera@elsewhere.example").await;
        let known = invite(&owner, "vera@elsewhere.example", "viewer").await;
        let unknown = invite(&owner, "nobody@elsewhere.example", "viewer").await;
        assert_eq!(known.status, unknown.status);
        let same = |mut user: Value| {
            user["id"] = json!("");
            user["email"] = json!("");
            user
        };
        assert_eq!(same(known.expect(201)), same(unknown.expect(201)));
        let listed_known = listed(&owner, "vera@elsewhere.example").await;
        assert_eq!(same(listed_known.clone()), same(listed(&owner, "nobody@elsewhere.example").await));
        // Inviting it again changes nothing either.
        let again = invite(&owner, "vera@elsewhere.example", "viewer").await.expect(201);
        assert_eq!(again["id"], listed_known["id"]);
        assert_eq!(users(&owner).await.len(), 3);
        let mails = world.mails().await;
        let told: Vec<_> = mails.iter().filter(|mail| mail.to.contains("vera@elsewhere.example")).collect();
        assert!(told.len() == 2 && told.iter().all(|mail| !mail.text.contains("#token=")), "{told:?}");
        assert_eq!(stranger.get("/me").await.ok()["user"]["account_role"], "owner");
        assert_eq!(users(&stranger).await.len(), 1);
        // It can be changed and deleted as any other.
        let changed = owner.patch(&path(&listed_known), json!({"account_role": "billing"})).await.ok();
        assert_eq!((&changed["account_role"], &changed["status"]), (&json!("billing"), &json!("invited")));
        owner.delete(&path(&listed_known)).await.expect(204);
        owner.delete(&path(&listed_known)).await.problem(404, "not_found");
        world.end().await;
    }

    async fn an_address_that_became_free_gets_the_invitation(db) {
        let world = World::unlimited(db).await;
        let (owner, other) = (world.customer(CORA).await, world.customer("otto@other.example").await);
        join(&world, &other, TESS, "viewer").await;
        let waiting = invite(&owner, TESS, "technical").await.expect(201);
        other.delete(&path(&listed(&other, TESS).await)).await.expect(204);
        let again = invite(&owner, TESS, "technical").await.expect(201);
        assert_eq!(again["id"], waiting["id"]);
        let mail = world.mails().await.into_iter().rfind(|mail| mail.to.contains(TESS)).unwrap();
        let session = world.anyone().post("/auth/first-login", json!({"token": mail.token()})).await.ok();
        assert_eq!(world.session(&session).account_id, owner.account_id);
        world.end().await;
    }

    async fn a_deactivated_user_is_out_at_once_until_it_is_active_again(db) {
        let world = World::unlimited(db).await;
        let owner = world.customer(CORA).await;
        let tess = join(&world, &owner, TESS, "technical").await;
        tess.post("/me/password", json!({"new_password": NEW_PASSWORD})).await.expect(204);
        let user = path(&listed(&owner, TESS).await);
        let off = owner.patch(&user, json!({"status": "deactivated"})).await.ok();
        assert_eq!(off["status"], "deactivated");
        tess.get("/me").await.problem(401, "auth.token_invalid");
        world.refresh(&tess.refresh_token).await.problem(401, "auth.token_invalid");
        world.try_sign_in(TESS, NEW_PASSWORD).await.problem(401, "auth.invalid_credentials");
        assert_eq!(owner.patch(&user, json!({"status": "active"})).await.ok()["status"], "active");
        world.try_sign_in(TESS, NEW_PASSWORD).await.ok();
        owner.patch(&user, json!({"status": "invited"})).await.problem(422, "validation.failed");
        world.end().await;
    }

    async fn a_deleted_user_is_gone_and_its_address_can_be_invited_again(db) {
        let world = World::unlimited(db).await;
        let owner = world.customer(CORA).await;
        let tess = join(&world, &owner, TESS, "technical").await;
        tess.post("/me/password", json!({"new_password": NEW_PASSWORD})).await.expect(204);
        let user = path(&listed(&owner, TESS).await);
        owner.delete(&user).await.expect(204);
        tess.get("/me").await.problem(401, "auth.token_invalid");
        world.try_sign_in(TESS, NEW_PASSWORD).await.problem(401, "auth.invalid_credentials");
        owner.patch(&user, json!({"name": "Tess"})).await.problem(404, "not_found");
        let admin = world.admin().await;
        let seen = admin.get(&format!("/admin/customers/{}/users", owner.account_id)).await.ok();
        assert_eq!(seen["data"].as_array().unwrap().len(), 1);
        let again = join(&world, &owner, TESS, "viewer").await;
        assert_ne!(again.user_id, tess.user_id);
        assert_eq!(users(&owner).await.len(), 2);
        world.end().await;
    }

    async fn kyb_is_for_owners_and_documents_of_numbers_for_technical_users(db) {
        let world = World::unlimited(db).await;
        let owner = sign_up(&world, CORA).await;
        let tess = join(&world, &owner, TESS, "technical").await;
        // Looking at it opens nothing for a user who may not submit it.
        tess.get("/me/kyb").await.problem(404, "not_found");
        let intake = owner.get("/me/kyb").await.ok()["id"].as_str().unwrap().trim_start_matches("kyb_").to_owned();
        tess.get("/me/kyb").await.ok();
        tess.post(&format!("/compliance/intakes/{intake}/submit"), json!({})).await.problem(403, "auth.forbidden");
        owner.post(&format!("/compliance/intakes/{intake}/submit"), json!({})).await.problem(422, "validation.failed");
        world.end().await;
    }

    async fn an_invitation_neither_takes_over_a_signup_nor_keeps_the_address(db) {
        let world = World::unlimited(db).await;
        let mallory = world.customer("mallory@customer.example").await;
        const VICTIM: &str = "vera@customer.example";
        invite(&mallory, VICTIM, "owner").await.expect(201);
        // While the invitation is open, a signup and a password reset bring it again, with the name of the company.
        let last = async || world.mails().await.pop().unwrap();
        world.anyone().post("/beta/signup", signup_body(VICTIM)).await.expect(202);
        let told = last().await;
        assert!(told.to == VICTIM && told.subject.contains("invited"), "{}", told.subject);
        world.anyone().post("/auth/forgot-password", json!({"email": VICTIM})).await.expect(202);
        world.settle().await;
        assert_eq!(last().await.subject, told.subject);

        // Once it has expired, the address is free, and who signs up has an account of its own.
        world.advance(72 * 3600 + 1).await;
        world.anyone().post("/beta/signup", signup_body(VICTIM)).await.expect(202);
        let vera = world.sign_in(VICTIM).await;
        assert_ne!(vera.account_id, mallory.account_id);
        let mallory = world.sign_in("mallory@customer.example").await;
        assert_eq!(listed(&mallory, VICTIM).await["status"], "invited");
        world.end().await;
    }

    async fn an_invitation_that_was_deactivated_does_not_keep_the_address(db) {
        let world = World::unlimited(db).await;
        let mallory = world.customer("mallory@customer.example").await;
        const VICTIM: &str = "vera@customer.example";
        let invited = invite(&mallory, VICTIM, "owner").await.expect(201);
        mallory.patch(&path(&invited), json!({"status": "deactivated"})).await.ok();
        world.anyone().post("/beta/signup", signup_body(VICTIM)).await.expect(202);
        let vera = world.sign_in(VICTIM).await;
        assert_ne!(vera.account_id, mallory.account_id);
        // The company cannot take it back.
        mallory.patch(&path(&invited), json!({"status": "active"})).await.ok();
        invite(&mallory, VICTIM, "owner").await.expect(201);
        assert_eq!(world.sign_in(VICTIM).await.account_id, vera.account_id);
        world.end().await;
    }

    async fn an_address_gets_only_so_many_invitations_in_an_hour(db) {
        let world = World::start(db).await;
        world.advance_to_next(3600).await;
        let owner = world.customer(CORA).await;
        for _ in 0..5 {
            invite(&owner, TESS, "viewer").await.expect(201);
        }
        invite(&owner, TESS, "viewer").await.problem(429, "rate_limited");
        invite(&owner, "other@customer.example", "viewer").await.expect(201);
        world.end().await;
    }
}
