//! Examples of the endpoints for the users of an account.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use values::Role;

use super::examples::{Preparation, Stranger, bodiless, request};
use crate::world::World;
use crate::world::client::Client;
use crate::world::fixtures::{fresh_email, key};

#[rustfmt::skip]
pub const EXAMPLES: &[(&str, &str, Preparation)] = &[
    ("POST", "/account/users", |world| Box::pin(async move {
        let body = json!({"email": fresh_email(), "name": "Tess Technical", "account_role": "technical"});
        request(world.minted(Role::Customer).await, "/account/users", body)
    })),
    ("PATCH", "/account/users/{id}", |world| Box::pin(async move {
        let (owner, path) = with_user(world).await;
        request(owner, &path, json!({"account_role": "billing"}))
    })),
    ("DELETE", "/account/users/{id}", |world| Box::pin(async move {
        let (owner, path) = with_user(world).await;
        bodiless(owner, &path)
    })),
];

#[rustfmt::skip]
pub const STRANGERS: &[(&str, Stranger)] = &[
    ("/account/users/{id}", |world| Box::pin(async move { with_user(world).await.1 })),
];

/// An owner, and the path of a user whom it invited.
async fn with_user(world: &World) -> (Client, String) {
    let owner = world.minted(Role::Customer).await;
    let body = json!({"email": fresh_email(), "name": "Tess Technical", "account_role": "technical"});
    let made = owner.with_key(key()).post("/account/users", body).await.expect(201);
    (owner, format!("/account/users/{}", made["id"].as_str().unwrap()))
}
