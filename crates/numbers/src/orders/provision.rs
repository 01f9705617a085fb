//! Asking the carrier, by whoever comes first: the request that placed the order, or the job that looks after those
//! that nobody finished.

use serde_json::Value;

use super::rules::{CARRIER_WITHIN, OrderStatus, ask_again};
use super::settle::{Fate, fail, settle};
use super::store::{self, OrderRow};
use super::types::OrderId;
use api::problem::Problem;
use db::Conn;
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use values::Time;

/// The next tick makes up for one that failed.
pub const PROVISION: Kind = Kind::new("number.provision").attempts(3);

/// Orders asked for in one run; the others are next.
const BATCH: i64 = 100;
const GIVEN_UP: &str = "the carrier did not answer for three days";

/// Goes on with orders that are being provisioned, and gives up those that took too long.
pub async fn provision_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    let due = store::to_try(&mut *app.db.read().await?, now, BATCH).await?;
    for order in due {
        if let Err(problem) = go_on(app, &order, now).await {
            tracing::warn!(order = %order.id, ?problem, "could not go on with a number order");
        }
    }
    app.jobs_waker.notify_one();
    Ok(())
}

/// Asks the carrier of an order and takes note of the answer.
pub async fn go_on(app: &App, order: &OrderRow, now: Time) -> Result<(), Problem> {
    if order.provisioning_at.is_some_and(|since| now.since(since) > CARRIER_WITHIN) {
        let input = (app.clone(), order.id, now);
        return app.db.tx(input, |conn, (app, id, now)| Box::pin(give_up(conn, app, *id, *now))).await;
    }
    match app.did_supplier.activate(&order.e164, order.id.uuid()).await {
        Ok(activation) => {
            let input = (app.clone(), order.id, activation, now);
            let settled =
                app.db.tx(input, |conn, (app, id, activation, now)| Box::pin(settle(conn, app, *id, activation, *now)));
            settled.await
        }
        Err(error) => {
            tracing::warn!(%error, order = %order.id, "the carrier of a number does not answer");
            let later = (order.id, ask_again(order.tries, now));
            app.db.tx(later, |conn, (id, at)| Box::pin(store::try_later(conn, *id, *at))).await?;
            Ok(())
        }
    }
}

async fn give_up(conn: &mut Conn, app: &App, id: OrderId, now: Time) -> Result<(), Problem> {
    match store::lock(conn, id).await? {
        Some(order) if order.status == OrderStatus::Provisioning => {
            fail(conn, app, order, GIVEN_UP, Fate::HandedBack, now).await
        }
        _ => Ok(()),
    }
}
