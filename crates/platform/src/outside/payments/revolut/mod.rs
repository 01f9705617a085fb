//! The Revolut Merchant API.
//!
//! Orders and payments take no idempotency key, so everything carries our reference and is looked for under it before
//! it is made (`find`). Whoever asks for a charge sees to it that nobody else does at the same moment. Refunds have a
//! key, which is enough between nodes; those of one node take turns. A second checkout under one reference would do no
//! harm, since nobody is told of it. `api` speaks HTTP, `wire` knows the shapes.
//!
//! A saved card is charged by an order of its own. An order whose payment was declined waits for another, which will
//! not come while the holder is away: it is cancelled, and the charge has failed. The same goes for a bank that wants
//! to ask the holder.

mod api;
mod wire;

use std::sync::Arc;

use aws_lc_rs::hmac;
use hyper::header::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{
    ChargeRequest, Checkout, Forged, Notice, Order, OrderRequest, OrderState, Payer, ProviderError, Refund, SavedCard,
    callback,
};
use crate::clock::Clock;
use api::{Api, Refused};
use values::{Currency, Money, Time};
use wire::{OrderBody, Orders, PaymentBody, PaymentMethods};

const SIGNATURE: &str = "revolut-signature";
const TIMESTAMP: &str = "revolut-request-timestamp";

/// How long a checkout waits for its payer.
const PATIENCE: &str = "PT24H";

/// What the settings say.
#[derive(Clone)]
pub struct RevolutSettings {
    /// Where the API is, without a path.
    pub url: String,
    pub key: String,
    pub webhook_secret: String,
}

impl std::fmt::Debug for RevolutSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RevolutSettings").field("url", &self.url).finish_non_exhaustive()
    }
}

#[derive(Clone)]
pub struct Revolut {
    api: Api,
    webhook_key: Arc<hmac::Key>,
    /// Whoever sends money back holds it from looking to making.
    turn: Arc<Mutex<()>>,
}

