//! The balance over the wire.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use platform::ledger::{Kind, Line, TransactionId};
use values::{AccountId, ExactMoney, Money, Rfc3339, Text};

#[derive(Serialize, JsonSchema)]
pub struct Balance {
    pub current: ExactMoney,
    /// What calls and orders must leave; below zero it is credit.
    pub minimum: Money,
    /// Below this a client should warn.
    pub soft_warn_threshold: Money,
    pub last_debit_at: Option<Rfc3339>,
}

/// What the carrier sets for an account.
#[derive(Serialize, JsonSchema)]
pub struct BalanceLimits {
    /// What calls and orders must leave; below zero it is credit.
    pub minimum: Money,
    /// Below this a client should warn.
    pub soft_warn_threshold: Money,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BalanceLimitsUpdate {
    pub minimum: Money,
    pub soft_warn_threshold: Money,
}

/// A movement of an account's money.
#[derive(Serialize, JsonSchema)]
pub struct LedgerLine {
    pub id: TransactionId,
    /// Why it moved.
    #[schemars(schema_with = "kind_schema")]
    pub kind: Kind,
    /// Negative when the account was charged.
    pub amount: ExactMoney,
    pub balance_after: ExactMoney,
    /// What it was for: the id of a call, a top-up, an invoice, as the kind says.
    pub reference: String,
    pub description: Option<String>,
    pub created_at: Rfc3339,
}

fn kind_schema(_: &mut SchemaGenerator) -> Schema {
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    json_schema!({ "type": "string", "enum": kinds })
}

impl From<Line> for LedgerLine {
    fn from(line: Line) -> Self {
        let Line { id, account: _, number: _, kind, reference, amount, balance_after, note, at } = line;
        let (amount, balance_after) = (amount.into(), balance_after.into());
        LedgerLine { id, kind, amount, balance_after, reference, description: note, created_at: at.into() }
    }
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminCreditCreate {
    pub customer_id: AccountId,
    /// Given when positive, taken back when negative.
    pub amount: Money,
    /// The customer reads it beside the amount.
    pub reason: Text<1, 300>,
}
