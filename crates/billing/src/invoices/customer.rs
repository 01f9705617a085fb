//! The customer's side of invoices.

use schemars::JsonSchema;
use serde::Deserialize;

use super::document;
use super::rules::InvoiceStatus;
use super::store::{self, InvoiceFilter, InvoiceRow};
use super::types::{Invoice, InvoiceId, InvoicePdf, Link};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Path;
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use db::{Conn, DbError};
use values::{AccountId, Rfc3339, Time};

/// Filters of the list of the account's invoices.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnFilters {
    /// Return invoices in this status only.
    #[serde(default)]
    status: Option<InvoiceStatus>,
    /// Return invoices created at this time or later (RFC 3339).
    #[serde(default)]
    from: Option<Rfc3339>,
    /// Return invoices created before this time (RFC 3339).
    #[serde(default)]
    to: Option<Rfc3339>,
}

pub type InvoiceAndNote = (InvoiceRow, Option<store::CreditNoteRow>);

/// A page of invoices, each with its credit note.
pub async fn page(
    conn: &mut Conn,
    filter: &InvoiceFilter,
    before: (Time, InvoiceId),
    limit: i64,
) -> Result<Vec<InvoiceAndNote>, DbError> {
    let mut rows = Vec::new();
    for invoice in store::list(conn, filter, before, limit).await? {
        let note = match invoice.status {
            InvoiceStatus::Credited => store::find_credit_note(conn, invoice.id).await?,
            _ => None,
        };
        rows.push((invoice, note));
    }
    Ok(rows)
}

pub fn cursor((invoice, _): &InvoiceAndNote) -> (Time, InvoiceId) {
    (invoice.created_at, invoice.id)
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<OwnFilters, NewestFirst<InvoiceId>>,
) -> Result<Page<Invoice>, Problem> {
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    let OwnFilters { status, from, to } = listing.filters;
    let account = Some(ctx.principal()?.account_id);
    let filter = InvoiceFilter { account, status, from: from.map_or(Time::EPOCH, |Rfc3339(at)| at) };
    let before = listing.before_end(to.map(|Rfc3339(at)| at));
    let rows = page(&mut ctx, &filter, before, listing.fetch()).await?;
    listing.page(rows, cursor, |(invoice, note)| Invoice::new(&app, invoice, note, now))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<InvoiceId>) -> Result<Json<Invoice>, Problem> {
    let (app, now, account) = (ctx.request.app.clone(), ctx.request.now, ctx.principal()?.account_id);
    let invoice = find_own(&mut ctx, id, account).await?;
    let note = store::find_credit_note(&mut ctx, id).await?;
    Ok(Json(Invoice::new(&app, invoice, note, now)))
}

/// A new link. If the document job has not run yet, the PDF is rendered here; the bytes are the same.
pub async fn pdf(mut ctx: ReadCtx, Path(id): Path<InvoiceId>) -> Result<Json<InvoicePdf>, Problem> {
    let (app, now, account) = (ctx.request.app.clone(), ctx.request.now, ctx.principal()?.account_id);
    let invoice = find_own(&mut ctx, id, account).await?;
    // Release the connection while the file is written.
    drop(ctx);
    let hash = match invoice.content_hash {
        Some(hash) => hash,
        None => document::store(&app.files, &invoice.facts).await?,
    };
    let link = Link::new(&app, &invoice.facts, hash, now);
    Ok(Json(InvoicePdf { pdf_url: link.url, expires_at: Rfc3339(link.expires_at) }))
}

async fn find_own(conn: &mut Conn, id: InvoiceId, account: AccountId) -> Result<InvoiceRow, Problem> {
    let invoice = store::find(conn, id).await?;
    invoice.filter(|invoice| invoice.account_id == account).ok_or_else(Problem::not_found)
}
