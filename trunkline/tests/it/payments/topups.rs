//! Top-ups at the checkout.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use api::input::sha256;
use db::{DbError, params};
use futures_util::future::join_all;
use identity::onboarding::Event;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use values::{AccountId, PaymentId, Time};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::{TestDb, both, uuid};
use crate::world::fixtures::audit::audit_rows;
use crate::world::fixtures::onboarding::{apply_event, beta_status, sign_up};
use crate::world::fixtures::payments::{
    VISA, amount_body, begin_topup, complete_topup, count_topups, get_topup, ledger_cents, send_webhook, webhook_row,
};
use crate::world::fixtures::{count, execute};
use crate::world::payer::{Payer, fresh_key};

/// An interrupted top-up of 25 EUR, with the order that the provider opened for it, if any.
struct CutOff {
    id: PaymentId,
    account: AccountId,
    key: Uuid,
    order: Option<&'static str>,
    now: Time,
}

async fn cut_off(db: &TestDb, begun: CutOff) {
    let insert = db.tx(begun, |conn, CutOff { id, account, key, order, now }| {
        Box::pin(async move {
            let digest = sha256(amount_body(2_500).to_string().as_bytes()).to_vec();
            conn.exec(
                "INSERT INTO payments (id, account_id, purpose, status, provider, amount, currency, refunded,
                                       request_key, request_digest, poll_at, created_at, updated_at)
                 VALUES ($1, $2, 'topup', 'pending', 'sandbox', 25000000000, 'EUR', 0, $3, $4, $5, $5, $5)",
                params![*id, *account, *key, digest, *now],
            )
            .await?;
            if let Some(order) = order {
                conn.exec(
                    "INSERT INTO sandbox_orders (id, reference, amount, currency, customer_name, customer_email,
                         return_url, state, declines_later, expires_at, created_at, updated_at)
                     VALUES ($1, $2, 25000000000, 'EUR', '', '', '/', 'pending', FALSE, $3, $4, $4)",
                    params![*order, id.to_string(), now.plus(std::time::Duration::from_secs(3600)), *now],
                )
                .await?;
            }
            Ok::<_, DbError>(())
        })
    });
    insert.await.unwrap();
}

