//! The team's handlers: `/admin/tickets`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::customer;
use super::messages::{self, MAX_SHOWN};
use super::rules::{self, Action, Priority, TicketStatus};
use super::store::{self, AuthorKind, TicketFilter, TicketId, TicketRow};
use super::types::{AdminTicket, AdminTicketUpdate, TicketMessageCreate};
use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use db::Conn;
use identity::events::{self, EventType};
use identity::names::Names;
use identity::notifications::{TicketReply, notify};
use identity::users;
use platform::mail::{self, Recipient};
use values::{AccountId, Change, Text};

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
    listing: Listing<Filters, NewestFirst<TicketId>>,
) -> Result<Page<AdminTicket>, Problem> {
    let Filters { account_id: account, status, priority } = listing.filters;
    let filter = TicketFilter { account, status, priority, before: listing.before(), limit: listing.fetch() };
    let rows = store::list(&mut ctx, &filter).await?;
    let names = Names::of_customers(&mut ctx, rows.iter().map(|row| row.account_id)).await?;
    listing.page(
        rows,
        |row| (row.created_at, row.id),
        |row| {
            let customer_name = names.get(row.account_id.uuid());
            AdminTicket::new(row, None, customer_name)
        },
    )
}

pub async fn admin_show(mut ctx: ReadCtx, Path(id): Path<TicketId>) -> Result<Json<AdminTicket>, Problem> {
    let ticket = store::find(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(view(&mut ctx, ticket).await?))
}

async fn view(conn: &mut Conn, ticket: TicketRow) -> Result<AdminTicket, Problem> {
    let messages = store::messages(conn, ticket.id, MAX_SHOWN).await?;
    let customer_name = Names::of_customer(conn, ticket.account_id).await?;
    Ok(AdminTicket::new(ticket, Some(messages), customer_name))
}

async fn find_for_update(tx: &mut Tx<'_>, id: TicketId) -> Result<TicketRow, Problem> {
    let ticket = store::find_for_update(tx, id).await?.ok_or_else(Problem::not_found)?;
    tx.ctx.audit_account(ticket.account_id);
    Ok(ticket)
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<TicketId>,
    Body(request): Body<AdminTicketUpdate>,
) -> Result<Committed<Json<AdminTicket>>, Problem> {
    ctx.audit_note("ticket", id.to_string());
    ctx.commit((id, request), |tx, (id, request)| Box::pin(apply(tx, *id, *request))).await
}

async fn apply(tx: &mut Tx<'_>, id: TicketId, request: AdminTicketUpdate) -> Result<Json<AdminTicket>, Problem> {
    let mut ticket = find_for_update(tx, id).await?;
    let current = view(tx, ticket.clone()).await?;
    tx.expect_version(&current)?;
    let before = (ticket.status, ticket.priority);
    if let Change::Set(status) = request.status
        && status != ticket.status
    {
        if ticket.status == TicketStatus::Closed {
            return Err(messages::closed());
        }
        let not_allowed = || {
            let detail = format!("The ticket is {}. The team can only set it to resolved or closed.", ticket.status);
            Problem::state_conflict(detail)
        };
        let action = rules::action_for(status).ok_or_else(not_allowed)?;
        messages::advance(&mut ticket, action)?;
    }
    request.priority.apply(&mut ticket.priority);
    if before.0 == TicketStatus::Closed && before.1 != ticket.priority {
        return Err(messages::closed());
    }
    tx.ctx.audit_change("status", before.0.as_str(), ticket.status.as_str());
    tx.ctx.audit_change("priority", before.1.as_str(), ticket.priority.as_str());
    // Without a change, `updated_at` stays.
    if before != (ticket.status, ticket.priority) {
        messages::save(tx, &mut ticket).await?;
    }
    Ok(Json(view(tx, ticket).await?))
}

/// Adds a message; the account gets a notification and the author of the ticket a mail.
pub async fn admin_reply(
    ctx: RequestCtx,
    Path(id): Path<TicketId>,
    Body(message): Body<TicketMessageCreate>,
) -> Result<Committed<Created<AdminTicket>>, Problem> {
    ctx.audit_note("ticket", id.to_string());
    ctx.commit((id, message), |tx, (id, message)| {
        Box::pin(async move {
            let mut ticket = find_for_update(tx, *id).await?;
            messages::advance(&mut ticket, Action::TeamReply)?;
            messages::check_room(&ticket)?;
            write(tx, &mut ticket, &message.body).await?;
            Ok(Created(view(tx, ticket).await?))
        })
    })
    .await
}

/// Resolves a ticket with a message of the team. A ticket that is closed stays as it is.
pub async fn resolve_with_message(tx: &mut Tx<'_>, id: TicketId, text: &str) -> Result<(), Problem> {
    let mut ticket = find_for_update(tx, id).await?;
    if ticket.status == TicketStatus::Closed {
        return Ok(());
    }
    messages::advance(&mut ticket, Action::Resolve)?;
    write(tx, &mut ticket, &text.parse().map_err(Problem::internal)?).await
}

/// Adds a message of the team and tells the customer.
async fn write(tx: &mut Tx<'_>, ticket: &mut TicketRow, body: &Text<1, 5000>) -> Result<(), Problem> {
    let app = tx.ctx.app.clone();
    messages::append(tx, ticket, AuthorKind::Team, body).await?;
    let subject = ticket.subject.to_string();
    let notification = TicketReply { ticket_id: ticket.id.uuid(), subject: subject.clone() };
    notify(tx, ticket.account_id, &notification).await?;
    let shown = customer::view(tx, ticket.clone()).await?;
    events::record(tx, ticket.account_id, EventType::TicketReplied, &shown).await?;
    if let Some(author) = users::find(tx, ticket.author_id).await?.filter(|author| author.is_active) {
        let to = Recipient::new(&author.email, &author.name);
        let reply = mail::TicketReply { subject, body: body.to_string() };
        mail::send(tx, &app, &to, &reply).await?;
    }
    Ok(())
}
