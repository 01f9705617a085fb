//! Endpoints that need a recent sign-in refuse a caller whose last one is 15 minutes old, and no others do.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use api::auth::Who;
use api::endpoint::{Endpoint, RecentSignIn};
use serde_json::json;
use server::routes;
use values::Role;

use super::document::description;
use super::examples::{Request, example, send};
use super::name;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::key;
use crate::world::{PASSWORD, World};

const TOO_OLD: &str = "auth.reauthentication_required";

/// Fields that need a recent sign-in, with a value that is valid.
const FIELDS: &[(&str, &str)] = &[("inbound_uri", "sip:pbx3.customer.example")];

/// Every user last proved its identity 15 minutes and a millisecond ago.
async fn age(db: &TestDb, world: &World) {
    let then = world.node.app.clock.now().millis() - 900_001;
    db.ddl(&format!(
        "UPDATE access_tokens SET authenticated_at = {then}; UPDATE sessions SET authenticated_at = {then};"
    ))
    .await;
}

/// The example, changed so that it needs a recent sign-in.
async fn sensitive(world: &World, endpoint: &Endpoint) -> Request {
    let mut request = example(world, endpoint).await;
    if let RecentSignIn::NeededFor(field) = endpoint.recent_sign_in {
        let found = FIELDS.iter().find(|(name, _)| *name == field);
        let (_, value) =
            found.unwrap_or_else(|| panic!("{field} needs a line in FIELDS of coverage/recent_sign_in.rs"));
        request.body.as_mut().unwrap()[field] = json!(value);
    }
    request
}

both! {
    async fn rows_that_need_a_recent_sign_in_refuse_an_older_one(db) {
        let world = World::unlimited(db).await;
        let mut rows = 0;
        for endpoint in routes::table().iter().filter(|endpoint| endpoint.recent_sign_in != RecentSignIn::NotNeeded) {
            let request = sensitive(&world, endpoint).await;
            age(db, &world).await;
            let refused = send(&request, &endpoint.method).await;
            assert_eq!(refused.status, 403, "{}: {}", name(endpoint), refused.body);
            refused.problem(403, TOO_OLD);
            rows += 1;
        }
        assert!(rows >= 22, "only {rows} rows need a recent sign-in");
        world.end().await;
    }

    async fn rows_that_need_a_recent_sign_in_are_closed_to_impersonation(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let path = format!("/admin/customers/{}/impersonate", cora.account_id);
        for endpoint in routes::table().iter().filter(|endpoint| endpoint.recent_sign_in != RecentSignIn::NotNeeded) {
            let mut request = sensitive(&world, endpoint).await;
            // The admin's own sign-in is recent, and so is the customer's.
            let given = world.minted(Role::Admin).await.post(&path, json!({"reason": "Ticket 7"})).await.ok();
            let eyes = world.bearing(given["access_token"].as_str().unwrap());
            eyes.post("/auth/reauthenticate", json!({"password": PASSWORD})).await.problem(403, "auth.forbidden");
            request.caller = eyes.with_key(key());
            let refused = send(&request, &endpoint.method).await;
            assert_eq!(refused.status, 403, "{}: {}", name(endpoint), refused.body);
            refused.problem(403, "auth.forbidden");
        }
        world.end().await;
    }

    async fn rows_that_need_no_recent_sign_in_accept_an_older_one(db) {
        let world = World::unlimited(db).await;
        let is_open = |endpoint: &&Endpoint| endpoint.recent_sign_in != RecentSignIn::Needed;
        let is_change = |endpoint: &&Endpoint| endpoint.who != Who::Anyone && endpoint.changes();
        for endpoint in routes::table().iter().filter(is_change).filter(is_open) {
            let request = example(&world, endpoint).await;
            age(db, &world).await;
            let answer = send(&request, &endpoint.method).await;
            assert_eq!(answer.status, endpoint.handler.status().as_u16(), "{}: {}", name(endpoint), answer.body);
        }
        world.end().await;
    }
}

#[test]
fn the_description_names_the_rows_that_need_a_recent_sign_in() {
    let description = description();
    for endpoint in routes::table() {
        let operation = &description["paths"][endpoint.path][endpoint.method.as_str().to_lowercase()];
        let expected = match endpoint.recent_sign_in {
            RecentSignIn::NotNeeded => json!(null),
            RecentSignIn::Needed => json!(true),
            RecentSignIn::NeededFor(field) => json!([field]),
        };
        assert_eq!(operation["x-recent-sign-in"], expected, "{}", name(&endpoint));
        let codes = operation["responses"]["403"]["x-problem-codes"].as_array().cloned().unwrap_or_default();
        assert_eq!(codes.contains(&json!(TOO_OLD)), !expected.is_null(), "{}", name(&endpoint));
    }
}
