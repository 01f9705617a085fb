//! Examples of the endpoints for CDRs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use super::examples::{Preparation, Stranger, bodiless, key, request};
use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::uuid;
use crate::world::fixtures::cdrs::import_cdrs;
use crate::world::fixtures::rates::upstream_with_deck;
use crate::world::fixtures::trunks::create_trunk;

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("GET", "/cdrs/{id}", |world| Box::pin(async move {
        let (customer, id) = with_call(world).await;
        bodiless(customer, &format!("/cdrs/{id}"))
    })),
    ("GET", "/admin/cdrs/{id}", |world| Box::pin(async move {
        let (_, id) = with_call(world).await;
        bodiless(world.minted(Role::Admin).await, &format!("/admin/cdrs/{id}"))
    })),
    ("POST", "/cdrs/{id}/dispute", |world| Box::pin(async move {
        let (customer, id) = with_charged_call(world).await;
        request(customer, &format!("/cdrs/{id}/dispute"), json!({"reason": "Nobody answered"}))
    })),
    ("GET", "/disputes/{id}", |world| Box::pin(async move {
        let (customer, dispute) = with_dispute(world).await;
        bodiless(customer, &dispute)
    })),
    ("GET", "/admin/disputes/{id}", |world| Box::pin(async move {
        let (_, dispute) = with_dispute(world).await;
        bodiless(world.minted(Role::Support).await, &format!("/admin{dispute}"))
    })),
    ("POST", "/admin/disputes/{id}/resolve", |world| Box::pin(async move {
        let (_, dispute) = with_dispute(world).await;
        let decision = json!({"outcome": "credit", "note": "The upstream answered too early"});
        request(world.minted(Role::Admin).await, &format!("/admin{dispute}/resolve"), decision)
    })),
    ("POST", "/cdrs/exports", |world| Box::pin(async move {
        request(world.minted(Role::Customer).await, "/cdrs/exports", range())
    })),
    ("POST", "/admin/cdrs/suspense/rerate", |world| Box::pin(async move {
        suspend_line(world).await;
        request(world.minted(Role::Admin).await, "/admin/cdrs/suspense/rerate", json!({}))
    })),
    ("DELETE", "/admin/cdrs/suspense/{id}", |world| Box::pin(async move {
        let (admin, id) = suspend_line(world).await;
        request(admin, &format!("/admin/cdrs/suspense/{id}"), json!({"reason": "A test call"}))
    })),
    ("POST", "/admin/cdrs/exports", |world| Box::pin(async move {
        request(world.minted(Role::Admin).await, "/admin/cdrs/exports", range())
    })),
    ("GET", "/admin/cdrs/exports/{id}", |world| Box::pin(async move {
        let team = world.minted(Role::Admin).await;
        let asked = team.with_key(key()).post("/admin/cdrs/exports", range()).await.expect(202);
        world.settle().await;
        bodiless(team, &format!("/admin/cdrs/exports/{}", asked["id"].as_str().unwrap()))
    })),
    ("POST", "/calls/simulate", |world| Box::pin(async move {
        let customer = world.minted(Role::Customer).await;
        let trunk = create_trunk(&customer, "First").await;
        let body = json!({"trunk_id": trunk.strip_prefix("/trunks/").unwrap(), "called": "+31201234567"});
        request(customer, "/calls/simulate", body)
    })),
    ("GET", "/cdrs/exports/{id}", |world| Box::pin(async move {
        let (customer, export) = with_export(world).await;
        bodiless(customer, &export)
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/cdrs/{id}", |world| Box::pin(async move { format!("/cdrs/{}", with_call(world).await.1) })),
    ("/cdrs/{id}/dispute", |world| Box::pin(async move {
        format!("/cdrs/{}/dispute", with_charged_call(world).await.1)
    })),
    ("/disputes/{id}", |world| Box::pin(async move { with_dispute(world).await.1 })),
    ("/cdrs/exports/{id}", |world| Box::pin(async move { with_export(world).await.1 })),
];

fn range() -> Value {
    json!({"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00Z"})
}

/// A customer and the id of a call of its own.
async fn with_call(world: &World) -> (Client, String) {
    let customer = world.minted(Role::Customer).await;
    let trunk = create_trunk(&customer, "First").await;
    let at = world.seconds() * 1000;
    let line = json!({
        "call_id": uuid().to_string(), "leg": "origination", "trunk_id": trunk.strip_prefix("/trunks/").unwrap(),
        "called": "+31201234567", "started_at": at, "ended_at": at, "status": "busy",
    });
    import_cdrs(world, &[line]).await;
    let page = customer.get("/cdrs").await.ok();
    let id = page["data"][0]["id"].as_str().unwrap().to_owned();
    (customer, id)
}

/// A customer and the id of a call of its own that was charged.
async fn with_charged_call(world: &World) -> (Client, String) {
    let admin = world.minted(Role::Admin).await;
    upstream_with_deck(world, &admin, "Carrier", "EUR", 0.0, "31,Netherlands,NL,0.06\n").await;
    let customer = world.minted(Role::Customer).await;
    let trunk = create_trunk(&customer, "First").await;
    let at = world.node.app.clock.now().millis();
    let line = json!({
        "call_id": uuid().to_string(), "leg": "termination", "trunk_id": trunk.strip_prefix("/trunks/").unwrap(),
        "called": "+31201234567", "started_at": at, "answered_at": at, "ended_at": at + 60_000, "status": "answered",
    });
    import_cdrs(world, &[line]).await;
    let page = customer.get("/cdrs").await.ok();
    let id = page["data"][0]["id"].as_str().unwrap().to_owned();
    (customer, id)
}

/// A customer and the path of a dispute of its own.
async fn with_dispute(world: &World) -> (Client, String) {
    let (customer, id) = with_charged_call(world).await;
    let path = format!("/cdrs/{id}/dispute");
    let dispute = customer.with_key(key()).post(&path, json!({"reason": "Nobody answered"})).await.expect(201);
    (customer, format!("/disputes/{}", dispute["id"].as_str().unwrap()))
}

/// An admin and the id of a suspended line.
async fn suspend_line(world: &World) -> (Client, String) {
    let (admin, at) = (world.minted(Role::Admin).await, world.seconds() * 1000);
    let line = json!({
        "call_id": uuid().to_string(), "leg": "termination", "trunk_id": uuid(), "called": "+31201234567",
        "started_at": at, "ended_at": at, "status": "busy",
    });
    let ops = world.operations();
    let answer = ops.send(ops.request(Method::POST, "/switch/cdrs").body(line.to_string())).await.ok();
    assert_eq!(answer["suspended"], 1, "{answer}");
    let page = admin.get("/admin/cdrs/suspense").await.ok();
    let id = page["data"][0]["id"].as_str().unwrap().to_owned();
    (admin, id)
}

async fn with_export(world: &World) -> (Client, String) {
    let customer = world.minted(Role::Customer).await;
    let asked = customer.with_key(key()).post("/cdrs/exports", range()).await.expect(202);
    world.settle().await;
    (customer, format!("/cdrs/exports/{}", asked["id"].as_str().unwrap()))
}
