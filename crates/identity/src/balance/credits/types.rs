//! Request and response types of credits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store::CreditRow;
use crate::balance::types::MAX_LIMIT_NANOS;
use crate::balance::{CURRENCY, check_amount};
use crate::names::Names;
use api::checks::{Checks, Given, must};
use values::{AccountId, Money, Rfc3339, Text, UserId, id, text_enum};

id! {
    /// Id of a credit request.
    pub struct CreditId;
}

text_enum! {
    /// Status of a credit.
    pub enum CreditStatus {
        /// One admin posted it.
        Posted = "posted",
        /// It waits for another admin.
        Pending = "pending",
        /// Another admin approved it, and it took effect.
        Approved = "approved",
        /// An admin rejected it.
        Rejected = "rejected",
    }
}

text_enum! {
    /// What is requested: money on the balance, or a credit line that the balance may fall to.
    pub enum CreditKind {
        Credit = "credit",
        CreditLine = "credit_line",
    }
}

/// Credit to a customer's balance, or a correction that takes money back.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminCreditCreate {
    /// Id of the customer's account.
    pub customer_id: AccountId,
    /// Amount in EUR: positive is credited, negative is taken back and must be available on the balance.
    pub amount: Money,
    /// Why the balance changes; the customer sees this text beside the amount.
    pub reason: Text<1, 300>,
}

impl Checks for AdminCreditCreate {
    fn check(given: &Given<'_>) {
        check_amount(given, "amount", |amount| must(!amount.is_zero(), "must not be zero"));
    }
}

/// Credit or credit line that another admin has to approve.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreditRequestCreate {
    /// Id of the customer's account.
    pub customer_id: AccountId,
    /// What is requested; a credit if omitted.
    #[serde(default)]
    pub kind: Option<CreditKind>,
    /// Amount to credit, or the credit line (at most 1,000,000), in EUR.
    pub amount: Money,
    /// Why it is requested; the customer sees this text beside the amount of a credit.
    pub reason: Text<1, 300>,
}

impl Checks for CreditRequestCreate {
    fn check(given: &Given<'_>) {
        check_amount(given, "amount", |amount| {
            must(!amount.is_zero() && !amount.is_negative(), "must be greater than zero")
        });
        given.check_with("amount", "kind", |amount: Money, kind: Option<CreditKind>| {
            let is_within = kind != Some(CreditKind::CreditLine) || amount.nanos() <= MAX_LIMIT_NANOS;
            must(is_within, "must be at most 1,000,000 for a credit line")
        });
    }
}

/// Request for a credit to a customer's balance or for a credit line, which an admin other than its author approves or rejects.
#[derive(Serialize, JsonSchema)]
pub struct CreditRequest {
    /// Id of the credit request.
    pub id: CreditId,
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_name: Option<String>,
    /// What is requested.
    pub kind: CreditKind,
    /// Amount to credit, or the credit line.
    pub amount: Money,
    /// Why it is requested; the customer sees this text beside the amount of a credit.
    pub reason: Text<1, 300>,
    /// Status of the request.
    pub status: CreditStatus,
    /// Admin who made the request.
    pub requested_by: UserId,
    /// Email address of the admin who made the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_by_email: Option<String>,
    /// When the request was made (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// Admin who approved or rejected it; null while it is pending.
    pub decided_by: Option<UserId>,
    /// Email address of the admin who decided; absent while the request is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by_email: Option<String>,
    /// When it was approved or rejected (RFC 3339, UTC); null while it is pending.
    pub decided_at: Option<Rfc3339>,
}

impl CreditRequest {
    pub fn new(row: CreditRow, names: &Names) -> CreditRequest {
        CreditRequest {
            id: row.id,
            customer_id: row.account_id.uuid(),
            customer_name: names.get(row.account_id.uuid()),
            kind: row.kind,
            amount: Money::from_nanos(row.amount, CURRENCY),
            reason: row.reason,
            status: row.status,
            requested_by: row.requested_by,
            requested_by_email: names.get(row.requested_by.uuid()),
            created_at: row.created_at.into(),
            decided_by: row.decided_by,
            decided_by_email: row.decided_by.and_then(|id| names.get(id.uuid())),
            decided_at: row.decided_at.map(Rfc3339),
        }
    }
}
