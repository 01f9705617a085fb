//! Examples of the endpoints for top-ups, saved cards and refunds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use values::Role;

use super::examples::{Preparation, Stranger, bodiless, request};
use crate::world::World;
use crate::world::client::Session;
use crate::world::fixtures::fresh_email;
use crate::world::fixtures::payments::{
    DISPUTED, VISA, amount_body, begin_topup, complete_topup, pay_topup, save_card,
};

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("POST", "/payments/topups", |world| Box::pin(async move {
        request(world.minted(Role::Customer).await, "/payments/topups", amount_body(2_500))
    })),
    ("GET", "/payments/topups/{id}", |world| Box::pin(async move {
        let customer = world.minted(Role::Customer).await;
        let opened = begin_topup(&customer, 2_500).await;
        bodiless(customer, &format!("/payments/topups/{}", text(&opened, "topup_id")))
    })),
    ("GET", "/sandbox/checkouts/{order_id}", |world| Box::pin(async move {
        bodiless(world.anyone(), &checkout(world).await)
    })),
    ("POST", "/sandbox/checkouts/{order_id}", |world| Box::pin(async move {
        // The webhook of the first choice has arrived, so that the second leaves nothing.
        let path = checkout(world).await;
        world.anyone().post(&path, json!({"action": "cancel"})).await.ok();
        world.settle().await;
        request(world.anyone(), &path, json!({"action": "pay", "card_number": VISA}))
    })),
    ("POST", "/payments/methods", |world| Box::pin(async move {
        let return_url = format!("http://{}/cards", world.node.public);
        request(world.minted(Role::Customer).await, "/payments/methods", json!({"return_url": return_url}))
    })),
    ("PATCH", "/payments/methods/{id}", |world| Box::pin(async move {
        let (customer, path) = with_card(world).await;
        request(customer.into_client(), &path, json!({"is_default": true}))
    })),
    ("DELETE", "/payments/methods/{id}", |world| Box::pin(async move {
        let (customer, path) = with_card(world).await;
        bodiless(customer.into_client(), &path)
    })),
    ("GET", "/admin/payments/{id}", |world| Box::pin(async move {
        let topup = complete_topup(world, &world.minted(Role::Customer).await, 2_500).await;
        bodiless(world.minted(Role::Support).await, &format!("/admin/payments/{}", text(&topup, "id")))
    })),
    ("POST", "/admin/payments/{id}/refund", |world| Box::pin(async move {
        let topup = complete_topup(world, &world.minted(Role::Customer).await, 2_500).await;
        let path = format!("/admin/payments/{}/refund", text(&topup, "id"));
        request(world.minted(Role::Admin).await, &path, json!({"reason": "goodwill"}))
    })),
    ("GET", "/admin/chargebacks/{id}", |world| Box::pin(async move {
        pay_topup(world, &world.minted(Role::Customer).await, 2_500, DISPUTED).await;
        let team = world.minted(Role::Support).await;
        let listed = team.get("/admin/chargebacks").await.ok();
        bodiless(team, &format!("/admin/chargebacks/{}", text(&listed["data"][0], "id")))
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/payments/topups/{id}", |world| Box::pin(async move {
        let opened = begin_topup(&world.minted(Role::Customer).await, 2_500).await;
        format!("/payments/topups/{}", text(&opened, "topup_id"))
    })),
    ("/payments/methods/{id}", |world| Box::pin(async move { with_card(world).await.1 })),
    // An order has no owner who signs in: the stranger is an altered id.
    ("/sandbox/checkouts/{order_id}", |world| Box::pin(async move {
        let path = checkout(world).await;
        let (rest, last) = path.split_at(path.len() - 1);
        format!("{rest}{}", if last == "0" { "1" } else { "0" })
    })),
];

/// The path of an open checkout.
async fn checkout(world: &World) -> String {
    let opened = begin_topup(&world.minted(Role::Customer).await, 2_500).await;
    format!("/sandbox/checkouts/{}", text(&opened, "topup_id"))
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

/// A customer with a saved card, and where that is.
async fn with_card(world: &World) -> (Session, String) {
    let customer = world.customer(&fresh_email()).await;
    let path = format!("/payments/methods/{}", text(&save_card(world, &customer, VISA).await, "id"));
    (customer, path)
}
