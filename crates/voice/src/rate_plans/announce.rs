//! Tells customers that their prices change: at once for one customer, in batches for those of a plan.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use db::{Conn, DbError};
use identity::notifications::{self, NotificationPayload, RatesChanged};
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind};
use platform::mail::{self, ReadableTime};
use platform::routing::plans;
use values::{AccountId, RatePlanId, Rfc3339, Time};

pub const ANNOUNCE: Kind = Kind::new("rate_plans.announce");

const BATCH: i64 = 500;

/// A change of a plan, when it takes effect in milliseconds, and the last customer that was told.
#[derive(Clone, Serialize, Deserialize)]
pub struct Announcement {
    rate_plan_id: RatePlanId,
    at: i64,
    after: Option<AccountId>,
}

impl Announcement {
    pub fn of_plan(rate_plan_id: RatePlanId, at: Time) -> Announcement {
        Announcement { rate_plan_id, at: at.millis(), after: None }
    }

    /// Enqueues the job that tells the next batch.
    pub async fn enqueue(&self, conn: &mut Conn) -> Result<(), DbError> {
        let payload = serde_json::to_value(self).map_err(DbError::other)?;
        jobs::enqueue(conn, ANNOUNCE, payload).await.map(drop)
    }
}

pub async fn announce_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let announcement: Announcement =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let told = context.db.tx((context.clone(), announcement), |conn, (context, announcement)| {
        Box::pin(tell_batch(conn, context, announcement))
    });
    told.await?;
    Ok(())
}

async fn tell_batch(conn: &mut Conn, context: &JobContext<App>, announcement: &Announcement) -> Result<(), JobError> {
    let Announcement { rate_plan_id, at, after } = announcement;
    let customers = plans::customers_after(conn, *rate_plan_id, *after, BATCH).await?;
    for (customer,) in &customers {
        tell(conn, &context.app, *customer, Time::from_millis(*at)).await?;
    }
    if customers.len() as i64 == BATCH {
        let after = customers.last().map(|(customer,)| *customer);
        Announcement { after, ..announcement.clone() }.enqueue(conn).await?;
    }
    context.finish_in(conn).await
}

/// Tells a customer that its prices change at a time.
pub async fn tell(conn: &mut Conn, app: &App, customer: AccountId, at: Time) -> Result<(), DbError> {
    let before = Time::from_millis(at.millis() - 1);
    let notification = RatesChanged { from: Rfc3339(before), to: Rfc3339(at) };
    notifications::notify(conn, customer, &notification).await?;
    let mail = mail::RatesChanged { from: ReadableTime(before), to: ReadableTime(at) };
    notifications::send_mail(conn, app, customer, RatesChanged::CODE, &mail).await
}
