//! The Revolut Merchant API.
//!
//! Orders and payments have no idempotency key, so each carries our reference and is searched by it before it is
//! created. The caller makes sure that charges of one reference do not run concurrently. Refunds have an idempotency
//! key, which is enough between nodes; within a node they run one at a time. A second order under one reference would
//! do no harm, since nobody gets its checkout.
//!
//! A saved card is charged through an order of its own. When the payment is declined, Revolut keeps the order open for
//! another payment, which will not come without the card's holder; so the order is cancelled and the charge fails. The
//! same happens when the bank asks for authentication.
//!
//! - `api`: HTTP · `wire`: the JSON bodies

mod api;
mod wire;

use std::sync::Arc;

use aws_lc_rs::hmac;
use hyper::header::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{
    ChargeRequest, Checkout, Dispute, InvalidWebhook, Order, OrderRequest, OrderState, Payer, ProviderError, Refund,
    SavedCard, WebhookEvent, webhook,
};
use api::{Api, Refused};
use db::Clock;
use values::{Currency, Money, Rfc3339, Time};
use wire::{DisputeBody, Disputes, OrderBody, Orders, PaymentBody, PaymentMethods};

const SIGNATURE: &str = "revolut-signature";
const TIMESTAMP: &str = "revolut-request-timestamp";

/// When an unpaid order expires.
const CHECKOUT_TTL: &str = "PT24H";

/// The most disputes that Revolut lists at once.
const DISPUTES_PAGE: &str = "500";

/// The settings of Revolut.
#[derive(Clone)]
pub struct RevolutSettings {
    /// The origin of the API.
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
    /// Held from searching a refund to creating it.
    refund_lock: Arc<Mutex<()>>,
}

