//! A stand-in for the Revolut Merchant API as far as the service uses it, with faults on demand.
//!
//! Orders hold their attempts to pay; an attempt that is declined leaves its order waiting for another. Neither orders
//! nor payments know idempotency keys, refunds do. Lists show outlines. Codes and shapes are those of version
//! 2026-04-20.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use aws_lc_rs::hmac;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};
use values::Time;

use super::World;
use super::client::Answer;
use super::engines::{TestDb, uuid};

const KEY: &str = "sk_test_0123456789abcdefghijklmnopqrstuvwxyz";
const WEBHOOK_SECRET: &str = "wsk_test_0123456789abcdefghijklmnopqrstuv";
const VERSION: &str = "2026-04-20";

pub struct RevolutServer {
    pub url: String,
    books: Arc<Mutex<Books>>,
    task: JoinHandle<()>,
}

/// What goes wrong with the next request that changes something.
pub enum Fault {
    /// Nothing.
    Passes,
    /// The request takes effect, and the response is lost.
    LosesAnswer,
    /// The request is refused with 429.
    AsksToWait(u32),
    /// The request is held back until the test releases it.
    HoldsBack(Arc<HeldBack>),
}

/// A request that the server holds back until the test releases it.
#[derive(Default)]
pub struct HeldBack {
    arrived: Notify,
    release: Notify,
}

impl HeldBack {
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    pub fn release(&self) {
        self.release.notify_one();
    }
}

#[derive(Default)]
struct Books {
    orders: BTreeMap<String, Value>,
    customers: BTreeMap<String, Vec<Value>>,
    refund_keys: BTreeMap<String, String>,
    disputes: BTreeMap<String, Value>,
    /// What a charge of a saved card comes to: a payment's state and its reason.
    charges: VecDeque<(&'static str, Option<&'static str>)>,
    troubles: VecDeque<Fault>,
    /// Everything is refused.
    is_away: bool,
    /// Requests wait for this, and how many do.
    silence: Option<Arc<Notify>>,
    waiting: usize,
    /// Orders in processing cannot be cancelled.
    is_firm: bool,
    requests: usize,
}

