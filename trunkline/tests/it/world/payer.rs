//! A payer at the sandbox checkout, with a browser that does not follow redirects.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::World;
use super::client::{Answer, Client, Session};
use super::engines::uuid;

/// An idempotency key that no other request uses.
pub fn fresh_key() -> Uuid {
    uuid::Builder::from_random_bytes(uuid().into_bytes()).into_uuid()
}

/// Begins a card verification under a fresh key.
pub async fn set_up_card(session: &Session) -> Value {
    session.with_key(fresh_key()).post("/me/card-setup", json!({})).await.expect(201)
}

/// The checkout page of a card verification or top-up.
pub struct Payer {
    client: Client,
    pub checkout_url: String,
}

impl Payer {
    pub fn at(opened: &Value) -> Payer {
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let checkout_url = opened["checkout_url"].as_str().unwrap().to_owned();
        Payer { client: Client::new(http, String::new(), None), checkout_url }
    }

    pub fn order_id(&self) -> &str {
        self.checkout_url.rsplit('/').next().unwrap()
    }

    pub async fn call(&self, method: Method) -> Answer {
        self.client.send(self.client.request(method, &self.checkout_url)).await
    }

    /// Sends the form with these fields.
    pub async fn send(&self, fields: &[(&str, &str)]) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.client.request(Method::POST, &self.checkout_url).body(body);
        self.client.send(request.header("content-type", "application/x-www-form-urlencoded")).await
    }

    /// Makes an accepted choice and runs the jobs that follow.
    pub async fn choose(&self, world: &World, fields: &[(&str, &str)]) {
        let answer = self.send(fields).await;
        assert_eq!(answer.header("location"), Some(format!("http://{}/", world.node.public).as_str()));
        answer.expect(303);
        world.settle().await;
    }

    pub async fn pay(&self, world: &World, card: &str) {
        self.choose(world, &[("action", "pay"), ("card", card)]).await;
    }
}
