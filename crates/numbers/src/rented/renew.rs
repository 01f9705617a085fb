//! The months after the first.
//!
//! A month is charged under the name of the number and the month, so it is charged once whoever tries how often. A
//! balance that will not do is told of some days ahead; when it does not do, the renewal is tried again every day.

use serde_json::Value;
use uuid::Uuid;

use super::release;
use super::rules::{self, AGAIN_AFTER, FAILURES_MOST, end_of_month};
use super::store::{self, NumberRow};
use super::types::NumberId;
use db::{Conn, DbError};
use identity::accounts;
use identity::balance::CURRENCY;
use identity::notifications::{NumberReleased, NumberRenewalAhead, NumberRenewalFailed, notify};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use platform::ledger::{self, Book, Entry, LedgerError};
use platform::mail::{self, ReadableTime, Recipient};
use values::{AccountId, Money, Rfc3339, Time};

/// The next tick makes up for one that failed.
pub const RENEW: Kind = Kind::new("number.renew").attempts(3);
pub const LOOK_AHEAD: Kind = Kind::new("number.look_ahead").attempts(3);

const BATCH: i64 = 200;
const UNPAID: &str = "three renewals in a row could not be paid";

/// Renews what is due, each number by itself.
pub async fn renew_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    loop {
        let now = context.clock.now();
        let due = store::due(&mut *context.db.read().await?, now, BATCH).await?;
        for (id,) in &due {
            let input = (context.app.clone(), *id, now);
            let renewed = context.db.tx(input, |conn, (app, id, now)| Box::pin(renew(conn, app, *id, *now)));
            renewed.await.map_err(failed)?;
        }
        context.app.jobs_waker.notify_one();
        if (due.len() as i64) < BATCH {
            return Ok(());
        }
    }
}

fn failed(error: LedgerError) -> JobError {
    match error {
        LedgerError::Db(error) => JobError::Db(error),
        error => JobError::Failed(error.to_string()),
    }
}

/// Pays every month of a number that is due, or says why not.
async fn renew(conn: &mut Conn, app: &App, id: NumberId, now: Time) -> Result<(), LedgerError> {
    let Some(mut number) = store::lock(conn, id).await? else { return Ok(()) };
    while number.try_at <= now {
        let month = number.months_paid + 1;
        match charge(conn, app, &number, month, now).await {
            Ok(()) => {
                number.months_paid = month;
                number.next_renewal_at = end_of_month(number.since, month);
                number.try_at = number.next_renewal_at;
                number.failures = 0;
            }
            Err(LedgerError::Insufficient { available, .. }) => {
                return Ok(unpaid(conn, app, number, available, now).await?);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(store::keep_renewal(conn, &number).await?)
}

async fn charge(conn: &mut Conn, app: &App, number: &NumberRow, month: i64, now: Time) -> Result<(), LedgerError> {
    let monthly = Money::from_nanos(number.monthly, CURRENCY);
    if monthly.is_zero() {
        return Ok(());
    }
    let (kind, name) = (ledger::Kind::NumberRenewal, format!("{}:{month}", number.id));
    let entry = Entry::charge(number.account_id, kind, name, &[(Book::NumberRental, monthly)])?;
    ledger::debit(conn, app.entropy, &entry.with_note(format!("{}, month {month}", number.e164)), now).await?;
    Ok(())
}

async fn unpaid(conn: &mut Conn, app: &App, mut number: NumberRow, available: Money, now: Time) -> Result<(), DbError> {
    number.failures += 1;
    number.try_at = now.plus(AGAIN_AFTER);
    store::keep_renewal(conn, &number).await?;
    if number.failures >= FAILURES_MOST {
        return end_unpaid(conn, app, &number, now).await;
    }
    let (monthly, again_at) = (Money::from_nanos(number.monthly, CURRENCY), number.try_at);
    let news = NumberRenewalFailed {
        number_id: number.id.uuid(),
        e164: number.e164.clone(),
        monthly,
        available: available.into(),
        failures: number.failures,
        again_at: Rfc3339(again_at),
    };
    notify(conn, app.entropy, number.account_id, &news, now).await?;
    if let Some(contact) = accounts::contact(conn, number.account_id).await? {
        let to = Recipient::new(&contact.contact_email, &contact.contact_name);
        let is_last = number.failures + 1 == FAILURES_MOST;
        let (number, again_at) = (number.e164.to_string(), ReadableTime(again_at));
        mail::send(conn, app, &to, &mail::RenewalFailed { number, monthly, again_at, is_last }, now).await?;
    }
    Ok(())
}

async fn end_unpaid(conn: &mut Conn, app: &App, number: &NumberRow, now: Time) -> Result<(), DbError> {
    release(conn, app, number, UNPAID, now).await?;
    let news = NumberReleased { number_id: number.id.uuid(), e164: number.e164.clone(), reason: UNPAID.to_owned() };
    notify(conn, app.entropy, number.account_id, &news, now).await?;
    if let Some(contact) = accounts::contact(conn, number.account_id).await? {
        let to = Recipient::new(&contact.contact_email, &contact.contact_name);
        mail::send(conn, app, &to, &mail::NumberReleased { number: number.e164.to_string() }, now).await?;
    }
    Ok(())
}

/// Warns customers whose balance will not do for what renews in the next days.
pub async fn look_ahead_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let now = context.clock.now();
    let until = now.plus(rules::LOOK_AHEAD);
    let mut after = AccountId::new(Uuid::nil());
    loop {
        let accounts = store::renewing(&mut *context.db.read().await?, until, after, BATCH).await?;
        let Some((last,)) = accounts.last() else { return Ok(()) };
        after = *last;
        for (account,) in &accounts {
            let input = (context.app.clone(), *account, until, now);
            let warned = context
                .db
                .tx(input, |conn, (app, account, until, now)| Box::pin(warn(conn, app, *account, *until, *now)));
            warned.await?;
        }
    }
}

async fn warn(conn: &mut Conn, app: &App, account: AccountId, until: Time, now: Time) -> Result<(), DbError> {
    let ahead = store::ahead(conn, account, until).await?;
    let available = ledger::balance(conn, account, CURRENCY).await?.available();
    let Some(first) = ahead.first.filter(|_| available.nanos() < ahead.total) else { return Ok(()) };
    store::note_warning(conn, account, until).await?;
    let news = NumberRenewalAhead {
        numbers: ahead.numbers,
        total: Money::from_nanos(ahead.total, CURRENCY),
        available: available.into(),
        first_renewal_at: Rfc3339(first),
    };
    notify(conn, app.entropy, account, &news, now).await
}
