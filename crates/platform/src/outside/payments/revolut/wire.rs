//! Revolut's JSON bodies, and how they map to ours.

use serde::Deserialize;

use super::super::{
    Brand, Card, Dispute, DisputeState, Order, OrderState, ProviderError, Refund, RefundState, SavedCard,
};
use values::{Currency, Money};

#[derive(Clone, Debug, Deserialize)]
pub struct OrderBody {
    pub id: String,
    state: String,
    amount: i64,
    currency: Currency,
    #[serde(default)]
    refunded_amount: Option<i64>,
    #[serde(default)]
    pub checkout_url: Option<String>,
    #[serde(default)]
    merchant_order_data: Option<MerchantOrderData>,
    #[serde(default)]
    customer: Option<CustomerBody>,
    /// All payment attempts, the oldest first.
    #[serde(default)]
    payments: Vec<PaymentBody>,
}

#[derive(Clone, Debug, Deserialize)]
struct MerchantOrderData {
    #[serde(default)]
    reference: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct CustomerBody {
    #[serde(default)]
    id: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct PaymentBody {
    state: String,
    #[serde(default)]
    decline_reason: Option<String>,
    #[serde(default)]
    payment_method: Option<MethodBody>,
}

#[derive(Clone, Debug, Deserialize)]
struct MethodBody {
    /// Present if it is saved.
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    card_brand: Option<String>,
    /// The first digits of its number.
    #[serde(default)]
    card_bin: Option<String>,
    #[serde(default)]
    card_last_four: Option<String>,
    /// Month and year, such as `12/30`.
    #[serde(default)]
    card_expiry: Option<String>,
}

/// A page of orders, which contains only outlines.
#[derive(Deserialize)]
pub struct Orders {
    orders: Vec<Outline>,
}

#[derive(Deserialize)]
struct Outline {
    id: String,
    state: String,
}

impl Orders {
    /// The order that progressed furthest. There may be two under one reference if a response was lost.
    pub fn furthest(self) -> Option<String> {
        let progress = |outline: &Outline| match outline.state.as_str() {
            "completed" => 3,
            "authorised" | "processing" => 2,
            "pending" => 1,
            _ => 0,
        };
        self.orders.into_iter().max_by_key(progress).map(|outline| outline.id)
    }
}

#[derive(Deserialize)]
pub struct PaymentMethods {
    payment_methods: Vec<SavedMethod>,
}

#[derive(Deserialize)]
struct SavedMethod {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    brand: Option<String>,
    #[serde(default)]
    last_four: Option<String>,
    #[serde(default)]
    expiry_month: Option<i64>,
    #[serde(default)]
    expiry_year: Option<i64>,
}

impl PaymentMethods {
    /// The saved card that an order was paid with.
    pub fn card_of(self, order: &OrderBody) -> Option<SavedCard> {
        let paid_with = order.paid_with()?.card_last_four.as_deref()?;
        let is_it = |method: &SavedMethod| method.kind == "card" && method.last_four.as_deref() == Some(paid_with);
        let method = self.payment_methods.into_iter().find(is_it)?;
        let card = Card {
            brand: brand(method.brand.as_deref()),
            last4: method.last_four?,
            exp_month: method.expiry_month?,
            exp_year: method.expiry_year?,
        };
        Some(SavedCard { token: method.id, card })
    }
}

impl PaymentBody {
    /// Why this attempt failed, if it did.
    pub fn refusal(&self) -> Option<String> {
        match self.state.as_str() {
            "declined" | "soft_declined" | "failed" | "cancelled" => {
                Some(self.decline_reason.clone().unwrap_or_else(|| self.state.clone()))
            }
            // The bank wants the card's holder to authenticate, who is not there.
            "authentication_challenge" => Some("authentication_required".to_owned()),
            _ => None,
        }
    }

    fn succeeded(&self) -> bool {
        matches!(self.state.as_str(), "authorised" | "captured" | "completing" | "completed")
    }
}

impl OrderBody {
    pub fn order_state(&self) -> Result<OrderState, ProviderError> {
        match self.state.as_str() {
            "pending" => Ok(OrderState::Pending),
            // Captured automatically soon after.
            "processing" | "authorised" => Ok(OrderState::Processing),
            "completed" => Ok(OrderState::Completed),
            "cancelled" => Ok(OrderState::Cancelled),
            "failed" => Ok(OrderState::Failed),
            other => Err(ProviderError(format!("Revolut returned an unknown order state {other:?}"))),
        }
    }

    pub fn last_payment(&self) -> Option<&PaymentBody> {
        self.payments.last()
    }

    pub fn customer_id(&self) -> Option<&str> {
        self.customer.as_ref()?.id.as_deref()
    }

    /// Whether it is a completed card verification.
    pub fn saves_card(&self) -> bool {
        self.state == "completed" && self.amount == 0
    }

    fn paid_with(&self) -> Option<&MethodBody> {
        self.payments.iter().rev().find(|payment| payment.succeeded())?.payment_method.as_ref()
    }

    pub fn saved_card(&self) -> Option<SavedCard> {
        let method = self.paid_with()?;
        let (month, year) = method.card_expiry.as_deref()?.split_once('/')?;
        let card = Card {
            brand: brand(method.card_brand.as_deref()),
            last4: method.card_last_four.clone()?,
            exp_month: month.parse().ok()?,
            exp_year: 2000 + year.parse::<i64>().ok()?,
        };
        Some(SavedCard { token: method.id.clone()?, card })
    }

    /// Revolut gives no fingerprint of a card. First and last digits and expiry are the same for few cards.
    fn fingerprint(&self) -> Option<String> {
        let method = self.paid_with()?;
        let (last_four, expiry) = (method.card_last_four.as_deref()?, method.card_expiry.as_deref()?);
        let (brand, bin) = (brand(method.card_brand.as_deref()), method.card_bin.as_deref().unwrap_or("?"));
        Some(format!("{brand} {bin} {last_four} {expiry}"))
    }

    pub fn order(self, card: Option<SavedCard>) -> Result<Order, ProviderError> {
        let state = self.order_state()?;
        let currency = self.currency;
        let reference = self.merchant_order_data.as_ref().and_then(|data| data.reference.clone());
        let declined = matches!(state, OrderState::Failed | OrderState::Cancelled);
        Ok(Order {
            reference: reference.unwrap_or_default(),
            state,
            amount: Some(money(self.amount, currency)?).filter(|amount| !amount.is_zero()),
            refunded: self.refunded_amount.map(|refunded| money(refunded, currency)).transpose()?,
            card,
            paid_with: self.fingerprint(),
            customer: self.customer_id().map(str::to_owned),
            decline: self.last_payment().filter(|_| declined).and_then(PaymentBody::refusal),
            id: self.id,
        })
    }

    /// Refunds are orders too.
    pub fn refund(self) -> Result<Refund, ProviderError> {
        let state = match self.order_state()? {
            OrderState::Completed => RefundState::Completed,
            OrderState::Failed | OrderState::Cancelled => RefundState::Failed,
            OrderState::Pending | OrderState::Processing => RefundState::Pending,
        };
        Ok(Refund { id: self.id, state })
    }
}

#[derive(Debug, Deserialize)]
pub struct DisputeBody {
    id: String,
    state: String,
    amount: i64,
    currency: Currency,
    payment: DisputedPayment,
}

/// A page of disputes: a bare list, or one in an envelope as orders have it.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Disputes {
    Bare(Vec<DisputeBody>),
    Enveloped { disputes: Vec<DisputeBody> },
}

impl Disputes {
    pub fn into_vec(self) -> Vec<DisputeBody> {
        match self {
            Disputes::Bare(disputes) | Disputes::Enveloped { disputes } => disputes,
        }
    }
}

#[derive(Debug, Deserialize)]
struct DisputedPayment {
    order_id: String,
}

impl DisputeBody {
    pub fn dispute(self) -> Result<Dispute, ProviderError> {
        let state = match self.state.as_str() {
            "needs_response" | "under_review" => DisputeState::Open,
            "won" => DisputeState::Won,
            "lost" => DisputeState::Lost,
            other => return Err(ProviderError(format!("Revolut returned an unknown dispute state {other:?}"))),
        };
        let amount = money(self.amount, self.currency)?;
        Ok(Dispute { id: self.id, order_id: self.payment.order_id, state, amount })
    }
}

fn money(minor: i64, currency: Currency) -> Result<Money, ProviderError> {
    Money::from_minor(minor, currency)
        .map_err(|error| ProviderError(format!("Revolut returned an invalid amount: {error}")))
}

fn brand(text: Option<&str>) -> Brand {
    match text {
        Some("visa") => Brand::Visa,
        Some("mastercard") => Brand::Mastercard,
        Some("american_express" | "amex") => Brand::Amex,
        _ => Brand::Other,
    }
}
