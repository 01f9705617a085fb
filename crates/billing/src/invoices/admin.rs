//! The team's side of invoices: list them all, void an unpaid one, credit one with a credit note.

use schemars::JsonSchema;
use serde::Deserialize;

use super::customer::{cursor, page};
use super::issue::{enqueue_document, ledger_problem, record_event};
use super::refunds;
use super::rules::{self, InvoiceStatus, Transition};
use super::store::{self, CreditNoteRow, InvoiceFilter, InvoiceRow, Series};
use super::types::{AdminInvoice, Invoice, InvoiceAction, InvoiceId};
use super::{transition_problem, update_dunning};
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use db::Conn;
use identity::events::EventType;
use identity::names::Names;
use platform::app::App;
use platform::ledger::{self, Book, Entry, Kind};
use values::{AccountId, Date, Money, Rfc3339, Time};

/// Filters of the list of invoices.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return invoices in this status only.
    #[serde(default)]
    status: Option<InvoiceStatus>,
    /// Return invoices of this customer only.
    #[serde(default)]
    customer_id: Option<AccountId>,
    /// Return invoices created at this time or later (RFC 3339).
    #[serde(default)]
    from: Option<Rfc3339>,
    /// Return invoices created before this time (RFC 3339).
    #[serde(default)]
    to: Option<Rfc3339>,
}

pub async fn list_all(
    mut ctx: ReadCtx,
    listing: Listing<Filters, NewestFirst<InvoiceId>>,
) -> Result<Page<AdminInvoice>, Problem> {
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    let Filters { status, customer_id, from, to } = listing.filters;
    let filter = InvoiceFilter { account: customer_id, status, from: from.map_or(Time::EPOCH, |Rfc3339(at)| at) };
    let before = listing.before_end(to.map(|Rfc3339(at)| at));
    let rows = page(&mut ctx, &filter, before, listing.fetch()).await?;
    let names = Names::of_customers(&mut ctx, rows.iter().map(|(invoice, _)| invoice.account_id)).await?;
    listing.page(rows, cursor, |(invoice, note)| {
        let customer_name = names.get(invoice.account_id.uuid());
        to_response(&app, invoice, note, customer_name, now)
    })
}

pub async fn admin_show(mut ctx: ReadCtx, Path(id): Path<InvoiceId>) -> Result<Json<AdminInvoice>, Problem> {
    let app = ctx.request.app.clone();
    load_response(&mut ctx, &app, id).await
}

fn to_response(
    app: &App,
    row: InvoiceRow,
    note: Option<CreditNoteRow>,
    customer_name: Option<String>,
    now: Time,
) -> AdminInvoice {
    let (customer_id, reason) = (row.account_id.uuid(), row.reason.clone());
    AdminInvoice { invoice: Invoice::new(app, row, note, now), customer_id, customer_name, reason }
}

async fn load_response(conn: &mut Conn, app: &App, id: InvoiceId) -> Result<Json<AdminInvoice>, Problem> {
    let now = conn.now();
    let invoice = store::find(conn, id).await?.ok_or_else(Problem::not_found)?;
    let note = store::find_credit_note(conn, id).await?;
    let customer_name = Names::of_customer(conn, invoice.account_id).await?;
    Ok(Json(to_response(app, invoice, note, customer_name, now)))
}

async fn lock_invoice(tx: &mut Tx<'_>, id: InvoiceId) -> Result<InvoiceRow, Problem> {
    let invoice = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
    tx.ctx.audit_account(invoice.account_id);
    Ok(invoice)
}

/// Voids an unpaid invoice: its VAT goes back to the balance, and its PDF is rendered again as void.
pub async fn void(
    ctx: RequestCtx,
    Path(id): Path<InvoiceId>,
    Body(action): Body<InvoiceAction>,
) -> Result<Committed<Json<AdminInvoice>>, Problem> {
    ctx.audit_note("invoice", id.to_string());
    ctx.commit((id, action), |tx, (id, action)| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            let invoice = lock_invoice(tx, *id).await?;
            let status = rules::apply(invoice.status, Transition::Void).map_err(transition_problem)?;
            let invoiced = refunds::invoiced_since(tx, &invoice).await?;
            let returned = invoice.facts.rate.on(invoiced).map_err(Problem::internal)?;
            let of_void = refunds::vat_of_void_months(tx, &invoice).await?;
            let vat = invoice.vat.saturating_sub(returned.nanos()).saturating_add(of_void.nanos()).max(0);
            credit_customer(tx, &invoice, Kind::InvoiceVoid, &[(Book::Vat, vat)], &action.reason).await?;
            store::set_status(tx, *id, status, &action.reason).await?;
            store::set_void_facts(tx, *id, &invoice.facts.voided(Date::from(now), &action.reason)).await?;
            enqueue_document(tx, Series::Invoice, *id).await?;
            update_dunning(tx, &invoice).await?;
            record_event(tx, &app, EventType::InvoiceVoided, *id).await?;
            load_response(tx, &app, *id).await
        })
    })
    .await
}

