//! Notices: what the carrier announces to everybody, from one moment until another or until it is taken down.

mod store;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use api::answer::{Created, Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use identity::notifications::Severity;
use store::{NoticeId, NoticeRow, Position};
use values::{Change, Rfc3339, Text, Time};

#[derive(Serialize, JsonSchema)]
pub struct Notice {
    pub id: NoticeId,
    pub severity: Severity,
    pub title: Text<1, 200>,
    pub body: Text<1, 5000>,
    pub starts_at: Rfc3339,
    pub ends_at: Option<Rfc3339>,
}

impl From<NoticeRow> for Notice {
    fn from(row: NoticeRow) -> Self {
        let NoticeRow { id, severity, title, body, starts_at, ends_at } = row;
        Notice { id, severity, title, body, starts_at: starts_at.into(), ends_at: ends_at.map(Rfc3339) }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminNoticeCreate {
    severity: Severity,
    title: Text<1, 200>,
    body: Text<1, 5000>,
    starts_at: Rfc3339,
    /// After `starts_at`; without it the notice stays until it is taken down.
    #[serde(default)]
    ends_at: Option<Rfc3339>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminNoticeUpdate {
    #[serde(default)]
    severity: Change<Severity>,
    #[serde(default)]
    title: Change<Text<1, 200>>,
    #[serde(default)]
    body: Change<Text<1, 5000>>,
    #[serde(default)]
    starts_at: Change<Rfc3339>,
    #[serde(default)]
    ends_at: Change<Option<Rfc3339>>,
}

/// A notice that ended before it began would never be seen.
fn check(notice: &NoticeRow) -> Result<(), Problem> {
    match notice.ends_at {
        Some(ends_at) if ends_at <= notice.starts_at => Err(Problem::invalid("ends_at", "must be after starts_at")),
        _ => Ok(()),
    }
}

type Cursor = (i64, NoticeId);

fn resume(after: Option<Cursor>) -> Position {
    let (at, id) = after.unwrap_or((i64::MAX, NoticeId::new(Uuid::max())));
    (Time::from_millis(at), id)
}

/// Those in force now.
pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, Cursor>) -> Result<Page<Notice>, Problem> {
    let now = ctx.request.now;
    let rows = store::active(&mut ctx, resume(listing.after), listing.fetch(), now).await?;
    listing.page(rows, |row| (row.starts_at.millis(), row.id), Notice::from)
}

pub async fn list_all(mut ctx: ReadCtx, listing: Listing<Unfiltered, Cursor>) -> Result<Page<Notice>, Problem> {
    let rows = store::list(&mut ctx, resume(listing.after), listing.fetch()).await?;
    listing.page(rows, |row| (row.starts_at.millis(), row.id), Notice::from)
}

pub async fn create(
    ctx: RequestCtx,
    Body(wanted): Body<AdminNoticeCreate>,
) -> Result<Committed<Created<Notice>>, Problem> {
    let AdminNoticeCreate { severity, title, body, starts_at, ends_at } = wanted;
    let id = NoticeId::new(ctx.app.entropy.uuid(ctx.now));
    let ends_at = ends_at.map(|Rfc3339(at)| at);
    let new = NoticeRow { id, severity, title, body, starts_at: starts_at.0, ends_at };
    check(&new)?;
    ctx.audit_note("notice", id.to_string());
    ctx.commit(new, |tx, new| {
        Box::pin(async move {
            let now = tx.ctx.now;
            store::insert(tx, new, now).await?;
            Ok(Created(new.clone().into()))
        })
    })
    .await
}

pub async fn change(
    ctx: RequestCtx,
    Path(id): Path<NoticeId>,
    Body(wanted): Body<AdminNoticeUpdate>,
) -> Result<Committed<Json<Notice>>, Problem> {
    ctx.audit_note("notice", id.to_string());
    ctx.commit((id, wanted), |tx, (id, wanted)| {
        Box::pin(async move {
            let now = tx.ctx.now;
            let mut notice = store::find_to_change(tx, *id).await?.ok_or_else(Problem::not_found)?;
            tx.expect_version(&Notice::from(notice.clone()))?;
            let AdminNoticeUpdate { severity, title, body, starts_at, ends_at } = wanted.clone();
            severity.apply(&mut notice.severity);
            title.apply(&mut notice.title);
            body.apply(&mut notice.body);
            if let Change::Set(Rfc3339(at)) = starts_at {
                notice.starts_at = at;
            }
            if let Change::Set(at) = ends_at {
                notice.ends_at = at.map(|Rfc3339(at)| at);
            }
            check(&notice)?;
            store::update(tx, &notice, now).await?;
            Ok(Json(notice.into()))
        })
    })
    .await
}

pub async fn remove(ctx: RequestCtx, Path(id): Path<NoticeId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("notice", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            match store::remove(tx, *id).await? {
                true => Ok(NoContent),
                false => Err(Problem::not_found()),
            }
        })
    })
    .await
}
