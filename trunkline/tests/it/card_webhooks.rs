//! Webhooks of card verifications: repeated, late, out of order or missing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, Mutex};

use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use values::Time;

use crate::world::World;
use crate::world::client::Session;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::audit::audit_rows;
use crate::world::fixtures::count;
use crate::world::fixtures::onboarding::{beta_status, card_status, sign_up, submit_kyb, traffic_profile};
use crate::world::fixtures::payments::{VISA, send_webhook, webhook_row};
use crate::world::payer::{Payer, set_up_card};

/// Later than any delayed webhook.
const LATE: u64 = 700;

async fn world(db: &TestDb, callbacks: &str) -> World {
    World::with(db, &[("TRUNKLINE_SANDBOX_CALLBACKS", callbacks), ("TRUNKLINE_RATE_LIMITS", "off")]).await
}

/// A prospect whose card is all that is missing for the waitlist, and the checkout it is shown at.
async fn at_checkout(world: &World, db: &TestDb) -> (Session, Payer) {
    let petra = sign_up(world, "petra@prospect.example").await;
    submit_kyb(db, &petra).await;
    petra.call(reqwest::Method::PUT, "/me/traffic-profile", Some(traffic_profile())).await.ok();
    let payer = Payer::at(&set_up_card(&petra).await);
    (petra, payer)
}

/// The webhooks of the provider, in order of arrival.
async fn events(db: &TestDb) -> Vec<String> {
    let sql = "SELECT event FROM payment_callbacks ORDER BY received_at";
    let rows: Vec<(String,)> = db.read().await.unwrap().all(sql, &[]).await.unwrap();
    rows.into_iter().map(|(event,)| event).collect()
}

fn system() -> (Option<String>, String) {
    (Some("system".to_owned()), "success".to_owned())
}

