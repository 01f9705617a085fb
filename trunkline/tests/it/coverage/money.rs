//! Examples of the endpoints for balances and notifications.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use values::Role;

use super::examples::{Preparation, Request, Stranger, bodiless, request};
use crate::world::World;
use crate::world::client::Session;
use crate::world::fixtures::notifications::notify;
use crate::world::fixtures::{fresh_email, key};

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("PUT", "/account/auto-recharge", |world| Box::pin(async move {
        let body = json!({
            "enabled": false,
            "threshold": {"amount_minor": 2500, "currency": "EUR"},
            "recharge_amount": {"amount_minor": 5000, "currency": "EUR"},
            "payment_method_id": null,
        });
        request(world.minted(Role::Customer).await, "/account/auto-recharge", body)
    })),
    ("PUT", "/account/low-balance-notify", |world| Box::pin(async move {
        let body = json!({"enabled": true, "threshold_pct": 50});
        request(world.minted(Role::Customer).await, "/account/low-balance-notify", body)
    })),
    ("POST", "/notifications/{id}/read", |world| Box::pin(async move {
        let (session, path) = with_notification(world).await;
        bodiless(session.into_client(), &path)
    })),
    ("POST", "/notifications/read-all", |world| Box::pin(async move {
        bodiless(with_notification(world).await.0.into_client(), "/notifications/read-all")
    })),
    ("POST", "/admin/credits", |world| Box::pin(async move {
        let customer = world.customer(&fresh_email()).await.account_id;
        let amount = json!({"amount_minor": 100, "currency": "EUR"});
        let body = json!({"customer_id": customer, "amount": amount, "reason": "Sorry"});
        request(world.minted(Role::Admin).await, "/admin/credits", body)
    })),
    ("POST", "/admin/credit-requests", |world| Box::pin(async move {
        let body = credit_request(world).await;
        request(world.minted(Role::Admin).await, "/admin/credit-requests", body)
    })),
    ("GET", "/admin/credit-requests/{id}", |world| Box::pin(async move {
        let request = deciding_credit(world, "approve").await;
        bodiless(world.minted(Role::Support).await, request.path.trim_end_matches("/approve"))
    })),
    ("POST", "/admin/credit-requests/{id}/approve", |world| Box::pin(async move {
        deciding_credit(world, "approve").await
    })),
    ("POST", "/admin/credit-requests/{id}/reject", |world| Box::pin(async move {
        deciding_credit(world, "reject").await
    })),
    ("GET", "/admin/customers/{id}/balance-limits", |world| Box::pin(async move {
        let customer = world.customer(&fresh_email()).await.account_id;
        bodiless(world.minted(Role::Admin).await, &format!("/admin/customers/{customer}/balance-limits"))
    })),
    ("PUT", "/admin/customers/{id}/balance-limits", |world| Box::pin(async move {
        let customer = world.customer(&fresh_email()).await.account_id;
        let amount = json!({"amount_minor": 100, "currency": "EUR"});
        let body = json!({"minimum": amount, "soft_warn_threshold": amount});
        request(world.minted(Role::Admin).await, &format!("/admin/customers/{customer}/balance-limits"), body)
    })),
    ("PUT", "/admin/fx-rates", |world| Box::pin(async move {
        let body = json!({"base": "EUR", "date": "2024-01-02", "rates": {"USD": "1.0956"}});
        request(world.minted(Role::Admin).await, "/admin/fx-rates", body)
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/notifications/{id}/read", |world| Box::pin(async move { with_notification(world).await.1 })),
];

/// A customer with a notification, and the path on which it is marked as read.
async fn with_notification(world: &World) -> (Session, String) {
    let session = world.customer(&fresh_email()).await;
    notify(world, &session.account_id, "NL123456789B01").await;
    let id = session.get("/notifications").await.ok()["data"][0]["id"].as_str().unwrap().to_owned();
    (session, format!("/notifications/{id}/read"))
}

async fn credit_request(world: &World) -> Value {
    let customer = world.customer(&fresh_email()).await.account_id;
    let amount = json!({"amount_minor": 500_000, "currency": "EUR"});
    json!({"customer_id": customer, "amount": amount, "reason": "Sorry"})
}

/// A decision about another admin's credit request.
async fn deciding_credit(world: &World, decision: &str) -> Request {
    let author = world.minted(Role::Admin).await.with_key(key());
    let made = author.post("/admin/credit-requests", credit_request(world).await).await.expect(201);
    let path = format!("/admin/credit-requests/{}/{decision}", made["id"].as_str().unwrap());
    bodiless(world.minted(Role::Admin).await, &path)
}
