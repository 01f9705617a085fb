//! Payments and refunds as the team sends and sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::rules::PaymentStatus;
use super::super::store::PaymentRow;
use values::{Currency, Money, PaymentId, Rfc3339, Text, text_enum};

text_enum! {
    /// Where a payment stands for the team.
    pub enum AdminPaymentStatus {
        Pending = "pending",
        Completed = "completed",
        /// Nothing of it is left.
        Refunded = "refunded",
        /// Declined, given up or expired.
        Failed = "failed",
    }
}

#[derive(Serialize, JsonSchema)]
pub struct AdminPayment {
    pub id: PaymentId,
    pub customer_id: Uuid,
    pub amount: Money,
    /// What went back to the customer, or is on its way.
    pub refunded: Money,
    pub status: AdminPaymentStatus,
    /// Null until the provider has answered.
    pub provider_order_id: Option<String>,
    pub created_at: Rfc3339,
}

impl From<PaymentRow> for AdminPayment {
    fn from(row: PaymentRow) -> Self {
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
            amount,
            refunded: Money::from_nanos(row.refunded, amount.currency()),
            status,
            provider_order_id: row.provider_order_id,
            created_at: Rfc3339(row.created_at),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminRefundCreate {
    pub reason: Text<1, 300>,
    /// Left out, all that is left goes back.
    #[serde(default)]
    pub amount: Option<Money>,
    /// Whether the customer's balance may fall below what it must keep.
    #[serde(default)]
    pub allow_negative: bool,
}
