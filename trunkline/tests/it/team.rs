//! Team members: invitations, roles, and the last admin.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::json;
use values::Role;

use crate::world::authenticator::Authenticator;
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::{ADMIN_EMAIL, World};

async fn change(admin: &Client, user: &str, body: serde_json::Value) -> Answer {
    admin.patch(&format!("/admin/users/{user}"), body).await
}

both! {
    async fn a_new_team_member_signs_in_by_link_and_has_its_roles(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let wanted = json!({"email": "sam@carrier.example", "name": "Sam Support", "roles": ["support"]});
        let sam = admin.post("/admin/users", wanted.clone()).await.expect(201);
        assert_eq!((&sam["roles"], &sam["is_active"], &sam["has_second_factor"]), (&json!(["support"]), &json!(true), &json!(false)));
        admin.post("/admin/users", wanted).await.problem(409, "resource.in_use");
        for roles in [json!([]), json!(["customer"]), json!(["admin", "customer"]), json!(["root"])] {
            let body = json!({"email": "x@carrier.example", "name": "X", "roles": roles});
            assert!(admin.post("/admin/users", body).await.invalid()[0].starts_with("roles"));
        }
        let mail = world.mails().await.pop().unwrap();
        assert_eq!(mail.to, "sam@carrier.example");
        let session = world.anyone().post("/auth/first-login", json!({"token": mail.token()})).await.ok();
        let support = world.session(&session);
        let team = support.get("/admin/users").await.ok();
        let emails: Vec<&str> = team["data"].as_array().unwrap().iter().map(|one| one["email"].as_str().unwrap()).collect();
        assert_eq!(emails, ["sam@carrier.example", ADMIN_EMAIL]);
        change(&support, &admin.user_id, json!({"is_active": false})).await.problem(403, "auth.forbidden");

        // Any change revokes the old tokens immediately.
        let id = sam["id"].as_str().unwrap();
        change(&admin, id, json!({"roles": ["support"]})).await.ok();
        support.get("/admin/users").await.ok();
        change(&admin, id, json!({"roles": ["admin"]})).await.ok();
        support.get("/admin/users").await.problem(401, "auth.token_invalid");
        world.refresh(&support.refresh_token).await.problem(401, "auth.token_invalid");
        let customer = world.customer("cora@customer.example").await;
        change(&admin, &customer.user_id, json!({"is_active": false})).await.problem(404, "not_found");
        world.end().await;
    }

    async fn a_reactivated_team_member_finds_its_old_links_invalid(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let wanted = json!({"email": "sam@carrier.example", "name": "Sam Support", "roles": ["support"]});
        let sam = admin.post("/admin/users", wanted).await.expect(201)["id"].as_str().unwrap().to_owned();
        let invitation = world.mails().await.pop().unwrap().token();
        let forgot = async || {
            world.anyone().post("/auth/forgot-password", json!({"email": "sam@carrier.example"})).await.expect(202);
            world.mails().await.pop().unwrap().token()
        };
        let reset = forgot().await;
        change(&admin, &sam, json!({"is_active": false})).await.ok();
        change(&admin, &sam, json!({"is_active": true})).await.ok();
        let redeemed = world.anyone().post("/auth/first-login", json!({"token": invitation})).await;
        redeemed.problem(401, "auth.token_invalid");
        let password = |token: &str| json!({"token": token, "new_password": "a password of some length"});
        world.anyone().post("/auth/reset-password", password(&reset)).await.problem(401, "auth.token_invalid");
        world.anyone().post("/auth/reset-password", password(&forgot().await)).await.expect(204);
        world.try_sign_in("sam@carrier.example", "a password of some length").await.ok();
        world.end().await;
    }

    async fn the_last_admin_stays_under_concurrent_role_changes(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        change(&admin, &admin.user_id, json!({"is_active": false})).await.problem(409, "state.conflict");
        change(&admin, &admin.user_id, json!({"roles": ["support"]})).await.problem(409, "state.conflict");
        let mut admins = vec![(admin.user_id.clone(), admin.into_client())];
        for number in 0..4 {
            let email = format!("admin{number}@carrier.example");
            let id = world.user(&email, Role::Admin).await;
            admins.push((id.to_string(), world.sign_in(&email).await.into_client()));
        }
        let steps = join_all(admins.iter().enumerate().map(|(number, (id, client))| async move {
            let down = if number % 2 == 0 { json!({"roles": ["support"]}) } else { json!({"is_active": false}) };
            change(client, id, down).await.status
        }))
        .await;
        assert_eq!(steps.iter().filter(|status| **status == 200).count(), 4, "{steps:?}");
        assert_eq!(steps.iter().filter(|status| **status == 409).count(), 1, "{steps:?}");
        let left = db.read().await.unwrap()
            .one::<(i64,)>("SELECT COUNT(*) FROM users WHERE roles LIKE '%admin%' AND is_active", &[]).await.unwrap().0;
        assert_eq!(left, 1);
        world.end().await;
    }

    async fn an_admin_resets_a_customers_lost_second_factor(db) {
        let world = World::unlimited(db).await;
        let (admin, sam) = (world.admin().await, world.minted(Role::Support).await);
        let cora = world.customer("cora@customer.example").await;
        world.customer("carl@customer.example").await;
        Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        let users = sam.get(&format!("/admin/customers/{}/users", cora.account_id)).await.ok();
        let [user] = &users["data"].as_array().unwrap()[..] else { panic!("{users}") };
        assert_eq!((&user["id"], &user["roles"]), (&json!(cora.user_id), &json!(["customer"])));
        assert_eq!((&user["email"], &user["has_second_factor"]), (&json!("cora@customer.example"), &json!(true)));
        sam.get(&format!("/admin/customers/{}/users", admin.account_id)).await.problem(404, "not_found");
        let reset = format!("/admin/users/{}/2fa-reset", cora.user_id);
        sam.post(&reset, json!({})).await.problem(403, "auth.forbidden");
        assert_eq!(admin.post(&reset, json!({})).await.ok()["has_second_factor"], false);
        cora.get("/me").await.problem(401, "auth.token_invalid");
        world.sign_in("cora@customer.example").await;
        let mail = world.mails().await.pop().unwrap();
        assert_eq!((mail.to.as_str(), mail.subject.as_str()), ("cora@customer.example", "Your two-factor authentication was reset"));
        let log = admin.get(&format!("/admin/audit-log?action=two_factor.reset&account_id={}", cora.account_id)).await.ok();
        assert_eq!((&log["rows"][0]["user_id"], &log["rows"][0]["outcome"]), (&json!(admin.user_id), &json!("success")));
        world.end().await;
    }

    async fn an_admin_resets_another_admins_lost_second_factor(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let id = world.user("sam@carrier.example", Role::Support).await;
        let sam = world.sign_in("sam@carrier.example").await;
        Authenticator::confirmed(&world, &sam, "/me/2fa").await;
        assert_eq!(world.try_sign_in("sam@carrier.example", crate::world::PASSWORD).await.ok()["status"], "2fa_required");
        let reset = format!("/admin/users/{id}/2fa-reset");
        assert_eq!(admin.post(&reset, json!({})).await.ok()["has_second_factor"], false);
        sam.get("/me").await.problem(401, "auth.token_invalid");
        world.sign_in("sam@carrier.example").await;
        assert_eq!(world.mails().await.pop().unwrap().subject, "Your two-factor authentication was reset");
        let own = format!("/admin/users/{}/2fa-reset", admin.user_id);
        admin.post(&own, json!({})).await.problem(403, "auth.forbidden");
        world.end().await;
    }
}
