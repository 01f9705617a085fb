//! Adding messages and changing the status, shared by customer and team.

use super::rules::{self, Action};
use super::store::{self, AuthorKind, NewMessage, TicketRow};
use api::context::Tx;
use api::problem::Problem;
use values::Text;

/// Messages of one ticket.
pub const MAX_MESSAGES: i64 = 200;

/// Changes the status; a closed ticket is refused.
pub fn advance(ticket: &mut TicketRow, action: Action) -> Result<(), Problem> {
    ticket.status = rules::next_status(ticket.status, action).ok_or_else(closed)?;
    Ok(())
}

pub fn closed() -> Problem {
    Problem::state_conflict("The ticket is closed. The customer can open a new one.")
}

/// Adds a message of the caller and saves the ticket.
pub async fn append(
    tx: &mut Tx<'_>,
    ticket: &mut TicketRow,
    author_kind: AuthorKind,
    body: &Text<1, 5000>,
) -> Result<(), Problem> {
    if ticket.messages >= MAX_MESSAGES {
        let detail = format!("The ticket has {MAX_MESSAGES} messages already. The customer can open a new one.");
        return Err(Problem::state_conflict(detail));
    }
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
