//! What happens to invoices by the calendar: months are closed, documents made, and payments noticed.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::document;
use super::issue::{self, Order};
use super::month::Month;
use super::remind;
use super::rules::{self, Move};
use super::store::{self, Open, Series};
use super::types::InvoiceId;
use api::problem::Problem;
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind, NewJob};
use platform::ledger;
use values::{AccountId, Currency, Money, Time};

pub const CLOSE_MONTHS: Kind = Kind::new("invoice.close_months");
pub const ISSUE: Kind = Kind::new("invoice.issue").attempts(20);
pub const DOCUMENT: Kind = Kind::new("invoice.document").attempts(20);
pub const SETTLE: Kind = Kind::new("invoice.settle").attempts(3);

/// Whatever happened in a month is in the ledger by then.
const MONTH_SETTLES: Duration = Duration::from_secs(3600);
const BATCH: i64 = 200;

#[derive(Clone, Serialize, Deserialize)]
struct Wanted {
    account: AccountId,
    currency: Currency,
    month: String,
}

#[derive(Deserialize)]
struct Made {
    series: Series,
    invoice: InvoiceId,
}

/// Has every customer invoiced for every month that is over and was not closed, however long nobody looked.
pub async fn close_months_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    let mut reader = app.db.read().await?;
    let first = match store::last_closed(&mut reader).await? {
        Some(closed) => Some(closed.next()),
        None => ledger::first_day(&mut reader).await?.map(Month::of),
    };
    drop(reader);
    let current = Month::of(now.minus(MONTH_SETTLES));
    let months = std::iter::successors(first, |month| Some(month.next())).take_while(|month| *month < current);
    for month in months {
        close(app, month, now).await?;
    }
    Ok(())
}

/// Orders the month's invoices a page at a time. Whoever is interrupted begins again, and orders twice what is issued
/// once.
async fn close(app: &App, month: Month, now: Time) -> Result<(), JobError> {
    let mut after = None;
    loop {
        let mut reader = app.db.read().await?;
        let page = ledger::customers_between(&mut reader, month.start(), month.end(), after, BATCH).await?;
        drop(reader);
        after = page.last().copied();
        let is_last = i64::try_from(page.len()).is_ok_and(|length| length < BATCH);
        let orders = (app.clone(), page, month, is_last, now);
        let ordered = app.db.tx(orders, |conn, (app, page, month, is_last, now)| {
            Box::pin(order(conn, app, page, *month, *is_last, *now))
        });
        ordered.await?;
        app.jobs_waker.notify_one();
        if is_last {
            return Ok(());
        }
    }
}

async fn order(
    conn: &mut Conn,
    app: &App,
    customers: &[(AccountId, Currency)],
    month: Month,
    is_last: bool,
    now: Time,
) -> Result<(), DbError> {
    for &(account, currency) in customers {
        let wanted = Wanted { account, currency, month: month.to_string() };
        let payload = serde_json::to_value(wanted).map_err(DbError::other)?;
        let job = NewJob { id: app.entropy.uuid(now), kind: ISSUE, payload, run_at: now };
        jobs::enqueue(conn, &job).await?;
    }
    if is_last { store::close(conn, month, now).await } else { Ok(()) }
}

pub async fn issue_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let Wanted { account, currency, month } = read(payload)?;
    let month = month.parse().map_err(hopeless)?;
    let order = Order { app: context.app.clone(), account, currency, month, now: context.clock.now() };
    issue::issue(order).await.map(|_| ()).map_err(failed)
}

/// Makes a document and writes down where it is.
pub async fn document_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let Made { series, invoice } = read(payload)?;
    let mut reader = context.db.read().await?;
    let facts = match series {
        Series::Invoice => store::find(&mut reader, invoice).await?.map(|row| row.facts),
        Series::CreditNote => store::find_credit_note(&mut reader, invoice).await?.map(|row| row.facts),
    };
    drop(reader);
    let facts = facts.ok_or_else(|| hopeless("there is no such document"))?;
    let hash = document::store(&context.app.files, &facts).await.map_err(failed)?;
    let made = (context.clone(), series, invoice, facts, hash);
    let written = context.db.tx(made, |conn, (context, series, invoice, facts, hash)| {
        Box::pin(async move {
            store::set_content(conn, *series, *invoice, facts, *hash).await?;
            context.finish_in(conn).await
        })
    });
    written.await
}

/// Marks the invoices paid that later payments have covered.
pub async fn settle_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    let mut after = None;
    loop {
        let page = store::open(&mut *app.db.read().await?, after, BATCH).await?;
        for open in &page {
            if is_covered(&mut *app.db.read().await?, open, now).await.map_err(failed)? {
                app.db.tx((open.id, now), |conn, (id, now)| Box::pin(pay(conn, *id, *now))).await?;
            }
        }
        after = page.last().map(|open| open.id);
        if i64::try_from(page.len()).is_ok_and(|length| length < BATCH) {
            return Ok(());
        }
    }
}

/// Marks an invoice paid, unless it came to another end meanwhile.
async fn pay(conn: &mut Conn, id: InvoiceId, now: Time) -> Result<(), DbError> {
    let Some(invoice) = store::find_to_change(conn, id).await? else { return Ok(()) };
    match rules::apply(invoice.status, Move::Pay) {
        Ok(status) => {
            store::pay(conn, id, status, now).await?;
            remind(conn, &invoice, now).await
        }
        Err(_) => Ok(()),
    }
}

/// Whether as much was paid in since the issue as was lacking then.
async fn is_covered(conn: &mut Conn, open: &Open, now: Time) -> Result<bool, Problem> {
    let tomorrow = now.plus(Duration::from_secs(24 * 3600));
    let sums = ledger::sums(conn, open.account_id, open.currency, open.issue_date.start(), tomorrow).await?;
    let paid_in = rules::paid_in(&sums, Money::zero(open.currency)).map_err(Problem::internal)?;
    Ok(paid_in.nanos().saturating_sub(open.paid_in_before) >= open.owed)
}

fn read<T: serde::de::DeserializeOwned>(payload: Value) -> Result<T, JobError> {
    serde_json::from_value(payload).map_err(hopeless)
}

fn hopeless(reason: impl ToString) -> JobError {
    JobError::Permanent(reason.to_string())
}

fn failed(problem: Problem) -> JobError {
    JobError::Failed(format!("{problem:?}"))
}
