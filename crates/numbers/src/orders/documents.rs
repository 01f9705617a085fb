//! Orders that wait for documents: continue after approval, fail after rejection or after 30 days.

use serde_json::Value;

use super::provision::provision;
use super::rules::{DOCUMENTS_TIMEOUT, OrderStatus};
use super::settle::{NumberReturn, fail};
use super::store::{self, OrderRow};
use api::problem::Problem;
use db::Conn;
use identity::compliance::{self, IntakeDecision, IntakeStatus};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};

pub const EXPIRE: Kind = Kind::new("number.expire_orders").attempts(3);

const BATCH: i64 = 200;
const DOCUMENTS_MISSING: &str = "the documents were not submitted within 30 days";

/// Continues or fails an order after the team has reviewed its documents.
pub async fn decided_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let decided: IntakeDecision =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let now = context.clock.now();
    let moved = context.db.tx((context.clone(), decided), |conn, (context, decided)| {
        Box::pin(async move {
            let order = apply_decision(conn, &context.app, decided).await.map_err(failed)?;
            context.finish_in(conn).await?;
            Ok::<_, JobError>(order)
        })
    });
    if let Some(order) = moved.await? {
        provision(&context.app, &order, now).await.map_err(failed)?;
    }
    Ok(())
}

fn failed(problem: Problem) -> JobError {
    JobError::Failed(format!("{problem:?}"))
}

/// Applies the decision; returns the order if it is to be provisioned now.
async fn apply_decision(conn: &mut Conn, app: &App, decided: &IntakeDecision) -> Result<Option<OrderRow>, Problem> {
    let now = conn.now();
    let order = store::lock_by_intake(conn, decided.intake_id).await?;
    let Some(mut order) = order.filter(|order| order.status == OrderStatus::PendingDocuments) else { return Ok(None) };
    if !decided.approved {
        let reason = decided.note.as_deref().filter(|note| !note.is_empty());
        let reason = reason
            .map_or("the documents were rejected".to_owned(), |note| format!("the documents were rejected: {note}"));
        fail(conn, app, order, &reason, NumberReturn::Free).await?;
        return Ok(None);
    }
    order.status = OrderStatus::Provisioning;
    (order.try_at, order.provisioning_at) = (Some(now), Some(now));
    store::update_status(conn, &order).await?;
    Ok(Some(order))
}

/// Fails orders whose documents were not submitted in time.
pub async fn expire_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let now = context.clock.now();
    let cutoff = now.minus(DOCUMENTS_TIMEOUT);
    loop {
        let orders = store::list_undocumented(&mut *context.db.read().await?, cutoff, BATCH).await?;
        let count = orders.len() as i64;
        for order in orders {
            let input = (context.app.clone(), order);
            let expired = context.db.tx(input, |conn, (app, order)| Box::pin(expire(conn, app, order)));
            expired.await.map_err(failed)?;
        }
        if count < BATCH {
            return Ok(());
        }
    }
}

async fn expire(conn: &mut Conn, app: &App, order: &OrderRow) -> Result<(), Problem> {
    let Some(intake) = order.intake_id else { return Ok(()) };
    // Lock the intake first: the customer may submit it at the same time.
    let intake = compliance::find_intake_for_update(conn, intake).await?;
    let is_open = |status| matches!(status, IntakeStatus::Draft | IntakeStatus::MoreInfoRequested);
    if !intake.is_some_and(|intake| is_open(intake.status)) {
        return Ok(());
    }
    match store::lock(conn, order.id).await? {
        Some(order) if order.status == OrderStatus::PendingDocuments => {
            fail(conn, app, order, DOCUMENTS_MISSING, NumberReturn::Free).await
        }
        _ => Ok(()),
    }
}
