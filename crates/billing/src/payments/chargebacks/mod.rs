//! Chargebacks: payments that a card's bank disputes (`/admin/chargebacks`).
//!
//! An event of a dispute only triggers fetching it, so events may be lost, repeated or out of order. A dispute is stored
//! once, by the provider's id, and freezes its amount: the ledger moves it from the customer's balance, which may become
//! negative, to the book `disputes`. The decision of the bank ends it once. If the operator wins, the amount returns; if
//! it loses, the amount is booked against `clearing`, since the provider took it back. `apply` does both, and tells the
//! customer and the team. While a dispute is open, or after it was lost, its payment cannot be refunded.

mod apply;
mod store;

pub use apply::{FETCH, POLL, fetch_job, poll_job};
pub use store::{ChargebackStatus, against};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use api::answer::Json;
use api::context::ReadCtx;
use api::input::Path;
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use identity::names::Names;
use platform::outside::payments::Provider;
use store::ChargebackRow;
use values::{AccountId, ChargebackId, Money, PaymentId, Rfc3339};

/// A payment that a card's bank disputes.
#[derive(Serialize, JsonSchema)]
pub struct Chargeback {
    /// Id of the chargeback; ledger transactions name it as their reference.
    pub id: ChargebackId,
    /// Account of the customer who paid.
    pub customer_id: Uuid,
    /// Name of the customer.
    pub customer_name: Option<String>,
    /// Id of the disputed payment.
    pub payment_id: PaymentId,
    /// Payment provider that reported the dispute.
    pub provider: Provider,
    /// The payment provider's id of the dispute.
    pub provider_dispute_id: String,
    /// Status of the chargeback.
    pub status: ChargebackStatus,
    /// Disputed amount, at most that of the payment.
    pub amount: Money,
    /// When the dispute became known and its amount was frozen (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// When it became known that the card's bank had decided (RFC 3339, UTC); null until then.
    pub decided_at: Option<Rfc3339>,
}

impl Chargeback {
    fn new(row: ChargebackRow, names: &Names) -> Self {
        let amount = row.money();
        Chargeback {
            id: row.id,
            customer_id: row.account_id.uuid(),
            customer_name: names.get(row.account_id.uuid()),
            payment_id: row.payment_id,
            provider: row.provider,
            provider_dispute_id: row.provider_dispute_id,
            status: row.status,
            amount,
            created_at: row.created_at.into(),
            decided_at: row.decided_at.map(Rfc3339),
        }
    }
}

/// Filters of the list of chargebacks.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return chargebacks in this status only.
    #[serde(default)]
    status: Option<ChargebackStatus>,
    /// Return chargebacks of this customer only.
    #[serde(default)]
    customer_id: Option<AccountId>,
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Filters, NewestFirst<ChargebackId>>,
) -> Result<Page<Chargeback>, Problem> {
    let filter = (listing.filters.customer_id, listing.filters.status);
    let rows = store::list(&mut ctx, filter, listing.before(), listing.fetch()).await?;
    let names = Names::of_customers(&mut ctx, rows.iter().map(|row| row.account_id)).await?;
    listing.page(rows, |row| (row.created_at, row.id), |row| Chargeback::new(row, &names))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<ChargebackId>) -> Result<Json<Chargeback>, Problem> {
    let row = store::find(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    let names = Names::of_customers(&mut ctx, [row.account_id]).await?;
    Ok(Json(Chargeback::new(row, &names)))
}
