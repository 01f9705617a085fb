//! Request and response types of tickets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::rules::{Priority, TicketStatus};
use super::store::{AuthorKind, MessageRow, TicketId, TicketRow};
use values::{AccountId, CallId, Change, Rfc3339, Text};

/// Support ticket.
#[derive(Serialize, JsonSchema)]
pub struct Ticket {
    /// Id of the ticket.
    pub id: TicketId,
    /// Subject of the ticket.
    pub subject: Text<1, 200>,
    /// Status of the ticket.
    pub status: TicketStatus,
    /// Priority of the ticket.
    pub priority: Priority,
    /// Id of the API request that the ticket is about; null when there is none.
    pub request_id: Option<Text<1, 64>>,
    /// Ids of the CDRs that the ticket is about.
    pub cdr_ids: Vec<CallId>,
    /// When the ticket was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// When the ticket last changed (RFC 3339, UTC).
    pub updated_at: Rfc3339,
    /// Messages, oldest first; omitted in lists of tickets.
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

/// Support ticket as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminTicket {
    /// Id of the customer's account.
    pub account_id: AccountId,
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_name: Option<String>,
    #[serde(flatten)]
    pub ticket: Ticket,
}

impl AdminTicket {
    pub fn new(row: TicketRow, messages: Option<Vec<MessageRow>>, customer_name: Option<String>) -> AdminTicket {
        let (account_id, customer_id) = (row.account_id, row.account_id.uuid());
        AdminTicket { account_id, customer_id, customer_name, ticket: Ticket::new(row, messages) }
    }
}

/// Message of a ticket.
#[derive(Serialize, JsonSchema)]
pub struct TicketMessage {
    /// Id of the message.
    pub id: Uuid,
    /// Text of the message.
    pub body: Text<1, 5000>,
    /// Which side wrote the message.
    pub author_kind: AuthorKind,
    /// Name of the user who wrote it.
    pub author_name: String,
    /// When the message was written (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl From<MessageRow> for TicketMessage {
    fn from(row: MessageRow) -> Self {
        let MessageRow { id, body, author_kind, author_name, created_at } = row;
        TicketMessage { id, body, author_kind, author_name, created_at: created_at.into() }
    }
}

/// New support ticket.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TicketCreate {
    /// Subject of the ticket, up to 200 characters.
    pub subject: Text<1, 200>,
    /// Text of the first message, up to 5000 characters.
    pub body: Text<1, 5000>,
    /// Priority of the ticket; `normal` when left out.
    #[serde(default)]
    pub priority: Option<Priority>,
    /// The `request_id` of an API response that the ticket is about.
    #[serde(default)]
    pub request_id: Option<Text<1, 64>>,
    /// Ids of the account's own CDRs that the ticket is about, at most 20.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub cdr_ids: Vec<CallId>,
}

/// New message of a ticket.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TicketMessageCreate {
    /// Text of the message, up to 5000 characters.
    pub body: Text<1, 5000>,
}

/// Changes to a ticket; fields that are left out stay as they are.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminTicketUpdate {
    /// `resolved` or `closed`; the other statuses follow from messages.
    #[serde(default)]
    pub status: Change<TicketStatus>,
    /// Priority of the ticket.
    #[serde(default)]
    pub priority: Change<Priority>,
}
