//! The jobs of invoices: close months, issue invoices, render documents, mark invoices paid.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::document;
use super::issue::{self, IssueRequest, record_event};
use super::month::Month;
use super::rules::{self, Transition};
use super::store::{self, Series, UnpaidInvoice};
use super::types::InvoiceId;
use super::update_dunning;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::events::EventType;
use identity::notifications::{NotificationCode, send_mail_with};
use platform::app::App;
use platform::jobs::{self, Class, JobContext, JobError, Kind};
use platform::ledger;
use platform::mail::{self, Attachment};
use platform::outside::files::ContentHash;
use values::{AccountId, Currency, Money};

pub const CLOSE_MONTHS: Kind = Kind::new("invoice.close_months");
/// It may ask VIES first.
pub const ISSUE: Kind = Kind::new("invoice.issue").attempts(20).class(Class::Outside);
pub const DOCUMENT: Kind = Kind::new("invoice.document").attempts(20);
pub const MARK_PAID: Kind = Kind::new("invoice.settle").attempts(3).class(Class::Money);

/// A month is closed this long after its end, when all of its charges are in the ledger.
const CLOSE_DELAY: Duration = Duration::from_secs(3600);
const BATCH: i64 = 200;

#[derive(Clone, Serialize, Deserialize)]
struct IssuePayload {
    account: AccountId,
    currency: Currency,
    month: String,
}

#[derive(Deserialize)]
struct DocumentPayload {
    series: Series,
    invoice: InvoiceId,
}

/// Enqueues the invoices of every month that is over and not closed, including months missed earlier.
pub async fn close_months_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    let mut reader = app.db.read().await?;
    let first = match store::last_closed_month(&mut reader).await? {
        Some(closed) => Some(closed.next()),
        None => ledger::first_day(&mut reader).await?.map(Month::of),
    };
    drop(reader);
    let current = Month::of(now.minus(CLOSE_DELAY));
    let months = std::iter::successors(first, |month| Some(month.next())).take_while(|month| *month < current);
    for month in months {
        close_month(app, month).await?;
    }
    Ok(())
}

/// Enqueues the month's invoices in batches. After an interruption it starts over; a month that is enqueued twice is
/// issued once.
async fn close_month(app: &App, month: Month) -> Result<(), JobError> {
    let mut after = None;
    loop {
        let mut reader = app.db.read().await?;
        let page = ledger::customers_between(&mut reader, month.start(), month.end(), after, BATCH).await?;
        drop(reader);
        after = page.last().copied();
        let is_last = i64::try_from(page.len()).is_ok_and(|length| length < BATCH);
        let enqueued = app.db.tx((page, month, is_last), |conn, (page, month, is_last)| {
            Box::pin(enqueue_issues(conn, page, *month, *is_last))
        });
        enqueued.await?;
        if is_last {
            return Ok(());
        }
    }
}

async fn enqueue_issues(
    conn: &mut Conn,
    customers: &[(AccountId, Currency)],
    month: Month,
    is_last: bool,
) -> Result<(), DbError> {
    for &(account, currency) in customers {
        let payload = IssuePayload { account, currency, month: month.to_string() };
        let payload = serde_json::to_value(payload).map_err(DbError::other)?;
        jobs::enqueue(conn, ISSUE, payload).await?;
    }
    if is_last { store::close_month(conn, month).await } else { Ok(()) }
}

pub async fn issue_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let IssuePayload { account, currency, month } = read(payload)?;
    let month = month.parse().map_err(permanent)?;
    let request = IssueRequest { app: context.app.clone(), account, currency, month, now: context.clock.now() };
    issue::issue(request).await.map(|_| ()).map_err(failed)
}

