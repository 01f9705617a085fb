//! The sandbox's checkout: its page, and the same over the API for the portal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Answer;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::onboarding::sign_up;
use crate::world::fixtures::payments::begin_topup;
use crate::world::payer::{Payer, fresh_key, set_up_card};

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

    async fn a_checkout_is_paid_over_the_api(db) {
        let world = World::unlimited(db).await;
        world.admin().await;
        let cora = world.customer("cora@customer.example").await;
        let opened = begin_topup(&cora, 2_500).await;
        let path = format!("/sandbox/checkouts/{}", opened["topup_id"].as_str().unwrap());
        let shown = world.anyone().get(&path).await.ok();
        assert_eq!((&shown["kind"], &shown["merchant"], &shown["status"]), (&json!("topup"), &json!("Carrier BV"), &json!("pending")));
        assert_eq!(shown["amount"], json!({"amount_minor": 2_500, "currency": "EUR"}));
        assert_eq!(shown["cards"][0], json!({"number": "4242424242424242", "label": "Visa, pays"}));
        let refused = world.anyone().post(&path, json!({"action": "pay", "card_number": "4242 4242 4242 4241"})).await;
        assert_eq!(refused.invalid(), ["card_number"]);
        let paid = world.anyone().post(&path, json!({"action": "pay", "card_number": "4242 4242 4242 4242"})).await.ok();
        assert_eq!(paid, json!({"status": "completed", "return_url": format!("http://{}/", world.node.public)}));
        // Only once: another choice changes nothing.
        let again = world.anyone().post(&path, json!({"action": "cancel"})).await.ok();
        assert_eq!((&again, &world.anyone().get(&path).await.ok()["status"]), (&paid, &json!("completed")));
        world.settle().await;
        let topup = cora.get(&format!("/payments/topups/{}", opened["topup_id"].as_str().unwrap())).await.ok();
        assert_eq!((&topup["status"], &topup["balance_after_minor"]), (&json!("completed"), &json!(2_500)));
        world.end().await;
    }

    async fn a_checkout_over_the_api_is_declined_cancelled_or_expires(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let choices = [
            (json!({"action": "pay", "card_number": "4000000000000002"}), "failed", "failed"),
            (json!({"action": "cancel"}), "cancelled", "failed"),
        ];
        for (choice, outcome, status) in choices {
            let order = begin_topup(&cora, 2_500).await["topup_id"].as_str().unwrap().to_owned();
            let path = format!("/sandbox/checkouts/{order}");
            assert_eq!(world.anyone().post(&path, choice).await.ok()["status"], outcome);
            world.settle().await;
            assert_eq!(cora.get(&format!("/payments/topups/{order}")).await.ok()["status"], status, "{outcome}");
        }
        // A card that is only saved costs nothing, and a day later the checkout is over.
        let body = json!({"return_url": format!("http://{}/cards", world.node.public)});
        let opened = cora.with_key(fresh_key()).post("/payments/methods", body).await.expect(201);
        let order = opened["checkout_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let path = format!("/sandbox/checkouts/{order}");
        let shown = world.anyone().get(&path).await.ok();
        assert_eq!((&shown["kind"], &shown["amount"]), (&json!("card"), &Value::Null));
        assert!(shown["return_url"].as_str().unwrap().ends_with("/cards"), "{shown}");
        world.advance(24 * 3600).await;
        assert_eq!(world.anyone().post(&path, json!({"action": "pay"})).await.ok()["status"], "cancelled");
        assert_eq!(world.sign_in("cora@customer.example").await.get("/payments/methods").await.ok()["data"], json!([]));
        world.end().await;
    }

    async fn a_pending_top_up_leads_back_to_its_checkout(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let opened = begin_topup(&cora, 2_500).await;
        let path = format!("/payments/topups/{}", opened["topup_id"].as_str().unwrap());
        assert_eq!(cora.get(&path).await.ok()["checkout_url"], opened["checkout_url"]);
        assert_eq!(cora.get("/payments/topups").await.ok()["data"][0]["checkout_url"], opened["checkout_url"]);
        Payer::at(&opened).pay(&world, "4242424242424242").await;
        assert_eq!(cora.get(&path).await.ok()["checkout_url"], Value::Null);
        world.end().await;
    }
}
