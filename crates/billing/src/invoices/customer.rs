//! What a customer sees of its invoices.

use uuid::Uuid;

use super::document;
use super::rules::InvoiceStatus;
use super::store::{self, InvoiceRow, Wanted};
use super::types::{Invoice, InvoiceId, InvoicePdf, Link};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Path;
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use db::{Conn, DbError};
use values::{AccountId, Rfc3339, Time};

/// Where a list goes on.
pub type Position = (i64, InvoiceId);

pub type Shown = (InvoiceRow, Option<store::CreditNoteRow>);

/// A page of invoices, each with its credit note.
pub async fn page(
    conn: &mut Conn,
    wanted: &Wanted,
    after: Option<Position>,
    limit: i64,
) -> Result<Vec<Shown>, DbError> {
    let (at, id) = after.unwrap_or((i64::MAX, InvoiceId::new(Uuid::max())));
    let mut rows = Vec::new();
    for invoice in store::list(conn, wanted, (Time::from_millis(at), id), limit).await? {
        let note = match invoice.status {
            InvoiceStatus::Credited => store::find_credit_note(conn, invoice.id).await?,
            _ => None,
        };
        rows.push((invoice, note));
    }
    Ok(rows)
}

pub fn position((invoice, _): &Shown) -> Position {
    (invoice.created_at.millis(), invoice.id)
}

pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, Position>) -> Result<Page<Invoice>, Problem> {
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    let wanted = Wanted { account: Some(ctx.principal()?.account_id), status: None };
    let rows = page(&mut ctx, &wanted, listing.after, listing.fetch()).await?;
    listing.page(rows, position, |(invoice, note)| Invoice::new(&app, invoice, note, now))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<InvoiceId>) -> Result<Json<Invoice>, Problem> {
    let (app, now, account) = (ctx.request.app.clone(), ctx.request.now, ctx.principal()?.account_id);
    let invoice = owned(&mut ctx, id, account).await?;
    let note = store::find_credit_note(&mut ctx, id).await?;
    Ok(Json(Invoice::new(&app, invoice, note, now)))
}

/// A fresh link. The document is made here if the job that makes it has not run yet: it is the same one.
pub async fn pdf(mut ctx: ReadCtx, Path(id): Path<InvoiceId>) -> Result<Json<InvoicePdf>, Problem> {
    let (app, now, account) = (ctx.request.app.clone(), ctx.request.now, ctx.principal()?.account_id);
    let invoice = owned(&mut ctx, id, account).await?;
    // The connection is not needed while the file is written.
    drop(ctx);
    let hash = match invoice.content_hash {
        Some(hash) => hash,
        None => document::store(&app.files, &invoice.facts).await?,
    };
    let link = Link::new(&app, &invoice.facts, hash, now);
    Ok(Json(InvoicePdf { pdf_url: link.url, expires_at: Rfc3339(link.expires_at) }))
}

async fn owned(conn: &mut Conn, id: InvoiceId, account: AccountId) -> Result<InvoiceRow, Problem> {
    let invoice = store::find(conn, id).await?;
    invoice.filter(|invoice| invoice.account_id == account).ok_or_else(Problem::not_found)
}
