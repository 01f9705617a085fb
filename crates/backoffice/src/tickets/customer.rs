//! What a customer does with its tickets. A suspended one may, too: it is how it comes to be reinstated.

use schemars::JsonSchema;
use serde::Deserialize;

use super::desk::{self, MESSAGES_AT_MOST, resume};
use super::rules::{Move, Priority, TicketStatus};
use super::store::{self, AuthorKind, TicketId, TicketRow, Wanted};
use super::types::{Ticket, TicketCreate, TicketMessageCreate};
use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page};
use api::problem::{InvalidParam, Problem};
use db::Conn;
use identity::accounts;
use values::{AccountId, CallId, List};

/// How many tickets an account may have that are not closed.
const OPEN_AT_MOST: i64 = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return tickets in this status only.
    #[serde(default)]
    status: Option<TicketStatus>,
}

pub async fn list(mut ctx: ReadCtx, listing: Listing<Filters, (i64, TicketId)>) -> Result<Page<Ticket>, Problem> {
    let wanted = Wanted {
        account: Some(ctx.principal()?.account_id),
        status: listing.filters.status,
        priority: None,
        before: resume(listing.after),
        limit: listing.fetch(),
    };
    let rows = store::list(&mut ctx, &wanted).await?;
    listing.page(rows, |row| (row.created_at.millis(), row.id), |row| Ticket::new(row, None))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<TicketId>) -> Result<Json<Ticket>, Problem> {
    let account = ctx.principal()?.account_id;
    let ticket = owned(store::find(&mut ctx, id).await?, account)?;
    Ok(Json(view(&mut ctx, ticket).await?))
}

async fn view(conn: &mut Conn, ticket: TicketRow) -> Result<Ticket, Problem> {
    let messages = store::messages(conn, ticket.id, MESSAGES_AT_MOST).await?;
    Ok(Ticket::new(ticket, Some(messages)))
}

/// The ticket, if it is this account's.
fn owned(ticket: Option<TicketRow>, account: AccountId) -> Result<TicketRow, Problem> {
    ticket.filter(|ticket| ticket.account_id == account).ok_or_else(Problem::not_found)
}

pub async fn create(ctx: RequestCtx, Body(wanted): Body<TicketCreate>) -> Result<Committed<Created<Ticket>>, Problem> {
    ctx.commit(wanted, |tx, wanted| Box::pin(open(tx, wanted))).await
}

async fn open(tx: &mut Tx<'_>, wanted: &TicketCreate) -> Result<Created<Ticket>, Problem> {
    let (call, now) = (tx.ctx, tx.ctx.now);
    let (account, author) = (call.principal()?.account_id, call.principal()?.user_id);
    accounts::lock(tx, account).await?;
    if store::open_tickets(tx, account, OPEN_AT_MOST).await? >= OPEN_AT_MOST {
        let detail = format!("The account has {OPEN_AT_MOST} open tickets; close one first.");
        return Err(Problem::state_conflict(detail));
    }
    check_calls(tx, account, &wanted.cdr_ids).await?;
    let TicketCreate { subject, body, priority, request_id, cdr_ids } = wanted.clone();
    let mut ticket = TicketRow {
        id: TicketId::new(call.app.entropy.uuid(now)),
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
    call.audit_note("ticket", ticket.id.to_string());
    store::insert(tx, &ticket).await?;
    desk::append(tx, &mut ticket, AuthorKind::Customer, &body).await?;
    Ok(Created(view(tx, ticket).await?))
}

/// Refuses calls that are not this account's, each by its place.
async fn check_calls(conn: &mut Conn, account: AccountId, calls: &[CallId]) -> Result<(), Problem> {
    let mut faults = Vec::new();
    for (place, call) in calls.iter().enumerate() {
        if !store::has_call(conn, account, *call).await? {
            let reason = "is not the record of a call of yours".to_owned();
            faults.push(InvalidParam { name: format!("cdr_ids.{place}"), reason });
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Problem::validation(faults)) }
}

pub async fn write(
    ctx: RequestCtx,
    Path(id): Path<TicketId>,
    Body(message): Body<TicketMessageCreate>,
) -> Result<Committed<Created<Ticket>>, Problem> {
    ctx.audit_note("ticket", id.to_string());
    ctx.commit((id, message), |tx, (id, message)| {
        Box::pin(async move {
            let mut ticket = own_to_change(tx, *id).await?;
            desk::advance(&mut ticket, Move::CustomerWrites)?;
            desk::append(tx, &mut ticket, AuthorKind::Customer, &message.body).await?;
            Ok(Created(view(tx, ticket).await?))
        })
    })
    .await
}

pub async fn close(ctx: RequestCtx, Path(id): Path<TicketId>) -> Result<Committed<Json<Ticket>>, Problem> {
    ctx.audit_note("ticket", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let mut ticket = own_to_change(tx, *id).await?;
            desk::advance(&mut ticket, Move::Close)?;
            desk::save(tx, &mut ticket).await?;
            Ok(Json(view(tx, ticket).await?))
        })
    })
    .await
}

async fn own_to_change(tx: &mut Tx<'_>, id: TicketId) -> Result<TicketRow, Problem> {
    let account = tx.ctx.principal()?.account_id;
    owned(store::find_to_change(tx, id).await?, account)
}
