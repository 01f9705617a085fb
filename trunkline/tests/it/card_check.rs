//! Card verification of prospects.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::{DbError, params};
use futures_util::future::join_all;
use platform::outside::payments::sandbox::sign;
use reqwest::Method;
use serde_json::{Value, json};
use values::{AccountId, CardVerificationId};

use crate::world::World;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::audit::audit_rows;
use crate::world::fixtures::count;
use crate::world::fixtures::metrics::Scrape;
use crate::world::fixtures::onboarding::{beta_status, card_status, sign_up, submit_kyb, traffic_profile};
use crate::world::fixtures::payments::{VISA, send_webhook, webhook_row};
use crate::world::payer::{Payer, fresh_key, set_up_card};

both! {
    async fn a_verified_card_is_the_last_step_to_the_waitlist(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        submit_kyb(db, &petra).await;
        petra.send(petra.request(Method::PUT, "/me/traffic-profile").json(&traffic_profile())).await.expect(200);
        petra.get("/me/payment-method").await.problem(404, "not_found");
        assert_eq!(beta_status(&petra).await, "beta_signup");

        let opened = set_up_card(&petra).await;
        assert!(opened["payment_method_id"].as_str().unwrap().starts_with("pmv_"));
        assert_eq!(beta_status(&petra).await, "beta_card_pending");
        let pending = petra.get("/me/payment-method").await.ok();
        assert_eq!(pending["id"], opened["payment_method_id"]);
        assert_eq!((&pending["status"], &pending["brand"]), (&json!("pending_verification"), &Value::Null));

        let fields = [("action", "pay"), ("card", "5555555555554444"), ("exp_month", "7"), ("exp_year", "2040")];
        Payer::at(&opened).choose(&world, &fields).await;
        assert_eq!(
            petra.get("/me/payment-method").await.ok(),
            json!({
                "id": opened["payment_method_id"], "status": "verified", "brand": "mastercard", "last4": "4444",
                "exp_month": 7, "exp_year": 2040,
            })
        );
        assert_eq!(beta_status(&petra).await, "beta_waitlist");
        assert_eq!(petra.get("/me/waitlist").await.ok()["position"], 1);
        assert_eq!(audit_rows(db, "card.setup").await, [(Some("customer".to_owned()), "success".to_owned())]);
        assert_eq!(audit_rows(db, "payment.callback").await, vec![webhook_row("success"); 2]);
        assert_eq!(audit_rows(db, "card.verify").await, [webhook_row("success")]);
        // On the waitlist no card is needed.
        let again = petra.with_key(fresh_key()).post("/me/card-setup", json!({})).await.problem(409, "state.conflict");
        assert!(again["detail"].as_str().unwrap().contains("beta_waitlist"));
        world.end().await;
    }

    async fn a_declined_or_cancelled_card_can_be_tried_again(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let refusals: [&[(&str, &str)]; 3] =
            [&[("action", "pay"), ("card", "4000000000000002")], &[("action", "decline")], &[("action", "cancel")]];
        for choice in refusals {
            Payer::at(&set_up_card(&petra).await).choose(&world, choice).await;
            assert_eq!(card_status(&petra).await, "verification_failed");
            assert_eq!(beta_status(&petra).await, "beta_card_pending");
        }
        Payer::at(&set_up_card(&petra).await).pay(&world, "378282246310005").await;
        let shown = petra.get("/me/payment-method").await.ok();
        assert_eq!((&shown["status"], &shown["brand"]), (&json!("verified"), &json!("amex")));
        assert_eq!(beta_status(&petra).await, "beta_card_pending");
        world.end().await;
    }

    async fn concurrent_webhooks_verify_a_card_once(db) {
        let world = World::with(db, &[("TRUNKLINE_SANDBOX_CALLBACKS", "drop"), ("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let payer = Payer::at(&set_up_card(&petra).await);
        payer.pay(&world, VISA).await;
        let (here, order, now) = (&world, payer.order_id(), world.node.app.clock.now());
        let told = (0..20).map(|number| async move {
            send_webhook(here, order, &format!("order_event_{}", number % 10), now).await.ok()
        });
        assert_eq!(join_all(told).await, vec![json!({"ok": true}); 20]);
        world.advance(120).await;
        assert_eq!(card_status(&petra).await, "verified");
        assert_eq!(audit_rows(db, "card.verify").await, [webhook_row("success")]);
        assert_eq!(count(db, "SELECT COUNT(*) FROM payment_callbacks").await, 10);
        world.end().await;
    }

    async fn an_unfinished_card_verification_fails_after_a_day(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        set_up_card(&petra).await;
        world.advance(600).await;
        assert_eq!(card_status(&petra).await, "pending_verification");
        world.advance(24 * 3600).await;
        let petra = world.sign_in("petra@prospect.example").await;
        assert_eq!(card_status(&petra).await, "verification_failed");
        Payer::at(&set_up_card(&petra).await).pay(&world, VISA).await;
        assert_eq!(card_status(&petra).await, "verified");
        world.end().await;
    }

    async fn a_webhook_without_the_providers_signature_is_refused(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let payer = Payer::at(&set_up_card(&petra).await);
        let (anyone, now) = (world.anyone(), world.node.app.clock.now());
        let body = json!({"event": "order_completed", "order_id": payer.order_id()});

        let unsigned = anyone.post("/webhooks/payments/sandbox", body.clone()).await;
        assert_eq!(unsigned.header("content-type"), Some("application/json"));
        assert_eq!(unsigned.expect(401), json!({"ok": false}));
        let [(signature, value), (timestamp, at)] = sign(&world.node.app.keys, b"another body", now);
        let forged = anyone.header(signature, &value).header(timestamp, &at);
        assert_eq!(forged.post("/webhooks/payments/sandbox", body.clone()).await.expect(401), json!({"ok": false}));
        let old = now.minus(std::time::Duration::from_secs(301));
        let stale = send_webhook(&world, payer.order_id(), "order_completed", old).await;
        assert_eq!(stale.expect(401), json!({"ok": false}));

        assert_eq!(card_status(&petra).await, "pending_verification");
        assert_eq!(audit_rows(db, "payment.callback").await, []);
        assert_eq!(count(db, "SELECT COUNT(*) FROM payment_callbacks").await, 0);
        let description = anyone.get("/openapi.json").await.ok();
        let refusal = &description["paths"]["/webhooks/payments/{provider}"]["post"]["responses"]["401"];
        assert!(refusal["content"]["application/json"].is_object(), "{refusal}");
        // Whoever sent them is unknown, so they are counted and not in the audit log.
        anyone.post("/webhooks/payments/elsewhere", body).await.problem(404, "not_found");
        assert_eq!(audit_rows(db, "payment.callback").await, []);
        let counted = r#"trunkline_unattributed_failures_total{action="payment.callback"}"#;
        assert_eq!(Scrape::of(&world).await.value(counted), 4.0);
        world.end().await;
    }

    async fn a_webhook_is_checked_against_the_providers_order(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let payer = Payer::at(&set_up_card(&petra).await);
        let now = world.node.app.clock.now();
        assert_eq!(send_webhook(&world, "unheard-of", "order_completed", now).await.ok(), json!({"ok": true}));
        assert_eq!(send_webhook(&world, payer.order_id(), "order_completed", now).await.ok(), json!({"ok": true}));
        world.settle().await;
        assert_eq!(card_status(&petra).await, "completing");
        // One of the webhooks that follow is new.
        payer.pay(&world, VISA).await;
        assert_eq!(card_status(&petra).await, "verified");
        world.end().await;
    }

    async fn fifty_requests_with_one_key_open_one_card_verification(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let keyed = petra.with_key(fresh_key());
        let answers = join_all((0..50).map(|_| keyed.post("/me/card-setup", json!({})))).await;
        let mut opened: Vec<Vec<u8>> = Vec::new();
        for answer in answers {
            match answer.status {
                201 => opened.push(answer.bytes),
                _ => drop(answer.problem(409, "idempotency.in_progress")),
            }
        }
        assert!(!opened.is_empty());
        assert!(opened.iter().all(|body| *body == opened[0]));
        let replay = keyed.post("/me/card-setup", json!({})).await;
        assert_eq!(replay.header("idempotent-replayed"), Some("true"));
        assert_eq!((replay.status, &replay.bytes), (201, &opened[0]));
        assert_eq!(count(db, "SELECT COUNT(*) FROM card_verifications").await, 1);
        assert_eq!(count(db, "SELECT COUNT(*) FROM sandbox_orders").await, 1);
        assert_eq!(audit_rows(db, "card.setup").await.len(), 1);
        world.end().await;
    }

    async fn a_card_setup_cut_off_by_a_crash_is_completed_by_its_retry(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let account: AccountId = petra.account_id.parse().unwrap();
        let (id, key) = (CardVerificationId::new(uuid()), fresh_key());
        let now = world.node.app.clock.now();
        // What the first two of three steps leave behind: a verification, and an order the provider opened for it.
        let cut_off = db.tx((id, account, key, now), |conn, (id, account, key, now)| {
            Box::pin(async move {
                conn.exec(
                    "INSERT INTO card_verifications (id, account_id, status, provider, request_key, poll_at, created_at, updated_at)
                     VALUES ($1, $2, 'pending_verification', 'sandbox', $3, $4, $4, $4)",
                    params![*id, *account, *key, *now],
                )
                .await?;
                conn.exec(
                    "INSERT INTO sandbox_orders (id, reference, customer_name, customer_email, return_url, state,
                                                 declines_later, expires_at, created_at, updated_at)
                     VALUES ('00ff', $1, '', '', '', 'pending', FALSE, $2, $3, $3)",
                    params![id.to_string(), now.plus(std::time::Duration::from_secs(3600)), *now],
                )
                .await?;
                Ok::<_, DbError>(())
            })
        });
        cut_off.await.unwrap();
        let opened = petra.with_key(key).post("/me/card-setup", json!({})).await.expect(201);
        assert_eq!(opened["payment_method_id"], id.to_string());
        assert!(opened["checkout_url"].as_str().unwrap().ends_with("/sandbox/checkout/00ff"));
        assert_eq!(count(db, "SELECT COUNT(*) FROM sandbox_orders").await, 1);
        assert_eq!(beta_status(&petra).await, "beta_card_pending");
        world.end().await;
    }

    async fn a_card_setup_needs_an_idempotency_key_that_means_one_request(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        petra.post("/me/card-setup", json!({})).await.problem(400, "idempotency.key_required");
        let keyed = petra.with_key(fresh_key());
        assert_eq!(keyed.post("/me/card-setup", json!({"card": VISA})).await.invalid(), ["card"]);
        keyed.post("/me/card-setup", json!({})).await.expect(201);
        let other = keyed.request(Method::POST, "/me/card-setup").header("content-type", "application/json").body("{ }");
        keyed.send(other).await.problem(409, "idempotency.conflict");
        world.end().await;
    }

    async fn after_a_day_the_same_key_begins_another_verification(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let key = fresh_key();
        let first = petra.with_key(key).post("/me/card-setup", json!({})).await.expect(201);
        world.advance(24 * 3600).await;
        let petra = world.sign_in("petra@prospect.example").await;
        let second = petra.with_key(key).post("/me/card-setup", json!({})).await.expect(201);
        assert_ne!(first["payment_method_id"], second["payment_method_id"]);
        Payer::at(&second).pay(&world, VISA).await;
        assert_eq!(card_status(&petra).await, "verified");
        world.end().await;
    }

    async fn any_open_verification_can_succeed_and_the_verified_card_is_shown(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        submit_kyb(db, &petra).await;
        petra.send(petra.request(Method::PUT, "/me/traffic-profile").json(&traffic_profile())).await.expect(200);
        let first = set_up_card(&petra).await;
        world.advance(1).await;
        let second = set_up_card(&petra).await;
        assert_ne!(first, second);
        assert_eq!(petra.get("/me/payment-method").await.ok()["id"], second["payment_method_id"]);
        Payer::at(&first).pay(&world, VISA).await;
        assert_eq!(beta_status(&petra).await, "beta_waitlist");
        let verified = petra.get("/me/payment-method").await.ok();
        assert_eq!((&verified["id"], &verified["status"]), (&first["payment_method_id"], &json!("verified")));
        Payer::at(&second).choose(&world, &[("action", "cancel")]).await;
        assert_eq!(petra.get("/me/payment-method").await.ok(), verified);
        assert_eq!(beta_status(&petra).await, "beta_waitlist");
        world.end().await;
    }

    async fn at_most_ten_checkouts_can_be_open(db) {
        let world = World::unlimited(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let key = fresh_key();
        let first = petra.with_key(key).post("/me/card-setup", json!({})).await.expect(201);
        for _ in 1..10 {
            set_up_card(&petra).await;
        }
        petra.with_key(fresh_key()).post("/me/card-setup", json!({})).await.problem(409, "state.conflict");
        assert_eq!(petra.with_key(key).post("/me/card-setup", json!({})).await.expect(201), first);
        Payer::at(&first).choose(&world, &[("action", "cancel")]).await;
        set_up_card(&petra).await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM card_verifications").await, 11);
        world.end().await;
    }

    async fn a_card_is_visible_only_to_its_own_account(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let (petra, paula) = (sign_up(&world, "p1@prospect.example").await, sign_up(&world, "p2@prospect.example").await);
        let key = fresh_key();
        let of_petra = petra.with_key(key).post("/me/card-setup", json!({})).await.expect(201);
        paula.get("/me/payment-method").await.problem(404, "not_found");
        let of_paula = paula.with_key(key).post("/me/card-setup", json!({})).await.expect(201);
        assert_ne!(of_petra["payment_method_id"], of_paula["payment_method_id"]);
        Payer::at(&of_petra).pay(&world, VISA).await;
        assert_eq!((card_status(&petra).await.as_str(), card_status(&paula).await.as_str()), ("verified", "pending_verification"));
        admin.with_key(key).post("/me/card-setup", json!({})).await.problem(403, "auth.forbidden");
        let live = world.customer("live@customer.example").await;
        live.with_key(key).post("/me/card-setup", json!({})).await.problem(409, "state.conflict");
        live.get("/me/payment-method").await.problem(404, "not_found");
        world.end().await;
    }
}