/// Renders a document and stores the hash of its file.
pub async fn document_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let DocumentPayload { series, invoice } = read(payload)?;
    let mut reader = context.db.read().await?;
    let facts = match series {
        Series::Invoice => store::find(&mut reader, invoice).await?.map(|row| row.facts),
        Series::CreditNote => store::find_credit_note(&mut reader, invoice).await?.map(|row| row.facts),
    };
    drop(reader);
    let facts = facts.ok_or_else(|| permanent("no such invoice or credit note"))?;
    let hash = document::store(&context.app.files, &facts).await.map_err(failed)?;
    let input = (context.clone(), series, invoice, facts, hash);
    let stored = context.db.tx(input, |conn, (context, series, invoice, facts, hash)| {
        Box::pin(async move {
            store::set_content(conn, *series, *invoice, facts, *hash).await?;
            if *series == Series::Invoice {
                send_invoice(conn, &context.app, *invoice, *hash).await?;
            }
            context.finish_in(conn).await
        })
    });
    stored.await
}

/// Mails an invoice with its PDF, once it is rendered; one that was voided meanwhile stays unsent.
async fn send_invoice(conn: &mut Conn, app: &App, id: InvoiceId, hash: ContentHash) -> Result<(), DbError> {
    let Some(invoice) = store::find(conn, id).await?.filter(|invoice| !invoice.facts.is_void) else { return Ok(()) };
    let total = invoice.total();
    let mail = mail::InvoiceIssued {
        number: invoice.number.clone(),
        total: Money::from_minor(total.minor(), total.currency()).unwrap_or(total),
        due_date: invoice.due_date.to_string(),
    };
    let pdf = Attachment {
        hash: hash.to_string(),
        file_name: invoice.facts.file_name(),
        content_type: document::CONTENT_TYPE.to_owned(),
    };
    send_mail_with(conn, app, invoice.account_id, NotificationCode::InvoiceIssued, &mail, &[pdf]).await.map(drop)
}

/// Marks invoices paid that payments since the issue have covered.
pub async fn mark_paid_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let app = &context.app;
    let mut after = None;
    loop {
        let page = store::list_unpaid(&mut *app.db.read().await?, after, BATCH).await?;
        for open in &page {
            if is_covered(&mut *app.db.read().await?, open).await.map_err(failed)? {
                app.db.tx((app.clone(), open.id), |conn, (app, id)| Box::pin(pay(conn, app, *id))).await?;
            }
        }
        after = page.last().map(|open| open.id);
        if i64::try_from(page.len()).is_ok_and(|length| length < BATCH) {
            return Ok(());
        }
    }
}

/// Marks an invoice paid, unless it was voided or credited meanwhile.
async fn pay(conn: &mut Conn, app: &App, id: InvoiceId) -> Result<(), DbError> {
    let Some(invoice) = store::lock(conn, id).await? else { return Ok(()) };
    match rules::apply(invoice.status, Transition::Pay) {
        Ok(status) => {
            store::mark_paid(conn, id, status).await?;
            record_event(conn, app, EventType::InvoicePaid, id).await?;
            update_dunning(conn, &invoice).await
        }
        Err(_) => Ok(()),
    }
}

/// Whether as much was paid since the issue as was lacking then. With a balance that is not negative it was, whatever
/// raised it.
async fn is_covered(conn: &mut Conn, open: &UnpaidInvoice) -> Result<bool, Problem> {
    let balance = ledger::balance(conn, open.account_id, open.currency).await?;
    if !balance.current.is_negative() {
        return Ok(true);
    }
    let now = conn.now();
    let tomorrow = now.plus(Duration::from_secs(24 * 3600));
    let sums = ledger::sums(conn, open.account_id, open.currency, open.issue_date.start(), tomorrow).await?;
    let paid_in = rules::paid_in(&sums, Money::zero(open.currency)).map_err(Problem::internal)?;
    Ok(paid_in.nanos().saturating_sub(open.paid_in_before) >= open.owed)
}

fn read<T: serde::de::DeserializeOwned>(payload: Value) -> Result<T, JobError> {
    serde_json::from_value(payload).map_err(permanent)
}

fn permanent(reason: impl ToString) -> JobError {
    JobError::Permanent(reason.to_string())
}

fn failed(problem: Problem) -> JobError {
    JobError::Failed(format!("{problem:?}"))
}
