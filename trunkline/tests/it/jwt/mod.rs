//! Access tokens under attack.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod forgery;

use reqwest::Method;
use serde_json::json;

use crate::world::authenticator::Authenticator;
use crate::world::client::Answer;
use crate::world::engines::both;
use crate::world::{JWT_SECRET, World};
use forgery::{changed, claims_of, signed, signed_by};

const CORA: &str = "cora@customer.example";

/// Sends these `Authorization` headers, as they are.
async fn authorized(world: &World, values: &[&str]) -> Answer {
    let caller = world.anyone();
    let request = caller.request(Method::GET, "/me");
    let request = values.iter().fold(request, |request, value| request.header("Authorization", value.as_bytes()));
    caller.send(request).await
}

async fn refused(world: &World, name: &str, values: &[&str]) {
    let answer = authorized(world, values).await;
    assert_eq!(answer.status, 401, "{name}: {}", answer.body);
    let kind = answer.body["type"].as_str().unwrap_or_default().to_owned();
    assert_eq!(kind, "urn:service:voice:problem:auth.token_invalid", "{name}");
    answer.problem(401, "auth.token_invalid");
}

both! {
    async fn no_forged_token_is_accepted(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let claims = claims_of(cora.token());
        authorized(&world, &[&format!("Bearer {}", signed(&claims))]).await.ok();
        let mut forgeries = forgery::of_the_algorithm(&claims);
        forgeries.extend(forgery::of_the_key(&claims));
        forgeries.extend(forgery::of_the_claims(&claims));
        forgeries.extend(forgery::of_the_bytes(cora.token(), &claims));
        assert!(forgeries.len() > 140, "{}", forgeries.len());
        for (name, token) in &forgeries {
            assert_ne!(token, cora.token(), "{name}");
            refused(&world, name, &[&format!("Bearer {token}")]).await;
        }
        cora.get("/me").await.ok();
        world.end().await;
    }

    async fn only_one_bearer_header_is_accepted(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let token = cora.token();
        let good = format!("Bearer {token}");
        for accepted in [good.clone(), format!("bearer {token}"), format!("BEARER {token}"), format!(" {good} ")] {
            authorized(&world, &[&accepted]).await.ok();
        }
        let basic = format!("Basic {}", data_encoding::BASE64.encode(format!("{CORA}:x").as_bytes()));
        let others = [
            "", " ", "Bearer", "Bearer ", token, &basic, &format!("Basic {token}"), &format!("Token {token}"),
            &format!("Bearer: {token}"), &format!("Bearer  {token}"), &format!("Bearer\t{token}"),
            &format!("Bearer={token}"), &format!("Bearer {token}, Bearer {token}"), &format!("Bearer Bearer {token}"),
            &format!("Bearer {token} {token}"), &format!("Bearer {token};"), &format!("{good},"),
        ];
        for value in others {
            refused(&world, value, &[value]).await;
        }
        refused(&world, "none", &[]).await;
        refused(&world, "twice the same", &[&good, &good]).await;
        refused(&world, "bad before good", &["Bearer x", &good]).await;
        refused(&world, "good before bad", &[&good, "Bearer x"]).await;

        // A token in any other place is ignored.
        let caller = world.anyone();
        caller.get(&format!("/me?access_token={token}")).await.problem(401, "auth.token_invalid");
        caller.header("Cookie", &format!("access_token={token}")).get("/me").await.problem(401, "auth.token_invalid");
        caller.header("X-Access-Token", token).get("/me").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn a_token_expires_after_its_last_second(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let claims = claims_of(cora.token());
        let ending = |exp: i64| world.bearing(&signed(&changed(&changed(&claims, "exp", exp.into()), "iat", 0.into())));
        for ago in [0, 1, 2, 60, 1_000_000] {
            ending(world.seconds() - ago).get("/me").await.problem(401, "auth.token_expired");
        }
        ending(0).get("/me").await.problem(401, "auth.token_expired");
        // In the last second it is good; a request that the clock overtook is asked again.
        loop {
            let last = world.seconds() + 1;
            let answer = ending(last).get("/me").await;
            if world.seconds() < last {
                answer.ok();
                break;
            }
        }
        world.advance(890).await;
        cora.get("/me").await.ok();
        world.advance(10).await;
        cora.get("/me").await.problem(401, "auth.token_expired");
        world.end().await;
    }

    async fn a_signed_token_without_its_row_is_refused(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let carl = world.customer("carl@customer.example").await;
        let (of_cora, of_carl) = (claims_of(cora.token()), claims_of(carl.token()));
        let unknown = crate::world::engines::uuid().to_string();
        for claims in [
            changed(&of_cora, "jti", unknown.into()),
            changed(&of_cora, "jti", of_carl["jti"].clone()),
            changed(&of_cora, "sub", of_carl["sub"].clone()),
        ] {
            world.bearing(&signed(&claims)).get("/me").await.problem(401, "auth.token_invalid");
        }
        world.bearing(&signed(&of_cora)).get("/me").await.ok();
        // From elsewhere, so it counts within a second.
        db.ddl("UPDATE access_tokens SET revoked_at = 1;").await;
        world.advance(1).await;
        world.bearing(&signed(&of_cora)).get("/me").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn the_row_of_a_token_decides_and_not_its_claims(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer(CORA).await);
        let carl = world.customer("carl@customer.example").await;
        let of_cora = claims_of(cora.token());

        // The account is that of the user.
        let elsewhere = world.bearing(&signed(&changed(&of_cora, "acc", claims_of(carl.token())["acc"].clone())));
        assert_eq!(elsewhere.get("/account").await.ok(), cora.get("/account").await.ok());
        elsewhere.patch("/account", json!({"company_name": "Mine BV"})).await.ok();
        assert_ne!(carl.get("/account").await.ok()["company_name"], "Mine BV");

        // A token that only reads does so whatever it says of itself, and names the admin in the audit log.
        let path = format!("/admin/customers/{}/impersonate", cora.account_id);
        let given = admin.post(&path, json!({"reason": "Ticket 7"})).await.ok();
        let mut claims = claims_of(given["access_token"].as_str().unwrap());
        for name in ["scope", "act"] {
            claims.as_object_mut().unwrap().remove(name).unwrap();
        }
        let eyes = world.bearing(&signed(&claims));
        eyes.patch("/account", json!({"company_name": "Mine BV"})).await.problem(403, "auth.forbidden");
        eyes.get("/account").await.ok();
        let log = format!("/admin/audit-log?action=impersonation.read&user_id={}", admin.user_id);
        assert_eq!(admin.get(&log).await.ok()["rows"].as_array().unwrap().len(), 1);

        // Nor does a claim make a token read as an admin that it is not.
        let claims = changed(&changed(&of_cora, "act", json!(admin.user_id)), "scope", json!("read_only"));
        world.bearing(&signed(&claims)).patch("/account", json!({"company_name": "Cora BV"})).await.ok();
        world.end().await;
    }

    async fn one_kind_of_token_is_not_accepted_as_another(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let app = Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        let tmp_token = world.tmp_token(CORA).await;
        refused(&world, "tmp_token", &[&format!("Bearer {tmp_token}")]).await;
        refused(&world, "refresh token", &[&format!("Bearer {}", cora.refresh_token)]).await;
        let code = app.fresh(&world).await;
        world.verify(cora.token(), &code).await.problem(401, "auth.token_invalid");
        world.verify(&cora.refresh_token, &code).await.problem(401, "auth.token_invalid");
        world.refresh(&tmp_token).await.problem(401, "auth.token_invalid");

        // The audience alone decides nothing: each kind has its own row.
        let claims = changed(&claims_of(cora.token()), "aud", json!("trunkline:2fa"));
        world.verify(&signed(&claims), &code).await.problem(401, "auth.token_invalid");
        let mut claims = claims_of(cora.token());
        claims["jti"] = claims_of(&tmp_token)["jti"].clone();
        refused(&world, "jti of a tmp_token", &[&format!("Bearer {}", signed(&claims))]).await;
        world.verify(&tmp_token, &code).await.ok();
        world.end().await;
    }

    async fn forged_tmp_tokens_are_refused(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let app = Authenticator::confirmed(&world, &cora, "/me/2fa").await;
        let tmp_token = world.tmp_token(CORA).await;
        let claims = claims_of(&tmp_token);
        let code = app.fresh(&world).await;
        let mut forgeries = forgery::of_the_algorithm(&claims);
        forgeries.extend(forgery::of_the_key(&claims));
        forgeries.extend(forgery::of_the_bytes(&tmp_token, &claims));
        for (name, token) in forgeries.iter().filter(|(_, token)| token.len() <= 2048) {
            let answer = world.verify(token, &code).await;
            assert_eq!(answer.status, 401, "{name}: {}", answer.body);
            answer.problem(401, "auth.token_invalid");
        }
        let unknown = changed(&claims, "jti", crate::world::engines::uuid().to_string().into());
        world.verify(&signed(&unknown), &code).await.problem(401, "auth.token_invalid");
        let late = changed(&changed(&claims, "exp", world.seconds().into()), "iat", 0.into());
        world.verify(&signed(&late), &code).await.problem(401, "auth.token_expired");
        world.verify(&tmp_token, &code).await.ok();
        world.end().await;
    }

    async fn tokens_of_the_previous_key_survive_a_rotation_and_older_ones_do_not(db) {
        let (second, third) = ("the second secret of the world, long enough", "the third secret of the world, long enough");
        let world = World::start(db).await;
        let cora = world.customer(CORA).await;
        let token = cora.token().to_owned();
        world.end().await;

        let world = World::with(db, &[("TRUNKLINE_JWT_SECRET", second), ("TRUNKLINE_JWT_SECRET_PREVIOUS", JWT_SECRET)]).await;
        world.bearing(&token).get("/me").await.ok();
        let fresh = world.sign_in(CORA).await;
        fresh.get("/me").await.ok();
        world.bearing(&signed_by(second, &claims_of(&token))).get("/me").await.ok();
        let fresh = fresh.token().to_owned();
        world.end().await;

        let world = World::with(db, &[("TRUNKLINE_JWT_SECRET", third), ("TRUNKLINE_JWT_SECRET_PREVIOUS", second)]).await;
        world.bearing(&token).get("/me").await.problem(401, "auth.token_invalid");
        world.bearing(&fresh).get("/me").await.ok();
        world.end().await;
    }
}
