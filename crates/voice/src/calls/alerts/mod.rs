//! Spend and ASR alerts: notifies an account of an hour that costs far more than usual, and of a destination where few
//! calls are answered.
//!
//! A job reads the rollups, never the CDRs, and sends each alert once a day.

mod rules;
mod store;

use serde_json::Value;

use crate::concurrency::{DAY_MILLIS, HOUR_MILLIS, day_of, hour_of};
use db::DbError;
use identity::balance::CURRENCY;
use identity::notifications::{self, NotificationPayload, QualityLowAsr, SpendJump};
use platform::app::App;
use platform::config::AlarmSettings;
use platform::jobs::{Class, JobContext, JobError, Kind};
use platform::mail::{self, ReadableTime};
use rules::{TRAILING_HOURS, asr, average, is_jump};
use store::Alert;
pub use store::purge;
use values::{AccountId, Date, Money, Rfc3339, Time};

pub const SEND_ALERTS: Kind = Kind::new("calls.alarm").class(Class::Mail);

const BATCH_SIZE: i64 = 500;

pub async fn send_alerts_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    // Calls of the hour before may have ended since the last run.
    for hour in [hour_of(now) - 1, hour_of(now)] {
        check_spend(app, hour).await?;
    }
    Ok(check_asr(app, day_of(now)).await?)
}

/// Alerts accounts whose calls of an hour cost far more than those of the hours before.
async fn check_spend(app: &App, hour: i64) -> Result<(), DbError> {
    let AlarmSettings { spend_factor, min_spend_nanos, .. } = app.settings.calls.alarms;
    let mut after = AccountId::new(uuid::Uuid::nil());
    loop {
        let mut reader = app.db.read().await?;
        let expensive = store::list_expensive_hours(&mut reader, hour, min_spend_nanos, after, BATCH_SIZE).await?;
        let mut jumps = Vec::new();
        for (account, spend) in &expensive {
            let before = store::sum_spend(&mut reader, *account, hour - TRAILING_HOURS, hour).await?;
            if is_jump(*spend, before, spend_factor) {
                jumps.push((*account, *spend, before));
            }
        }
        drop(reader);
        for (account, spend, before) in jumps {
            let money = |nanos| Money::from_nanos(nanos, CURRENCY);
            let (started, average) = (Time::from_millis(hour * HOUR_MILLIS), money(average(before)));
            let notification =
                SpendJump { hour: Rfc3339(started), spend: money(spend).into(), average: average.into() };
            let to_cents = |money: Money| Money::from_minor(money.minor(), money.currency()).unwrap_or(money);
            let (spend, average) = (to_cents(money(spend)), to_cents(average));
            let mail = mail::SpendJump { hour: ReadableTime(started), spend, average };
            let alert = Alert::of_account(hour * HOUR_MILLIS / DAY_MILLIS, account, SpendJump::CODE.as_str());
            send_once(app, alert, notification, Some(mail)).await?;
        }
        match expensive.last() {
            Some((account, _)) if expensive.len() as i64 == BATCH_SIZE => after = *account,
            _ => return Ok(()),
        }
    }
}

/// Alerts accounts of destinations with a low ASR on a day.
async fn check_asr(app: &App, day: i64) -> Result<(), DbError> {
    let AlarmSettings { asr_percent, asr_calls, .. } = app.settings.calls.alarms;
    let code = QualityLowAsr::CODE.as_str();
    loop {
        let low =
            store::list_low_asr(&mut *app.db.read().await?, day, asr_calls, asr_percent, code, BATCH_SIZE).await?;
        let is_last = (low.len() as i64) < BATCH_SIZE;
        for found in low {
            let alert = Alert {
                day,
                account: found.account_id,
                code,
                country: found.country.clone(),
                destination_name: found.destination_name.clone(),
            };
            let notification = QualityLowAsr {
                date: Date::from(Time::from_millis(day * DAY_MILLIS)),
                country: found.country,
                destination_name: found.destination_name,
                attempts: found.attempts,
                answered: found.answered,
                asr: asr(found.answered, found.attempts),
            };
            send_once(app, alert, notification, None).await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

async fn send_once<N: NotificationPayload + Send + Sync + 'static>(
    app: &App,
    alert: Alert,
    notification: N,
    mail: Option<mail::SpendJump>,
) -> Result<(), DbError> {
    app.db
        .tx((app.clone(), alert, notification, mail), |conn, (app, alert, notification, mail)| {
            Box::pin(async move {
                if store::claim(conn, alert).await? {
                    notifications::notify(conn, alert.account, notification).await?;
                    if let Some(mail) = mail {
                        notifications::send_mail(conn, app, alert.account, N::CODE, mail).await?;
                    }
                }
                Ok::<_, DbError>(())
            })
        })
        .await
}
