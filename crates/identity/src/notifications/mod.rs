//! Notifications to an account, shown in the portal. Clients map the code to a text.
//!
//! Features call [`notify`] in the transaction of what happened, with the struct of one of the `codes`. All users of an
//! account share one list and its read marks. Notifications are purged after 400 days. A notification is also an event,
//! unless the feature records the resource that it is about. `mailed`: those that also go by mail.

mod codes;
mod mailed;
mod store;

pub use codes::*;
pub use mailed::{preferences, send_mail, send_mail_with, set_preferences};
pub use store::{erase, purge};

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::events::{self, EventType};
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Path;
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use db::{Conn, DbError};
use store::{NotificationId, NotificationRow, Payload};
use values::{AccountId, Rfc3339};

/// The unread count stops here.
const MAX_UNREAD_COUNT: i64 = 1000;

/// Notification to an account; all its users see the same list.
#[derive(Serialize)]
pub struct Notification {
    /// Id of the notification.
    pub id: NotificationId,
    /// Code of the notification; clients map it to a text.
    pub code: NotificationCode,
    /// Severity of the notification.
    pub severity: Severity,
    /// Details; the fields depend on `code`.
    pub payload: Value,
    /// When a user of the account marked it as read (RFC 3339, UTC); null while it is unread.
    pub read_at: Option<Rfc3339>,
    /// When it happened (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

/// A union, discriminated by `code`.
impl JsonSchema for Notification {
    fn schema_name() -> Cow<'static, str> {
        "Notification".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut union = codes::union_schema(generator);
        let description = "Notification to an account; all its users see the same list. `code` tells the payload.";
        union.insert("description".to_owned(), description.into());
        union
    }
}

impl From<NotificationRow> for Notification {
    fn from(row: NotificationRow) -> Self {
        let NotificationRow { id, code, severity, payload, read_at, created_at } = row;
        let (read_at, created_at) = (read_at.map(Rfc3339), Rfc3339(created_at));
        Notification { id, code, severity, payload: payload.0, read_at, created_at }
    }
}

/// Inserts a notification; call it in the transaction of what happened.
pub async fn notify<N: NotificationPayload + Sync>(
    conn: &mut Conn,
    account: AccountId,
    payload: &N,
) -> Result<(), DbError> {
    let now = conn.now();
    let notification = NotificationRow {
        id: conn.new_id(),
        code: N::CODE,
        severity: N::SEVERITY,
        payload: Payload(serde_json::to_value(payload).map_err(DbError::other)?),
        read_at: None,
        created_at: now,
    };
    store::insert(conn, account, &notification).await?;
    if let Some(kind) = event_of(N::CODE) {
        events::record(conn, account, kind, payload).await?;
    }
    Ok(())
}

/// The event with the payload of a notification. Where the event has a resource instead, the feature records it.
fn event_of(code: NotificationCode) -> Option<EventType> {
    use NotificationCode as Code;
    match code {
        Code::TopupCompleted
        | Code::TopupFailed
        | Code::InvoiceIssued
        | Code::NumberActive
        | Code::NumberReleased
        | Code::ExportReady
        | Code::TicketReply => None,
        Code::BalanceLow => Some(EventType::BalanceLow),
        Code::BalanceExhausted => Some(EventType::BalanceExhausted),
        Code::RechargeFailed => Some(EventType::RechargeFailed),
        Code::NumberFailed => Some(EventType::NumberFailed),
        Code::NumberRenewalAhead => Some(EventType::NumberRenewalAhead),
        Code::NumberRenewalFailed => Some(EventType::NumberRenewalFailed),
        Code::FraudCapReached => Some(EventType::FraudCapReached),
        Code::SpendJump => Some(EventType::SpendJump),
        Code::QualityLowAsr => Some(EventType::QualityLowAsr),
        Code::VatValid => Some(EventType::VatValid),
        Code::VatInvalid => Some(EventType::VatInvalid),
        Code::RatesChanged => Some(EventType::RatesChanged),
        Code::KybApproved => Some(EventType::KybApproved),
        Code::KybRejected => Some(EventType::KybRejected),
        Code::ComplianceMoreInfo => Some(EventType::ComplianceMoreInfo),
        Code::AccountSuspended => Some(EventType::AccountSuspended),
        Code::AccountReinstated => Some(EventType::AccountReinstated),
        Code::PaymentDisputed => Some(EventType::PaymentDisputed),
        Code::PaymentDisputeWon => Some(EventType::PaymentDisputeWon),
        Code::PaymentDisputeLost => Some(EventType::PaymentDisputeLost),
        Code::AllowListEntryRemoved => Some(EventType::AllowListEntryRemoved),
        Code::WebhookDisabled => Some(EventType::WebhookDisabled),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return unread notifications only.
    #[serde(default)]
    unread: bool,
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Filters, NewestFirst<NotificationId>>,
) -> Result<Page<Notification>, Problem> {
    let account = ctx.principal()?.account_id;
    let before = listing.before();
    let rows = if listing.filters.unread {
        store::list_unread(&mut ctx, account, before, listing.fetch()).await?
    } else {
        store::list(&mut ctx, account, before, listing.fetch()).await?
    };
    listing.page(rows, |row| (row.created_at, row.id), Notification::from)
}

/// Number of unread notifications.
#[derive(Serialize, JsonSchema)]
pub struct UnreadCount {
    /// Unread notifications, counted up to 1000.
    unread: i64,
}

pub async fn unread_count(mut ctx: ReadCtx) -> Result<Json<UnreadCount>, Problem> {
    let account = ctx.principal()?.account_id;
    let unread = store::count_unread(&mut ctx, account, MAX_UNREAD_COUNT).await?;
    Ok(Json(UnreadCount { unread }))
}

pub async fn mark_read(
    ctx: RequestCtx,
    Path(id): Path<NotificationId>,
) -> Result<Committed<Json<Notification>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.commit((account, id), |tx, (account, id)| {
        Box::pin(async move {
            let row = store::mark_read(tx, *account, *id).await?.ok_or_else(Problem::not_found)?;
            Ok(Json(row.into()))
        })
    })
    .await
}

/// All notification codes.
#[derive(Serialize, JsonSchema)]
pub struct NotificationCodes {
    /// Codes with severity, description and payload schema.
    data: Vec<NotificationKind>,
}

/// All codes, for authors of clients.
pub async fn codes(_: ReadCtx) -> Result<Json<NotificationCodes>, Problem> {
    Ok(Json(NotificationCodes { data: catalogue() }))
}

/// Result of marking all notifications as read.
#[derive(Serialize, JsonSchema)]
pub struct ReadAll {
    /// Number of notifications that were unread before.
    read: u64,
}

pub async fn mark_all_read(ctx: RequestCtx) -> Result<Committed<Json<ReadAll>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.commit(account, |tx, account| {
        Box::pin(async move { Ok(Json(ReadAll { read: store::mark_all_read(tx, *account).await? })) })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_with_the_payload_of_a_notification_has_its_code() {
        for code in NotificationCode::ALL {
            if let Some(kind) = event_of(*code) {
                assert_eq!(kind.as_str(), code.as_str());
            }
        }
    }
}
