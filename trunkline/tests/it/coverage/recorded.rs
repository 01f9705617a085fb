//! Every change succeeds as its example says, leaves its audit row, and respects its idempotency key.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use api::auth::Who;
use api::endpoint::{Endpoint, Idempotency};
use db::Db;
use db::params;
use server::routes;
use values::{AccountId, Role, UserId};

use super::document::{COMMON_HEADERS, described_headers, description};
use super::examples::{example, needs_example, send};
use super::name;
use crate::world::World;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::key;

both! {
    async fn every_example_succeeds_with_its_documented_status(db) {
        let world = World::unlimited(db).await;
        let description = description();
        for endpoint in routes::table().iter().filter(|endpoint| needs_example(endpoint)) {
            let answer = send(&example(&world, endpoint).await, &endpoint.method).await;
            let text = String::from_utf8_lossy(&answer.bytes).into_owned();
            assert_eq!(answer.status, endpoint.handler.status().as_u16(), "{}: {text}", name(endpoint));
            let described = described_headers(&description, endpoint, answer.status);
            for header in answer.headers.keys().filter(|header| !COMMON_HEADERS.contains(&header.as_str())) {
                assert!(described.contains(header.as_str()), "{} does not tell of {header}", name(endpoint));
            }
        }
        world.end().await;
    }

    async fn every_change_leaves_an_audit_row_with_its_action(db) {
        let world = World::unlimited(db).await;
        for endpoint in routes::table().iter().filter(|endpoint| endpoint.changes()) {
            let request = example(&world, endpoint).await;
            let before = audited(db).await.len();
            send(&request, &endpoint.method).await.expect(endpoint.handler.status().as_u16());
            let rows = audited(db).await.split_off(before);
            let expected = endpoint.audit_action().map(|action| (action.to_owned(), "success".to_owned()));
            let expected: Vec<_> = expected.into_iter().collect();
            assert_eq!(rows, expected, "{}", name(endpoint));
        }
        world.end().await;
    }

    async fn team_changes_to_a_customer_are_audited_under_its_account(db) {
        let world = World::unlimited(db).await;
        let is_of_the_team = |endpoint: &&Endpoint| matches!(endpoint.who, Who::Team | Who::Admin) && endpoint.audit_action().is_some();
        let is_about_a_customer = |endpoint: &&Endpoint| !OF_NO_CUSTOMER.iter().any(|path| endpoint.path.starts_with(path));
        for endpoint in routes::table().iter().filter(is_of_the_team).filter(is_about_a_customer) {
            let request = example(&world, endpoint).await;
            let me = world.bearing(request.caller.token()).get("/me").await.ok();
            send(&request, &endpoint.method).await.expect(endpoint.handler.status().as_u16());
            let mut reader = db.read().await.unwrap();
            let (account, user): (AccountId, UserId) =
                reader.one("SELECT account_id, user_id FROM audit_log ORDER BY seq DESC LIMIT 1", params![]).await.unwrap();
            assert_eq!(user.to_string(), me["user"]["id"].as_str().unwrap(), "{}", name(endpoint));
            assert_ne!(account.uuid().to_string(), me["account"]["id"].as_str().unwrap(), "{}", name(endpoint));
        }
        world.end().await;
    }

    async fn a_refused_change_leaves_an_audit_row_too(db) {
        let world = World::unlimited(db).await;
        let is_guarded = |endpoint: &&Endpoint| endpoint.changes() && endpoint.who.roles() == ["admin"];
        for endpoint in routes::table().iter().filter(is_guarded) {
            let mut request = example(&world, endpoint).await;
            request.caller = world.minted(Role::Customer).await.with_key(key());
            let before = audited(db).await.len();
            send(&request, &endpoint.method).await.problem(403, "auth.forbidden");
            let rows = audited(db).await.split_off(before);
            let action = endpoint.audit_action().unwrap().to_owned();
            assert_eq!(rows, [(action, "failure".to_owned())], "{}", name(endpoint));
        }
        world.end().await;
    }

    async fn a_repeated_key_is_replayed_on_every_endpoint_that_accepts_one(db) {
        let world = World::unlimited(db).await;
        let rows = rows_with(Idempotency::Required).chain(rows_with(Idempotency::Honoured));
        for endpoint in rows {
            let mut request = example(&world, &endpoint).await;
            request.caller = world.bearing(request.caller.token()).with_key(key());
            let first = send(&request, &endpoint.method).await;
            assert_eq!(first.status, endpoint.handler.status().as_u16(), "{}", name(&endpoint));
            let before = audited(db).await.len();
            let again = send(&request, &endpoint.method).await;
            assert_eq!((again.status, &again.bytes), (first.status, &first.bytes), "{}", name(&endpoint));
            assert_eq!(again.header("idempotent-replayed"), Some("true"), "{}", name(&endpoint));
            assert_eq!(audited(db).await.len(), before, "{} acted twice", name(&endpoint));
        }
        world.end().await;
    }

    async fn an_endpoint_that_requires_a_key_refuses_requests_without_one(db) {
        let world = World::unlimited(db).await;
        for endpoint in rows_with(Idempotency::Required) {
            let mut request = example(&world, &endpoint).await;
            request.caller = world.bearing(request.caller.token());
            send(&request, &endpoint.method).await.problem(400, "idempotency.key_required");
        }
        world.end().await;
    }

    async fn a_key_that_is_not_a_uuid_v4_is_refused_everywhere(db) {
        let world = World::unlimited(db).await;
        let rows = rows_with(Idempotency::Required).chain(rows_with(Idempotency::Honoured));
        for endpoint in rows {
            let mut request = example(&world, &endpoint).await;
            let caller = world.bearing(request.caller.token());
            let version_7 = uuid().to_string();
            for key in ["", "1", "\"\"", &version_7, "{9f1b6c1e-6a53-4d2e-9d0c-0b1c2d3e4f50", &"z".repeat(36)] {
                request.caller = caller.header("Idempotency-Key", key);
                let answer = send(&request, &endpoint.method).await;
                assert_eq!(answer.status, 400, "{} with key {key:?}", name(&endpoint));
                answer.problem(400, "idempotency.key_required");
            }
        }
        world.end().await;
    }
}

/// Endpoints of the team that do not change a customer.
const OF_NO_CUSTOMER: [&str; 15] = [
    "/admin/api-keys",
    "/admin/cdrs/exports",
    "/admin/webhook-endpoints",
    "/admin/cdrs/suspense",
    "/admin/account-managers",
    "/admin/notices",
    "/admin/users",
    "/admin/upstreams",
    "/admin/did-inventory",
    "/admin/fx-rates",
    "/admin/rate-plans",
    "/admin/routing-policies",
    "/admin/2fa",
    "/admin/bootstrap",
    "/admin/demo-data",
];

fn rows_with(idempotency: Idempotency) -> impl Iterator<Item = Endpoint> {
    routes::table().into_iter().filter(move |endpoint| endpoint.idempotency == idempotency)
}

/// Action and outcome of every audit row, oldest first.
async fn audited(db: &Db) -> Vec<(String, String)> {
    let mut reader = db.read().await.unwrap();
    reader.all("SELECT action, outcome FROM audit_log ORDER BY seq", params![]).await.unwrap()
}
