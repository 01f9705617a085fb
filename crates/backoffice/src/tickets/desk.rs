//! What both sides do with a ticket alike.

use uuid::Uuid;

use super::rules::{self, Move};
use super::store::{self, AuthorKind, NewMessage, TicketId, TicketRow};
use api::context::Tx;
use api::problem::Problem;
use values::{Text, Time};

/// A conversation that is longer has lost its subject.
pub const MESSAGES_AT_MOST: i64 = 200;

/// The last row shown, or what comes before the newest.
pub fn resume(after: Option<(i64, TicketId)>) -> (Time, TicketId) {
    let (at, id) = after.unwrap_or((i64::MAX, TicketId::new(Uuid::max())));
    (Time::from_millis(at), id)
}

/// Moves a ticket; a closed one is refused.
pub fn advance(ticket: &mut TicketRow, step: Move) -> Result<(), Problem> {
    ticket.status = rules::apply(ticket.status, step).ok_or_else(closed)?;
    Ok(())
}

pub fn closed() -> Problem {
    Problem::state_conflict("The ticket is closed, which is final; the customer can open another one.")
}

/// Adds a message of the caller's and writes the ticket down.
pub async fn append(
    tx: &mut Tx<'_>,
    ticket: &mut TicketRow,
    author_kind: AuthorKind,
    body: &Text<1, 5000>,
) -> Result<(), Problem> {
    if ticket.messages >= MESSAGES_AT_MOST {
        let detail = format!("The ticket has {MESSAGES_AT_MOST} messages already; the customer can open another one.");
        return Err(Problem::state_conflict(detail));
    }
    let (now, author_id) = (tx.ctx.now, tx.ctx.principal()?.user_id);
    let id = tx.ctx.app.entropy.uuid(now);
    ticket.messages += 1;
    let new = NewMessage { id, author_id, author_kind, body };
    store::insert_message(tx, ticket.id, ticket.messages, &new, now).await?;
    save(tx, ticket).await
}

pub async fn save(tx: &mut Tx<'_>, ticket: &mut TicketRow) -> Result<(), Problem> {
    ticket.updated_at = tx.ctx.now;
    Ok(store::update(tx, ticket).await?)
}
