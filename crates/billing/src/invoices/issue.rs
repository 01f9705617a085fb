//! Issues the invoice of an account's month, in one transaction, once.
//!
//! Usage was charged to the balance when it happened. The invoice sums it up, adds the VAT, charges the VAT to the
//! balance, and takes its number last, since the row of the number series is locked until the commit.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use super::document::{Draft, Facts};
use super::lines;
use super::month::Month;
use super::refunds;
use super::rules::{self, InvoiceStatus, Transition};
use super::store::{self, InvoiceRow, Series};
use super::types::{Invoice, InvoiceId};
use super::{DOCUMENT, transition_problem, update_dunning};
use crate::vat::{self, Decision};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use identity::events::{self, EventType};
use identity::notifications::{InvoiceIssued, notify};
use platform::app::App;
use platform::audit::{self, Entry as AuditEntry};
use platform::jobs;
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use values::{AccountId, Currency, Date, Money, Time};
use voice::cdrs;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The account, currency and month to invoice.
pub struct IssueRequest {
    pub app: App,
    pub account: AccountId,
    pub currency: Currency,
    pub month: Month,
    pub now: Time,
}

/// Issues the invoice of an account's month, or finds it; none for a month without usage.
pub async fn issue(request: IssueRequest) -> Result<Option<InvoiceId>, Problem> {
    vat::refresh(&request.app, request.account, request.now).await?;
    let db = request.app.db.clone();
    db.tx(request, |conn, request| Box::pin(issue_in(conn, request))).await
}

