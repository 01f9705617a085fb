//! Issuing: an account's month becomes an invoice, in one transaction, once.
//!
//! What was used is in the ledger already, charged when it was used. The invoice sums it up, adds the VAT, takes that
//! from the balance, and gets its number last, since everybody who issues waits for it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::document::{Draft, Facts};
use super::lines;
use super::month::Month;
use super::refunds;
use super::rules::{self, InvoiceStatus, Move};
use super::store::{self, InvoiceRow, Series};
use super::types::InvoiceId;
use super::{DOCUMENT, refused, remind};
use crate::vat::{self, Decision};
use api::problem::Problem;
use db::Conn;
use identity::balance::CURRENCY;
use identity::notifications::{InvoiceIssued, notify};
use platform::app::App;
use platform::audit::{self, Actor, Entry as AuditEntry, Outcome};
use platform::jobs::{self, NewJob};
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use values::{AccountId, Currency, Date, Money, Time};
use voice::cdrs;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Whose month to invoice.
pub struct Order {
    pub app: App,
    pub account: AccountId,
    pub currency: Currency,
    pub month: Month,
    pub now: Time,
}

/// The invoice of an account's month, issued now if it was not before; none for a month without use.
pub async fn issue(order: Order) -> Result<Option<InvoiceId>, Problem> {
    vat::refresh(&order.app, order.account, order.now).await?;
    let app = order.app.clone();
    let issued = app.db.tx(order, |conn, order| Box::pin(issue_in(conn, order))).await?;
    app.jobs_waker.notify_one();
    Ok(issued)
}

async fn issue_in(conn: &mut Conn, order: &Order) -> Result<Option<InvoiceId>, Problem> {
    let Order { account, currency, month, .. } = *order;
    if let Some((id,)) = store::find_month(conn, account, currency, month).await? {
        return Ok(Some(id));
    }
    let none = Money::zero(currency);
    let sums = ledger::sums(conn, account, currency, month.start(), month.end()).await?;
    let charges = match currency {
        CURRENCY => cdrs::charges(conn, account, month.start(), month.end()).await?,
        _ => Vec::new(),
    };
    let (decision, buyer) = vat::assess(conn, &order.app.settings.tax, account).await?;
    let carried = refunds::carried(conn, account, currency, month, decision).await?;
    let lines = lines::lines(&sums, &charges, &carried).map_err(Problem::internal)?;
    if lines.is_empty() {
        return Ok(None);
    }
    let net = lines::subtotal(&lines, none).map_err(Problem::internal)?;
    let stated = lines::stated(&lines, net).map_err(Problem::internal)?;
    let vat = lines::vat(&lines, &stated, decision, none).map_err(Problem::internal)?;
    let draft = Draft { tax: &order.app.settings.tax, buyer: &buyer, month, lines: &lines, decision, net, vat };
    let invoice = number_in(conn, order, &draft).await?;
    if !store::insert(conn, &invoice).await? {
        // Somebody invoices the same month at this moment; the next attempt will see it.
        return Err(conn.retry_conflict().into());
    }
    follow_up(conn, order, &invoice, decision).await?;
    Ok(Some(invoice.id))
}

/// Posts the VAT, sees whether the balance covers it all, and takes a number.
async fn number_in(conn: &mut Conn, order: &Order, draft: &Draft<'_>) -> Result<InvoiceRow, Problem> {
    let Order { account, currency, month, now, .. } = *order;
    let id = InvoiceId::new(order.app.entropy.uuid(now));
    let balance = post_vat(conn, order, id, draft.vat).await?;
    let today = Date::from(now);
    let paid_in = ledger::sums(conn, account, currency, today.start(), now.plus(DAY)).await?;
    let paid_in = rules::paid_in(&paid_in, Money::zero(currency)).map_err(Problem::internal)?;
    // Who gets money back by it has nothing to pay.
    let covered = !balance.is_negative() || !draft.net.is_positive();
    let status = rules::apply(InvoiceStatus::Draft, Move::Issue { covered }).map_err(refused)?;
    let due = Date::from(now.plus(DAY.saturating_mul(u32::try_from(draft.tax.due_days).unwrap_or(u32::MAX))));
    let number = store::next_number(conn, Series::Invoice, today).await?;
    let owed = Money::from_nanos(balance.nanos().min(0).saturating_neg(), currency);
    let lacking = if covered { Money::zero(currency) } else { owed };
    let facts = Facts::of_invoice(draft, number.clone(), (today, due), lacking).map_err(Problem::internal)?;
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

/// Takes the VAT from the balance, or gives it back where more was refunded than used, and answers the balance.
async fn post_vat(conn: &mut Conn, order: &Order, id: InvoiceId, vat: Money) -> Result<Money, Problem> {
    let Order { account, currency, now, .. } = *order;
    if vat.is_zero() {
        // What is paid in from here on counts as paid later, and not as paid before.
        return Ok(ledger::lock_balance(conn, account, currency).await?.current);
    }
    let entropy = order.app.entropy;
    let part = |amount| [(Book::Vat, amount)];
    let posted = if vat.is_positive() {
        let entry = Entry::charge(account, Kind::InvoiceVat, id.to_string(), &part(vat)).map_err(ledger_problem)?;
        ledger::debit_unguarded(conn, entropy, &entry.with_note(vat_note(order)), now).await
    } else {
        let back = vat.neg().map_err(Problem::internal)?;
        let entry = Entry::credit(account, Kind::InvoiceVat, id.to_string(), &part(back)).map_err(ledger_problem)?;
        ledger::credit(conn, entropy, &entry.with_note(vat_note(order)), now).await
    };
    Ok(posted.map_err(ledger_problem)?.balance_after)
}

fn vat_note(order: &Order) -> String {
    format!("VAT on {}", order.month)
}

pub fn ledger_problem(error: LedgerError) -> Problem {
    match error {
        LedgerError::Db(error) => error.into(),
        error => Problem::internal(error),
    }
}

async fn follow_up(conn: &mut Conn, order: &Order, invoice: &InvoiceRow, decision: Decision) -> Result<(), Problem> {
    order_document(conn, &order.app, Series::Invoice, invoice.id, order.now).await?;
    remind(conn, invoice, order.now).await?;
    let news = InvoiceIssued {
        invoice_id: invoice.id.uuid(),
        number: invoice.number.clone(),
        total: invoice.total().into(),
        due_date: invoice.due_date,
    };
    notify(conn, order.app.entropy, invoice.account_id, &news, order.now).await?;
    let meta = [
        ("invoice", invoice.id.to_string()),
        ("number", invoice.number.clone()),
        ("vat_category", decision.category.to_string()),
    ];
    let entry = AuditEntry {
        action: "invoice.issue",
        account_id: Some(invoice.account_id),
        user_id: None,
        actor: Some(Actor::System),
        ip: None,
        user_agent: None,
        outcome: Outcome::Success,
        reason: None,
        meta: Map::from_iter(meta.map(|(name, value)| (name.to_owned(), Value::from(value)))),
    };
    Ok(audit::append(conn, &order.app.keys, order.app.entropy, order.now, &entry).await?)
}

/// Has a document made once this transaction is done.
pub async fn order_document(
    conn: &mut Conn,
    app: &App,
    series: Series,
    invoice: InvoiceId,
    now: Time,
) -> Result<(), Problem> {
    let payload = json!({"series": series, "invoice": invoice});
    let job = NewJob { id: app.entropy.uuid(now), kind: DOCUMENT, payload, run_at: now };
    Ok(jobs::enqueue(conn, &job).await?)
}
