//! Examples of the endpoints for numbers, number orders and inventory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use values::Role;

use super::examples::{Preparation, Request, Stranger, bodiless, request};
use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::uuid;
use crate::world::fixtures::numbers::{
    AMSTERDAM, DOCUMENTS_REQUIRED, import_inventory, inventory_csv, list_numbers, new_trunk_id, order_number,
};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("GET", "/numbers/{id}", |world| Box::pin(async move {
        let (customer, path) = with_number(world).await;
        bodiless(customer, &path)
    })),
    ("PATCH", "/numbers/{id}", |world| Box::pin(async move {
        let (customer, path) = with_number(world).await;
        let trunk = new_trunk_id(&customer).await;
        request(customer, &path, json!({"trunk_id": trunk}))
    })),
    ("DELETE", "/numbers/{id}", |world| Box::pin(async move {
        let (customer, path) = with_number(world).await;
        bodiless(customer, &path)
    })),
    ("GET", "/trunks/{id}/dids", |world| Box::pin(async move {
        let customer = world.minted(Role::Customer).await;
        let trunk = new_trunk_id(&customer).await;
        bodiless(customer, &format!("/trunks/{trunk}/dids"))
    })),
    ("GET", "/numbers/inventory/{id}", |world| Box::pin(async move {
        let group = new_group(world, AMSTERDAM).await;
        bodiless(world.minted(Role::Customer).await, &format!("/numbers/inventory/{group}"))
    })),
    ("POST", "/numbers/orders", |world| Box::pin(async move {
        let group = new_group(world, AMSTERDAM).await;
        let (customer, trunk) = new_customer(world).await;
        request(customer, "/numbers/orders", json!({"inventory_id": group, "trunk_id": trunk}))
    })),
    ("GET", "/numbers/orders/{id}", |world| Box::pin(async move {
        let (customer, order) = with_order(world, AMSTERDAM).await;
        bodiless(customer, &path_of(&order))
    })),
    ("POST", "/numbers/orders/{id}/cancel", |world| Box::pin(async move {
        let (customer, order) = with_order(world, DOCUMENTS_REQUIRED).await;
        bodiless(customer, &format!("{}/cancel", path_of(&order)))
    })),
    ("POST", "/numbers/order", |world| Box::pin(async move {
        new_group(world, AMSTERDAM).await;
        let (customer, _) = new_customer(world).await;
        request(customer, "/numbers/order", json!({"country": "NL", "type": "geographic", "area_code": "20"}))
    })),
    ("POST", "/admin/did-inventory/import", |world| Box::pin(async move {
        let admin = world.minted(Role::Admin).await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let table = Some(inventory_csv(31_201_000_000, 1, AMSTERDAM));
        Request { table, ..bodiless(admin, &format!("/admin/did-inventory/import?upstream_id={upstream}")) }
    })),
    ("GET", "/admin/did-inventory/imports/{import_id}", |world| Box::pin(async move {
        let admin = world.minted(Role::Admin).await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let report = import_inventory(world, &admin, &upstream, &inventory_csv(31_201_000_000, 1, AMSTERDAM)).await;
        bodiless(admin, &format!("/admin/did-inventory/imports/{}", report["id"].as_str().unwrap()))
    })),
    ("GET", "/admin/did-inventory/{id}", |world| Box::pin(async move {
        new_group(world, AMSTERDAM).await;
        let team = world.minted(Role::Support).await;
        let listed = team.get("/admin/did-inventory?limit=1").await.ok();
        let path = format!("/admin/did-inventory/{}", listed["data"][0]["id"].as_str().unwrap());
        bodiless(team, &path)
    })),
    ("PATCH", "/admin/did-inventory/{id}", |world| Box::pin(async move {
        new_group(world, AMSTERDAM).await;
        let admin = world.minted(Role::Admin).await;
        let listed = admin.get("/admin/did-inventory?limit=1").await.ok();
        let path = format!("/admin/did-inventory/{}", listed["data"][0]["id"].as_str().unwrap());
        request(admin, &path, json!({"is_active": false}))
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/numbers/{id}", |world| Box::pin(async move { with_number(world).await.1 })),
    ("/trunks/{id}/dids", |world| Box::pin(async move {
        format!("/trunks/{}/dids", new_trunk_id(&world.minted(Role::Customer).await).await)
    })),
    // Inventory is the same for every account: the stranger is an unknown group.
    ("/numbers/inventory/{id}", |_| Box::pin(async move { format!("/numbers/inventory/{}", uuid()) })),
    ("/numbers/orders/{id}", |world| Box::pin(async move { path_of(&with_order(world, AMSTERDAM).await.1) })),
    ("/numbers/orders/{id}/cancel", |world| Box::pin(async move {
        format!("{}/cancel", path_of(&with_order(world, DOCUMENTS_REQUIRED).await.1))
    })),
];

fn path_of(order: &Value) -> String {
    format!("/numbers/orders/{}", order["id"].as_str().unwrap())
}

/// A fresh number on these terms, and the group it is ordered from.
async fn new_group(world: &World, terms: &str) -> String {
    let admin = world.minted(Role::Admin).await;
    let upstream = create_upstream(&admin, upstream_body()).await;
    let prefix = if terms == DOCUMENTS_REQUIRED { 3130 } else { 3120 };
    let number = prefix * 10_000_000 + u64::from(uuid().as_u128() as u32 % 10_000_000);
    import_inventory(world, &admin, &upstream, &inventory_csv(number, 1, terms)).await;
    let groups = world.minted(Role::Customer).await.get(&format!("/numbers/inventory?prefix={prefix}")).await.ok();
    groups["data"][0]["id"].as_str().unwrap().to_owned()
}

async fn new_customer(world: &World) -> (Client, String) {
    let customer = world.minted(Role::Customer).await;
    let account = customer.get("/account").await.ok()["id"].as_str().unwrap().to_owned();
    world.top_up(&account, 10_000).await;
    let trunk = new_trunk_id(&customer).await;
    (customer, trunk)
}

async fn with_order(world: &World, terms: &str) -> (Client, Value) {
    let group = new_group(world, terms).await;
    let (customer, trunk) = new_customer(world).await;
    let ordered = order_number(&customer, &group, &trunk).await.expect(201);
    (customer, ordered)
}

async fn with_number(world: &World) -> (Client, String) {
    let (customer, _) = with_order(world, AMSTERDAM).await;
    let path = format!("/numbers/{}", list_numbers(&customer).await[0]["id"].as_str().unwrap());
    (customer, path)
}