both! {
    async fn top_ups_of_a_day_are_limited_in_number_and_amount(db) {
        let limits = [
            ("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TOPUPS_PER_DAY", "4"), ("TRUNKLINE_TOPUP_EUR_PER_DAY", "1000"),
        ];
        let world = World::with(db, &limits).await;
        let (many, rich) = (world.customer("mia@customer.example").await, world.customer("rita@customer.example").await);
        let topup = async |payer: &Client, cents: i64| {
            payer.with_key(fresh_key()).post("/payments/topups", amount_body(cents)).await
        };
        let started = join_all((0..8).map(|_| topup(&many, 2_500))).await;
        assert_eq!(started.iter().filter(|answer| answer.status == 201).count(), 4);
        topup(&rich, 60_000).await.expect(201);
        let refused = topup(&rich, 40_001).await.problem(409, "state.conflict");
        assert!(refused["detail"].as_str().unwrap().contains("1000.00 EUR in 24 hours"), "{refused}");
        topup(&rich, 40_000).await.expect(201);
        world.advance(24 * 60 * 60).await;
        let later = world.sign_in("rita@customer.example").await;
        topup(&later, 100_000).await.expect(201);
        world.end().await;
    }

    async fn a_payment_at_the_checkout_is_posted_to_the_ledger(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let opened = begin_topup(&cora, 2_500).await;
        assert_eq!((&opened["amount_minor"], &opened["currency"], &opened["status"]), (&json!(2500), &json!("EUR"), &json!("pending")));
        let payer = Payer::at(&opened);
        assert_eq!(opened["topup_id"], payer.order_id());
        let page = String::from_utf8(payer.call(Method::GET).await.bytes).unwrap();
        assert!(page.contains("<h1>Top up by EUR 25.00</h1>") && page.contains(">Pay EUR 25.00</button>"), "{page}");
        assert!(!page.contains("<script"));

        let pending = get_topup(&cora, &opened).await;
        assert_eq!((&pending["status"], &pending["balance_after_minor"]), (&json!("pending"), &Value::Null));
        payer.pay(&world, VISA).await;
        let completed = get_topup(&cora, &opened).await;
        assert_eq!((&completed["status"], &completed["balance_after_minor"]), (&json!("completed"), &json!(2500)));
        assert!(completed["completed_at"].is_string());
        let id = completed["id"].as_str().unwrap();
        assert_eq!(cora.get(&format!("/payments/topups/{id}")).await.ok(), completed);
        assert_eq!(ledger_cents(db, &cora).await, 2_500);
        assert!(String::from_utf8(payer.call(Method::GET).await.bytes).unwrap().contains("This is paid."));

        assert_eq!(complete_topup(&world, &cora, 1_099).await["balance_after_minor"], 3_599);
        assert_eq!(audit_rows(db, "topup.create").await, vec![(Some("customer".to_owned()), "success".to_owned()); 2]);
        assert_eq!(audit_rows(db, "topup.settle").await, vec![webhook_row("success"); 2]);
        // A card that pays once is not kept.
        assert_eq!(cora.get("/payments/methods").await.ok()["data"], json!([]));
        world.end().await;
    }

    async fn a_declined_or_cancelled_top_up_takes_nothing_and_can_be_repeated(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let choices: [&[(&str, &str)]; 3] =
            [&[("action", "pay"), ("card", "4000000000000002")], &[("action", "decline")], &[("action", "cancel")]];
        for choice in choices {
            let opened = begin_topup(&cora, 2_500).await;
            Payer::at(&opened).choose(&world, choice).await;
            assert_eq!(get_topup(&cora, &opened).await["status"], "failed");
        }
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (0, 0));
        complete_topup(&world, &cora, 2_500).await;
        assert_eq!(audit_rows(db, "topup.settle").await, [webhook_row("failure"), webhook_row("failure"), webhook_row("failure"), webhook_row("success")]);
        world.end().await;
    }

    async fn an_unpaid_top_up_expires_after_a_day(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let opened = begin_topup(&cora, 2_500).await;
        world.advance(23 * 3600).await;
        let cora = world.sign_in("cora@customer.example").await;
        assert_eq!(get_topup(&cora, &opened).await["status"], "pending");
        world.advance(3600).await;
        let cora = world.sign_in("cora@customer.example").await;
        assert_eq!(get_topup(&cora, &opened).await["status"], "expired");
        Payer::at(&opened).pay(&world, VISA).await;
        assert_eq!((get_topup(&cora, &opened).await["status"].clone(), ledger_cents(db, &cora).await), (json!("expired"), 0));
        assert_eq!(count(db, "SELECT COUNT(*) FROM payments WHERE poll_at IS NOT NULL").await, 0);
        world.end().await;
    }

    async fn a_paid_order_counts_after_its_top_up_expired(db) {
        let world = World::with(db, &[("TRUNKLINE_SANDBOX_CALLBACKS", "drop")]).await;
        let cora = world.customer("cora@customer.example").await;
        let opened = begin_topup(&cora, 2_500).await;
        let payer = Payer::at(&opened);
        payer.pay(&world, VISA).await;
        execute(db, "UPDATE payments SET status = 'expired', poll_at = NULL").await;
        for event in ["order_completed", "order_cancelled", "order_failed"] {
            send_webhook(&world, payer.order_id(), event, world.node.app.clock.now()).await.ok();
            world.settle().await;
            assert_eq!(get_topup(&cora, &opened).await["status"], "completed");
        }
        assert_eq!((ledger_cents(db, &cora).await, count_topups(db).await), (2_500, 1));
        world.end().await;
    }

    async fn an_approved_prospect_can_top_up_and_the_first_makes_it_live(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let refused = petra.with_key(fresh_key()).post("/payments/topups", amount_body(2_500)).await;
        refused.problem(403, "account.not_active");
        assert_eq!(count(db, "SELECT COUNT(*) FROM payments").await, 0);

        apply_event(&world, &petra, Event::Approved).await;
        apply_event(&world, &petra, Event::KybSubmitted).await;
        apply_event(&world, &petra, Event::KybApproved).await;
        assert_eq!(beta_status(&petra).await, "beta_approved");
        apply_event(&world, &petra, Event::Suspended).await;
        complete_topup(&world, &petra, 2_500).await;
        assert_eq!(beta_status(&petra).await, "live");
        apply_event(&world, &petra, Event::Reinstated).await;
        assert_eq!(petra.get("/account").await.ok()["onboarding_status"], "approved");
        assert_eq!(ledger_cents(db, &petra).await, 2_500);
        world.end().await;
    }

    async fn fifty_requests_with_one_key_open_one_order(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let keyed = cora.with_key(fresh_key());
        let answers = join_all((0..50).map(|_| keyed.post("/payments/topups", amount_body(2_500)))).await;
        for answer in &answers {
            assert_eq!((answer.status, &answer.bytes), (201, &answers[0].bytes), "{}", answer.body);
        }
        let fresh = answers.iter().filter(|answer| answer.header("idempotent-replayed").is_none());
        assert_eq!(fresh.count(), 1);
        assert_eq!(count(db, "SELECT COUNT(*) FROM payments").await, 1);
        assert_eq!(count(db, "SELECT COUNT(*) FROM sandbox_orders").await, 1);
        keyed.post("/payments/topups", amount_body(2_600)).await.problem(409, "idempotency.conflict");
        assert_eq!(count(db, "SELECT COUNT(*) FROM payments").await, 1);
        world.end().await;
    }

    async fn an_interrupted_top_up_is_completed_by_its_retry_with_the_same_body(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let account: AccountId = cora.account_id.parse().unwrap();
        let now = world.node.app.clock.now();
        // Cut off before and after the provider opened its order.
        for order in [None, Some("00ff")] {
            let (id, key) = (PaymentId::new(uuid()), fresh_key());
            cut_off(db, CutOff { id, account, key, order, now }).await;
            let keyed = cora.with_key(key);
            keyed.post("/payments/topups", amount_body(9_900)).await.problem(409, "idempotency.conflict");
            let opened = keyed.post("/payments/topups", amount_body(2_500)).await.expect(201);
            if let Some(order) = order {
                assert_eq!(opened["topup_id"], order);
            }
            assert_eq!(get_topup(&cora, &opened).await["id"], id.to_string());
        }
        assert_eq!(count(db, "SELECT COUNT(*) FROM payments").await, 2);
        assert_eq!(count(db, "SELECT COUNT(*) FROM sandbox_orders").await, 2);
        world.end().await;
    }

    async fn an_interrupted_top_up_is_completed_beyond_the_checkout_limit(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        for _ in 0..50 {
            begin_topup(&cora, 100).await;
        }
        // The state after two concurrent requests both took the last slot.
        let (id, key, now) = (PaymentId::new(uuid()), fresh_key(), world.node.app.clock.now());
        cut_off(db, CutOff { id, account: cora.account_id.parse().unwrap(), key, order: None, now }).await;
        let opened = cora.with_key(key).post("/payments/topups", amount_body(2_500)).await.expect(201);
        assert_eq!(get_topup(&cora, &opened).await["id"], id.to_string());
        world.end().await;
    }

    async fn an_amount_is_in_euros_and_at_least_one(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        cora.post("/payments/topups", amount_body(2_500)).await.problem(400, "idempotency.key_required");
        let keyed = cora.with_key(fresh_key());
        for (body, wrong) in [
            (amount_body(99), vec!["amount_minor"]),
            (amount_body(-2_500), vec!["amount_minor"]),
            (amount_body(100_000_001), vec!["amount_minor"]),
            (json!({"amount_minor": 2500, "currency": "USD"}), vec!["currency"]),
            (json!({"amount_minor": "2500"}), vec!["amount_minor", "currency"]),
        ] {
            assert_eq!(keyed.post("/payments/topups", body).await.invalid(), wrong);
        }
        keyed.post("/payments/topups", amount_body(100)).await.expect(201);
        world.end().await;
    }

    async fn top_ups_are_paged_newest_first_to_their_owner_only(db) {
        let world = World::start(db).await;
        let cora = world.customer("cora@customer.example").await;
        let mut opened = Vec::new();
        for amount in [100, 200, 300] {
            opened.push(begin_topup(&cora, amount).await);
            world.advance(1).await;
        }
        let (mut amounts, mut path) = (Vec::new(), "/payments/topups?limit=1".to_owned());
        loop {
            let page = cora.get(&path).await.ok();
            amounts.extend(page["data"].as_array().unwrap().iter().map(|topup| topup["amount_minor"].clone()));
            let Some(cursor) = page["meta"]["next_cursor"].as_str() else { break };
            path = format!("/payments/topups?limit=1&cursor={cursor}");
        }
        assert_eq!(amounts, [300, 200, 100]);
        let dora = world.customer("dora@customer.example").await;
        assert_eq!(dora.get("/payments/topups").await.ok()["data"], json!([]));
        let its_id = get_topup(&cora, &opened[0]).await["id"].as_str().unwrap().to_owned();
        for id in [its_id.as_str(), opened[0]["topup_id"].as_str().unwrap()] {
            dora.get(&format!("/payments/topups/{id}")).await.problem(404, "not_found");
        }
        world.end().await;
    }

    async fn the_number_of_open_top_up_checkouts_is_limited(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let mut opened = Vec::new();
        for _ in 0..50 {
            opened.push(begin_topup(&cora, 100).await);
        }
        let keyed = cora.with_key(fresh_key());
        keyed.post("/payments/topups", amount_body(100)).await.problem(409, "state.conflict");
        Payer::at(&opened[7]).choose(&world, &[("action", "cancel")]).await;
        begin_topup(&cora, 100).await;
        world.end().await;
    }
}
