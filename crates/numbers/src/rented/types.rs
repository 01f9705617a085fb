//! Numbers over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::NumberRow;
use crate::inventory::{NumberCapability, NumberType, Regulatory};
use identity::balance::CURRENCY;
use values::{Country, E164, Money, Rfc3339, TrunkId, id};

id! {
    /// Id of a rented number.
    pub struct NumberId;
}

#[derive(Serialize, JsonSchema)]
pub struct Did {
    pub id: NumberId,
    pub e164: E164,
    pub country: Country,
    #[serde(rename = "type")]
    pub kind: NumberType,
    pub capabilities: Vec<NumberCapability>,
    /// Where its calls go.
    pub trunk_id: TrunkId,
    pub monthly: Money,
    /// Until when it is paid for.
    pub next_renewal_at: Rfc3339,
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
            monthly: Money::from_nanos(row.monthly, CURRENCY),
            next_renewal_at: Rfc3339(row.next_renewal_at),
            regulatory: row.regulatory,
        }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DidUpdate {
    /// One of the account's own.
    pub trunk_id: TrunkId,
}
