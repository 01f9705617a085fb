//! Step-up: sensitive changes need a sign-in of the last 15 minutes, or a proof of identity since.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use crate::world::authenticator::Authenticator;
use crate::world::client::{Client, Session};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::key;
use crate::world::{PASSWORD, World};

const CORA: &str = "cora@customer.example";
const TOO_OLD: &str = "auth.reauthentication_required";

/// A customer who signed in 800 seconds ago and has refreshed its tokens since.
async fn refreshed(db: &TestDb) -> (World, Session) {
    let world = World::unlimited(db).await;
    let cora = world.customer(CORA).await;
    world.advance(800).await;
    let cora = world.session(&world.refresh(&cora.refresh_token).await.ok());
    (world, cora)
}

async fn raise_caps(caller: &Client) -> crate::world::client::Answer {
    let cap = json!({"amount_minor": 100_000, "currency": "EUR"});
    let caps = json!({"max_spend_per_day": cap, "max_rate_per_minute": {"amount": "0.075", "currency": "EUR"}});
    caller.call(reqwest::Method::PUT, "/fraud-caps", Some(caps)).await
}

fn trunk(inbound_uri: Option<&str>) -> Value {
    let mut trunk = json!({"name": "PBX", "zone": "eu-west", "channel_cap": 10});
    if let Some(uri) = inbound_uri {
        trunk["inbound_uri"] = uri.into();
    }
    trunk
}

both! {
    async fn refreshing_tokens_does_not_make_a_sign_in_recent(db) {
        let (world, cora) = refreshed(db).await;
        raise_caps(&cora).await.ok();
        world.advance(60).await;
        raise_caps(&cora).await.ok();
        world.advance(60).await;
        let refused = raise_caps(&cora).await.problem(403, TOO_OLD);
        assert!(refused["detail"].as_str().unwrap().contains("/v1/auth/reauthenticate"), "{refused}");
        let again = world.session(&world.refresh(&cora.refresh_token).await.ok());
        raise_caps(&again).await.problem(403, TOO_OLD);
        // Reads and other changes go on.
        again.get("/fraud-caps").await.ok();
        again.patch("/account", json!({"company_name": "Renamed GmbH"})).await.ok();
        world.end().await;
    }

    async fn the_password_makes_a_session_recent_for_15_minutes(db) {
        let (world, cora) = refreshed(db).await;
        let other = world.sign_in(CORA).await;
        world.advance(800).await;
        let other = world.session(&world.refresh(&other.refresh_token).await.ok());
        world.advance(101).await;
        let cora = world.session(&world.refresh(&cora.refresh_token).await.ok());
        let prove = "/auth/reauthenticate";
        cora.post(prove, json!({"password": "not the password"})).await.problem(401, "auth.invalid_credentials");
        assert_eq!(cora.post(prove, json!({})).await.invalid(), ["password"]);
        assert_eq!(cora.post(prove, json!({"code": "123456"})).await.invalid(), ["password"]);
        raise_caps(&cora).await.problem(403, TOO_OLD);
        cora.post(prove, json!({"password": PASSWORD})).await.ok();
        raise_caps(&cora).await.ok();
        // Another session of the same user is not.
        raise_caps(&other).await.problem(403, TOO_OLD);

        // The tokens that follow have it too, until it is old.
        let next = world.session(&world.refresh(&cora.refresh_token).await.ok());
        raise_caps(&next).await.ok();
        world.advance(840).await;
        raise_caps(&next).await.ok();
        let last = world.session(&world.refresh(&next.refresh_token).await.ok());
        world.advance(90).await;
        raise_caps(&last).await.problem(403, TOO_OLD);
        world.anyone().post(prove, json!({"password": PASSWORD})).await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn with_a_second_factor_the_proof_is_a_code_and_not_the_password(db) {
        let (world, cora) = refreshed(db).await;
        let app = Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        world.advance(840).await;
        let cora = world.session(&world.refresh(&cora.refresh_token).await.ok());
        world.advance(61).await;
        let prove = "/auth/reauthenticate";
        assert_eq!(cora.post(prove, json!({"password": PASSWORD})).await.invalid(), ["code"]);
        cora.post(prove, json!({"code": app.wrong(&world)})).await.problem(401, "auth.invalid_credentials");
        raise_caps(&cora).await.problem(403, TOO_OLD);
        let code = app.fresh(&world).await;
        cora.post(prove, json!({"code": code})).await.ok();
        raise_caps(&cora).await.ok();
        cora.post(prove, json!({"code": code})).await.problem(401, "auth.invalid_credentials");
        world.end().await;
    }

    async fn only_a_change_of_the_inbound_uri_of_a_trunk_needs_it(db) {
        let (world, cora) = refreshed(db).await;
        let (first, second) = ("sip:pbx.customer.example", "sip:pbx2.customer.example");
        let made = cora.with_key(key()).post("/trunks", trunk(Some(first))).await.expect(201);
        let path = format!("/trunks/{}", made["id"].as_str().unwrap());
        world.advance(120).await;
        cora.with_key(key()).post("/trunks", trunk(Some(first))).await.problem(403, TOO_OLD);
        cora.with_key(key()).post("/trunks", trunk(None)).await.expect(201);
        cora.with_key(key()).patch(&path, json!({"name": "PBX 2", "inbound_uri": first})).await.ok();
        cora.with_key(key()).patch(&path, json!({"inbound_uri": null})).await.problem(403, TOO_OLD);

        // The refusal is not what a repeated request gets after the proof.
        let same = cora.with_key(key());
        same.patch(&path, json!({"inbound_uri": second})).await.problem(403, TOO_OLD);
        cora.post("/auth/reauthenticate", json!({"password": PASSWORD})).await.ok();
        assert_eq!(same.patch(&path, json!({"inbound_uri": second})).await.ok()["inbound_uri"], second);
        world.end().await;
    }
}
