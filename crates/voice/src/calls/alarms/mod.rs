//! What an account should hear of its calls before the invoice does: an hour that costs far more than its hours do, and a
//! destination that hardly anybody answers.
//!
//! A job looks at the sums of hours and days, never at the records, and tells of each thing once a day.

mod rules;
mod store;

use serde_json::Value;

use super::{DAY_MILLIS, HOUR_MILLIS, day_of, hour_of};
use db::DbError;
use identity::balance::CURRENCY;
use identity::notifications::{self, NotificationPayload, QualityLowAsr, SpendJump};
use platform::app::App;
use platform::config::AlarmSettings;
use platform::jobs::{JobContext, JobError, Kind};
use rules::{TRAILING_HOURS, answered_share, average, is_jump};
use store::Alarm;
pub use store::forget as forget_alarms;
use values::{AccountId, Date, Money, Rfc3339, Time};

pub const ALARM: Kind = Kind::new("calls.alarm");

const BATCH: i64 = 500;

pub async fn alarm_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    // Calls of the hour before have ended since.
    for hour in [hour_of(now) - 1, hour_of(now)] {
        look_at_spend(app, hour, now).await?;
    }
    Ok(look_at_destinations(app, day_of(now), now).await?)
}

/// Tells accounts whose calls of an hour cost far more than those of the hours before.
async fn look_at_spend(app: &App, hour: i64, now: Time) -> Result<(), DbError> {
    let AlarmSettings { spend_factor, min_spend_nanos, .. } = app.settings.calls.alarms;
    let mut after = AccountId::new(uuid::Uuid::nil());
    loop {
        let mut reader = app.db.read().await?;
        let dear = store::dear_hours(&mut reader, hour, min_spend_nanos, after, BATCH).await?;
        let mut jumps = Vec::new();
        for (account, spend) in &dear {
            let before = store::spend_of_hours(&mut reader, *account, hour - TRAILING_HOURS, hour).await?;
            if is_jump(*spend, before, spend_factor) {
                jumps.push((*account, *spend, before));
            }
        }
        drop(reader);
        for (account, spend, before) in jumps {
            let exactly = |nanos| Money::from_nanos(nanos, CURRENCY).into();
            let started = Rfc3339(Time::from_millis(hour * HOUR_MILLIS));
            let news = SpendJump { hour: started, spend: exactly(spend), average: exactly(average(before)) };
            let alarm = Alarm::of_account(hour * HOUR_MILLIS / DAY_MILLIS, account, SpendJump::CODE.as_str());
            tell_once(app, alarm, news, now).await?;
        }
        match dear.last() {
            Some((account, _)) if dear.len() as i64 == BATCH => after = *account,
            _ => return Ok(()),
        }
    }
}

/// Tells accounts of destinations that hardly anybody answers on a day.
async fn look_at_destinations(app: &App, day: i64, now: Time) -> Result<(), DbError> {
    let AlarmSettings { asr_percent, asr_calls, .. } = app.settings.calls.alarms;
    let code = QualityLowAsr::CODE.as_str();
    loop {
        let poor =
            store::poor_destinations(&mut *app.db.read().await?, day, asr_calls, asr_percent, code, BATCH).await?;
        let is_last = (poor.len() as i64) < BATCH;
        for found in poor {
            let alarm = Alarm {
                day,
                account: found.account_id,
                alarm: code,
                country: found.country.clone(),
                destination_name: found.destination_name.clone(),
            };
            let news = QualityLowAsr {
                date: Date::from(Time::from_millis(day * DAY_MILLIS)),
                country: found.country,
                destination_name: found.destination_name,
                attempts: found.attempts,
                answered: found.answered,
                asr: answered_share(found.answered, found.attempts),
            };
            tell_once(app, alarm, news, now).await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

async fn tell_once<N: NotificationPayload + Send + Sync + 'static>(
    app: &App,
    alarm: Alarm,
    news: N,
    now: Time,
) -> Result<(), DbError> {
    app.db
        .tx((app.entropy, alarm, news, now), |conn, (entropy, alarm, news, now)| {
            Box::pin(async move {
                if store::raise(conn, alarm).await? {
                    notifications::notify(conn, *entropy, alarm.account, news, *now).await?;
                }
                Ok::<_, DbError>(())
            })
        })
        .await
}
