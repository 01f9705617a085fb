//! Request and response types of `/admin/payments`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::rules::{AdminPaymentStatus, PaymentStatus};
use super::super::store::PaymentRow;
use api::checks::{Checks, Given, must};
use values::{AccountId, Currency, Money, PaymentId, Rfc3339, Text};

/// Filters of the list of payments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentFilters {
    /// Return payments in this status only.
    #[serde(default)]
    pub status: Option<AdminPaymentStatus>,
    /// Return payments of this customer only.
    #[serde(default)]
    pub customer_id: Option<AccountId>,
    /// Return payments created at this time or later (RFC 3339).
    #[serde(default)]
    pub from: Option<Rfc3339>,
    /// Return payments created before this time (RFC 3339).
    #[serde(default)]
    pub to: Option<Rfc3339>,
}

/// A payment of a customer, as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminPayment {
    /// Id of the payment.
    pub id: PaymentId,
    /// Account that pays.
    pub customer_id: Uuid,
    /// Name of the customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_name: Option<String>,
    /// Amount of the payment.
    pub amount: Money,
    /// Amount refunded so far, including refunds that the provider has not completed.
    pub refunded: Money,
    /// Status of the payment.
    pub status: AdminPaymentStatus,
    /// The payment provider's order id; null until the provider has opened an order.
    pub provider_order_id: Option<String>,
    /// When the payment was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl AdminPayment {
    pub fn new(row: PaymentRow, customer_name: Option<String>) -> AdminPayment {
        let amount = row.money().unwrap_or(Money::zero(Currency::EUR));
        let status = match row.status {
            PaymentStatus::Pending => AdminPaymentStatus::Pending,
            PaymentStatus::Completed if row.refunded == amount.nanos() => AdminPaymentStatus::Refunded,
            PaymentStatus::Completed => AdminPaymentStatus::Completed,
            PaymentStatus::Failed | PaymentStatus::Expired => AdminPaymentStatus::Failed,
        };
        AdminPayment {
            id: row.id,
            customer_id: row.account_id.uuid(),
            customer_name,
            amount,
            refunded: Money::from_nanos(row.refunded, amount.currency()),
            status,
            provider_order_id: row.provider_order_id,
            created_at: Rfc3339(row.created_at),
        }
    }
}

/// A refund of a completed payment.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminRefundCreate {
    /// Why the payment is refunded; stored as the note of the ledger transaction.
    pub reason: Text<1, 300>,
    /// Amount to refund, in the currency of the payment; if omitted, all that was not refunded yet.
    #[serde(default)]
    pub amount: Option<Money>,
    /// Whether the refund may take the customer's balance below its minimum.
    #[serde(default)]
    pub allow_negative: bool,
}

impl Checks for AdminRefundCreate {
    fn check(given: &Given<'_>) {
        given.check("amount", |amount: Money| {
            let is_valid = amount.is_positive() && amount.is_in_minor_units();
            must(is_valid, "must be a positive amount without fractions of the minor unit")
        });
    }
}
