//! Examples of the endpoints for API keys, and which rows are open to keys.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use api::auth::Who;
use api::scopes::Scope;
use serde_json::{Value, json};
use server::routes;
use values::Role;

use super::conditions::readable;
use super::document::description;
use super::examples::{Preparation, Request, Stranger, bodiless, keyed, prepared, request, send};
use super::name;
use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::api_keys::{make_key, make_team_key};

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("POST", "/account/api-keys", |world| Box::pin(async move {
        let body = json!({"name": "Billing export", "scopes": ["calls:read"], "allowed_cidrs": ["192.0.2.0/28"]});
        request(world.minted(Role::Customer).await, "/account/api-keys", body)
    })),
    ("PATCH", "/account/api-keys/{id}", |world| Box::pin(async move {
        let (owner, path) = with_key(world).await;
        request(owner, &path, json!({"name": "Renamed"}))
    })),
    ("DELETE", "/account/api-keys/{id}", |world| Box::pin(async move {
        let (owner, path) = with_key(world).await;
        bodiless(owner, &path)
    })),
    ("POST", "/admin/api-keys", |world| Box::pin(async move {
        let body = json!({"name": "Nightly import", "scopes": ["cdrs:write"]});
        request(world.minted(Role::Admin).await, "/admin/api-keys", body)
    })),
    ("PATCH", "/admin/api-keys/{id}", |world| Box::pin(async move {
        let (admin, path) = with_team_key(world).await;
        request(admin, &path, json!({"name": "Renamed"}))
    })),
    ("DELETE", "/admin/api-keys/{id}", |world| Box::pin(async move {
        let (admin, path) = with_team_key(world).await;
        bodiless(admin, &path)
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/account/api-keys/{id}", |world| Box::pin(async move { with_key(world).await.1 })),
];

async fn with_key(world: &World) -> (Client, String) {
    let owner = world.minted(Role::Customer).await;
    let made = make_key(&owner, &["calls:read"]).await;
    (owner, format!("/account/api-keys/{}", made["id"].as_str().unwrap()))
}

async fn with_team_key(world: &World) -> (Client, String) {
    let admin = world.minted(Role::Admin).await;
    let made = make_team_key(&admin, &["cdrs:write"]).await;
    (admin, format!("/admin/api-keys/{}", made["id"].as_str().unwrap()))
}

/// No scope covers people, keys and documents of identity.
const CLOSED: [&str; 13] = [
    "/auth/",
    "/me",
    "/portal",
    "/account/users",
    "/account/api-keys",
    "/compliance/",
    "/account/vat/",
    "/admin/users",
    "/admin/api-keys",
    "/admin/2fa",
    "/admin/kyb",
    "/admin/compliance",
    "/admin/bootstrap",
];

#[test]
fn no_scope_opens_people_keys_or_documents_of_identity() {
    for endpoint in routes::table() {
        let is_closed = CLOSED.iter().any(|start| endpoint.path.starts_with(start))
            || endpoint.path.contains("/api-keys")
            || endpoint.who == Who::Anyone;
        assert!(!is_closed || endpoint.scopes.is_empty(), "{} is open to API keys", name(&endpoint));
    }
}

#[test]
fn a_change_takes_a_write_scope_except_an_export_and_a_simulation() {
    let is_read = |path: &str| path.contains("/exports") || path == "/calls/simulate";
    for endpoint in routes::table().iter().filter(|endpoint| endpoint.changes() && !is_read(endpoint.path)) {
        for scope in &endpoint.scopes {
            assert!(scope.as_str().ends_with(":write"), "{} takes {scope}", name(endpoint));
        }
    }
}

#[test]
fn rows_for_customers_take_their_scopes_and_rows_of_the_team_its_own() {
    for endpoint in routes::table() {
        let is_teams = matches!(endpoint.who, Who::Team | Who::Admin);
        let fits = endpoint.scopes.iter().all(|scope| scope.is_team() == is_teams);
        assert!(fits, "{} takes {:?}", name(&endpoint), endpoint.scopes);
    }
}

#[test]
fn the_description_names_the_scopes_that_keys_need() {
    let description = description();
    for endpoint in routes::table() {
        let operation = &description["paths"][endpoint.path][endpoint.method.as_str().to_lowercase()];
        let is_named = operation["security"].as_array().unwrap().iter().any(|way| way.get("apiKey").is_some());
        assert_eq!(is_named, !endpoint.scopes.is_empty(), "{}", name(&endpoint));
        if is_named {
            assert_eq!(operation["x-scopes"], json!(endpoint.scopes), "{}", name(&endpoint));
        }
    }
}

both! {
    async fn a_key_succeeds_with_the_scope_of_a_row_and_with_no_other(db) {
        let world = World::unlimited(db).await;
        for endpoint in routes::table().iter().filter(|endpoint| !endpoint.scopes.is_empty()) {
            let needed = endpoint.scopes[0];
            let prepared = match endpoint.changes() {
                true => prepared(&world, endpoint).await,
                false => readable(&world, endpoint).await,
            };
            let covers = |scope: &Scope| endpoint.scopes.iter().any(|needed| scope.covers(*needed));
            let others: Vec<&str> = Scope::ALL.iter().filter(|scope| scope.is_team() == needed.is_team() && !covers(scope))
                .map(|scope| scope.as_str()).collect();
            let [with_it, without] = if needed.is_team() {
                let admin = world.minted(Role::Admin).await;
                [make_team_key(&admin, &[needed.as_str()]).await, make_team_key(&admin, &others).await]
            } else {
                let owner = world.bearing(prepared.caller.token());
                [make_key(&owner, &[needed.as_str()]).await, make_key(&owner, &others).await]
            };
            let by = |made: &Value| keyed(endpoint, Request { caller: world.program(made), ..prepared.clone() });
            let refused = send(&by(&without), &endpoint.method).await;
            assert_eq!(refused.status, 403, "{}: {}", name(endpoint), refused.body);
            assert_eq!(refused.problem(403, "auth.forbidden")["required_scope"], json!(needed), "{}", name(endpoint));
            let answer = send(&by(&with_it), &endpoint.method).await;
            assert_eq!(answer.status, endpoint.handler.status().as_u16(), "{}: {}", name(endpoint), answer.body);
        }
        world.end().await;
    }
}