impl Revolut {
    pub fn new(settings: &RevolutSettings, http: reqwest::Client, clock: Clock) -> Revolut {
        Revolut {
            api: Api::new(settings.url.clone(), settings.key.clone(), http, clock),
            webhook_key: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, settings.webhook_secret.as_bytes())),
            refund_lock: Arc::default(),
        }
    }

    pub(super) async fn open(&self, request: OrderRequest) -> Result<Checkout, ProviderError> {
        let order = match self.find_body(&request.reference).await? {
            Some(order) => order,
            None => {
                let mut order = new_order(&request.reference, request.amount, &request.payer);
                order["redirect_url"] = json!(request.return_url);
                self.create(&order).await?
            }
        };
        let checkout_url =
            order.checkout_url.ok_or_else(|| ProviderError("Revolut returned an order without a checkout".into()))?;
        Ok(Checkout { order_id: order.id, checkout_url })
    }

    pub(super) async fn order(&self, id: &str) -> Result<Option<Order>, ProviderError> {
        match self.get_body(id).await? {
            Some(body) => self.to_order(body).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) async fn find(&self, reference: &str) -> Result<Option<Order>, ProviderError> {
        match self.find_body(reference).await? {
            Some(body) => self.to_order(body).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) async fn charge(&self, request: ChargeRequest) -> Result<Order, ProviderError> {
        let order = match self.find_body(&request.reference).await? {
            Some(order) => order,
            None => self.create(&new_order(&request.reference, Some(request.amount), &request.payer)).await?,
        };
        let state = order.order_state()?;
        let payment = match order.last_payment() {
            _ if state.is_final() => return self.to_order(order).await,
            Some(payment) => payment.clone(),
            None if state == OrderState::Processing => return self.to_order(order).await,
            None => match self.pay(&order.id, &request.card_token).await? {
                Ok(payment) => payment,
                Err(refused) => return self.fail_charge(&order.id, refused.code).await,
            },
        };
        match payment.refusal() {
            Some(reason) => self.fail_charge(&order.id, reason).await,
            None => self.order(&order.id).await?.ok_or_else(|| not_found(&order.id)),
        }
    }

    async fn pay(&self, order_id: &str, card_token: &str) -> Result<Result<PaymentBody, Refused>, ProviderError> {
        let method = json!({"type": "card", "id": card_token, "initiator": "merchant"});
        let body = json!({"saved_payment_method": method});
        self.api.post(&format!("/api/orders/{order_id}/payments"), &body, None).await
    }

    /// Cancels the order of a declined charge, so that it cannot be paid later. A payment that completed in the
    /// meantime, or still may, is not a failure.
    async fn fail_charge(&self, order_id: &str, reason: String) -> Result<Order, ProviderError> {
        self.cancel(order_id).await?;
        let order = self.order(order_id).await?.ok_or_else(|| not_found(order_id))?;
        match order.state {
            OrderState::Completed | OrderState::Processing => Ok(order),
            _ => Ok(Order { state: OrderState::Failed, decline: Some(reason), ..order }),
        }
    }

    pub(super) async fn refund(&self, order_id: &str, amount: Money, reference: &str) -> Result<Refund, ProviderError> {
        let _guard = self.refund_lock.lock().await;
        if let Some(known) = self.find_refund(reference).await? {
            return Ok(known);
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

    pub(super) async fn find_refund(&self, reference: &str) -> Result<Option<Refund>, ProviderError> {
        self.find_body(reference).await?.map(OrderBody::refund).transpose()
    }

    pub(super) async fn cancel(&self, order_id: &str) -> Result<(), ProviderError> {
        // Revolut refuses if the order can no longer be cancelled; it stays unchanged.
        let answer = self.api.post::<Value>(&format!("/api/orders/{order_id}/cancel"), &json!({}), None).await?;
        if let Err(refused) = answer {
            tracing::info!(order_id, code = refused.code, "order cancellation refused by Revolut");
        }
        Ok(())
    }

    pub(super) async fn dispute(&self, id: &str) -> Result<Option<Dispute>, ProviderError> {
        let body: Option<DisputeBody> = self.api.get(&format!("/api/disputes/{id}"), &[]).await?;
        body.map(DisputeBody::dispute).transpose()
    }

    /// Revolut's own sandbox has no disputes and answers 404, which is an empty list.
    pub(super) async fn disputes_since(&self, since: Time) -> Result<Vec<Dispute>, ProviderError> {
        let since = Rfc3339(since).to_string();
        let query = [("from_created_date", since.as_str()), ("limit", DISPUTES_PAGE)];
        let disputes: Option<Disputes> = self.api.get("/api/disputes", &query).await?;
        disputes.map(Disputes::into_vec).unwrap_or_default().into_iter().map(DisputeBody::dispute).collect()
    }

    pub(super) fn verify_webhook(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Time,
    ) -> Result<WebhookEvent, InvalidWebhook> {
        let is_signature = |message: &[u8], tag: &[u8]| hmac::verify(&self.webhook_key, message, tag).is_ok();
        webhook::verify((SIGNATURE, TIMESTAMP), headers, body, now, is_signature)
    }

    async fn create(&self, order: &Value) -> Result<OrderBody, ProviderError> {
        let created = self.api.post::<OrderBody>("/api/orders", order, None).await?;
        created.map_err(|refused| ProviderError(format!("Revolut refused an order: {}", refused.code)))
    }

    async fn get_body(&self, id: &str) -> Result<Option<OrderBody>, ProviderError> {
        self.api.get(&format!("/api/orders/{id}"), &[]).await
    }

    /// The order with this reference. Lists contain only an outline, so the order is fetched.
    async fn find_body(&self, reference: &str) -> Result<Option<OrderBody>, ProviderError> {
        let query = [("merchant_order_data_reference", reference), ("limit", "10")];
        let found: Option<Orders> = self.api.get("/api/orders", &query).await?;
        match found.and_then(|orders| orders.furthest()) {
            Some(id) => self.get_body(&id).await,
            None => Ok(None),
        }
    }

    /// Converts an order, and adds the saved card.
    async fn to_order(&self, body: OrderBody) -> Result<Order, ProviderError> {
        let card = match body.saved_card() {
            None if body.saves_card() => self.newest_card(&body).await?,
            card => card,
        };
        body.order(card)
    }

    /// The saved card from the customer's payment methods, for orders that do not name it.
    async fn newest_card(&self, body: &OrderBody) -> Result<Option<SavedCard>, ProviderError> {
        let Some(customer) = body.customer_id() else { return Ok(None) };
        let path = format!("/api/customers/{customer}/payment-methods");
        let methods: Option<PaymentMethods> = self.api.get(&path, &[("only_merchant", "true")]).await?;
        Ok(methods.and_then(|methods| methods.card_of(body)))
    }
}

/// The body of a new order. Verifying a card has the amount zero.
fn new_order(reference: &str, amount: Option<Money>, payer: &Payer) -> Value {
    let amount = amount.unwrap_or(Money::zero(Currency::EUR));
    // With only an email, Revolut would create another customer each time.
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
        "expire_pending_after": CHECKOUT_TTL,
    })
}

fn not_found(order_id: &str) -> ProviderError {
    ProviderError(format!("Revolut no longer knows the order {order_id}"))
}
