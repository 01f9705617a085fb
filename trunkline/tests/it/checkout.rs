//! The sandbox's checkout page.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Answer;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::onboarding::sign_up;
use crate::world::payer::{Payer, set_up_card};

fn text(answer: &Answer) -> String {
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    String::from_utf8(answer.bytes.clone()).unwrap()
}

async fn payer(db: &TestDb) -> (World, Payer) {
    let world = World::unlimited(db).await;
    let petra = sign_up(&world, "petra@prospect.example").await;
    let payer = Payer::at(&set_up_card(&petra).await);
    (world, payer)
}

both! {
    async fn the_page_has_a_form_that_works_without_script_under_a_strict_policy(db) {
        let (world, payer) = payer(db).await;
        let answer = payer.call(Method::GET).await;
        assert_eq!(answer.status, 200);
        let page = text(&answer);
        assert!(page.starts_with("<!doctype html><html lang=\"en\">") && page.ends_with("</html>"));
        for part in [
            "<form method=\"post\">", "name=\"card\"", "name=\"exp_month\"", "name=\"exp_year\"",
            "name=\"action\" value=\"pay\"", "name=\"action\" value=\"decline\"", "name=\"action\" value=\"cancel\"",
        ] {
            assert_eq!(page.matches(part).count(), 1, "{part}");
        }
        for label in ["card", "exp_month", "exp_year"] {
            assert!(page.contains(&format!("<label for=\"{label}\">")) && page.contains(&format!("id=\"{label}\"")));
        }
        assert!(!page.contains("<script") && !page.contains("style=\""));
        let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        let hash = BASE64.encode(digest(&SHA256, style.as_bytes()).as_ref());
        assert_eq!(
            answer.header("content-security-policy").unwrap(),
            format!(
                "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self' http://{}; base-uri 'none'; \
                 frame-ancestors 'none'",
                world.node.public
            )
        );
        world.end().await;
    }

    async fn the_checkout_page_refuses_other_methods(db) {
        let (world, payer) = payer(db).await;
        let head = payer.call(Method::HEAD).await;
        assert_eq!((head.status, head.bytes.len()), (200, 0));
        let options = payer.call(Method::OPTIONS).await;
        assert_eq!((options.status, options.header("allow")), (204, Some("GET, POST, HEAD, OPTIONS")));
        let delete = payer.call(Method::DELETE).await;
        assert_eq!(delete.header("allow"), Some("GET, POST, HEAD, OPTIONS"));
        delete.problem(405, "method_not_allowed");
        world.end().await;
    }

    async fn checkout_errors_are_pages_too(db) {
        let (world, payer) = payer(db).await;
        let base = payer.checkout_url.rsplit_once('/').unwrap().0.to_owned();
        for stranger in ["0123456789abcdef0123456789abcdef", "no%00thing", "%3Cscript%3E"] {
            let nowhere = Payer::at(&json!({"checkout_url": format!("{base}/{stranger}")}));
            for answer in [nowhere.call(Method::GET).await, nowhere.send(&[("action", "pay")]).await] {
                assert_eq!(answer.status, 404);
                assert!(text(&answer).contains("Resource not found"));
            }
        }
        let unformed = payer.call(Method::POST).await;
        assert_eq!(unformed.status, 415);
        text(&unformed);
        let long = payer.send(&[("action", "pay"), ("card", &"4".repeat(9000))]).await;
        assert_eq!(long.status, 413);
        text(&long);
        world.end().await;
    }

    async fn an_invalid_card_number_is_asked_for_again(db) {
        let (world, payer) = payer(db).await;
        let wrong: [&[(&str, &str)]; 5] = [
            &[],
            &[("action", "steal")],
            &[("action", "pay"), ("card", "4242424242424241")],
            &[("action", "pay"), ("card", "\"><b>")],
            &[("action", "pay"), ("exp_month", "1"), ("exp_year", "2020")],
        ];
        for fields in wrong {
            let answer = payer.send(fields).await;
            assert_eq!(answer.status, 422, "{fields:?}");
            let page = text(&answer);
            assert!(page.contains("role=\"alert\"") && page.contains("<form") && !page.contains("<b>"));
        }
        payer.pay(&world, "4242 4242 4242 4242").await;
        world.end().await;
    }

    async fn a_checkout_is_completed_once(db) {
        let (world, payer) = payer(db).await;
        let petra = world.sign_in("petra@prospect.example").await;
        payer.choose(&world, &[("action", "decline")]).await;
        payer.pay(&world, "4242424242424242").await;
        assert_eq!(petra.get("/me/payment-method").await.ok()["status"], "verification_failed");
        let page = text(&payer.call(Method::GET).await);
        assert!(page.contains("declined") && !page.contains("<form"));
        world.end().await;
    }

    async fn a_checkout_expires_after_a_day(db) {
        let (world, payer) = payer(db).await;
        world.advance(24 * 3600).await;
        assert!(!text(&payer.call(Method::GET).await).contains("<form"));
        payer.pay(&world, "4242424242424242").await;
        let petra = world.sign_in("petra@prospect.example").await;
        let shown = petra.get("/me/payment-method").await.ok();
        assert_eq!((&shown["status"], &shown["last4"]), (&json!("verification_failed"), &Value::Null));
        world.end().await;
    }
}
