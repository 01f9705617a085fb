//! Monthly renewals after the first month.
//!
//! A month is charged under the number's id and the month, so retries charge it once. Customers whose balance is too
//! low are reminded three days ahead; a failed renewal is retried every day.

use serde_json::Value;
use uuid::Uuid;

use super::release;
use super::rules::{self, MAX_FAILURES, RETRY_AFTER, add_months};
use super::store::{self, NumberRow};
use super::types::NumberId;
use db::{Conn, DbError};
use identity::accounts;
use identity::balance::CURRENCY;
use identity::notifications::{
    NotificationCode, NumberReleased, NumberRenewalAhead, NumberRenewalFailed, notify, send_mail,
};
use platform::app::App;
use platform::jobs::{Class, JobContext, JobError, Kind};
use platform::ledger::{self, Book, Entry, LedgerError};
use platform::mail::{self, ReadableTime, Recipient};
use values::{AccountId, Money, Rfc3339, Time};

/// The next scheduled run retries what failed.
pub const RENEW: Kind = Kind::new("number.renew").attempts(3).class(Class::Money);
pub const RENEWAL_REMINDER: Kind = Kind::new("number.look_ahead").attempts(3);

const BATCH: i64 = 200;
/// Maximum number of renewals in a transaction.
const TOGETHER: usize = 50;
const UNPAID: &str = "three renewals in a row failed: the balance was too low";

/// Renews the numbers that are due. Those that can be charged are charged together; each of the others has a transaction
/// of its own, which also notifies its customer.
pub async fn renew_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    loop {
        let due = store::list_due(&mut *context.db.read().await?, BATCH).await?;
        for together in due.chunks(TOGETHER) {
            let renewed = context.db.tx(together.to_vec(), |conn, ids| Box::pin(renew_together(conn, ids)));
            for id in renewed.await.map_err(failed)? {
                let input = (context.app.clone(), id);
                let renewed = context.db.tx(input, |conn, (app, id)| Box::pin(renew(conn, app, *id)));
                renewed.await.map_err(failed)?;
            }
        }
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

/// Charges the next month of numbers. Returns those that could not be charged or have another month due.
async fn renew_together(conn: &mut Conn, ids: &[(NumberId,)]) -> Result<Vec<NumberId>, LedgerError> {
    let now = conn.now();
    let (mut due, mut entries, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for number in store::lock_each(conn, ids).await?.into_iter().filter(|number| number.try_at <= now) {
        match next_month(&number)? {
            Some(entry) => {
                due.push(number);
                entries.push(entry);
            }
            None => left.push(number.id),
        }
    }
    let charged = ledger::debit_each(conn, &entries).await?;
    let mut updates = Vec::new();
    for (mut number, charged) in due.into_iter().zip(charged) {
        if charged.is_ok() {
            extend(&mut number);
            updates.push(store::update_renewal(&number));
        }
        left.extend((number.try_at <= now).then_some(number.id));
    }
    conn.exec_many(&updates).await?;
    Ok(left)
}

/// Charges every month of a number that is due.
async fn renew(conn: &mut Conn, app: &App, id: NumberId) -> Result<(), LedgerError> {
    let now = conn.now();
    let Some(mut number) = store::lock(conn, id).await? else { return Ok(()) };
    while number.try_at <= now {
        if let Some(entry) = next_month(&number)? {
            match ledger::debit(conn, &entry).await {
                Err(LedgerError::Insufficient { available, .. }) => {
                    return Ok(record_failure(conn, app, number, available).await?);
                }
                charged => charged?,
            };
        }
        extend(&mut number);
    }
    conn.exec_many(&[store::update_renewal(&number)]).await?;
    Ok(())
}

/// Adds a month that is paid.
fn extend(number: &mut NumberRow) {
    number.months_paid += 1;
    number.next_renewal_at = add_months(number.since, number.months_paid);
    number.try_at = number.next_renewal_at;
    number.failures = 0;
}

/// The charge of the number's next month, unless it is free.
fn next_month(number: &NumberRow) -> Result<Option<Entry>, LedgerError> {
    let (monthly, month) = (Money::from_nanos(number.monthly, CURRENCY), number.months_paid + 1);
    if monthly.is_zero() {
        return Ok(None);
    }
    let (kind, name) = (ledger::Kind::NumberRenewal, format!("{}:{month}", number.id));
    let entry = Entry::charge(number.account_id, kind, name, &[(Book::NumberRental, monthly)])?;
    Ok(Some(entry.with_note(format!("{}, month {month}", number.e164))))
}

async fn record_failure(conn: &mut Conn, app: &App, mut number: NumberRow, available: Money) -> Result<(), DbError> {
    let now = conn.now();
    number.failures += 1;
    number.try_at = now.plus(RETRY_AFTER);
    conn.exec_many(&[store::update_renewal(&number)]).await?;
    if number.failures >= MAX_FAILURES {
        return release_unpaid(conn, app, &number).await;
    }
    let (monthly, again_at) = (Money::from_nanos(number.monthly, CURRENCY), number.try_at);
    let notification = NumberRenewalFailed {
        number_id: number.id.uuid(),
        e164: number.e164.clone(),
        monthly,
        available: available.into(),
        failures: number.failures,
        again_at: Rfc3339(again_at),
    };
    notify(conn, number.account_id, &notification).await?;
    if let Some(contact) = accounts::contact(conn, number.account_id).await? {
        let to = Recipient::new(&contact.contact_email, &contact.contact_name);
        let is_last = number.failures + 1 == MAX_FAILURES;
        let (number, again_at) = (number.e164.to_string(), ReadableTime(again_at));
        mail::send(conn, app, &to, &mail::RenewalFailed { number, monthly, again_at, is_last }).await?;
    }
    Ok(())
}

async fn release_unpaid(conn: &mut Conn, app: &App, number: &NumberRow) -> Result<(), DbError> {
    release(conn, app, number, UNPAID).await?;
    let notification =
        NumberReleased { number_id: number.id.uuid(), e164: number.e164.clone(), reason: UNPAID.to_owned() };
    notify(conn, number.account_id, &notification).await?;
    let mail = mail::NumberReleased { number: number.e164.to_string() };
    send_mail(conn, app, number.account_id, NotificationCode::NumberReleased, &mail).await
}

/// Notifies customers whose balance does not cover the renewals of the next three days.
pub async fn renewal_reminder_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let now = context.clock.now();
    let until = now.plus(rules::REMINDER_AHEAD);
    let mut after = AccountId::new(Uuid::nil());
    loop {
        let accounts = store::accounts_to_remind(&mut *context.db.read().await?, until, after, BATCH).await?;
        let Some((last,)) = accounts.last() else { return Ok(()) };
        after = *last;
        for (account,) in &accounts {
            let input = (*account, until);
            let reminded = context.db.tx(input, |conn, (account, until)| Box::pin(remind(conn, *account, *until)));
            reminded.await?;
        }
    }
}

async fn remind(conn: &mut Conn, account: AccountId, until: Time) -> Result<(), DbError> {
    let upcoming = store::upcoming_renewals(conn, account, until).await?;
    let available = ledger::balance(conn, account, CURRENCY).await?.available();
    let Some(first) = upcoming.first.filter(|_| available.nanos() < upcoming.total) else { return Ok(()) };
    store::mark_reminded(conn, account, until).await?;
    let notification = NumberRenewalAhead {
        numbers: upcoming.numbers,
        total: Money::from_nanos(upcoming.total, CURRENCY),
        available: available.into(),
        first_renewal_at: Rfc3339(first),
    };
    notify(conn, account, &notification).await
}
