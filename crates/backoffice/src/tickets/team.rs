//! What the team does with tickets.

use schemars::JsonSchema;
use serde::Deserialize;

use super::desk::{self, MESSAGES_AT_MOST, resume};
use super::rules::{self, Move, Priority, TicketStatus};
use super::store::{self, AuthorKind, TicketId, TicketRow, Wanted};
use super::types::{AdminTicket, AdminTicketUpdate, TicketMessageCreate};
use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page};
use api::problem::Problem;
use db::Conn;
use identity::notifications::{TicketReply, notify};
use identity::users;
use platform::letters::{self, Addressee};
use values::{AccountId, Change};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return tickets of this account only.
    #[serde(default)]
    account_id: Option<AccountId>,
    /// Return tickets in this status only.
    #[serde(default)]
    status: Option<TicketStatus>,
    /// Return tickets of this priority only.
    #[serde(default)]
    priority: Option<Priority>,
}

pub async fn list_all(
    mut ctx: ReadCtx,
    listing: Listing<Filters, (i64, TicketId)>,
) -> Result<Page<AdminTicket>, Problem> {
    let Filters { account_id: account, status, priority } = listing.filters;
    let wanted = Wanted { account, status, priority, before: resume(listing.after), limit: listing.fetch() };
    let rows = store::list(&mut ctx, &wanted).await?;
    listing.page(rows, |row| (row.created_at.millis(), row.id), |row| AdminTicket::new(row, None))
}

pub async fn show_to_team(mut ctx: ReadCtx, Path(id): Path<TicketId>) -> Result<Json<AdminTicket>, Problem> {
    let ticket = store::find(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(view(&mut ctx, ticket).await?))
}

async fn view(conn: &mut Conn, ticket: TicketRow) -> Result<AdminTicket, Problem> {
    let messages = store::messages(conn, ticket.id, MESSAGES_AT_MOST).await?;
    Ok(AdminTicket::new(ticket, Some(messages)))
}

async fn find_to_change(tx: &mut Tx<'_>, id: TicketId) -> Result<TicketRow, Problem> {
    let ticket = store::find_to_change(tx, id).await?.ok_or_else(Problem::not_found)?;
    tx.ctx.audit_account(ticket.account_id);
    Ok(ticket)
}

pub async fn change(
    ctx: RequestCtx,
    Path(id): Path<TicketId>,
    Body(wanted): Body<AdminTicketUpdate>,
) -> Result<Committed<Json<AdminTicket>>, Problem> {
    ctx.audit_note("ticket", id.to_string());
    ctx.commit((id, wanted), |tx, (id, wanted)| Box::pin(apply(tx, *id, *wanted))).await
}

async fn apply(tx: &mut Tx<'_>, id: TicketId, wanted: AdminTicketUpdate) -> Result<Json<AdminTicket>, Problem> {
    let mut ticket = find_to_change(tx, id).await?;
    let shown = view(tx, ticket.clone()).await?;
    tx.expect_version(&shown)?;
    let before = (ticket.status, ticket.priority);
    if let Change::Set(status) = wanted.status
        && status != ticket.status
    {
        if ticket.status == TicketStatus::Closed {
            return Err(desk::closed());
        }
        let only = || {
            let detail = format!("The ticket is {}; the team makes it resolved or closed.", ticket.status);
            Problem::state_conflict(detail)
        };
        let step = rules::leading_to(status).ok_or_else(only)?;
        desk::advance(&mut ticket, step)?;
    }
    wanted.priority.apply(&mut ticket.priority);
    if before.0 == TicketStatus::Closed && before.1 != ticket.priority {
        return Err(desk::closed());
    }
    tx.ctx.audit_change("status", before.0.as_str(), ticket.status.as_str());
    tx.ctx.audit_change("priority", before.1.as_str(), ticket.priority.as_str());
    // What is as it was has not been updated.
    if before != (ticket.status, ticket.priority) {
        desk::save(tx, &mut ticket).await?;
    }
    Ok(Json(view(tx, ticket).await?))
}

/// The customer hears of an answer in the portal, and whoever wrote the ticket also by mail.
pub async fn answer(
    ctx: RequestCtx,
    Path(id): Path<TicketId>,
    Body(message): Body<TicketMessageCreate>,
) -> Result<Committed<Created<AdminTicket>>, Problem> {
    ctx.audit_note("ticket", id.to_string());
    ctx.commit((id, message), |tx, (id, message)| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            let mut ticket = find_to_change(tx, *id).await?;
            desk::advance(&mut ticket, Move::TeamWrites)?;
            desk::append(tx, &mut ticket, AuthorKind::Team, &message.body).await?;
            let subject = ticket.subject.to_string();
            let news = TicketReply { ticket_id: id.uuid(), subject: subject.clone() };
            notify(tx, app.entropy, ticket.account_id, &news, now).await?;
            if let Some(author) = users::find(tx, ticket.author_id).await?.filter(|author| author.is_active) {
                let to = Addressee::new(&author.email, &author.name);
                let reply = letters::TicketReply { subject, body: message.body.to_string() };
                letters::send(tx, &app, &to, &reply, now).await?;
            }
            Ok(Created(view(tx, ticket).await?))
        })
    })
    .await
}
