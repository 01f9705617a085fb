//! Request and response types of the balance.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::check_amount;
use api::checks::{Checks, Given, must};
use platform::ledger::{Kind, Line, TransactionId};
use values::{ExactMoney, Money, Rfc3339};

/// Balance of an account in EUR.
#[derive(Serialize, JsonSchema)]
pub struct Balance {
    /// Sum of all ledger postings of the account, with money on hold included.
    pub current: ExactMoney,
    /// Amount that calls and orders must leave on the balance; below zero it is a credit line.
    pub minimum: Money,
    /// Balance below which a client should warn its users; nothing else depends on it.
    pub soft_warn_threshold: Money,
    /// When the balance was last charged (RFC 3339, UTC); null when it never was.
    pub last_debit_at: Option<Rfc3339>,
    /// Part of `current` that is held for live calls and open refunds.
    pub held: ExactMoney,
    /// What calls and orders can still spend: `current` minus `held` minus `minimum`; negative below the minimum.
    pub available: ExactMoney,
    /// How long the balance lasts if calls cost as much as in the last 7 days, hour by hour of the week; null without
    /// charges in that time, and beyond ten years.
    pub runway: Option<Runway>,
}

/// How long a balance lasts.
#[derive(Serialize, JsonSchema)]
pub struct Runway {
    /// Days from the current hour until nothing is available, to a tenth.
    #[schemars(range(min = 0))]
    pub days: f64,
    /// Hour in which nothing will be available any more (RFC 3339, UTC).
    pub empty_at: Rfc3339,
}

/// Balance limits that the team sets for a customer.
#[derive(Serialize, JsonSchema)]
pub struct BalanceLimits {
    /// Amount that calls and orders must leave on the balance; below zero it is a credit line.
    pub minimum: Money,
    /// Balance below which a client should warn its users.
    pub soft_warn_threshold: Money,
}

/// New balance limits of a customer, in EUR, between -1,000,000 and 1,000,000.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BalanceLimitsUpdate {
    /// Amount that calls and orders must leave on the balance; below zero it is a credit line.
    pub minimum: Money,
    /// Balance below which a client should warn its users.
    pub soft_warn_threshold: Money,
}

/// One million EUR; limits lie between minus and plus this.
pub const MAX_LIMIT_NANOS: i64 = 1_000_000_000_000_000;

impl Checks for BalanceLimitsUpdate {
    fn check(given: &Given<'_>) {
        for limit in ["minimum", "soft_warn_threshold"] {
            check_amount(given, limit, |amount| {
                let is_within = (-MAX_LIMIT_NANOS..=MAX_LIMIT_NANOS).contains(&amount.nanos());
                must(is_within, "must be between -1,000,000 and 1,000,000")
            });
        }
    }
}

/// Filters of a ledger; with any of them lines are in the order of `created_at`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LedgerFilters {
    /// Return transactions of this kind only.
    #[serde(default)]
    #[schemars(schema_with = "optional_kind_schema")]
    pub kind: Option<Kind>,
    /// Return transactions posted at this time or later (RFC 3339).
    #[serde(default)]
    pub from: Option<Rfc3339>,
    /// Return transactions posted before this time (RFC 3339).
    #[serde(default)]
    pub to: Option<Rfc3339>,
}

/// Ledger transaction of an account, seen from its balance.
#[derive(Serialize, JsonSchema)]
pub struct LedgerLine {
    /// Id of the ledger transaction.
    pub id: TransactionId,
    /// Kind of transaction, such as a call, a top-up or a credit.
    #[schemars(schema_with = "kind_schema")]
    pub kind: Kind,
    /// Change of the balance; negative when the account was charged.
    pub amount: ExactMoney,
    /// Balance after this transaction.
    pub balance_after: ExactMoney,
    /// Id of what the transaction is for: a call, a top-up, an invoice and so on, depending on `kind`.
    pub reference: String,
    /// Text that the customer sees beside the amount; null when there is none.
    pub description: Option<String>,
    /// When the transaction was posted (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

fn optional_kind_schema(schemas: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [kind_schema(schemas), { "type": "null" }] })
}

fn kind_schema(_: &mut SchemaGenerator) -> Schema {
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    json_schema!({ "type": "string", "enum": kinds })
}

impl From<Line> for LedgerLine {
    fn from(line: Line) -> Self {
        let Line { id, kind, reference, amount, balance_after, note, at, .. } = line;
        let (amount, balance_after) = (amount.into(), balance_after.into());
        LedgerLine { id, kind, amount, balance_after, reference, description: note, created_at: at.into() }
    }
}
