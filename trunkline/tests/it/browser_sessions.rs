//! Browser sessions: the refresh token in a cookie, and what a sign-in page is told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use platform::app::demo;
use reqwest::Method;
use serde_json::json;
use values::Role;

use crate::coverage::examples::browser;
use crate::world::World;
use crate::world::client::{Answer, Session};
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::links::CORA;
use crate::world::payer::Payer;

/// The value of the cookie that a response sets, after a look at its attributes.
#[track_caller]
fn cookie(answer: &Answer) -> String {
    let text = answer.header("set-cookie").unwrap();
    let (pair, attributes) = text.split_once("; ").unwrap();
    let (path, rest) = attributes.split_once("; ").unwrap();
    assert_eq!(path, "Path=/v1/auth");
    let (age, rest) = rest.split_once("; ").unwrap();
    let age: u64 = age.strip_prefix("Max-Age=").unwrap().parse().unwrap();
    assert!(age <= 30 * 24 * 3600, "{text}");
    assert_eq!(rest, "HttpOnly; SameSite=Strict");
    pair.strip_prefix("trunkline_refresh=").unwrap().to_owned()
}

/// A browser session of [`CORA`]: what it signed in with, and its cookie.
async fn begin(world: &World) -> (Session, String) {
    let cora = world.customer(CORA).await;
    let begun = browser(world, None).post("/auth/cookie", json!({"refresh_token": cora.refresh_token})).await;
    assert_eq!((begun.status, begun.bytes.len()), (204, 0));
    let cookie = cookie(&begun);
    (cora, cookie)
}

async fn refresh(world: &World, cookie: &str) -> Answer {
    browser(world, Some(cookie)).call(Method::POST, "/auth/cookie/refresh", None).await
}

