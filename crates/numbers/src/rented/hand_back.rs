//! Numbers on their way back to the stock.
//!
//! A number whose carrier has to be told is nobody's until the carrier has heard: otherwise the word could come after
//! that of the next customer's order.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::inventory::{self, StockId};
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind, NewJob};
use platform::outside::did_supplier::DidSupplier;
use values::{E164, Time};

/// Some days.
pub const HAND_BACK: Kind = Kind::new("number.hand_back").attempts(100);

#[derive(Serialize, Deserialize)]
struct Wanted {
    stock_id: StockId,
    e164: E164,
    order_id: Uuid,
}

/// Puts a number back that an order had taken.
pub async fn hand_back(
    conn: &mut Conn,
    app: &App,
    stock_id: StockId,
    e164: &E164,
    order_id: Uuid,
    now: Time,
) -> Result<(), DbError> {
    if matches!(app.did_supplier, DidSupplier::Inventory) {
        return inventory::give_back(conn, stock_id, now).await;
    }
    let wanted = Wanted { stock_id, e164: e164.clone(), order_id };
    let payload = serde_json::to_value(wanted).map_err(DbError::other)?;
    jobs::enqueue(conn, &NewJob { id: app.entropy.uuid(now), kind: HAND_BACK, payload, run_at: now }).await
}

pub async fn hand_back_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let wanted: Wanted = serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let told = context.app.did_supplier.deactivate(&wanted.e164, wanted.order_id).await;
    told.map_err(|error| JobError::Failed(error.to_string()))?;
    let back = context.db.tx((context.clone(), wanted.stock_id), |conn, (context, stock_id)| {
        Box::pin(async move {
            inventory::give_back(conn, *stock_id, context.clock.now()).await?;
            context.finish_in(conn).await
        })
    });
    back.await
}