impl RevolutServer {
    pub async fn start() -> RevolutServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let books = Arc::new(Mutex::new(Books::default()));
        let task = tokio::spawn(serve(listener, books.clone()));
        RevolutServer { url, books, task }
    }

    /// A world that pays here.
    pub async fn world(&self, db: &TestDb) -> World {
        self.world_with(db, &[]).await
    }

    /// The same with further settings.
    pub async fn world_with(&self, db: &TestDb, further: &[(&str, &str)]) -> World {
        let mut settings = vec![
            ("TRUNKLINE_PAYMENTS", "revolut"),
            ("TRUNKLINE_REVOLUT_KEY", KEY),
            ("TRUNKLINE_REVOLUT_WEBHOOK_SECRET", WEBHOOK_SECRET),
            ("TRUNKLINE_REVOLUT_URL", self.url.as_str()),
            ("TRUNKLINE_RATE_LIMITS", "off"),
            // With a real provider it is no lab.
            ("TRUNKLINE_REQUIRE_TEAM_2FA", "off"),
            ("TRUNKLINE_REQUIRE_VERIFIED_EMAIL", "off"),
            ("TRUNKLINE_ALLOW_LIST_PROOF", "off"),
        ];
        settings.extend(further);
        World::with(db, &settings).await
    }

    pub fn order(&self, id: &str) -> Value {
        self.books.lock().unwrap().orders[id].clone()
    }

    /// All orders of a type, in no order.
    pub fn orders(&self, kind: &str) -> Vec<Value> {
        self.books.lock().unwrap().orders.values().filter(|order| order["type"] == kind).cloned().collect()
    }

    /// How many requests have come so far.
    pub fn requests(&self) -> usize {
        self.books.lock().unwrap().requests
    }

    pub fn inject_fault(&self, trouble: Fault) {
        self.books.lock().unwrap().troubles.push_back(trouble);
    }

    /// Holds back the next request that changes something.
    pub fn hold_back(&self) -> Arc<HeldBack> {
        let held_back = Arc::new(HeldBack::default());
        self.inject_fault(Fault::HoldsBack(held_back.clone()));
        held_back
    }

    pub fn stop(&self) {
        self.books.lock().unwrap().is_away = true;
    }

    /// Answers nothing until the restart.
    pub fn fall_silent(&self) {
        self.books.lock().unwrap().silence = Some(Arc::default());
    }

    /// Returns when so many requests wait.
    pub async fn until_waiting(&self, requests: usize) {
        while self.books.lock().unwrap().waiting < requests {
            tokio::task::yield_now().await;
        }
    }

    pub fn restart(&self) {
        let mut books = self.books.lock().unwrap();
        books.is_away = false;
        if let Some(silence) = books.silence.take() {
            silence.notify_waiters();
        }
    }

    /// Refuses to cancel orders in processing.
    pub fn is_firm(&self) {
        self.books.lock().unwrap().is_firm = true;
    }

    /// Sets the result of the next charge to a saved card; by default it succeeds.
    pub fn next_charge(&self, state: &'static str, reason: Option<&'static str>) {
        self.books.lock().unwrap().charges.push_back((state, reason));
    }

    pub fn set_state(&self, id: &str, state: &str) {
        self.books.lock().unwrap().orders.get_mut(id).unwrap()["state"] = json!(state);
    }

    /// Pays an order at the hosted checkout, after one declined attempt. An order without an amount only saves the
    /// card.
    pub fn pay(&self, id: &str) {
        self.pay_with(id, "4444");
    }

    /// The same with the card that ends so.
    pub fn pay_with(&self, id: &str, last_four: &str) {
        let mut books = self.books.lock().unwrap();
        let order = books.orders.get_mut(id).unwrap();
        let mut method = json!({
            "type": "card", "card_brand": "mastercard", "card_bin": "555555", "card_last_four": last_four,
            "card_expiry": "07/31",
        });
        let declined = json!({
            "id": uuid(), "state": "declined", "decline_reason": "insufficient_funds", "payment_method": method.clone(),
        });
        let customer = order["customer"]["id"].as_str().unwrap().to_owned();
        let mut saved = None;
        if order["amount"] == 0 {
            let card = json!({
                "id": uuid(), "type": "card", "saved_for": "merchant", "brand": "mastercard", "last_four": last_four,
                "expiry_month": 7, "expiry_year": 2031,
            });
            method["id"] = card["id"].clone();
            saved = Some(card);
        }
        let captured = json!({"id": uuid(), "state": "captured", "payment_method": method});
        order["payments"] = json!([declined, captured]);
        order["state"] = json!("completed");
        books.customers.entry(customer).or_default().extend(saved);
    }

    /// Has the card's bank dispute this many cents of an order, and returns the dispute's id.
    pub fn dispute(&self, order_id: &str, cents: i64) -> String {
        let id = uuid().to_string();
        let dispute = json!({
            "id": id, "state": "needs_response", "substate": "new", "amount": cents, "currency": "EUR",
            "payment": {"id": uuid(), "order_id": order_id},
        });
        self.books.lock().unwrap().disputes.insert(id.clone(), dispute);
        id
    }

    pub fn set_dispute_state(&self, id: &str, state: &str) {
        self.books.lock().unwrap().disputes.get_mut(id).unwrap()["state"] = json!(state);
    }

    /// Sends a webhook about a dispute.
    pub async fn send_dispute_webhook(&self, world: &World, event: &str, dispute_id: &str) -> Answer {
        let at = world.node.app.clock.now();
        send_body(world, json!({"event": event, "dispute_id": dispute_id}), at, WEBHOOK_SECRET).await
    }

    /// Sends a webhook, signed at this time with the secret and, as during a rotation, with its successor.
    pub async fn send_webhook(&self, world: &World, event: &str, order_id: &str, at: Time) -> Answer {
        self.send_signed_webhook(world, event, order_id, at, WEBHOOK_SECRET).await
    }

    pub async fn send_signed_webhook(
        &self,
        world: &World,
        event: &str,
        order_id: &str,
        at: Time,
        secret: &str,
    ) -> Answer {
        let body = json!({"event": event, "order_id": order_id, "merchant_order_ext_ref": "x"});
        send_body(world, body, at, secret).await
    }
}

