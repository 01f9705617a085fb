//! What the team does with invoices: declares them void, or takes them back with a credit note.

use schemars::JsonSchema;
use serde::Deserialize;

use super::customer::{Position, page, position};
use super::issue::{ledger_problem, order_document};
use super::refunds;
use super::rules::{self, InvoiceStatus, Move};
use super::store::{self, CreditNoteRow, InvoiceRow, Series, Wanted};
use super::types::{AdminInvoice, Invoice, InvoiceAction, InvoiceId};
use super::{refused, remind};
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page};
use api::problem::Problem;
use db::Conn;
use platform::app::App;
use platform::ledger::{self, Book, Entry, Kind};
use values::{AccountId, Date, Money, Time};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return invoices in this status only.
    #[serde(default)]
    status: Option<InvoiceStatus>,
    /// Return invoices of this customer only.
    #[serde(default)]
    customer_id: Option<AccountId>,
}

pub async fn list_all(mut ctx: ReadCtx, listing: Listing<Filters, Position>) -> Result<Page<AdminInvoice>, Problem> {
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    let wanted = Wanted { account: listing.filters.customer_id, status: listing.filters.status };
    let rows = page(&mut ctx, &wanted, listing.after, listing.fetch()).await?;
    listing.page(rows, position, |(invoice, note)| shown(&app, invoice, note, now))
}

fn shown(app: &App, row: InvoiceRow, note: Option<CreditNoteRow>, now: Time) -> AdminInvoice {
    let (customer_id, reason) = (row.account_id.uuid(), row.reason.clone());
    AdminInvoice { invoice: Invoice::new(app, row, note, now), customer_id, reason }
}

async fn view(conn: &mut Conn, app: &App, id: InvoiceId, now: Time) -> Result<Json<AdminInvoice>, Problem> {
    let invoice = store::find(conn, id).await?.ok_or_else(Problem::not_found)?;
    let note = store::find_credit_note(conn, id).await?;
    Ok(Json(shown(app, invoice, note, now)))
}

async fn find_to_change(tx: &mut Tx<'_>, id: InvoiceId) -> Result<InvoiceRow, Problem> {
    let invoice = store::find_to_change(tx, id).await?.ok_or_else(Problem::not_found)?;
    tx.ctx.about(invoice.account_id);
    Ok(invoice)
}

/// Declares an unpaid invoice void; its VAT goes back to the balance, and its document says so from then on.
pub async fn void(
    ctx: RequestCtx,
    Path(id): Path<InvoiceId>,
    Body(action): Body<InvoiceAction>,
) -> Result<Committed<Json<AdminInvoice>>, Problem> {
    ctx.note("invoice", id.to_string());
    ctx.commit((id, action), |tx, (id, action)| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            let invoice = find_to_change(tx, *id).await?;
            let status = rules::apply(invoice.status, Move::Void).map_err(refused)?;
            let given = refunds::invoiced_since(tx, &invoice).await?;
            let given = invoice.facts.rate.on(given).map_err(Problem::internal)?;
            let of_void = refunds::vat_of_void(tx, &invoice).await?;
            let vat = invoice.vat.saturating_sub(given.nanos()).saturating_add(of_void.nanos()).max(0);
            give_back(tx, &invoice, Kind::InvoiceVoid, &[(Book::Vat, vat)], &action.reason).await?;
            store::end(tx, *id, status, &action.reason).await?;
            store::say_void(tx, *id, &invoice.facts.voided(Date::from(now), &action.reason)).await?;
            order_document(tx, &app, Series::Invoice, *id, now).await?;
            remind(tx, &invoice, now).await?;
            view(tx, &app, *id, now).await
        })
    })
    .await
}