both! {
    async fn a_browser_session_keeps_its_refresh_token_in_a_cookie(db) {
        let world = World::unlimited(db).await;
        let (cora, first) = begin(&world).await;
        assert_ne!(first, cora.refresh_token);
        let refreshed = refresh(&world, &first).await;
        let second = cookie(&refreshed);
        assert_ne!(first, second);
        let body = refreshed.ok();
        assert_eq!(body["refresh_token"], json!(null));
        assert_eq!((&body["token_type"], &body["user"]["email"]), (&json!("Bearer"), &json!(CORA)));
        assert!((890..=900).contains(&(body["expires_at"].as_i64().unwrap() - world.seconds())));
        world.bearing(body["access_token"].as_str().unwrap()).get("/me").await.ok();
        refresh(&world, &second).await.ok();
        browser(&world, None).call(Method::POST, "/auth/cookie/refresh", None).await.problem(401, "auth.token_invalid");
        refresh(&world, "made-up").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn a_cookie_that_is_used_twice_ends_its_session(db) {
        let world = World::unlimited(db).await;
        let (_, first) = begin(&world).await;
        let refreshed = refresh(&world, &first).await;
        let (second, token) = (cookie(&refreshed), refreshed.ok()["access_token"].as_str().unwrap().to_owned());
        // Within ten seconds and before its successor was used, the client may have lost the response.
        refresh(&world, &first).await.problem(401, "auth.token_invalid");
        world.bearing(&token).get("/me").await.ok();
        world.advance(11).await;
        refresh(&world, &first).await.problem(401, "auth.token_invalid");
        refresh(&world, &second).await.problem(401, "auth.token_invalid");
        world.bearing(&token).get("/me").await.problem(401, "auth.token_invalid");
        assert!(world.mails().await.pop().unwrap().subject.contains("signed you out"));
        world.end().await;
    }

    async fn a_browser_session_ends_although_its_access_token_expired(db) {
        let world = World::unlimited(db).await;
        let (cora, cookie) = begin(&world).await;
        world.advance(901).await;
        cora.get("/me").await.problem(401, "auth.token_expired");
        let ended = browser(&world, Some(&cookie)).delete("/auth/cookie").await;
        let cleared = "trunkline_refresh=; Path=/v1/auth; Max-Age=0; HttpOnly; SameSite=Strict";
        assert_eq!((ended.status, ended.header("set-cookie")), (204, Some(cleared)));
        refresh(&world, &cookie).await.problem(401, "auth.token_invalid");
        browser(&world, None).delete("/auth/cookie").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn no_other_site_can_use_the_cookie(db) {
        let world = World::with(db, &[("TRUNKLINE_CORS_ORIGINS", "https://partner.example"), ("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let (_, first) = begin(&world).await;
        let ours = format!("http://{}", world.node.public);
        let with_cookie = world.anyone().header("Cookie", &format!("trunkline_refresh={first}"));
        let refused = [
            with_cookie.clone(),
            with_cookie.header("Origin", "https://partner.example"),
            with_cookie.header("Origin", "null"),
            with_cookie.header("Origin", &format!("{ours}.evil.example")),
            with_cookie.header("Sec-Fetch-Site", "cross-site").header("Origin", &ours),
            with_cookie.header("Sec-Fetch-Site", "same-site").header("Origin", &ours),
            with_cookie.header("Sec-Fetch-Site", "none"),
        ];
        for caller in refused {
            for (method, path) in [
                (Method::POST, "/auth/cookie"), (Method::POST, "/auth/cookie/refresh"), (Method::DELETE, "/auth/cookie"),
            ] {
                let answer = caller.call(method, path, None).await;
                assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control-")));
                answer.problem(403, "auth.forbidden");
            }
        }
        let asked = world.anyone().header("Origin", "https://partner.example").header("Access-Control-Request-Method", "POST");
        let preflight = asked.call(Method::OPTIONS, "/auth/cookie/refresh", None).await;
        assert_eq!((preflight.status, preflight.header("allow")), (204, Some("POST, OPTIONS")));
        assert!(!preflight.headers.keys().any(|name| name.as_str().starts_with("access-control-")));
        // Elsewhere that origin is admitted.
        let elsewhere = asked.call(Method::OPTIONS, "/me", None).await;
        assert!(elsewhere.header("access-control-allow-origin").is_some());
        // An old browser sends no Sec-Fetch-Site, but our own origin.
        with_cookie.header("Origin", &ours).call(Method::POST, "/auth/cookie/refresh", None).await.ok();
        world.end().await;
    }

    async fn a_sign_in_page_is_told_whose_service_it_is(db) {
        let world = World::with(db, &[("TRUNKLINE_ZONES", "eu=sip.eu.example,us")]).await;
        let fresh = world.anyone().get("/portal").await.ok();
        let zones = json!([{"name": "eu", "sip_address": "sip.eu.example"}, {"name": "us", "sip_address": null}]);
        assert_eq!(fresh, json!({
            "carrier_name": "Trunkline", "sandbox": true, "bootstrap_required": true, "zones": zones, "lab": true,
            "allow_list_proof": false, "demo_users": [], "demo_password": null,
        }));
        world.admin().await;
        let known = world.anyone().get("/portal").await.ok();
        assert_eq!((&known["carrier_name"], &known["bootstrap_required"]), (&json!("Carrier BV"), &json!(false)));
        let world = world.restart_with(&[("TRUNKLINE_ALLOW_LIST_PROOF", "on")]).await;
        assert_eq!(world.anyone().get("/portal").await.ok()["allow_list_proof"], true);
        world.end().await;
    }

    async fn a_sign_in_page_lists_the_users_that_the_demo_made(db) {
        let world = World::start(db).await;
        world.admin().await;
        world.user("katja@kanaal.example", Role::Customer).await;
        let node = &world.node.app;
        node.db.tx((), |conn, ()| Box::pin(demo::record_users(conn))).await.unwrap();
        // Whoever came later is not of the demo, whatever its address.
        world.user("late@kanaal.example", Role::Customer).await;
        let told = world.anyone().get("/portal").await.ok();
        assert_eq!((&told["demo_users"], &told["demo_password"]), (&json!([]), &json!(null)));
        for (known, password) in [(false, json!(null)), (true, json!(demo::PASSWORD))] {
            node.db.tx(known, |conn, known| Box::pin(demo::mark(conn, *known))).await.unwrap();
            let told = world.anyone().get("/portal").await.ok();
            let demo_users = json!([
                {"email": "admin@carrier.example", "description": "Admin of Carrier BV"},
                {"email": "katja@kanaal.example", "description": "Owner of Customer GmbH, live"},
            ]);
            assert_eq!((&told["demo_users"], &told["demo_password"]), (&demo_users, &password));
        }
        world.end().await;
    }

    async fn a_payer_returns_to_an_allowed_origin_only(db) {
        let world = World::with(db, &[("TRUNKLINE_RETURN_ORIGINS", "https://shop.example"), ("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let cora = world.customer(CORA).await;
        let top_up = async |url: &str| {
            let body = json!({"amount_minor": 1000, "currency": "EUR", "return_url": url});
            cora.with_key(key()).post("/payments/topups", body).await
        };
        let opened = top_up("https://shop.example/thanks?order=7").await.expect(201);
        let paid = Payer::at(&opened).send(&[("action", "pay")]).await;
        assert_eq!((paid.status, paid.header("location")), (303, Some("https://shop.example/thanks?order=7")));
        world.settle().await;
        for other in ["https://shop.example.evil/", "http://shop.example/", "https://a@shop.example/", "javascript:alert(1)"] {
            assert_eq!(top_up(other).await.invalid(), ["return_url"]);
        }
        let refused = cora.with_key(key()).post("/me/card-setup", json!({"return_url": "https://evil.example/"})).await;
        assert_eq!(refused.invalid(), ["return_url"]);
        world.end().await;
    }
}
