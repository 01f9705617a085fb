//! Tokens, roles and ownership on every endpoint.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use api::auth::Who;
use api::endpoint::Endpoint;
use server::routes;
use values::Role;

use super::examples::{Request, example, keyed, needs_example, prepared, send, stranger};
use super::{name, rates, unfounded};
use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::{both, uuid};
use crate::world::fixtures::key;

both! {
    async fn resources_of_another_account_are_not_found(db) {
        let world = World::unlimited(db).await;
        // The team sees every tenant.
        let tenants = |endpoint: &&Endpoint| endpoint.path.contains('{') && !matches!(endpoint.who, Who::Team | Who::Admin);
        for endpoint in routes::table().iter().filter(tenants) {
            let mut request = example(&world, endpoint).await;
            request.path = stranger(&world, endpoint).await;
            refused(endpoint, send(&request, &endpoint.method).await, 404, "not_found");
        }
        world.end().await;
    }

    async fn every_endpoint_that_is_not_public_needs_a_token(db) {
        let world = World::unlimited(db).await;
        for endpoint in routes::table().iter().filter(|endpoint| endpoint.who != Who::Anyone) {
            let without = empty_handed(&world.anyone(), endpoint).await;
            assert_eq!(without.header("www-authenticate"), Some("Bearer"), "{}", name(endpoint));
            refused(endpoint, without, 401, "auth.token_invalid");
            let forged = world.bearing("eyJhbGciOiJub25lIn0.e30.");
            refused(endpoint, empty_handed(&forged, endpoint).await, 401, "auth.token_invalid");
            let basic = world.anyone().header("Authorization", "Basic YTpi");
            refused(endpoint, empty_handed(&basic, endpoint).await, 401, "auth.token_invalid");
        }
        world.end().await;
    }

    async fn an_endpoint_refuses_every_role_it_does_not_name(db) {
        let world = World::unlimited(db).await;
        for role in Role::ALL {
            let caller = world.minted(*role).await;
            for endpoint in routes::table() {
                if endpoint.who != Who::Anyone && !endpoint.who.roles().contains(&role.as_str()) {
                    refused(&endpoint, empty_handed(&caller, &endpoint).await, 403, "auth.forbidden");
                }
            }
        }
        world.end().await;
    }

    async fn a_read_only_token_is_refused_for_every_change(db) {
        let world = World::unlimited(db).await;
        for role in Role::ALL {
            let caller = world.minted_to_read(*role).await;
            for endpoint in routes::table() {
                let admitted = endpoint.who.roles().contains(&role.as_str());
                match (endpoint.changes(), admitted) {
                    (true, true) => refused(&endpoint, empty_handed(&caller, &endpoint).await, 403, "auth.forbidden"),
                    (false, true) if !endpoint.path.contains('{') => {
                        let status = empty_handed(&caller, &endpoint).await.status;
                        // What its owner has not made yet is not there, and looking at it with this token makes nothing.
                        let is_made_later = needs_example(&endpoint) || endpoint.path == "/me/kyb";
                        let expected = match endpoint.path {
                            path if rates::ASKING.contains(&path) => 422,
                            _ if is_made_later => 404,
                            _ => 200,
                        };
                        assert_eq!(status, expected, "{}", name(&endpoint));
                    }
                    _ => {}
                }
            }
        }
        world.end().await;
    }

    async fn an_expired_token_is_distinguished_from_an_invalid_one(db) {
        let world = World::unlimited(db).await;
        let caller = world.minted(Role::Customer).await;
        world.advance(901).await;
        for endpoint in routes::table().iter().filter(|endpoint| endpoint.who != Who::Anyone) {
            refused(endpoint, empty_handed(&caller, endpoint).await, 401, "auth.token_expired");
        }
        world.end().await;
    }

    async fn an_unknown_or_malformed_id_is_not_found(db) {
        let world = World::unlimited(db).await;
        for endpoint in routes::table().iter().filter(|endpoint| endpoint.path.contains('{')) {
            let nobody = uuid().to_string();
            let long = "9".repeat(5000);
            let prepared = prepared(&world, endpoint).await;
            for value in [nobody.as_str(), "1", "no-such-thing", "%00", "%FF", "..%2F..%2Fetc%2Fpasswd", &long] {
                let request = keyed(endpoint, Request { path: unfounded(endpoint, value), ..prepared.clone() });
                refused(endpoint, send(&request, &endpoint.method).await, 404, "not_found");
            }
        }
        world.end().await;
    }
}

/// Calls an endpoint without a body, for refusals before the body is read.
async fn empty_handed(caller: &Client, endpoint: &Endpoint) -> Answer {
    let path = unfounded(endpoint, &uuid().to_string());
    caller.with_key(key()).call(endpoint.method.clone(), &path, None).await
}

#[track_caller]
fn refused(endpoint: &Endpoint, answer: Answer, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{}: {}", name(endpoint), String::from_utf8_lossy(&answer.bytes));
    answer.problem(status, code);
}