async fn send_body(world: &World, body: Value, at: Time, secret: &str) -> Answer {
    let body = body.to_string();
    let message = format!("v1.{}.{body}", at.millis());
    let sign = |secret: &str| {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), message.as_bytes());
        format!("v1={}", HEXLOWER.encode(tag.as_ref()))
    };
    let signatures = format!("{},{}", sign("wsk_the_next_secret"), sign(secret));
    let anyone = world.anyone();
    let request = anyone
        .request(Method::POST, "/webhooks/payments/revolut")
        .header("Revolut-Signature", signatures)
        .header("Revolut-Request-Timestamp", at.millis().to_string())
        .header("content-type", "application/json");
    anyone.send(request.body(body)).await
}

impl Drop for RevolutServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, books: Arc<Mutex<Books>>) {
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut connections = JoinSet::new();
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let (books, url) = (books.clone(), url.clone());
        let answer = service_fn(move |request| {
            let (books, url) = (books.clone(), url.clone());
            async move { Ok::<_, Infallible>(answer(&books, &url, request).await) }
        });
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
    }
}

type Said = (u16, Value);

fn refusal(status: u16, code: &str) -> Said {
    (status, json!({"code": code, "message": "as the documentation says", "timestamp": 1_721_049_596_461i64}))
}

async fn answer(books: &Mutex<Books>, url: &str, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let body: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap_or(Value::Null);
    let header = |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let trouble = {
        let mut books = books.lock().unwrap();
        books.requests += 1;
        if head.method == Method::POST { books.troubles.pop_front() } else { None }
    };
    let silence = books.lock().unwrap().silence.clone();
    if let Some(silence) = silence {
        let end = silence.notified();
        books.lock().unwrap().waiting += 1;
        end.await;
    }
    if books.lock().unwrap().is_away {
        return Response::builder().status(503).body(Full::default()).unwrap();
    }
    if let Some(Fault::HoldsBack(held_back)) = &trouble {
        held_back.arrived.notify_one();
        held_back.release.notified().await;
    }
    if let Some(Fault::AsksToWait(seconds)) = trouble {
        let response = Response::builder().status(429).header("Retry-After", seconds);
        return response.body(Full::from(refusal(429, "too_many_requests").1.to_string())).unwrap();
    }
    let (mut status, mut said) = if header("authorization") != Some(format!("Bearer {KEY}")) {
        refusal(401, "unauthenticated")
    } else if header("revolut-api-version").as_deref() != Some(VERSION) {
        refusal(400, "bad_request")
    } else {
        let path: Vec<&str> = head.uri.path().split('/').skip(1).collect();
        let query = head.uri.query().unwrap_or_default().as_bytes();
        let query: BTreeMap<String, String> = form_urlencoded::parse(query).into_owned().collect();
        books.lock().unwrap().handle(url, &head.method, &path, &query, &body, header("idempotency-key"))
    };
    if let Some(Fault::LosesAnswer) = trouble {
        (status, said) = refusal(502, "bad_gateway");
    }
    Response::builder().status(status).body(Full::from(said.to_string())).unwrap()
}

impl Books {
    fn handle(
        &mut self,
        url: &str,
        method: &Method,
        path: &[&str],
        query: &BTreeMap<String, String>,
        body: &Value,
        key: Option<String>,
    ) -> Said {
        match (method.as_str(), path) {
            ("POST", ["api", "orders"]) => self.create(url, body),
            ("GET", ["api", "orders"]) => self.list(&query["merchant_order_data_reference"]),
            ("GET", ["api", "orders", id]) => {
                self.orders.get(*id).map_or_else(|| refusal(404, "not_found"), |order| (200, order.clone()))
            }
            ("POST", ["api", "orders", id, "payments"]) => self.charge(id, body),
            ("POST", ["api", "orders", id, "cancel"]) => self.cancel(id),
            ("POST", ["api", "orders", id, "refund"]) => self.refund(id, body, key),
            ("GET", ["api", "disputes"]) => {
                assert!(query["from_created_date"].ends_with('Z') && query["limit"] == "500");
                (200, json!(self.disputes.values().collect::<Vec<_>>()))
            }
            ("GET", ["api", "disputes", id]) => {
                self.disputes.get(*id).map_or_else(|| refusal(404, "not_found"), |dispute| (200, dispute.clone()))
            }
            ("GET", ["api", "customers", id, "payment-methods"]) => {
                assert_eq!(query["only_merchant"], "true");
                let methods = self.customers.get(*id).cloned().unwrap_or_default();
                (200, json!({"payment_methods": methods}))
            }
            _ => refusal(404, "not_found"),
        }
    }