/// Credits an invoice in full: what was not refunded before, net and VAT, goes back to the balance, and a credit note
/// is issued.
pub async fn credit(
    ctx: RequestCtx,
    Path(id): Path<InvoiceId>,
    Body(action): Body<InvoiceAction>,
) -> Result<Committed<Json<AdminInvoice>>, Problem> {
    ctx.audit_note("invoice", id.to_string());
    ctx.commit((id, action), |tx, (id, action)| {
        Box::pin(async move {
            let app = tx.ctx.app.clone();
            let invoice = lock_invoice(tx, *id).await?;
            let status = rules::apply(invoice.status, Transition::Credit).map_err(transition_problem)?;
            if !invoice.total().is_positive() {
                return Err(Problem::state_conflict(
                    "The total of the invoice is not positive, so it cannot be credited.",
                ));
            }
            let creditable = creditable_amounts(tx, &invoice).await?;
            let parts = [(Book::Refunds, creditable.net.nanos()), (Book::Vat, creditable.vat.nanos())];
            credit_customer(tx, &invoice, Kind::CreditNote, &parts, &action.reason).await?;
            // Not part of the credit note.
            let of_void = refunds::vat_of_void_months(tx, &invoice).await?;
            credit_customer(tx, &invoice, Kind::InvoiceVoid, &[(Book::Vat, of_void.nanos())], &action.reason).await?;
            store::set_status(tx, *id, status, &action.reason).await?;
            update_dunning(tx, &invoice).await?;
            insert_note(tx, &invoice, &action.reason, creditable).await?;
            enqueue_document(tx, Series::CreditNote, *id).await?;
            load_response(tx, &app, *id).await
        })
    })
    .await
}

/// The amounts of a credit note.
#[derive(Clone, Copy)]
struct Creditable {
    net: Money,
    vat: Money,
}

/// What is left of an invoice after the refunds that were made of it.
async fn creditable_amounts(tx: &mut Tx<'_>, invoice: &InvoiceRow) -> Result<Creditable, Problem> {
    let (net, vat) = (invoice.money(invoice.subtotal), invoice.money(invoice.vat));
    let refunded = refunds::refunded_since(tx, invoice).await?;
    if refunded.is_zero() {
        return Ok(Creditable { net, vat });
    }
    let own = invoice.facts.own_net().map_err(Problem::internal)?;
    let rest = own.sub(refunded).map_err(Problem::internal)?;
    let rate = invoice.facts.rate;
    let less = |own: Money, rest: Money| rate.on(own)?.sub(rate.on(rest)?);
    let vat = less(own, rest).and_then(|less| vat.sub(less)).map_err(Problem::internal)?;
    let net = net.sub(refunded).map_err(Problem::internal)?;
    if net.is_positive() && !vat.is_negative() {
        return Ok(Creditable { net, vat });
    }
    Err(Problem::state_conflict("The invoice was refunded in full, so there is nothing left to credit."))
}

/// Credits the customer with these amounts, in nanos from each book.
async fn credit_customer(
    tx: &mut Tx<'_>,
    invoice: &InvoiceRow,
    kind: Kind,
    parts: &[(Book, i64)],
    reason: &str,
) -> Result<(), Problem> {
    let ctx = tx.ctx.clone();
    let parts: Vec<(Book, Money)> =
        parts.iter().filter(|(_, nanos)| *nanos != 0).map(|(book, nanos)| (*book, invoice.money(*nanos))).collect();
    if parts.is_empty() {
        return Ok(());
    }
    let entry = Entry::credit(invoice.account_id, kind, invoice.id.to_string(), &parts).map_err(ledger_problem)?;
    let entry = entry.with_note(format!("{}: {reason}", invoice.number)).by(ctx.principal()?.user_id);
    ledger::credit(tx, &entry).await.map_err(ledger_problem)?;
    Ok(())
}

async fn insert_note(
    tx: &mut Tx<'_>,
    invoice: &InvoiceRow,
    reason: &str,
    creditable: Creditable,
) -> Result<(), Problem> {
    let now = tx.ctx.now;
    let issue_date = Date::from(now);
    let number = store::next_number(tx, Series::CreditNote, issue_date).await?;
    let note = CreditNoteRow {
        invoice_id: invoice.id,
        facts: invoice.facts.credited(
            number.clone(),
            issue_date,
            reason,
            creditable.net.minor(),
            creditable.vat.minor(),
        ),
        number,
        issue_date,
        content_hash: None,
        created_at: now,
    };
    Ok(store::insert_credit_note(tx, &note).await?)
}
