//! Idle sessions, new devices, and what the team does to a customer's user.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use values::Role;

use crate::world::client::Session;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::links::{CORA, magic_token};
use crate::world::{ADMIN_EMAIL, PASSWORD, World};

const PROXIED: &[(&str, &str)] = &[("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1"), ("TRUNKLINE_RATE_LIMITS", "off")];

async fn sign_in_from(world: &World, ip: &str, user_agent: &str) -> Session {
    let caller = world.anyone().header("X-Forwarded-For", ip).header("User-Agent", user_agent);
    let body = caller.post("/auth/sign-in", json!({"email": CORA, "password": PASSWORD})).await.ok();
    world.session(&body)
}

/// The subjects of the mails to Cora.
async fn subjects(world: &World) -> Vec<String> {
    let mails = world.mails().await.into_iter().filter(|mail| mail.to.contains(CORA));
    mails.map(|mail| mail.subject).collect()
}

both! {
    async fn an_unused_team_session_ends_after_an_hour_and_a_customers_does_not(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer(CORA).await);
        world.advance(3500).await;
        let admin = world.session(&world.refresh(&admin.refresh_token).await.ok());
        // Using it starts the hour again.
        world.advance(3500).await;
        let admin = world.session(&world.refresh(&admin.refresh_token).await.ok());
        world.advance(3602).await;
        world.refresh(&admin.refresh_token).await.problem(401, "auth.token_invalid");
        world.refresh(&cora.refresh_token).await.ok();
        let back = world.sign_in(ADMIN_EMAIL).await;
        assert_eq!(back.get("/me/sessions").await.ok()["data"].as_array().unwrap().len(), 1);
        world.end().await;
    }

    async fn the_idle_time_of_the_team_is_a_setting(db) {
        let world = World::with(db, &[("TRUNKLINE_TEAM_IDLE_MINUTES", "5"), ("TRUNKLINE_RATE_LIMITS", "off")]).await;
        world.user("sue@carrier.example", Role::Support).await;
        let sue = world.sign_in("sue@carrier.example").await;
        world.advance(302).await;
        world.refresh(&sue.refresh_token).await.problem(401, "auth.token_invalid");
        // The access token ends with the session.
        sue.get("/me").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn a_sign_in_from_a_new_device_is_told_by_mail(db) {
        let world = World::with(db, PROXIED).await;
        let user = world.user(CORA, Role::Customer).await;
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
        sign_in_from(&world, "203.0.113.7", firefox).await;
        sign_in_from(&world, "203.0.113.8", &firefox.replace("128", "129")).await;
        assert!(subjects(&world).await.is_empty());

        sign_in_from(&world, "198.51.100.7", firefox).await;
        let told = world.mails().await.pop().unwrap();
        assert_eq!(told.subject, "New sign-in to your account");
        assert!(told.text.contains("Firefox on Linux") && told.text.contains("198.51.100.7"), "{}", told.text);
        sign_in_from(&world, "203.0.113.7", "Call me at http://evil.example").await;
        let told = world.mails().await.pop().unwrap();
        assert!(told.text.contains("Unknown program") && !told.text.contains("evil"), "{}", told.text);
        assert_eq!(subjects(&world).await.len(), 2);

        // A magic link is a sign-in, too; and a device is told of once.
        let token = magic_token(&world, user).await;
        let caller = world.anyone().header("X-Forwarded-For", "192.0.2.9").header("User-Agent", firefox);
        caller.post("/auth/first-login", json!({"token": token})).await.ok();
        sign_in_from(&world, "192.0.2.9", firefox).await;
        assert_eq!(subjects(&world).await.len(), 3);
        world.end().await;
    }

    async fn all_other_sessions_can_be_ended_at_once(db) {
        let world = World::unlimited(db).await;
        let here = world.customer(CORA).await;
        let others = [world.sign_in(CORA).await, world.sign_in(CORA).await];
        here.delete("/me/sessions").await.expect(204);
        for other in &others {
            other.get("/me").await.problem(401, "auth.token_invalid");
            world.refresh(&other.refresh_token).await.problem(401, "auth.token_invalid");
        }
        here.get("/me").await.ok();
        world.refresh(&here.refresh_token).await.ok();
        world.end().await;
    }

    async fn the_team_signs_a_customers_user_out(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer(CORA).await);
        let path = format!("/admin/customers/{}/users/{}/sign-out", cora.account_id, cora.user_id);
        assert_eq!(admin.post(&path, json!({})).await.ok()["is_active"], true);
        cora.get("/me").await.problem(401, "auth.token_invalid");
        world.refresh(&cora.refresh_token).await.problem(401, "auth.token_invalid");
        world.sign_in(CORA).await;
        assert_eq!(subjects(&world).await, ["You were signed out"]);
        let log = format!("/admin/audit-log?action=customer_user.sign_out&account_id={}", cora.account_id);
        assert_eq!(admin.get(&log).await.ok()["rows"].as_array().unwrap().len(), 1);
        world.end().await;
    }

    async fn the_team_deactivates_and_reactivates_a_customers_user(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer(CORA).await);
        let link = magic_token(&world, cora.user_id.parse().unwrap()).await;
        let user = format!("/admin/customers/{}/users/{}", cora.account_id, cora.user_id);
        for _ in 0..2 {
            assert_eq!(admin.post(&format!("{user}/deactivate"), json!({})).await.ok()["is_active"], false);
        }
        cora.get("/me").await.problem(401, "auth.token_invalid");
        world.try_sign_in(CORA, PASSWORD).await.problem(401, "auth.invalid_credentials");
        world.anyone().post("/auth/first-login", json!({"token": link})).await.problem(401, "auth.token_invalid");
        admin.post(&format!("{user}/sign-out"), json!({})).await.problem(409, "state.conflict");
        assert_eq!(admin.post(&format!("{user}/reactivate"), json!({})).await.ok()["is_active"], true);
        world.sign_in(CORA).await;
        assert_eq!(subjects(&world).await, ["Your access was deactivated", "Your access is active again"]);
        world.end().await;
    }

    async fn only_an_admin_may_and_only_users_of_that_customer_are_found(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer(CORA).await);
        let carl = world.customer("carl@customer.example").await;
        let support = world.minted(Role::Support).await;
        for action in ["sign-out", "deactivate", "reactivate"] {
            let at = |account: &str, user: &str| format!("/admin/customers/{account}/users/{user}/{action}");
            let own = at(&cora.account_id, &cora.user_id);
            for caller in [&support, &*cora] {
                caller.post(&own, json!({})).await.problem(403, "auth.forbidden");
            }
            let unknown = uuid().to_string();
            for path in [
                at(&cora.account_id, &carl.user_id), at(&cora.account_id, &unknown), at(&unknown, &cora.user_id),
                at(&admin.account_id, &admin.user_id),
            ] {
                admin.post(&path, json!({})).await.problem(404, "not_found");
            }
        }
        carl.get("/me").await.ok();
        world.end().await;
    }

    async fn a_team_member_hears_of_a_change_of_roles_and_of_its_deactivation(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let sue = world.user("sue@carrier.example", Role::Support).await;
        let path = format!("/admin/users/{sue}");
        admin.patch(&path, json!({"roles": ["admin", "support"]})).await.ok();
        admin.patch(&path, json!({"is_active": false})).await.ok();
        let subjects: Vec<String> = world.mails().await.into_iter().map(|mail| mail.subject).collect();
        assert_eq!(subjects, ["Your roles were changed", "Your access was deactivated"]);
        world.end().await;
    }
}
