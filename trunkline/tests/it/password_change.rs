//! Choosing and changing a password, and which passwords are refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use values::Role;

use crate::world::authenticator::Authenticator;
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::fixtures::links::{CORA, magic_token, reset_token};
use crate::world::fixtures::onboarding::signup_body;
use crate::world::{ADMIN_EMAIL, BOOTSTRAP_TOKEN, PASSWORD, World};

const NEW_PASSWORD: &str = "an entirely new secret";

async fn change(caller: &Client, current: &str, new: &str) -> Answer {
    caller.post("/me/password", json!({"current_password": current, "new_password": new})).await
}

/// The reason why the field was refused.
fn reason(answer: Answer, name: &str) -> String {
    let params = answer.problem(422, "validation.failed")["invalid_params"].as_array().unwrap().clone();
    let param = params.iter().find(|param| param["name"] == name).unwrap_or_else(|| panic!("{params:?}"));
    param["reason"].as_str().unwrap().to_owned()
}

both! {
    async fn a_changed_password_ends_the_other_sessions_and_is_told_by_mail(db) {
        let world = World::unlimited(db).await;
        let here = world.customer(CORA).await;
        let there = world.sign_in(CORA).await;
        let links = [magic_token(&world, here.user_id.parse().unwrap()).await, reset_token(&world).await];
        change(&here, PASSWORD, NEW_PASSWORD).await.expect(204);
        there.get("/me").await.problem(401, "auth.token_invalid");
        world.refresh(&there.refresh_token).await.problem(401, "auth.token_invalid");
        here.get("/me").await.ok();
        world.refresh(&here.refresh_token).await.ok();
        world.try_sign_in(CORA, PASSWORD).await.problem(401, "auth.invalid_credentials");
        world.try_sign_in(CORA, NEW_PASSWORD).await.ok();
        let told = world.mails().await.pop().unwrap();
        assert!(told.to.contains(CORA) && told.subject.contains("password was changed"));
        let [magic, reset] = links;
        world.anyone().post("/auth/first-login", json!({"token": magic})).await.problem(401, "auth.token_invalid");
        let body = json!({"token": reset, "new_password": "yet another secret"});
        world.anyone().post("/auth/reset-password", body).await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn a_change_of_password_leaves_the_second_factor_in_place(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        change(&cora, PASSWORD, NEW_PASSWORD).await.expect(204);
        assert_eq!(world.try_sign_in(CORA, NEW_PASSWORD).await.ok()["status"], "2fa_required");
        world.end().await;
    }

    async fn a_wrong_current_password_changes_nothing_and_cannot_be_guessed(db) {
        let world = World::with(db, &[("TRUNKLINE_LIMIT_SIGN_IN", "1000/60"), ("TRUNKLINE_LIMIT_SIGN_IN_EMAIL", "7/60")]).await;
        let cora = world.customer(CORA).await;
        world.advance_to_next(60).await;
        assert_eq!(cora.post("/me/password", json!({"new_password": NEW_PASSWORD})).await.invalid(), ["current_password"]);
        for _ in 0..5 {
            change(&cora, "not the password", NEW_PASSWORD).await.problem(401, "auth.invalid_credentials");
        }
        // Now even the right one has to wait, and soon every attempt.
        change(&cora, PASSWORD, NEW_PASSWORD).await.problem(401, "auth.invalid_credentials");
        change(&cora, PASSWORD, NEW_PASSWORD).await.problem(401, "auth.invalid_credentials");
        change(&cora, PASSWORD, NEW_PASSWORD).await.problem(429, "rate_limited");
        world.advance_to_next(60).await;
        change(&cora, PASSWORD, NEW_PASSWORD).await.expect(204);
        world.end().await;
    }

    async fn a_user_without_a_password_chooses_its_first_one(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let new = json!({"email": "sue@carrier.example", "name": "Sue", "roles": ["support"]});
        admin.post("/admin/users", new).await.expect(201);
        let token = world.mails().await.pop().unwrap().token();
        let sue = world.session(&world.anyone().post("/auth/first-login", json!({"token": token})).await.ok());
        assert_eq!(sue.get("/me").await.ok()["user"]["has_password"], false);
        change(&sue, PASSWORD, NEW_PASSWORD).await.problem(401, "auth.invalid_credentials");
        sue.post("/me/password", json!({"new_password": NEW_PASSWORD})).await.expect(204);
        assert_eq!(sue.get("/me").await.ok()["user"]["has_password"], true);
        assert_eq!(sue.post("/me/password", json!({"new_password": PASSWORD})).await.invalid(), ["current_password"]);
        world.try_sign_in("sue@carrier.example", NEW_PASSWORD).await.ok();
        world.end().await;
    }

    async fn a_common_password_is_refused_wherever_one_is_chosen(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let token = reset_token(&world).await;
        for common in ["password", "P@ssw0rd", "12345678", "qwertyuiop", "ILoveYou1"] {
            assert!(reason(change(&cora, PASSWORD, common).await, "new_password").contains("common"), "{common}");
            let body = json!({"token": token, "new_password": common});
            let refused = world.anyone().post("/auth/reset-password", body).await;
            assert!(reason(refused, "new_password").contains("common"), "{common}");
        }
        let mut signup = signup_body("petra@prospect.example");
        signup["password"] = json!("Password1234");
        assert!(reason(world.anyone().post("/beta/signup", signup).await, "password").contains("common"));
        let bootstrap = json!({
            "legal_name": "Carrier BV", "contact_name": "Ada", "contact_email": ADMIN_EMAIL, "password": "administrator",
        });
        let caller = world.anyone().header("X-Bootstrap-Token", BOOTSTRAP_TOKEN);
        assert!(reason(caller.post("/admin/bootstrap", bootstrap).await, "password").contains("common"));
        // Nothing was changed, and the link still works.
        world.sign_in(CORA).await;
        let body = json!({"token": token, "new_password": NEW_PASSWORD});
        world.anyone().post("/auth/reset-password", body).await.expect(204);
        world.end().await;
    }

    async fn the_address_or_company_of_a_user_is_no_password(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let token = reset_token(&world).await;
        // The company of the test world's customers is Customer GmbH.
        for own in ["cora@customer.example", "C0ra-2026", "CustomerGmbH", "customer gmbh 123"] {
            assert!(reason(change(&cora, PASSWORD, own).await, "new_password").contains("more than"), "{own}");
            let body = json!({"token": token, "new_password": own});
            let refused = world.anyone().post("/auth/reset-password", body).await;
            assert!(reason(refused, "new_password").contains("more than"), "{own}");
        }
        for own in ["petra@prospect.example", "Prospect-BV-2026", "petra prospect"] {
            let mut signup = signup_body("petra@prospect.example");
            signup["password"] = json!(own);
            assert!(reason(world.anyone().post("/beta/signup", signup).await, "password").contains("more than"), "{own}");
        }
        world.end().await;
    }

    async fn an_impersonating_admin_cannot_change_the_password(db) {
        let world = World::unlimited(db).await;
        let reader = world.minted_to_read(Role::Customer).await;
        let body: Value = json!({"new_password": NEW_PASSWORD});
        reader.post("/me/password", body).await.problem(403, "auth.forbidden");
        world.end().await;
    }
}
