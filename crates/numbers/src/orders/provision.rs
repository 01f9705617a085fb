//! Asks the DID supplier to activate numbers. The request that places an order asks first; this job retries.

use serde_json::Value;

use super::rules::{OrderStatus, PROVISIONING_TIMEOUT, next_try_at};
use super::settle::{NumberReturn, fail, settle};
use super::store::{self, OrderRow};
use super::types::OrderId;
use api::problem::Problem;
use db::Conn;
use platform::app::App;
use platform::jobs::{Class, JobContext, JobError, Kind};
use values::Time;

/// The next scheduled run retries what failed.
pub const PROVISION: Kind = Kind::new("number.provision").attempts(3).class(Class::Outside);

/// Orders in one run; the next run takes the others.
const BATCH: i64 = 100;
const TIMED_OUT: &str = "the DID supplier did not respond for three days";

/// Retries orders in status `provisioning`, and fails those that took too long.
pub async fn provision_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    let due = store::list_due(&mut *app.db.read().await?, BATCH).await?;
    for order in due {
        if let Err(problem) = provision(app, &order, now).await {
            tracing::warn!(order = %order.id, ?problem, "number order provisioning failed");
        }
    }
    Ok(())
}

/// Asks the DID supplier to activate the number of an order, and settles the order by the response.
pub async fn provision(app: &App, order: &OrderRow, now: Time) -> Result<(), Problem> {
    if order.provisioning_at.is_some_and(|since| now.since(since) > PROVISIONING_TIMEOUT) {
        let input = (app.clone(), order.id);
        return app.db.tx(input, |conn, (app, id)| Box::pin(fail_overdue(conn, app, *id))).await;
    }
    match app.did_supplier.activate(&order.e164, order.id.uuid()).await {
        Ok(activation) => {
            let input = (app.clone(), order.id, activation);
            let settled = app.db.tx(input, |conn, (app, id, activation)| Box::pin(settle(conn, app, *id, activation)));
            settled.await
        }
        Err(error) => {
            tracing::warn!(%error, order = %order.id, "DID supplier request failed, retrying");
            let later = (order.id, next_try_at(order.tries, now));
            app.db.tx(later, |conn, (id, at)| Box::pin(store::schedule_retry(conn, *id, *at))).await?;
            Ok(())
        }
    }
}

async fn fail_overdue(conn: &mut Conn, app: &App, id: OrderId) -> Result<(), Problem> {
    match store::lock(conn, id).await? {
        Some(order) if order.status == OrderStatus::Provisioning => {
            fail(conn, app, order, TIMED_OUT, NumberReturn::ToSupplier).await
        }
        _ => Ok(()),
    }
}
