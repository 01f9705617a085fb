//! Notifies customers of an import that changed prices, each once, in batches.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use db::{Conn, DbError};
use identity::notifications::{self, NotificationPayload, RatesChanged};
use identity::onboarding;
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind};
use platform::mail::{self, ReadableTime};
use values::{AccountId, Rfc3339, Time};

pub const ANNOUNCE: Kind = Kind::new("decks.announce");

const BATCH: i64 = 500;

/// The period of the change in milliseconds, and the last account that was notified.
#[derive(Clone, Serialize, Deserialize)]
pub struct Announcement {
    pub from: i64,
    pub to: i64,
    pub after: Option<AccountId>,
}

impl Announcement {
    /// Enqueues the job that notifies the next batch.
    pub async fn enqueue(&self, conn: &mut Conn) -> Result<(), DbError> {
        let payload = serde_json::to_value(self).map_err(DbError::other)?;
        jobs::enqueue(conn, ANNOUNCE, payload).await.map(drop)
    }
}

pub async fn announce_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let announcement: Announcement =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let notified = context.db.tx((context.clone(), announcement), |conn, (context, announcement)| {
        Box::pin(notify_batch(conn, context, announcement))
    });
    notified.await?;
    Ok(())
}

async fn notify_batch(conn: &mut Conn, context: &JobContext<App>, announcement: &Announcement) -> Result<(), JobError> {
    let customers = onboarding::live_customers(conn, announcement.after, BATCH).await?;
    let moment = |millis| Rfc3339(Time::from_millis(millis));
    let readable = |millis| ReadableTime(Time::from_millis(millis));
    let mail = mail::RatesChanged { from: readable(announcement.from), to: readable(announcement.to) };
    let notification = RatesChanged { from: moment(announcement.from), to: moment(announcement.to) };
    for (customer,) in &customers {
        notifications::notify(conn, *customer, &notification).await?;
        notifications::send_mail(conn, &context.app, *customer, RatesChanged::CODE, &mail).await?;
    }
    if customers.len() as i64 == BATCH {
        let after = customers.last().map(|(customer,)| *customer);
        Announcement { after, ..announcement.clone() }.enqueue(conn).await?;
    }
    context.finish_in(conn).await
}
