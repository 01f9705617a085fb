//! Number orders over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::OrderStatus;
use super::store::{OrderRow, Step};
use crate::inventory::InventoryId;
use values::{Country, E164, IntakeId, Rfc3339, TrunkId, id};

id! {
    /// Id of a number order.
    pub struct OrderId;
}

#[derive(Serialize, JsonSchema)]
pub struct NumberOrder {
    pub id: OrderId,
    pub inventory_id: InventoryId,
    pub status: OrderStatus,
    /// The number; null when the order came to nothing.
    pub did: Option<E164>,
    /// Where the documents are handed in, if any are needed.
    pub compliance_intake_id: Option<IntakeId>,
    pub failure_reason: Option<String>,
    pub created_at: Rfc3339,
}

impl From<OrderRow> for NumberOrder {
    fn from(row: OrderRow) -> Self {
        NumberOrder {
            id: row.id,
            inventory_id: row.group_id,
            status: row.status,
            did: Some(row.e164).filter(|_| !matches!(row.status, OrderStatus::Failed | OrderStatus::Cancelled)),
            compliance_intake_id: row.intake_id,
            failure_reason: row.failure_reason,
            created_at: Rfc3339(row.created_at),
        }
    }
}

/// An order with what has become of it, step by step.
#[derive(Serialize, JsonSchema)]
pub struct NumberOrderDetail {
    #[serde(flatten)]
    pub order: NumberOrder,
    /// Oldest first.
    pub history: Vec<OrderStep>,
}

#[derive(Serialize, JsonSchema)]
pub struct OrderStep {
    pub status: OrderStatus,
    pub at: Rfc3339,
}

impl From<Step> for OrderStep {
    fn from(step: Step) -> Self {
        OrderStep { status: step.status, at: Rfc3339(step.at) }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberOrderCreate {
    /// The group to take a number from.
    pub inventory_id: InventoryId,
    /// Where its calls go; one of the account's own.
    pub trunk_id: TrunkId,
}

/// An order of any number of an area, on the default trunk.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AreaOrder {
    pub country: Country,
    /// `local`, `tollfree` or `mobile`; also `geographic` and `national`, `toll_free`, `toll-free` and `freephone`.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 20))]
    pub kind: String,
    /// National, without a leading zero: 20 for Amsterdam.
    #[schemars(regex(pattern = "^[0-9]{1,12}$"))]
    pub area_code: String,
}
