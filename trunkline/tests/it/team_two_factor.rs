//! The team's mandatory second factor: without one, a session may only set one up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use server::routes;
use values::Role;

use crate::world::authenticator::Authenticator;
use crate::world::engines::{TestDb, both, uuid};
use crate::world::fixtures::key;
use crate::world::{ADMIN_EMAIL, World};

const REFUSED: &str = "auth.second_factor_required";

async fn strict(db: &TestDb) -> World {
    World::with(db, &[("TRUNKLINE_REQUIRE_TEAM_2FA", "on"), ("TRUNKLINE_RATE_LIMITS", "off")]).await
}

both! {
    async fn the_first_sign_in_of_an_admin_may_only_set_up_a_second_factor(db) {
        let world = strict(db).await;
        let admin = world.admin().await;
        admin.get("/me").await.ok();
        let refused = admin.get("/admin/customers").await.problem(403, REFUSED);
        assert!(refused["detail"].as_str().unwrap().contains("/v1/me/2fa/enroll"), "{refused}");
        let refreshed = world.session(&world.refresh(&admin.refresh_token).await.ok());
        refreshed.get("/admin/customers").await.problem(403, REFUSED);

        let app = Authenticator::confirmed(&world, &refreshed, "/admin/2fa").await;
        refreshed.get("/admin/customers").await.ok();
        // Without it, it is as before.
        let code = app.fresh(&world).await;
        refreshed.post("/admin/2fa/disable", json!({"code": code})).await.expect(204);
        refreshed.get("/admin/customers").await.problem(403, REFUSED);
        let app = Authenticator::confirmed(&world, &refreshed, "/admin/2fa").await;
        let session = world.verify(&world.tmp_token(ADMIN_EMAIL).await, &app.fresh(&world).await).await.ok();
        world.session(&session).get("/admin/customers").await.ok();
        world.end().await;
    }

    async fn customers_need_no_second_factor(db) {
        let world = strict(db).await;
        world.customer("cora@customer.example").await.get("/account").await.ok();
        world.end().await;
    }

    async fn every_row_but_those_to_enrol_refuses_a_team_member_without_one(db) {
        let world = strict(db).await;
        for role in [Role::Admin, Role::Support] {
            let caller = world.minted(role).await;
            for endpoint in routes::table() {
                if !endpoint.who.roles().contains(&role.as_str()) {
                    continue;
                }
                let parts = endpoint.path.split('/').map(|part| if part.starts_with('{') { uuid().to_string() } else { part.into() });
                let path = parts.collect::<Vec<_>>().join("/");
                let answer = caller.with_key(key()).call(endpoint.method.clone(), &path, None).await;
                if endpoint.open_before_enrollment {
                    assert_ne!(answer.status, 403, "{path}: {}", answer.body);
                } else {
                    assert_eq!(answer.status, 403, "{path}: {}", answer.body);
                    answer.problem(403, REFUSED);
                }
            }
        }
        world.end().await;
    }
}
