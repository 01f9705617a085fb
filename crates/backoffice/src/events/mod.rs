//! `/events`: what happened to the account, for programs, and `/admin/events` for the team.
//!
//! The list is oldest first and follows the positions that `identity::events` gives, so a program that polls with the
//! last cursor misses nothing. `stream` sends new events as they are published; `feed` reads them, once for all streams
//! of a node. `webhook_endpoints` sends them.

mod feed;
mod stream;
mod types;

pub use feed::read_events;
pub use stream::{stream, team_stream};
pub use types::{AdminEvent, Event, WebhookTestData};

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use api::answer::Json;
use api::context::ReadCtx;
use api::input::Path;
use api::page::{Listing, Page};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::events::{self, EventFilter, EventId, EventRow, EventType};
use types::EndedCalls;
use values::{AccountId, Rfc3339};
use voice::cdrs;

/// Calls in one event.
pub const MAX_CALLS: i64 = 500;

/// Who gets an event: its account, or the team, which is told whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    Account(AccountId),
    Team,
}

impl Audience {
    pub fn account(self) -> Option<AccountId> {
        match self {
            Audience::Account(account) => Some(account),
            Audience::Team => None,
        }
    }
}

/// Filters of the list of events.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventFilters {
    /// Return events of this type only.
    #[serde(default, rename = "type")]
    kind: Option<EventType>,
    /// Return events at this time or later (RFC 3339).
    #[serde(default)]
    from: Option<Rfc3339>,
    /// Return events before this time (RFC 3339).
    #[serde(default)]
    to: Option<Rfc3339>,
}

impl EventFilters {
    fn filter(self, account: Option<AccountId>) -> EventFilter {
        let time = |at: Option<Rfc3339>| at.map(|Rfc3339(at)| at);
        EventFilter { account, kind: self.kind, from: time(self.from), to: time(self.to) }
    }
}

/// The position of the last event of a page.
type Position = i64;

pub async fn list(mut ctx: ReadCtx, listing: Listing<EventFilters, Position>) -> Result<Page<Event>, Problem> {
    let filter = listing.filters.filter(Some(ctx.principal()?.account_id));
    let (rows, next) = page(&mut ctx, &filter, &listing).await?;
    listing.page_with_next(rows, Some(next), Event::from)
}

pub async fn list_all(mut ctx: ReadCtx, listing: Listing<EventFilters, Position>) -> Result<Page<AdminEvent>, Problem> {
    let filter = listing.filters.filter(None);
    let (rows, next) = page(&mut ctx, &filter, &listing).await?;
    listing.page_with_next(rows, Some(next), AdminEvent::from)
}

/// A page, and where the next one begins: there always is one, for events that are still to come.
async fn page(
    conn: &mut Conn,
    filter: &EventFilter,
    listing: &Listing<EventFilters, Position>,
) -> Result<(Vec<EventRow>, Position), Problem> {
    let after = listing.after.unwrap_or_default();
    // Read first: all events up to it are visible.
    let head = events::head(conn).await?.position;
    let limit = i64::from(listing.limit);
    let rows = events::list(conn, filter, after, head, limit).await?;
    let is_full = rows.len() as i64 == limit;
    let last = rows.last().and_then(|row| row.position).filter(|_| is_full);
    // After a page that is not full there is nothing up to the head, so that is not searched again.
    Ok((rows, last.unwrap_or(head.max(after))))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<EventId>) -> Result<Json<Event>, Problem> {
    let account = ctx.principal()?.account_id;
    Ok(Json(find(&mut ctx, Some(account), id).await?.into()))
}

pub async fn admin_show(mut ctx: ReadCtx, Path(id): Path<EventId>) -> Result<Json<AdminEvent>, Problem> {
    Ok(Json(find(&mut ctx, None, id).await?.into()))
}

async fn find(conn: &mut Conn, account: Option<AccountId>, id: EventId) -> Result<EventRow, Problem> {
    let found = events::find(conn, account, id).await?.filter(|event| event.position.is_some());
    Ok(with_calls(conn, found.ok_or_else(Problem::not_found)?).await?)
}

/// An event as its webhook carries it.
pub async fn body(conn: &mut Conn, row: EventRow, is_team: bool) -> Result<Bytes, DbError> {
    let row = with_calls(conn, row).await?;
    let body = match is_team {
        true => serde_json::to_vec(&AdminEvent::from(row)),
        false => serde_json::to_vec(&Event::from(row)),
    };
    Ok(body.map_err(DbError::other)?.into())
}

/// Ended calls are kept beside their event.
async fn with_calls(conn: &mut Conn, row: EventRow) -> Result<EventRow, DbError> {
    if row.kind != EventType::CallsEnded {
        return Ok(row);
    }
    let calls = cdrs::load_ended(conn, row.id.uuid(), MAX_CALLS).await?;
    let data = serde_json::to_string(&EndedCalls { calls }).map_err(DbError::other)?;
    Ok(EventRow { data, ..row })
}
