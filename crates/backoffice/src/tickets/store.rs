//! Tables `tickets` and `ticket_messages`.

use uuid::Uuid;

use super::rules::{Priority, TicketStatus};
use db::{Conn, DbError, insert, params, row, sql, table_row};
use values::{AccountId, CallId, List, Text, Time, UserId, id, text_enum};

id! {
    /// Id of a ticket.
    pub struct TicketId;
}

text_enum! {
    /// Which side wrote a message: `customer` or `team`.
    pub enum AuthorKind {
        Customer = "customer",
        Team = "team",
    }
}

table_row! {
    #[derive(Clone)]
    pub struct TicketRow in tickets {
        pub id: TicketId,
        pub account_id: AccountId,
        pub author_id: UserId,
        pub subject: Text<1, 200>,
        pub status: TicketStatus,
        pub priority: Priority,
        pub request_id: Option<Text<1, 64>>,
        pub cdr_ids: List<CallId>,
        pub messages: i64,
        pub created_at: Time,
        pub updated_at: Time,
    }
}

row! {
    pub struct MessageRow {
        pub id: Uuid,
        pub body: Text<1, 5000>,
        pub author_kind: AuthorKind,
        pub author_name: String,
        pub created_at: Time,
    }
}

pub async fn insert(conn: &mut Conn, new: &TicketRow) -> Result<(), DbError> {
    conn.insert(new).await?;
    Ok(())
}

pub struct NewMessage<'m> {
    pub id: Uuid,
    pub author_id: UserId,
    pub author_kind: AuthorKind,
    pub body: &'m Text<1, 5000>,
}

/// Adds the message with this number to a ticket.
pub async fn insert_message(
    conn: &mut Conn,
    ticket: TicketId,
    number: i64,
    new: &NewMessage<'_>,
) -> Result<(), DbError> {
    insert!(
        conn,
        ticket_messages {
            ticket_id: ticket,
            number,
            id: new.id,
            author_id: new.author_id,
            author_kind: new.author_kind,
            body: *new.body,
            created_at: conn.now()
        }
    )
    .await?;
    Ok(())
}

/// Number of tickets that are not closed, counted up to `limit`.
pub async fn open_tickets(conn: &mut Conn, account: AccountId, limit: i64) -> Result<i64, DbError> {
    let (open,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM
                     (SELECT 1 AS one FROM tickets WHERE account_id = $1 AND status <> 'closed' LIMIT $2) AS open_tickets"
            ),
            params![account, limit],
        )
        .await?;
    Ok(open)
}

/// Whether this is a CDR of this account.
pub async fn has_cdr(conn: &mut Conn, account: AccountId, cdr: CallId) -> Result<bool, DbError> {
    let Some(started_at) = cdr.started_at() else { return Ok(false) };
    let (has,) = conn
        .one(
            sql!("SELECT EXISTS (SELECT 1 FROM cdrs WHERE id = $1 AND started_at = $2 AND account_id = $3)"),
            params![cdr, started_at, account],
        )
        .await?;
    Ok(has)
}

pub async fn find(conn: &mut Conn, id: TicketId) -> Result<Option<TicketRow>, DbError> {
    conn.opt(sql!("SELECT ", TicketRow::COLS, " FROM tickets WHERE id = $1"), params![id]).await
}

/// The ticket, locked until the transaction ends.
pub async fn find_for_update(conn: &mut Conn, id: TicketId) -> Result<Option<TicketRow>, DbError> {
    conn.opt(sql!("SELECT ", TicketRow::COLS, " FROM tickets WHERE id = $1 /*pg FOR UPDATE */"), params![id]).await
}

pub async fn update(conn: &mut Conn, ticket: &TicketRow) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE tickets SET status = $2, priority = $3, messages = $4, updated_at = $5 WHERE id = $1"),
        params![ticket.id, ticket.status, ticket.priority, ticket.messages, ticket.updated_at],
    )
    .await?;
    Ok(())
}

/// The messages of a ticket, oldest first.
pub async fn messages(conn: &mut Conn, ticket: TicketId, limit: i64) -> Result<Vec<MessageRow>, DbError> {
    conn.all(
        sql!(
            "SELECT m.id, m.body, m.author_kind, u.name, m.created_at
             FROM ticket_messages m JOIN users u ON u.id = m.author_id
             WHERE m.ticket_id = $1 ORDER BY m.number LIMIT $2"
        ),
        params![ticket, limit],
    )
    .await
}

/// Filter of a list of tickets, and the row that the page comes after.
pub struct TicketFilter {
    pub account: Option<AccountId>,
    pub status: Option<TicketStatus>,
    pub priority: Option<Priority>,
    pub before: (Time, TicketId),
    pub limit: i64,
}

/// A page, newest first, by the index of the most selective filter.
pub async fn list(conn: &mut Conn, filter: &TicketFilter) -> Result<Vec<TicketRow>, DbError> {
    let TicketFilter { account, status, priority, before: (at, id), limit } = *filter;
    match (account, status, priority) {
        (Some(account), ..) => {
            conn.all(
                sql!(
                    "SELECT ",
                    TicketRow::COLS,
                    " FROM tickets WHERE account_id = $1 AND status = COALESCE($2, status)
                     AND priority = COALESCE($3, priority) AND (created_at, id) < ($4, $5)
                     ORDER BY created_at DESC, id DESC LIMIT $6"
                ),
                params![account, status, priority, at, id, limit],
            )
            .await
        }
        (None, Some(status), _) => {
            conn.all(
                sql!(
                    "SELECT ",
                    TicketRow::COLS,
                    " FROM tickets WHERE status = $1 AND priority = COALESCE($2, priority)
                     AND (created_at, id) < ($3, $4) ORDER BY created_at DESC, id DESC LIMIT $5"
                ),
                params![status, priority, at, id, limit],
            )
            .await
        }
        (None, None, Some(priority)) => {
            conn.all(
                sql!(
                    "SELECT ",
                    TicketRow::COLS,
                    " FROM tickets WHERE priority = $1 AND (created_at, id) < ($2, $3)
                     ORDER BY created_at DESC, id DESC LIMIT $4"
                ),
                params![priority, at, id, limit],
            )
            .await
        }
        (None, None, None) => {
            conn.all(
                sql!(
                    "SELECT ",
                    TicketRow::COLS,
                    " FROM tickets WHERE (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3"
                ),
                params![at, id, limit],
            )
            .await
        }
    }
}

/// Closes the tickets of an account and removes what was written in them.
pub async fn erase(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE ticket_messages SET body = 'Erased'
             WHERE ticket_id IN (SELECT id FROM tickets WHERE account_id = $1)"
        ),
        params![account],
    )
    .await?;
    conn.exec(
        sql!("UPDATE tickets SET subject = 'Erased', status = 'closed', updated_at = $2 WHERE account_id = $1"),
        params![account, conn.now()],
    )
    .await?;
    Ok(())
}