impl Revolut {
    pub fn new(settings: &RevolutSettings, http: reqwest::Client, clock: Clock) -> Revolut {
        Revolut {
            api: Api::new(settings.url.clone(), settings.key.clone(), http, clock),
            webhook_key: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, settings.webhook_secret.as_bytes())),
            turn: Arc::default(),
        }
    }

    pub(super) async fn open(&self, request: OrderRequest) -> Result<Checkout, ProviderError> {
        let order = match self.body_of(&request.reference).await? {
            Some(order) => order,
            None => {
                let mut order = order_of(&request.reference, request.amount, &request.payer);
                order["redirect_url"] = json!(request.return_url);
                self.create(&order).await?
            }
        };
        let checkout_url = order.checkout_url.ok_or_else(|| ProviderError("an order without a checkout".into()))?;
        Ok(Checkout { order_id: order.id, checkout_url })
    }

    pub(super) async fn order(&self, id: &str) -> Result<Option<Order>, ProviderError> {
        match self.body(id).await? {
            Some(body) => self.known(body).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) async fn find(&self, reference: &str) -> Result<Option<Order>, ProviderError> {
        match self.body_of(reference).await? {
            Some(body) => self.known(body).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) async fn charge(&self, request: ChargeRequest) -> Result<Order, ProviderError> {
        let order = match self.body_of(&request.reference).await? {
            Some(order) => order,
            None => self.create(&order_of(&request.reference, Some(request.amount), &request.payer)).await?,
        };
        let state = order.order_state()?;
        let payment = match order.last_payment() {
            _ if state.is_final() => return self.known(order).await,
            Some(payment) => payment.clone(),
            None if state == OrderState::Processing => return self.known(order).await,
            None => match self.pay(&order.id, &request.card_token).await? {
                Ok(payment) => payment,
                Err(refused) => return self.give_up(&order.id, refused.code).await,
            },
        };
        match payment.refusal() {
            Some(reason) => self.give_up(&order.id, reason).await,
            None => self.order(&order.id).await?.ok_or_else(|| gone(&order.id)),
        }
    }

    async fn pay(&self, order_id: &str, card_token: &str) -> Result<Result<PaymentBody, Refused>, ProviderError> {
        let method = json!({"type": "card", "id": card_token, "initiator": "merchant"});
        let body = json!({"saved_payment_method": method});
        self.api.post(&format!("/api/orders/{order_id}/payments"), &body, None).await
    }

    /// Ends a charge that was declined, so that nobody can pay its order later. One that went through at the last moment,
    /// or still may, is no failure.
    async fn give_up(&self, order_id: &str, reason: String) -> Result<Order, ProviderError> {
        self.cancel(order_id).await?;
        let order = self.order(order_id).await?.ok_or_else(|| gone(order_id))?;
        match order.state {
            OrderState::Completed | OrderState::Processing => Ok(order),
            _ => Ok(Order { state: OrderState::Failed, decline: Some(reason), ..order }),
        }
    }

    pub(super) async fn refund(&self, order_id: &str, amount: Money, reference: &str) -> Result<Refund, ProviderError> {
        let _turn = self.turn.lock().await;
        if let Some(known) = self.body_of(reference).await? {
            return known.refund();
        }
        let body = json!({
            "amount": amount.minor(),
            "currency": amount.currency(),
            "merchant_order_data": {"reference": reference},
        });
        let path = format!("/api/orders/{order_id}/refund");
        match self.api.post::<OrderBody>(&path, &body, Some(reference)).await? {
            Ok(refund) => refund.refund(),
            Err(refused) => Ok(refused.refund()),
        }
    }

    pub(super) async fn cancel(&self, order_id: &str) -> Result<(), ProviderError> {
        // An order that cannot be cancelled any more is refused, and stays as it is.
        let answer = self.api.post::<Value>(&format!("/api/orders/{order_id}/cancel"), &json!({}), None).await?;
        if let Err(refused) = answer {
            tracing::info!(order_id, code = refused.code, "an order could not be cancelled");
        }
        Ok(())
    }

    pub(super) fn read_callback(&self, headers: &HeaderMap, body: &[u8], now: Time) -> Result<Notice, Forged> {
        let vouch = |message: &[u8], tag: &[u8]| hmac::verify(&self.webhook_key, message, tag).is_ok();
        callback::read((SIGNATURE, TIMESTAMP), headers, body, now, vouch)
    }

    async fn create(&self, order: &Value) -> Result<OrderBody, ProviderError> {
        let created = self.api.post::<OrderBody>("/api/orders", order, None).await?;
        created.map_err(|refused| ProviderError(format!("Revolut refuses an order: {}", refused.code)))
    }

    async fn body(&self, id: &str) -> Result<Option<OrderBody>, ProviderError> {
        self.api.get(&format!("/api/orders/{id}"), &[]).await
    }

    /// The order under this reference. Lists tell little of an order, so it is fetched.
    async fn body_of(&self, reference: &str) -> Result<Option<OrderBody>, ProviderError> {
        let query = [("merchant_order_data_reference", reference), ("limit", "10")];
        let found: Option<Orders> = self.api.get("/api/orders", &query).await?;
        match found.and_then(|orders| orders.the_one()) {
            Some(id) => self.body(&id).await,
            None => Ok(None),
        }
    }

    /// The order as we speak of it, with the card that was saved.
    async fn known(&self, body: OrderBody) -> Result<Order, ProviderError> {
        let card = match body.saved_card() {
            None if body.saves_card() => self.newest_card(&body).await?,
            card => card,
        };
        body.order(card)
    }

    /// Where the order does not name the saved card, the customer's list does.
    async fn newest_card(&self, body: &OrderBody) -> Result<Option<SavedCard>, ProviderError> {
        let Some(customer) = body.customer_id() else { return Ok(None) };
        let path = format!("/api/customers/{customer}/payment-methods");
        let methods: Option<PaymentMethods> = self.api.get(&path, &[("only_merchant", "true")]).await?;
        Ok(methods.and_then(|methods| methods.card_of(body)))
    }
}

/// An order to be. A card that is only shown costs nothing.
fn order_of(reference: &str, amount: Option<Money>, payer: &Payer) -> Value {
    let amount = amount.unwrap_or(Money::zero(Currency::EUR));
    // An address alone makes another customer each time.
    let customer = match &payer.provider_customer {
        Some(id) => json!({"id": id}),
        None => json!({"email": payer.email, "full_name": payer.name}),
    };
    json!({
        "amount": amount.minor(),
        "currency": amount.currency(),
        "customer": customer,
        "merchant_order_data": {"reference": reference},
        "capture_mode": "automatic",
        "expire_pending_after": PATIENCE,
    })
}

fn gone(order_id: &str) -> ProviderError {
    ProviderError(format!("Revolut does not know its order {order_id} any more"))
}
