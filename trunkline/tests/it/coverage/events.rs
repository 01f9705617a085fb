//! Examples of the endpoints for events and webhooks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use values::Role;

use super::examples::{Preparation, Request, Stranger, bodiless, request};
use crate::world::World;
use crate::world::client::Client;
use crate::world::fixtures::events::{create_endpoint, endpoint_body, events};
use crate::world::fixtures::key;
use crate::world::fixtures::trunks::create_trunk;

const OWN: &str = "/webhook-endpoints";
const TEAM: &str = "/admin/webhook-endpoints";

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("GET", "/events/{id}", |world| Box::pin(async move {
        let (customer, event) = with_event(world).await;
        bodiless(customer, &event)
    })),
    ("PUT", "/me/notification-preferences", |world| Box::pin(async move {
        let body = json!({"data": [{"code": "rates.changed", "mail": false}]});
        request(world.minted(Role::Customer).await, "/me/notification-preferences", body)
    })),
    ("POST", "/webhook-endpoints", |world| Box::pin(async move {
        request(world.minted(Role::Customer).await, OWN, endpoint_body("https://erp.invalid/"))
    })),
    ("GET", "/webhook-endpoints/{id}", |world| Box::pin(async move { on_endpoint(world, OWN, "").await })),
    ("PATCH", "/webhook-endpoints/{id}", |world| Box::pin(async move { with_description(world, OWN).await })),
    ("DELETE", "/webhook-endpoints/{id}", |world| Box::pin(async move { on_endpoint(world, OWN, "").await })),
    ("POST", "/webhook-endpoints/{id}/rotate-secret", |world| Box::pin(async move { on_endpoint(world, OWN, "/rotate-secret").await })),
    ("POST", "/webhook-endpoints/{id}/test", |world| Box::pin(async move { on_endpoint(world, OWN, "/test").await })),
    ("GET", "/webhook-endpoints/{id}/deliveries", |world| Box::pin(async move { on_endpoint(world, OWN, "/deliveries").await })),
    ("GET", "/webhook-endpoints/{id}/deliveries/{delivery_id}", |world| Box::pin(async move { on_delivery(world, OWN, "").await })),
    ("POST", "/webhook-endpoints/{id}/deliveries/{delivery_id}/retry", |world| Box::pin(async move { on_delivery(world, OWN, "/retry").await })),
    ("POST", "/webhook-endpoints/{id}/replay", |world| Box::pin(async move { replaying(world, OWN).await })),

    ("GET", "/admin/events/{id}", |world| Box::pin(async move {
        let (_, event) = with_event(world).await;
        bodiless(world.minted(Role::Support).await, &format!("/admin{event}"))
    })),
    ("POST", "/admin/webhook-endpoints", |world| Box::pin(async move {
        request(team_member(world).await, TEAM, endpoint_body("https://erp.invalid/"))
    })),
    ("GET", "/admin/webhook-endpoints/{id}", |world| Box::pin(async move { on_endpoint(world, TEAM, "").await })),
    ("PATCH", "/admin/webhook-endpoints/{id}", |world| Box::pin(async move { with_description(world, TEAM).await })),
    ("DELETE", "/admin/webhook-endpoints/{id}", |world| Box::pin(async move { on_endpoint(world, TEAM, "").await })),
    ("POST", "/admin/webhook-endpoints/{id}/rotate-secret", |world| Box::pin(async move { on_endpoint(world, TEAM, "/rotate-secret").await })),
    ("POST", "/admin/webhook-endpoints/{id}/test", |world| Box::pin(async move { on_endpoint(world, TEAM, "/test").await })),
    ("GET", "/admin/webhook-endpoints/{id}/deliveries", |world| Box::pin(async move { on_endpoint(world, TEAM, "/deliveries").await })),
    ("GET", "/admin/webhook-endpoints/{id}/deliveries/{delivery_id}", |world| Box::pin(async move { on_delivery(world, TEAM, "").await })),
    ("POST", "/admin/webhook-endpoints/{id}/deliveries/{delivery_id}/retry", |world| Box::pin(async move { on_delivery(world, TEAM, "/retry").await })),
    ("POST", "/admin/webhook-endpoints/{id}/replay", |world| Box::pin(async move { replaying(world, TEAM).await })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/events/{id}", |world| Box::pin(async move { with_event(world).await.1 })),
    ("/webhook-endpoints/{id}", |world| Box::pin(async move { on_endpoint(world, OWN, "").await.path })),
    ("/webhook-endpoints/{id}/rotate-secret", |world| Box::pin(async move { on_endpoint(world, OWN, "/rotate-secret").await.path })),
    ("/webhook-endpoints/{id}/test", |world| Box::pin(async move { on_endpoint(world, OWN, "/test").await.path })),
    ("/webhook-endpoints/{id}/deliveries", |world| Box::pin(async move { on_endpoint(world, OWN, "/deliveries").await.path })),
    ("/webhook-endpoints/{id}/deliveries/{delivery_id}", |world| Box::pin(async move { on_delivery(world, OWN, "").await.path })),
    ("/webhook-endpoints/{id}/deliveries/{delivery_id}/retry", |world| Box::pin(async move { on_delivery(world, OWN, "/retry").await.path })),
    ("/webhook-endpoints/{id}/replay", |world| Box::pin(async move { on_endpoint(world, OWN, "/replay").await.path })),
];

async fn with_event(world: &World) -> (Client, String) {
    let customer = world.minted(Role::Customer).await;
    create_trunk(&customer, "Main").await;
    world.settle().await;
    let event = events(&customer, "").await.remove(0);
    (customer, format!("/events/{}", event["id"].as_str().unwrap()))
}

/// An admin for whom there is room for one more endpoint of the team.
async fn team_member(world: &World) -> Client {
    let admin = world.minted(Role::Admin).await;
    for endpoint in admin.get(TEAM).await.ok()["data"].as_array().unwrap() {
        admin.delete(&format!("{TEAM}/{}", endpoint["id"].as_str().unwrap())).await.expect(204);
    }
    admin
}

async fn caller(world: &World, at: &str) -> Client {
    if at == TEAM { team_member(world).await } else { world.minted(Role::Customer).await }
}

async fn on_endpoint(world: &World, at: &str, what: &str) -> Request {
    let caller = caller(world, at).await;
    let endpoint = create_endpoint(&caller, at, endpoint_body("https://erp.invalid/")).await;
    bodiless(caller, &format!("{at}/{}{what}", endpoint["id"].as_str().unwrap()))
}

async fn with_description(world: &World, at: &str) -> Request {
    Request { body: Some(json!({"description": "Our ERP"})), ..on_endpoint(world, at, "").await }
}

async fn replaying(world: &World, at: &str) -> Request {
    Request { body: Some(json!({"from": "2026-01-01T00:00:00Z"})), ..on_endpoint(world, at, "/replay").await }
}

async fn on_delivery(world: &World, at: &str, what: &str) -> Request {
    let endpoint = on_endpoint(world, at, "").await;
    let path = format!("{}/test", endpoint.path);
    let delivery = endpoint.caller.with_key(key()).call(hyper::Method::POST, &path, None).await.expect(202);
    // The first attempt changes it.
    world.settle().await;
    let path = format!("{}/deliveries/{}{what}", endpoint.path, delivery["id"].as_str().unwrap());
    bodiless(endpoint.caller, &path)
}
