//! Customers hear of an import that changed prices, each once, some hundred at a time.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use db::{Conn, DbError};
use identity::notifications::{self, RatesChanged};
use identity::onboarding;
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind, NewJob};
use values::{AccountId, Rfc3339, Time};

pub const ANNOUNCE: Kind = Kind::new("decks.announce");

const BATCH: i64 = 500;

/// What is to be told, and to whom it was told already.
#[derive(Clone, Serialize, Deserialize)]
pub struct Announcement {
    pub from: i64,
    pub to: i64,
    pub after: Option<AccountId>,
}

impl Announcement {
    /// Lets it be told once we commit.
    pub async fn enqueue(&self, conn: &mut Conn, app: &App, now: Time) -> Result<(), DbError> {
        let payload = serde_json::to_value(self).map_err(DbError::other)?;
        jobs::enqueue(conn, &NewJob { id: app.entropy.uuid(now), kind: ANNOUNCE, payload, run_at: now }).await
    }
}

pub async fn announce_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let announcement: Announcement =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let now = context.clock.now();
    let told = context.db.tx((context.clone(), announcement, now), |conn, (context, announcement, now)| {
        Box::pin(tell(conn, context, announcement, *now))
    });
    told.await?;
    context.app.jobs_waker.notify_one();
    Ok(())
}

async fn tell(
    conn: &mut Conn,
    context: &JobContext<App>,
    announcement: &Announcement,
    now: Time,
) -> Result<(), JobError> {
    let customers = onboarding::live_customers(conn, announcement.after, BATCH).await?;
    let moment = |millis| Rfc3339(Time::from_millis(millis));
    let news = RatesChanged { from: moment(announcement.from), to: moment(announcement.to) };
    for (customer,) in &customers {
        notifications::notify(conn, context.app.entropy, *customer, &news, now).await?;
    }
    if customers.len() as i64 == BATCH {
        let after = customers.last().map(|(customer,)| *customer);
        Announcement { after, ..announcement.clone() }.enqueue(conn, &context.app, now).await?;
    }
    context.finish_in(conn).await
}