/// Takes an invoice back in full: all that did not go back before, net and VAT, goes back to the balance, and a document
/// of its own says so.
pub async fn credit(
    ctx: RequestCtx,
    Path(id): Path<InvoiceId>,
    Body(action): Body<InvoiceAction>,
) -> Result<Committed<Json<AdminInvoice>>, Problem> {
    ctx.note("invoice", id.to_string());
    ctx.commit((id, action), |tx, (id, action)| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            let invoice = find_to_change(tx, *id).await?;
            let status = rules::apply(invoice.status, Move::Credit).map_err(refused)?;
            if !invoice.total().is_positive() {
                return Err(Problem::state_conflict("The invoice asks for nothing, so nothing can be credited."));
            }
            let left = left_of(tx, &invoice).await?;
            let parts = [(Book::Refunds, left.net.nanos()), (Book::Vat, left.vat.nanos())];
            give_back(tx, &invoice, Kind::CreditNote, &parts, &action.reason).await?;
            // It is no part of what the credit note takes back.
            let of_void = refunds::vat_of_void(tx, &invoice).await?;
            give_back(tx, &invoice, Kind::InvoiceVoid, &[(Book::Vat, of_void.nanos())], &action.reason).await?;
            store::end(tx, *id, status, &action.reason).await?;
            remind(tx, &invoice, now).await?;
            insert_note(tx, &invoice, &action.reason, left).await?;
            order_document(tx, &app, Series::CreditNote, *id, now).await?;
            view(tx, &app, *id, now).await
        })
    })
    .await
}

/// What a credit note is for.
#[derive(Clone, Copy)]
struct Left {
    net: Money,
    vat: Money,
}

/// What is left of an invoice after the refunds that were made of it.
async fn left_of(tx: &mut Tx<'_>, invoice: &InvoiceRow) -> Result<Left, Problem> {
    let (net, vat) = (invoice.money(invoice.subtotal), invoice.money(invoice.vat));
    let refunded = refunds::since(tx, invoice).await?;
    if refunded.is_zero() {
        return Ok(Left { net, vat });
    }
    let own = invoice.facts.own_net().map_err(Problem::internal)?;
    let rest = own.sub(refunded).map_err(Problem::internal)?;
    let rate = invoice.facts.rate;
    let less = |own: Money, rest: Money| rate.on(own)?.sub(rate.on(rest)?);
    let vat = less(own, rest).and_then(|less| vat.sub(less)).map_err(Problem::internal)?;
    let net = net.sub(refunded).map_err(Problem::internal)?;
    if net.is_positive() && !vat.is_negative() {
        return Ok(Left { net, vat });
    }
    Err(Problem::state_conflict("All of the invoice was refunded before, so nothing is left to be credited."))
}

/// Posts what the customer gets back, in nanos from each book.
async fn give_back(
    tx: &mut Tx<'_>,
    invoice: &InvoiceRow,
    kind: Kind,
    parts: &[(Book, i64)],
    reason: &str,
) -> Result<(), Problem> {
    let (call, now) = (tx.ctx.clone(), tx.ctx.now);
    let parts: Vec<(Book, Money)> =
        parts.iter().filter(|(_, nanos)| *nanos != 0).map(|(book, nanos)| (*book, invoice.money(*nanos))).collect();
    if parts.is_empty() {
        return Ok(());
    }
    let entry = Entry::credit(invoice.account_id, kind, invoice.id.to_string(), &parts).map_err(ledger_problem)?;
    let entry = entry.with_note(format!("{}: {reason}", invoice.number)).by(call.principal()?.user_id);
    ledger::credit(tx, call.app.entropy, &entry, now).await.map_err(ledger_problem)?;
    Ok(())
}

async fn insert_note(tx: &mut Tx<'_>, invoice: &InvoiceRow, reason: &str, left: Left) -> Result<(), Problem> {
    let now = tx.ctx.now;
    let issue_date = Date::from(now);
    let number = store::next_number(tx, Series::CreditNote, issue_date).await?;
    let note = CreditNoteRow {
        invoice_id: invoice.id,
        facts: invoice.facts.credited(number.clone(), issue_date, reason, left.net.minor(), left.vat.minor()),
        number,
        issue_date,
        content_hash: None,
        created_at: now,
    };
    Ok(store::insert_credit_note(tx, &note).await?)
}
