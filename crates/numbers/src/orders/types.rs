//! Number orders as the API shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::OrderStatus;
use super::store::{OrderRow, Step};
use crate::inventory::{InventoryId, NumberType};
use values::{Country, E164, IntakeId, Rfc3339, TrunkId, id};

id! {
    /// Id of a number order.
    pub struct OrderId;
}

/// Filters of the list of number orders.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrderFilters {
    /// Return orders in this status only.
    #[serde(default)]
    pub status: Option<OrderStatus>,
    /// Return orders created at this time or later (RFC 3339).
    #[serde(default)]
    pub from: Option<Rfc3339>,
    /// Return orders created before this time (RFC 3339).
    #[serde(default)]
    pub to: Option<Rfc3339>,
}

/// An order of one number.
#[derive(Serialize, JsonSchema)]
pub struct NumberOrder {
    /// Id of the order.
    pub id: OrderId,
    /// Inventory group that the number was ordered from.
    pub inventory_id: InventoryId,
    /// Status of the order.
    pub status: OrderStatus,
    /// The ordered number in E.164 form; null when the order failed or was cancelled.
    pub did: Option<E164>,
    /// Compliance intake to upload the documents to; null when the order needs none.
    pub compliance_intake_id: Option<IntakeId>,
    /// Why the order failed; null unless the status is `failed`.
    pub failure_reason: Option<String>,
    /// When the order was placed (RFC 3339, UTC).
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

/// A number order with the history of its status.
#[derive(Serialize, JsonSchema)]
pub struct NumberOrderDetail {
    #[serde(flatten)]
    pub order: NumberOrder,
    /// Every status that the order has had, oldest first.
    pub history: Vec<OrderStep>,
}

/// A change of status of a number order.
#[derive(Serialize, JsonSchema)]
pub struct OrderStep {
    /// Status that the order changed to.
    pub status: OrderStatus,
    /// When the order changed to it (RFC 3339, UTC).
    pub at: Rfc3339,
}

impl From<Step> for OrderStep {
    fn from(step: Step) -> Self {
        OrderStep { status: step.status, at: Rfc3339(step.at) }
    }
}

/// An order of a number from an inventory group.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberOrderCreate {
    /// Inventory group to order a number from.
    pub inventory_id: InventoryId,
    /// Trunk of the account that receives the calls to the number.
    pub trunk_id: TrunkId,
}

/// An order of the cheapest free number in an area, on the default trunk of the account.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AreaOrder {
    /// Country of the number (ISO 3166-1 alpha-2).
    pub country: Country,
    /// `local`, `tollfree` or `mobile`; also `geographic`, `national`, `toll_free`, `toll-free` and `freephone`.
    #[serde(rename = "type", deserialize_with = "NumberType::deserialize_alias")]
    #[schemars(with = "String", length(min = 1, max = 20))]
    pub kind: NumberType,
    /// National area code, with or without its leading zero, such as 20 or 020 for Amsterdam.
    #[schemars(regex(pattern = "^[0-9]{1,12}$"))]
    pub area_code: String,
}