/// Whether the account has usage that will be on an invoice, in this month or in one whose invoices are being issued.
pub async fn has_uninvoiced_usage(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let closed = store::last_closed_month(conn).await?;
    let mut months = BTreeSet::new();
    for (currency, day, kind, book) in ledger::posted_days(conn, account).await? {
        let month = Month::of(day);
        // A month that has nothing but refunds of earlier months may have no invoice.
        let is_refund = matches!(kind, Kind::NumberRefund | Kind::CallCredit);
        let is_closed = closed.is_some_and(|closed| month <= closed);
        if lines::is_invoiced(kind, book) && !(is_refund && is_closed) {
            months.insert((currency, month));
        }
    }
    for (currency, month) in months {
        if store::find_month(conn, account, currency, month).await?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn issue_in(conn: &mut Conn, request: &IssueRequest) -> Result<Option<InvoiceId>, Problem> {
    let IssueRequest { account, currency, month, .. } = *request;
    if let Some((id,)) = store::find_month(conn, account, currency, month).await? {
        return Ok(Some(id));
    }
    let none = Money::zero(currency);
    let sums = ledger::sums(conn, account, currency, month.start(), month.end()).await?;
    let charges = match currency {
        CURRENCY => cdrs::charges(conn, account, month.start(), month.end()).await?,
        _ => Vec::new(),
    };
    let (decision, buyer) = vat::assess(conn, &request.app.settings.tax, account).await?;
    let carried = refunds::carried_refunds(conn, account, currency, month, decision).await?;
    let lines = lines::lines(&sums, &charges, &carried).map_err(Problem::internal)?;
    if lines.is_empty() {
        return Ok(None);
    }
    let net = lines::subtotal(&lines, none).map_err(Problem::internal)?;
    let stated = lines::rounded_amounts(&lines, net).map_err(Problem::internal)?;
    let vat = lines::vat(&lines, &stated, decision, none).map_err(Problem::internal)?;
    let draft = Draft { tax: &request.app.settings.tax, buyer: &buyer, month, lines: &lines, decision, net, vat };
    let invoice = build_invoice(conn, request, &draft).await?;
    if !store::insert(conn, &invoice).await? {
        // Another transaction inserted the same month; the retry will find its invoice.
        return Err(conn.retry_conflict().into());
    }
    announce(conn, request, &invoice, decision).await?;
    Ok(Some(invoice.id))
}

/// Posts the VAT, decides whether the balance covers the invoice, and takes a number.
async fn build_invoice(conn: &mut Conn, request: &IssueRequest, draft: &Draft<'_>) -> Result<InvoiceRow, Problem> {
    let IssueRequest { account, currency, month, now, .. } = *request;
    let id: InvoiceId = conn.new_id();
    let balance = post_vat(conn, request, id, draft.vat).await?;
    let today = Date::from(now);
    let paid_in = ledger::sums(conn, account, currency, today.start(), now.plus(DAY)).await?;
    let paid_in = rules::paid_in(&paid_in, Money::zero(currency)).map_err(Problem::internal)?;
    // A customer that gets money back has nothing to pay.
    let covered = !balance.is_negative() || !draft.net.is_positive();
    let status = rules::apply(InvoiceStatus::Draft, Transition::Issue { covered }).map_err(transition_problem)?;
    let due = Date::from(now.plus(DAY.saturating_mul(u32::try_from(draft.tax.due_days).unwrap_or(u32::MAX))));
    let number = store::next_number(conn, Series::Invoice, today).await?;
    let owed = Money::from_nanos(balance.nanos().min(0).saturating_neg(), currency);
    let lacking = if covered { Money::zero(currency) } else { owed };
    let facts = Facts::for_invoice(draft, number.clone(), (today, due), lacking).map_err(Problem::internal)?;
    Ok(InvoiceRow {
        id,
        account_id: account,
        currency,
        month,
        number,
        status,
        issue_date: today,
        supply_date: month.last_day(),
        due_date: due,
        subtotal: draft.net.nanos(),
        vat: draft.vat.nanos(),
        owed: owed.nanos(),
        paid_in_before: paid_in.nanos(),
        paid_at: covered.then_some(now),
        reason: None,
        facts,
        content_hash: None,
        created_at: now,
    })
}

/// Charges the VAT to the balance, or credits it where refunds exceed usage; returns the balance after that.
async fn post_vat(conn: &mut Conn, request: &IssueRequest, id: InvoiceId, vat: Money) -> Result<Money, Problem> {
    let IssueRequest { account, currency, .. } = *request;
    if vat.is_zero() {
        // Lock the balance, so that payments from here on count as made after the issue.
        return Ok(ledger::lock_balance(conn, account, currency).await?.current);
    }
    let part = |amount| [(Book::Vat, amount)];
    let posted = if vat.is_positive() {
        let entry = Entry::charge(account, Kind::InvoiceVat, id.to_string(), &part(vat)).map_err(ledger_problem)?;
        ledger::debit_unguarded(conn, &entry.with_note(vat_note(request))).await
    } else {
        let back = vat.neg().map_err(Problem::internal)?;
        let entry = Entry::credit(account, Kind::InvoiceVat, id.to_string(), &part(back)).map_err(ledger_problem)?;
        ledger::credit(conn, &entry.with_note(vat_note(request))).await
    };
    Ok(posted.map_err(ledger_problem)?.balance_after)
}

fn vat_note(request: &IssueRequest) -> String {
    format!("VAT on {}", request.month)
}

pub fn ledger_problem(error: LedgerError) -> Problem {
    match error {
        LedgerError::Db(error) => error.into(),
        error => Problem::internal(error),
    }
}

async fn announce(
    conn: &mut Conn,
    request: &IssueRequest,
    invoice: &InvoiceRow,
    decision: Decision,
) -> Result<(), Problem> {
    enqueue_document(conn, Series::Invoice, invoice.id).await?;
    update_dunning(conn, invoice).await?;
    let notification = InvoiceIssued {
        invoice_id: invoice.id.uuid(),
        number: invoice.number.clone(),
        total: invoice.total().into(),
        due_date: invoice.due_date,
    };
    notify(conn, invoice.account_id, &notification).await?;
    record_event(conn, &request.app, EventType::InvoiceIssued, invoice.id).await?;
    if invoice.status == InvoiceStatus::Paid {
        record_event(conn, &request.app, EventType::InvoicePaid, invoice.id).await?;
    }
    let meta = [
        ("invoice", invoice.id.to_string()),
        ("number", invoice.number.clone()),
        ("vat_category", decision.category.to_string()),
    ];
    let entry = AuditEntry::by_system("invoice.issue", Some(invoice.account_id), meta);
    Ok(audit::append(conn, &request.app.keys, &entry).await?)
}

/// Records an event with an invoice as it is now.
pub async fn record_event(conn: &mut Conn, app: &App, kind: EventType, id: InvoiceId) -> Result<(), DbError> {
    let now = conn.now();
    let Some(invoice) = store::find(conn, id).await? else { return Ok(()) };
    let note = store::find_credit_note(conn, id).await?;
    let account = invoice.account_id;
    events::record(conn, account, kind, &Invoice::new(app, invoice, note, now)).await?;
    Ok(())
}

/// Enqueues the job that renders the document.
pub async fn enqueue_document(conn: &mut Conn, series: Series, invoice: InvoiceId) -> Result<(), Problem> {
    jobs::enqueue(conn, DOCUMENT, json!({"series": series, "invoice": invoice})).await?;
    Ok(())
}
