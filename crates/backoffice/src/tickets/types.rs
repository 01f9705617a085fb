//! Tickets over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::rules::{Priority, TicketStatus};
use super::store::{AuthorKind, MessageRow, TicketId, TicketRow};
use values::{AccountId, CallId, Change, Rfc3339, Text};

#[derive(Serialize, JsonSchema)]
pub struct Ticket {
    pub id: TicketId,
    pub subject: Text<1, 200>,
    pub status: TicketStatus,
    pub priority: Priority,
    /// The request it is about.
    pub request_id: Option<Text<1, 64>>,
    /// The calls it is about.
    pub cdr_ids: Vec<CallId>,
    pub created_at: Rfc3339,
    pub updated_at: Rfc3339,
    /// Oldest first; a list of tickets leaves them out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<TicketMessage>>,
}

impl Ticket {
    pub fn new(row: TicketRow, messages: Option<Vec<MessageRow>>) -> Ticket {
        Ticket {
            id: row.id,
            subject: row.subject,
            status: row.status,
            priority: row.priority,
            request_id: row.request_id,
            cdr_ids: row.cdr_ids.0,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
            messages: messages.map(|messages| messages.into_iter().map(TicketMessage::from).collect()),
        }
    }
}

/// A ticket as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminTicket {
    pub account_id: AccountId,
    #[serde(flatten)]
    pub ticket: Ticket,
}

impl AdminTicket {
    pub fn new(row: TicketRow, messages: Option<Vec<MessageRow>>) -> AdminTicket {
        AdminTicket { account_id: row.account_id, ticket: Ticket::new(row, messages) }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct TicketMessage {
    pub id: Uuid,
    pub body: Text<1, 5000>,
    pub author_kind: AuthorKind,
    pub author_name: String,
    pub created_at: Rfc3339,
}

impl From<MessageRow> for TicketMessage {
    fn from(row: MessageRow) -> Self {
        let MessageRow { id, body, author_kind, author_name, created_at } = row;
        TicketMessage { id, body, author_kind, author_name, created_at: created_at.into() }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TicketCreate {
    pub subject: Text<1, 200>,
    pub body: Text<1, 5000>,
    #[serde(default)]
    pub priority: Option<Priority>,
    /// The `request_id` of an answer that it is about.
    #[serde(default)]
    pub request_id: Option<Text<1, 64>>,
    /// Calls of yours that it is about.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub cdr_ids: Vec<CallId>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TicketMessageCreate {
    pub body: Text<1, 5000>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminTicketUpdate {
    /// `resolved` or `closed`; writing does the rest.
    #[serde(default)]
    pub status: Change<TicketStatus>,
    #[serde(default)]
    pub priority: Change<Priority>,
}