    fn create(&mut self, url: &str, body: &Value) -> Said {
        let known = [
            "amount",
            "currency",
            "customer",
            "merchant_order_data",
            "redirect_url",
            "capture_mode",
            "expire_pending_after",
        ];
        let fields = body.as_object().unwrap();
        if fields.keys().any(|field| !known.contains(&field.as_str())) || body["amount"].as_u64().is_none() {
            return refusal(400, "bad_request");
        }
        // An address alone makes another customer each time.
        let customer = match body["customer"]["id"].as_str() {
            Some(id) if !self.customers.contains_key(id) => return refusal(404, "customer_not_found"),
            Some(id) => id.to_owned(),
            None => uuid().to_string(),
        };
        self.customers.entry(customer.clone()).or_default();
        let (id, token) = (uuid().to_string(), uuid());
        let order = json!({
            "id": id, "token": token, "type": "payment", "state": "pending", "amount": body["amount"],
            "currency": body["currency"], "merchant_order_data": body["merchant_order_data"],
            "customer": {"id": customer}, "capture_mode": body["capture_mode"], "redirect_url": body["redirect_url"],
            "checkout_url": format!("{url}/payment-link/{token}"),
        });
        self.orders.insert(id, order.clone());
        (201, order)
    }

    fn list(&self, reference: &str) -> Said {
        let found = self.orders.values().filter(|order| order["merchant_order_data"]["reference"] == reference);
        let outline = |order: &Value| json!({"id": order["id"], "type": order["type"], "state": order["state"]});
        (200, json!({"orders": found.map(outline).collect::<Vec<_>>()}))
    }

    fn charge(&mut self, id: &str, body: &Value) -> Said {
        let Some(order) = self.orders.get_mut(id) else { return refusal(404, "not_found") };
        let saved = &body["saved_payment_method"];
        let methods = &self.customers[order["customer"]["id"].as_str().unwrap()];
        if order["state"] != "pending" || saved["initiator"] != "merchant" || saved["type"] != "card" {
            return refusal(422, "invalid_state");
        }
        if !methods.iter().any(|method| method["id"] == saved["id"]) {
            return refusal(422, "payment_method_not_found");
        }
        let (state, reason) = self.charges.pop_front().unwrap_or(("completed", None));
        let payment = json!({"id": uuid(), "order_id": id, "state": state, "decline_reason": reason});
        order["payments"] = json!([payment]);
        order["state"] = match state {
            "completed" => json!("completed"),
            "authorisation_started" | "authentication_challenge" => json!("processing"),
            _ => json!("pending"),
        };
        (200, payment)
    }

    fn cancel(&mut self, id: &str) -> Said {
        let Some(order) = self.orders.get_mut(id) else { return refusal(404, "not_found") };
        let is_over = order["state"] == "completed" || order["state"] == "cancelled";
        if is_over || (self.is_firm && order["state"] == "processing") {
            return refusal(422, "invalid_state");
        }
        order["state"] = json!("cancelled");
        (200, order.clone())
    }

    fn refund(&mut self, id: &str, body: &Value, key: Option<String>) -> Said {
        if let Some(known) = key.as_ref().and_then(|key| self.refund_keys.get(key)) {
            return (201, self.orders[known].clone());
        }
        let Some(order) = self.orders.get_mut(id) else { return refusal(404, "not_found") };
        let amount = body["amount"].as_i64().unwrap();
        let refunded = order["refunded_amount"].as_i64().unwrap_or(0) + amount;
        let fits = refunded <= order["amount"].as_i64().unwrap();
        if order["state"] != "completed" || order["currency"] != body["currency"] || !fits {
            return refusal(422, "refund_not_allowed");
        }
        order["refunded_amount"] = json!(refunded);
        let refund_id = uuid().to_string();
        let refund = json!({
            "id": refund_id, "type": "refund", "state": "completed", "amount": amount, "currency": body["currency"],
            "merchant_order_data": body["merchant_order_data"], "related_order_id": id,
        });
        self.orders.insert(refund_id.clone(), refund.clone());
        self.refund_keys.extend(key.map(|key| (key, refund_id)));
        (201, refund)
    }
}
