//! Adding messages and changing the status, shared by customer and team.

use super::rules::{self, Action};
use super::store::{self, AuthorKind, NewMessage, TicketRow};
use api::context::Tx;
use api::problem::Problem;
use values::Text;

/// Messages of one ticket, without that of a decided dispute.
const MAX_MESSAGES: i64 = 200;
/// Messages that are shown with a ticket: all of them.
pub const MAX_SHOWN: i64 = MAX_MESSAGES + 1;

/// Changes the status; a closed ticket is refused.
pub fn advance(ticket: &mut TicketRow, action: Action) -> Result<(), Problem> {
    ticket.status = rules::next_status(ticket.status, action).ok_or_else(closed)?;
    Ok(())
}

pub fn closed() -> Problem {
    Problem::state_conflict("The ticket is closed. The customer can open a new one.")
}

/// Refuses a message more than a ticket may have.
pub fn check_room(ticket: &TicketRow) -> Result<(), Problem> {
    if ticket.messages >= MAX_MESSAGES {
        let detail = format!("The ticket has {MAX_MESSAGES} messages already. The customer can open a new one.");
        return Err(Problem::state_conflict(detail));
    }
    Ok(())
}

/// Adds a message of the caller and saves the ticket.
pub async fn append(
    tx: &mut Tx<'_>,
    ticket: &mut TicketRow,
    author_kind: AuthorKind,
    body: &Text<1, 5000>,
) -> Result<(), Problem> {
    let author_id = tx.ctx.principal()?.user_id;
    let id = tx.new_id();
    ticket.messages += 1;
    let new = NewMessage { id, author_id, author_kind, body };
    store::insert_message(tx, ticket.id, ticket.messages, &new).await?;
    save(tx, ticket).await
}

pub async fn save(tx: &mut Tx<'_>, ticket: &mut TicketRow) -> Result<(), Problem> {
    ticket.updated_at = tx.ctx.now;
    Ok(store::update(tx, ticket).await?)
}
