//! Examples of the endpoints for support and the team.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use serde_json::{Value, json};
use values::Role;

use super::examples::{Preparation, Request, Stranger, bodiless, request};
use crate::world::World;
use crate::world::client::Client;
use crate::world::fixtures::fresh_email;
use crate::world::fixtures::tickets::ticket_body;

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("POST", "/tickets", |world| Box::pin(async move {
        request(world.minted(Role::Customer).await, "/tickets", ticket_body())
    })),
    ("GET", "/tickets/{id}", |world| Box::pin(async move {
        let (customer, ticket) = with_ticket(world).await;
        bodiless(customer, &ticket)
    })),
    ("POST", "/tickets/{id}/messages", |world| Box::pin(async move {
        let (customer, ticket) = with_ticket(world).await;
        request(customer, &format!("{ticket}/messages"), json!({"body": "And another thing"}))
    })),
    ("POST", "/tickets/{id}/close", |world| Box::pin(async move {
        let (customer, ticket) = with_ticket(world).await;
        bodiless(customer, &format!("{ticket}/close"))
    })),
    ("GET", "/admin/tickets/{id}", |world| Box::pin(async move {
        let (_, ticket) = with_ticket(world).await;
        bodiless(world.minted(Role::Support).await, &format!("/admin{ticket}"))
    })),
    ("PATCH", "/admin/tickets/{id}", |world| Box::pin(async move {
        let (_, ticket) = with_ticket(world).await;
        admin(world, &format!("/admin{ticket}"), json!({"priority": "high"})).await
    })),
    ("POST", "/admin/tickets/{id}/messages", |world| Box::pin(async move {
        let (_, ticket) = with_ticket(world).await;
        admin(world, &format!("/admin{ticket}/messages"), json!({"body": "We are at it"})).await
    })),
    ("GET", "/admin/customers/{id}", |world| Box::pin(async move {
        let customer = customer(world).await;
        bodiless(world.minted(Role::Support).await, &customer)
    })),
    ("PATCH", "/admin/customers/{id}", |world| Box::pin(async move {
        let customer = customer(world).await;
        admin(world, &customer, json!({"onboarding_status": "suspended"})).await
    })),
    ("POST", "/admin/customers/{id}/impersonate", |world| Box::pin(async move {
        let customer = customer(world).await;
        admin(world, &format!("{customer}/impersonate"), json!({"reason": "The customer asked us to look"})).await
    })),
    ("GET", "/admin/customers/{id}/users", |world| Box::pin(async move {
        let customer = customer(world).await;
        bodiless(world.minted(Role::Support).await, &format!("{customer}/users"))
    })),
    ("GET", "/admin/customers/{id}/trunks", |world| Box::pin(async move { view(world, "trunks").await })),
    ("GET", "/admin/customers/{id}/numbers", |world| Box::pin(async move { view(world, "numbers").await })),
    ("GET", "/admin/customers/{id}/orders", |world| Box::pin(async move { view(world, "orders").await })),
    ("GET", "/admin/customers/{id}/balance", |world| Box::pin(async move { view(world, "balance").await })),
    ("GET", "/admin/customers/{id}/ledger", |world| Box::pin(async move { view(world, "ledger").await })),
    ("GET", "/admin/customers/{id}/fraud-caps", |world| Box::pin(async move { view(world, "fraud-caps").await })),
    ("GET", "/admin/customers/{id}/api-keys", |world| Box::pin(async move { view(world, "api-keys").await })),
    ("GET", "/admin/customers/{id}/webhook-endpoints", |world| Box::pin(async move {
        view(world, "webhook-endpoints").await
    })),
    ("GET", "/admin/customers/{id}/auto-recharge", |world| Box::pin(async move { view(world, "auto-recharge").await })),
    ("GET", "/admin/customers/{id}/vat/proof-documents", |world| Box::pin(async move {
        let customer = customer(world).await;
        bodiless(world.minted(Role::Support).await, &format!("{customer}/vat/proof-documents"))
    })),
    ("GET", "/admin/customers/{id}/notes", |world| Box::pin(async move {
        let customer = customer(world).await;
        bodiless(world.minted(Role::Support).await, &format!("{customer}/notes"))
    })),
    ("POST", "/admin/customers/{id}/notes", |world| Box::pin(async move {
        let customer = customer(world).await;
        request(world.minted(Role::Support).await, &format!("{customer}/notes"), json!({"body": "Pays late"}))
    })),
    ("POST", "/admin/account-managers", |world| Box::pin(async move {
        admin(world, "/admin/account-managers", json!({"name": "Max", "email": fresh_email()})).await
    })),
    ("PATCH", "/admin/account-managers/{id}", |world| Box::pin(async move {
        let caller = world.minted(Role::Admin).await;
        let made = caller.post("/admin/account-managers", json!({"name": "Max", "email": fresh_email()})).await;
        let path = format!("/admin/account-managers/{}", made.expect(201)["id"].as_str().unwrap());
        request(caller, &path, json!({"is_active": false}))
    })),
    ("POST", "/admin/notices", |world| Box::pin(async move {
        admin(world, "/admin/notices", notice()).await
    })),
    ("GET", "/admin/notices/{id}", |world| Box::pin(async move {
        let (_, notice) = with_notice(world).await;
        bodiless(world.minted(Role::Support).await, &notice)
    })),
    ("PATCH", "/admin/notices/{id}", |world| Box::pin(async move {
        let (caller, notice) = with_notice(world).await;
        request(caller, &notice, json!({"severity": "critical"}))
    })),
    ("DELETE", "/admin/notices/{id}", |world| Box::pin(async move {
        let (caller, notice) = with_notice(world).await;
        bodiless(caller, &notice)
    })),
    ("POST", "/admin/demo-data", |world| Box::pin(async move {
        let caller = world.minted(Role::Admin).await;
        without_customers(world).await;
        request(caller, "/admin/demo-data", json!({"days": 7, "calls": 0}))
    })),
    ("POST", "/admin/users", |world| Box::pin(async move {
        admin(world, "/admin/users", json!({"email": fresh_email(), "name": "Sam", "roles": ["support"]})).await
    })),
    ("PATCH", "/admin/users/{id}", |world| Box::pin(async move {
        let member = world.user(&fresh_email(), Role::Support).await;
        admin(world, &format!("/admin/users/{member}"), json!({"roles": ["admin", "support"]})).await
    })),
    ("POST", "/admin/customers/{id}/users/{user_id}/sign-out", |world| Box::pin(async move {
        bodiless(world.minted(Role::Admin).await, &format!("{}/sign-out", customer_user(world).await))
    })),
    ("POST", "/admin/customers/{id}/users/{user_id}/deactivate", |world| Box::pin(async move {
        bodiless(world.minted(Role::Admin).await, &format!("{}/deactivate", customer_user(world).await))
    })),
    ("POST", "/admin/customers/{id}/users/{user_id}/reactivate", |world| Box::pin(async move {
        bodiless(world.minted(Role::Admin).await, &format!("{}/reactivate", customer_user(world).await))
    })),
    ("POST", "/admin/users/{id}/2fa-reset", |world| Box::pin(async move {
        let member = world.user(&fresh_email(), Role::Support).await;
        bodiless(world.minted(Role::Admin).await, &format!("/admin/users/{member}/2fa-reset"))
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/tickets/{id}", |world| Box::pin(async move { with_ticket(world).await.1 })),
    ("/tickets/{id}/messages", |world| Box::pin(async move { format!("{}/messages", with_ticket(world).await.1) })),
    ("/tickets/{id}/close", |world| Box::pin(async move { format!("{}/close", with_ticket(world).await.1) })),
];

/// Makes everybody the operator's, until the next customer comes: then the demo data are not made.
async fn without_customers(world: &World) {
    let update = world.node.app.db.tx((), |conn, ()| {
        Box::pin(async move { conn.exec("UPDATE onboardings SET is_carrier = TRUE", params![]).await })
    });
    update.await.unwrap();
}

fn notice() -> Value {
    json!({"severity": "info", "title": "Maintenance", "body": "On Sunday.", "starts_at": "2026-01-01T00:00:00Z"})
}

async fn with_ticket(world: &World) -> (Client, String) {
    let customer = world.minted(Role::Customer).await;
    let made = customer.post("/tickets", ticket_body()).await.expect(201);
    (customer, format!("/tickets/{}", made["id"].as_str().unwrap()))
}

async fn with_notice(world: &World) -> (Client, String) {
    let caller = world.minted(Role::Admin).await;
    let made = caller.post("/admin/notices", notice()).await.expect(201);
    (caller, format!("/admin/notices/{}", made["id"].as_str().unwrap()))
}

/// The path of a customer's user.
async fn customer_user(world: &World) -> String {
    let session = world.customer(&fresh_email()).await;
    format!("/admin/customers/{}/users/{}", session.account_id, session.user_id)
}

/// The path of a customer.
async fn customer(world: &World) -> String {
    let customer = world.minted(Role::Customer).await;
    format!("/admin/customers/{}", customer.get("/account").await.ok()["id"].as_str().unwrap())
}

async fn admin(world: &World, path: &str, body: Value) -> Request {
    request(world.minted(Role::Admin).await, path, body)
}

/// What the team sees of a customer.
async fn view(world: &World, what: &str) -> Request {
    let customer = customer(world).await;
    bodiless(world.minted(Role::Support).await, &format!("{customer}/{what}"))
}
