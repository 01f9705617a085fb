//! Rented numbers as the API shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::NumberRow;
use crate::inventory::{NumberCapability, NumberType, Regulatory};
use identity::balance::CURRENCY;
use values::{Country, Digits, E164, Money, Rfc3339, TrunkId, id};

id! {
    /// Id of a rented number.
    pub struct NumberId;
}

/// Filters of the list of numbers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberFilters {
    /// Return numbers that begin with these digits, in the order of the numbers.
    #[serde(default)]
    pub q: Option<Digits>,
    /// Return numbers of this country only (ISO 3166-1 alpha-2).
    #[serde(default)]
    pub country: Option<Country>,
    /// Return numbers on this trunk only.
    #[serde(default)]
    pub trunk_id: Option<TrunkId>,
}

/// A number that the account rents.
#[derive(Serialize, JsonSchema)]
pub struct Did {
    /// Id of the number.
    pub id: NumberId,
    /// The number in E.164 form.
    pub e164: E164,
    /// Country of the number (ISO 3166-1 alpha-2).
    pub country: Country,
    /// Type of the number.
    #[serde(rename = "type")]
    pub kind: NumberType,
    /// What the number can be used for.
    pub capabilities: Vec<NumberCapability>,
    /// Trunk that receives the calls to the number.
    pub trunk_id: TrunkId,
    /// Name of the trunk; in lists only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trunk_name: Option<String>,
    /// Monthly rental, without VAT.
    pub monthly: Money,
    /// When the next month is charged (RFC 3339, UTC); the number is paid until then.
    pub next_renewal_at: Rfc3339,
    /// Whether the number needed documents when it was ordered.
    pub regulatory: Regulatory,
}

impl From<NumberRow> for Did {
    fn from(row: NumberRow) -> Self {
        Did {
            id: row.id,
            e164: row.e164,
            country: row.country,
            kind: row.kind,
            capabilities: row.capabilities.0,
            trunk_id: row.trunk_id,
            trunk_name: None,
            monthly: Money::from_nanos(row.monthly, CURRENCY),
            next_renewal_at: Rfc3339(row.next_renewal_at),
            regulatory: row.regulatory,
        }
    }
}

/// A change to a rented number.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DidUpdate {
    /// Trunk of the account that receives the calls to the number from now on.
    pub trunk_id: TrunkId,
}
