//! Examples of the endpoints for trunks, allow-lists and live calls.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use values::Role;

use super::examples::{Preparation, Stranger, bodiless, request};
use crate::world::World;
use crate::world::client::Client;
use crate::world::fixtures::fresh_email;
use crate::world::fixtures::switch::live_call;
use crate::world::fixtures::trunks::{allow_network, create_trunk, fresh_address, trunk_body};

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("POST", "/trunks", |world| Box::pin(async move {
        request(world.minted(Role::Customer).await, "/trunks", trunk_body("First"))
    })),
    ("GET", "/trunks/{id}", |world| Box::pin(async move {
        let (customer, trunk) = with_trunk(world).await;
        bodiless(customer, &trunk)
    })),
    ("PATCH", "/trunks/{id}", |world| Box::pin(async move {
        let (customer, trunk) = with_trunk(world).await;
        request(customer, &trunk, json!({"channel_cap": 20}))
    })),
    ("DELETE", "/trunks/{id}", |world| Box::pin(async move {
        let (customer, trunk) = with_trunk(world).await;
        bodiless(customer, &trunk)
    })),
    ("GET", "/trunks/{id}/ip-allow-list", |world| Box::pin(async move {
        let (customer, trunk) = with_trunk(world).await;
        bodiless(customer, &format!("{trunk}/ip-allow-list"))
    })),
    ("POST", "/trunks/{id}/ip-allow-list", |world| Box::pin(async move {
        let (customer, trunk) = with_trunk(world).await;
        request(customer, &format!("{trunk}/ip-allow-list"), json!({"cidr": fresh_address()}))
    })),
    ("DELETE", "/trunks/{id}/ip-allow-list/{entry_id}", |world| Box::pin(async move {
        let (customer, entry) = with_entry(world).await;
        bodiless(customer, &entry)
    })),
    ("GET", "/admin/trunks/{id}", |world| Box::pin(async move {
        let (_, trunk) = with_trunk(world).await;
        bodiless(world.minted(Role::Admin).await, &format!("/admin{trunk}"))
    })),
    ("PUT", "/admin/trunks/{id}/inbound-host", |world| Box::pin(async move {
        let (_, trunk) = with_trunk(world).await;
        let body = json!({"host": "pbx.customer.example"});
        request(world.minted(Role::Admin).await, &format!("/admin{trunk}/inbound-host"), body)
    })),
    ("POST", "/admin/trunks/{id}/ip-allow-list/{entry_id}/verify", |world| Box::pin(async move {
        let (_, entry) = with_entry(world).await;
        bodiless(world.minted(Role::Admin).await, &format!("/admin{entry}/verify"))
    })),
    ("DELETE", "/admin/trunks/{id}/ip-allow-list/{entry_id}", |world| Box::pin(async move {
        let (_, entry) = with_entry(world).await;
        bodiless(world.minted(Role::Admin).await, &format!("/admin{entry}"))
    })),
    ("PUT", "/fraud-caps", |world| Box::pin(async move {
        let body = json!({
            "max_spend_per_day": {"amount_minor": 10_000, "currency": "EUR"},
            "max_rate_per_minute": {"amount": "0.075", "currency": "EUR"},
        });
        request(world.minted(Role::Customer).await, "/fraud-caps", body)
    })),
    ("GET", "/admin/customers/{id}/quotas", |world| Box::pin(async move {
        let customer = world.customer(&fresh_email()).await.account_id;
        bodiless(world.minted(Role::Admin).await, &format!("/admin/customers/{customer}/quotas"))
    })),
    ("PUT", "/admin/customers/{id}/quotas", |world| Box::pin(async move {
        let customer = world.customer(&fresh_email()).await.account_id;
        let body = json!({"data": [{"zone": "eu-west", "limit": 20}]});
        request(world.minted(Role::Admin).await, &format!("/admin/customers/{customer}/quotas"), body)
    })),
    ("POST", "/admin/calls/{id}/hangup", |world| Box::pin(async move {
        let call = live_call(world).await;
        bodiless(world.minted(Role::Admin).await, &format!("/admin/calls/{call}/hangup"))
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/trunks/{id}", |world| Box::pin(async move { with_trunk(world).await.1 })),
    ("/trunks/{id}/ip-allow-list", |world| Box::pin(async move {
        format!("{}/ip-allow-list", with_trunk(world).await.1)
    })),
    ("/trunks/{id}/ip-allow-list/{entry_id}", |world| Box::pin(async move { with_entry(world).await.1 })),
];

async fn with_trunk(world: &World) -> (Client, String) {
    let customer = world.minted(Role::Customer).await;
    let trunk = create_trunk(&customer, "First").await;
    (customer, trunk)
}

async fn with_entry(world: &World) -> (Client, String) {
    let (customer, trunk) = with_trunk(world).await;
    let entry = allow_network(&customer, &trunk, &fresh_address()).await.expect(201);
    (customer, format!("{trunk}/ip-allow-list/{}", entry["id"].as_str().unwrap()))
}
