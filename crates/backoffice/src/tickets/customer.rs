//! The customer's handlers: `/tickets`. Open to suspended accounts, which write here to be reinstated.

use schemars::JsonSchema;
use serde::Deserialize;

use super::messages::{self, MAX_SHOWN};
use super::rules::{Action, Priority, TicketStatus};
use super::store::{self, AuthorKind, TicketFilter, TicketId, TicketRow};
use super::types::{Ticket, TicketCreate, TicketMessageCreate};
use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use db::Conn;
use identity::accounts;
use values::{AccountId, CallId, List};
use voice::cdrs;

/// Tickets of one account that are not closed.
const MAX_OPEN_TICKETS: i64 = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return tickets in this status only.
    #[serde(default)]
    status: Option<TicketStatus>,
}

pub async fn list(mut ctx: ReadCtx, listing: Listing<Filters, NewestFirst<TicketId>>) -> Result<Page<Ticket>, Problem> {
    let filter = TicketFilter {
        account: Some(ctx.principal()?.account_id),
        status: listing.filters.status,
        priority: None,
        before: listing.before(),
        limit: listing.fetch(),
    };
    let rows = store::list(&mut ctx, &filter).await?;
    listing.page(rows, |row| (row.created_at, row.id), |row| Ticket::new(row, None))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<TicketId>) -> Result<Json<Ticket>, Problem> {
    let account = ctx.principal()?.account_id;
    let ticket = own_ticket(store::find(&mut ctx, id).await?, account)?;
    Ok(Json(view(&mut ctx, ticket).await?))
}

pub async fn view(conn: &mut Conn, ticket: TicketRow) -> Result<Ticket, Problem> {
    let messages = store::messages(conn, ticket.id, MAX_SHOWN).await?;
    Ok(Ticket::new(ticket, Some(messages)))
}

/// The ticket, if it belongs to this account.
fn own_ticket(ticket: Option<TicketRow>, account: AccountId) -> Result<TicketRow, Problem> {
    ticket.filter(|ticket| ticket.account_id == account).ok_or_else(Problem::not_found)
}

pub async fn create(ctx: RequestCtx, Body(request): Body<TicketCreate>) -> Result<Committed<Created<Ticket>>, Problem> {
    ctx.commit(request, |tx, request| Box::pin(open(tx, request))).await
}

/// Opens a ticket of the caller's account.
pub async fn open(tx: &mut Tx<'_>, request: &TicketCreate) -> Result<Created<Ticket>, Problem> {
    let (ctx, now) = (tx.ctx, tx.ctx.now);
    let (account, author) = (ctx.principal()?.account_id, ctx.principal()?.user_id);
    accounts::lock(tx, account).await?;
    if store::open_tickets(tx, account, MAX_OPEN_TICKETS).await? >= MAX_OPEN_TICKETS {
        let detail = format!("The account has {MAX_OPEN_TICKETS} open tickets. Close one first.");
        return Err(Problem::state_conflict(detail));
    }
    check_cdrs(tx, account, &request.cdr_ids).await?;
    let TicketCreate { subject, body, priority, request_id, cdr_ids } = request.clone();
    let mut ticket = TicketRow {
        id: tx.new_id(),
        account_id: account,
        author_id: author,
        subject,
        status: TicketStatus::Open,
        priority: priority.unwrap_or(Priority::Normal),
        request_id,
        cdr_ids: List(cdr_ids),
        messages: 0,
        created_at: now,
        updated_at: now,
    };
    ctx.audit_note("ticket", ticket.id.to_string());
    store::insert(tx, &ticket).await?;
    messages::append(tx, &mut ticket, AuthorKind::Customer, &body).await?;
    Ok(Created(view(tx, ticket).await?))
}

/// Refuses ids that are not CDRs of this account, each by its index.
async fn check_cdrs(conn: &mut Conn, account: AccountId, ids: &[CallId]) -> Result<(), Problem> {
    let mut faults = Faults::default();
    for (index, cdr) in ids.iter().enumerate() {
        if store::has_cdr(conn, account, *cdr).await? {
            continue;
        }
        let is_archived = cdrs::archived_before(conn, *cdr).await?.is_some();
        let reason = if is_archived { "is archived" } else { "is not a CDR of this account" };
        faults.add(format!("cdr_ids.{index}"), reason);
    }
    faults.into_result()
}

pub async fn reply(
    ctx: RequestCtx,
    Path(id): Path<TicketId>,
    Body(message): Body<TicketMessageCreate>,
) -> Result<Committed<Created<Ticket>>, Problem> {
    ctx.audit_note("ticket", id.to_string());
    ctx.commit((id, message), |tx, (id, message)| {
        Box::pin(async move {
            let mut ticket = own_ticket_for_update(tx, *id).await?;
            messages::advance(&mut ticket, Action::CustomerReply)?;
            messages::check_room(&ticket)?;
            messages::append(tx, &mut ticket, AuthorKind::Customer, &message.body).await?;
            Ok(Created(view(tx, ticket).await?))
        })
    })
    .await
}

pub async fn close(ctx: RequestCtx, Path(id): Path<TicketId>) -> Result<Committed<Json<Ticket>>, Problem> {
    ctx.audit_note("ticket", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let mut ticket = own_ticket_for_update(tx, *id).await?;
            messages::advance(&mut ticket, Action::Close)?;
            messages::save(tx, &mut ticket).await?;
            Ok(Json(view(tx, ticket).await?))
        })
    })
    .await
}

async fn own_ticket_for_update(tx: &mut Tx<'_>, id: TicketId) -> Result<TicketRow, Problem> {
    let account = tx.ctx.principal()?.account_id;
    own_ticket(store::find_for_update(tx, id).await?, account)
}