both! {
    async fn a_card_is_verified_without_any_webhook(db) {
        let world = world(db, "drop").await;
        let (petra, payer) = at_checkout(&world, db).await;
        payer.pay(&world, VISA).await;
        assert_eq!(card_status(&petra).await, "pending_verification");
        world.advance(120).await;
        assert_eq!(card_status(&petra).await, "verified");
        assert_eq!(beta_status(&petra).await, "beta_waitlist");
        assert_eq!(audit_rows(db, "card.verify").await, [system()]);
        world.advance(LATE).await;
        assert_eq!(audit_rows(db, "payment.callback").await, []);
        world.end().await;
    }

    async fn a_repeated_webhook_counts_once(db) {
        let world = world(db, "duplicate").await;
        let (petra, payer) = at_checkout(&world, db).await;
        payer.pay(&world, VISA).await;
        assert_eq!(card_status(&petra).await, "verified");
        assert_eq!(audit_rows(db, "payment.callback").await, vec![webhook_row("success"); 4]);
        assert_eq!(audit_rows(db, "card.verify").await, [webhook_row("success")]);
        assert_eq!(count(db, "SELECT COUNT(*) FROM payment_callbacks").await, 2);
        world.end().await;
    }

    async fn a_late_webhook_is_accepted_and_changes_nothing(db) {
        let world = world(db, "delay").await;
        let (petra, payer) = at_checkout(&world, db).await;
        payer.pay(&world, VISA).await;
        world.advance(120).await;
        assert_eq!(card_status(&petra).await, "verified");
        assert_eq!(audit_rows(db, "payment.callback").await, []);
        let shown = petra.get("/me/payment-method").await.ok();
        world.advance(LATE).await;
        assert_eq!(audit_rows(db, "payment.callback").await, vec![webhook_row("success"); 2]);
        assert_eq!(petra.get("/me/payment-method").await.ok(), shown);
        assert_eq!(audit_rows(db, "card.verify").await, [system()]);
        world.end().await;
    }

    async fn webhooks_out_of_order_never_move_a_card_back(db) {
        let world = world(db, "reorder").await;
        let (petra, payer) = at_checkout(&world, db).await;
        payer.pay(&world, VISA).await;
        assert_eq!(events(db).await, ["order_completed"]);
        assert_eq!((card_status(&petra).await.as_str(), beta_status(&petra).await), ("verified", json!("beta_waitlist")));
        let shown = petra.get("/me/payment-method").await.ok();
        world.advance(LATE).await;
        assert_eq!(events(db).await, ["order_completed", "order_processing"]);
        for event in ["order_pending", "order_failed", "order_cancelled"] {
            send_webhook(&world, payer.order_id(), event, world.node.app.clock.now()).await.ok();
            world.settle().await;
        }
        assert_eq!(petra.get("/me/payment-method").await.ok(), shown);
        assert_eq!(beta_status(&petra).await, "beta_waitlist");
        assert_eq!(audit_rows(db, "card.verify").await, [webhook_row("success")]);
        world.end().await;
    }

    async fn a_failed_card_stays_failed_after_late_webhooks(db) {
        let world = world(db, "reorder,duplicate").await;
        let (petra, payer) = at_checkout(&world, db).await;
        payer.choose(&world, &[("action", "decline")]).await;
        assert_eq!(card_status(&petra).await, "verification_failed");
        world.advance(LATE).await;
        send_webhook(&world, payer.order_id(), "order_pending", world.node.app.clock.now()).await.ok();
        world.settle().await;
        assert_eq!(card_status(&petra).await, "verification_failed");
        assert_eq!(audit_rows(db, "card.verify").await, [webhook_row("failure")]);
        assert_eq!(audit_rows(db, "payment.callback").await.len(), 5);
        world.end().await;
    }

    async fn concurrent_webhooks_and_polls_verify_a_card_once(db) {
        let world = world(db, "delay, duplicate, reorder").await;
        let (petra, payer) = at_checkout(&world, db).await;
        payer.pay(&world, VISA).await;
        // Held back once, then twice.
        for told in [&["order_completed"][..], &["order_completed", "order_processing"]] {
            world.advance(400).await;
            assert_eq!(events(db).await, told);
        }
        assert_eq!((card_status(&petra).await.as_str(), beta_status(&petra).await), ("verified", json!("beta_waitlist")));
        assert_eq!(audit_rows(db, "payment.callback").await.len(), 4);
        assert_eq!(audit_rows(db, "card.verify").await.len(), 1);
        world.end().await;
    }

    async fn an_unaccepted_webhook_is_signed_and_sent_again(db) {
        let merchant = Merchant::start().await;
        let world = World::with(db, &[("TRUNKLINE_PUBLIC_URL", &merchant.url)]).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let opened = set_up_card(&petra).await["checkout_url"].as_str().unwrap().to_owned();
        let here = opened.replace(&merchant.url, &format!("http://{}", world.node.public));
        Payer::at(&json!({"checkout_url": here})).send(&[("action", "pay"), ("card", VISA)]).await.expect(303);
        world.settle().await;
        let first = merchant.heard();
        assert_eq!(first.len(), 2);
        world.advance(3600).await;
        let heard = merchant.heard();
        assert_eq!(heard.len(), 4, "two were refused and came again");
        for Heard { headers, body, at } in &heard {
            let notice = world.node.app.payments.verify_webhook(headers, body, *at).unwrap();
            assert!(opened.ends_with(notice.subject.id()));
        }
        let bodies = |heard: &[Heard]| {
            let mut bodies: Vec<Value> = heard.iter().map(|heard| serde_json::from_slice(&heard.body).unwrap()).collect();
            bodies.sort_by_key(Value::to_string);
            bodies
        };
        assert_eq!(bodies(&heard[..2]), bodies(&heard[2..]));
        world.end().await;
    }
}

/// A server that refuses the first two webhooks and accepts the others.
struct Merchant {
    url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

#[derive(Clone)]
struct Heard {
    headers: HeaderMap,
    body: Vec<u8>,
    /// When it says it was sent.
    at: Time,
}

impl Merchant {
    async fn start() -> Merchant {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let all = heard.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, all.clone()));
            }
        });
        Merchant { url, heard }
    }

    fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, all: Arc<Mutex<Vec<Heard>>>) {
    let mut bytes = Vec::new();
    let (head, length) = loop {
        if stream.read_buf(&mut bytes).await.unwrap() == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap_or(0) {
            break (head.to_owned(), length.unwrap_or(0));
        }
    };
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers: HeaderMap = fields.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
    let at = Time::from_millis(headers["sandbox-request-timestamp"].to_str().unwrap().parse().unwrap());
    let number = {
        let mut all = all.lock().unwrap();
        all.push(Heard { headers, body: bytes[bytes.len() - length..].to_vec(), at });
        all.len()
    };
    let status = if number <= 2 { "503 Service Unavailable" } else { "200 OK" };
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
}
