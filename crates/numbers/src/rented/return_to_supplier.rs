//! Returns numbers to the DID supplier and then to the inventory.
//!
//! With a supplier over HTTP a number stays taken until the supplier has deactivated it; otherwise that request could
//! arrive after the activation for the next customer.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::inventory::{self, StockId};
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{self, Class, JobContext, JobError, Kind};
use platform::outside::did_supplier::DidSupplier;
use values::E164;

/// With backoff, retried for several days.
pub const RETURN_TO_SUPPLIER: Kind = Kind::new("number.hand_back").attempts(100).class(Class::Outside);

#[derive(Serialize, Deserialize)]
struct ReturnPayload {
    stock_id: StockId,
    e164: E164,
    order_id: Uuid,
}

/// Returns a number that an order had taken; deactivates it at the DID supplier first, if there is one.
pub async fn return_to_supplier(
    conn: &mut Conn,
    app: &App,
    stock_id: StockId,
    e164: &E164,
    order_id: Uuid,
) -> Result<(), DbError> {
    if matches!(app.did_supplier, DidSupplier::Inventory) {
        return inventory::return_to_inventory(conn, stock_id).await;
    }
    let number = ReturnPayload { stock_id, e164: e164.clone(), order_id };
    let payload = serde_json::to_value(number).map_err(DbError::other)?;
    jobs::enqueue(conn, RETURN_TO_SUPPLIER, payload).await.map(drop)
}

pub async fn return_to_supplier_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let number: ReturnPayload =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let deactivated = context.app.did_supplier.deactivate(&number.e164, number.order_id).await;
    deactivated.map_err(|error| JobError::Failed(error.to_string()))?;
    let returned = context.db.tx((context.clone(), number.stock_id), |conn, (context, stock_id)| {
        Box::pin(async move {
            inventory::return_to_inventory(conn, *stock_id).await?;
            context.finish_in(conn).await
        })
    });
    returned.await
}
