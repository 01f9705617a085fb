//! Notices: announcements to all customers, shown from `starts_at` to `ends_at` or until they are deleted.

mod store;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use api::answer::{Created, Json, NoContent};
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::faults::Faults;
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use identity::notifications::Severity;
use store::{NoticeId, NoticeRow};
use values::{Change, Rfc3339, Text};

/// Announcement to all customers.
#[derive(Serialize, JsonSchema)]
pub struct Notice {
    /// Id of the notice.
    pub id: NoticeId,
    /// Severity of the notice.
    pub severity: Severity,
    /// Title, in plain text.
    pub title: Text<1, 200>,
    /// Body, in plain text.
    pub body: Text<1, 5000>,
    /// When customers begin to see the notice (RFC 3339, UTC).
    pub starts_at: Rfc3339,
    /// When customers stop seeing the notice (RFC 3339, UTC); null when it stays until it is deleted.
    pub ends_at: Option<Rfc3339>,
}

impl From<NoticeRow> for Notice {
    fn from(row: NoticeRow) -> Self {
        let NoticeRow { id, severity, title, body, starts_at, ends_at } = row;
        Notice { id, severity, title, body, starts_at: starts_at.into(), ends_at: ends_at.map(Rfc3339) }
    }
}

/// New announcement to all customers.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminNoticeCreate {
    /// Severity of the notice.
    severity: Severity,
    /// Title, in plain text, up to 200 characters.
    title: Text<1, 200>,
    /// Body, in plain text, up to 5000 characters.
    body: Text<1, 5000>,
    /// When customers begin to see the notice (RFC 3339).
    starts_at: Rfc3339,
    /// When customers stop seeing the notice (RFC 3339), after `starts_at`; without it the notice stays until it is
    /// deleted.
    #[serde(default)]
    ends_at: Option<Rfc3339>,
}

/// Changes to a notice; fields that are left out stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminNoticeUpdate {
    /// Severity of the notice.
    #[serde(default)]
    severity: Change<Severity>,
    /// Title, in plain text, up to 200 characters.
    #[serde(default)]
    title: Change<Text<1, 200>>,
    /// Body, in plain text, up to 5000 characters.
    #[serde(default)]
    body: Change<Text<1, 5000>>,
    /// When customers begin to see the notice (RFC 3339).
    #[serde(default)]
    starts_at: Change<Rfc3339>,
    /// When customers stop seeing the notice (RFC 3339), after `starts_at`; null keeps it until it is deleted.
    #[serde(default)]
    ends_at: Change<Option<Rfc3339>>,
}

const ENDS_TOO_EARLY: &str = "must be after starts_at";

impl Checks for AdminNoticeCreate {
    fn check(given: &Given<'_>) {
        check_period(given);
    }
}

impl Checks for AdminNoticeUpdate {
    fn check(given: &Given<'_>) {
        check_period(given);
    }
}

fn check_period(given: &Given<'_>) {
    given.check_with("ends_at", "starts_at", |end: Rfc3339, start: Rfc3339| must(end.0 > start.0, ENDS_TOO_EARLY));
}

/// Notices that are shown now.
pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<NoticeId>>,
) -> Result<Page<Notice>, Problem> {
    let rows = store::active(&mut ctx, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.starts_at, row.id), Notice::from)
}

pub async fn list_all(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<NoticeId>>,
) -> Result<Page<Notice>, Problem> {
    let rows = store::list(&mut ctx, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.starts_at, row.id), Notice::from)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<NoticeId>) -> Result<Json<Notice>, Problem> {
    Ok(Json(store::find(&mut ctx, id).await?.ok_or_else(Problem::not_found)?.into()))
}

pub async fn create(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<AdminNoticeCreate>>,
) -> Result<Committed<Created<Notice>>, Problem> {
    let AdminNoticeCreate { severity, title, body, starts_at, ends_at } = request;
    let id = ctx.new_id();
    let ends_at = ends_at.map(|Rfc3339(at)| at);
    let new = NoticeRow { id, severity, title, body, starts_at: starts_at.0, ends_at };
    ctx.audit_note("notice", id.to_string());
    ctx.commit(new, |tx, new| {
        Box::pin(async move {
            store::insert(tx, new).await?;
            Ok(Created(new.clone().into()))
        })
    })
    .await
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<NoticeId>,
    Body(Checked(request)): Body<Checked<AdminNoticeUpdate>>,
) -> Result<Committed<Json<Notice>>, Problem> {
    ctx.audit_note("notice", id.to_string());
    ctx.commit((id, request), |tx, (id, request)| {
        Box::pin(async move {
            let mut notice = store::find_for_update(tx, *id).await?.ok_or_else(Problem::not_found)?;
            tx.expect_version(&Notice::from(notice.clone()))?;
            let AdminNoticeUpdate { severity, title, body, starts_at, ends_at } = request.clone();
            severity.apply(&mut notice.severity);
            title.apply(&mut notice.title);
            body.apply(&mut notice.body);
            if let Change::Set(Rfc3339(at)) = starts_at {
                notice.starts_at = at;
            }
            if let Change::Set(at) = ends_at {
                notice.ends_at = at.map(|Rfc3339(at)| at);
            }
            let mut faults = Faults::default();
            faults.unless(notice.ends_at.is_none_or(|end| end > notice.starts_at), "ends_at", ENDS_TOO_EARLY);
            faults.into_result()?;
            store::update(tx, &notice).await?;
            Ok(Json(notice.into()))
        })
    })
    .await
}

pub async fn delete(ctx: RequestCtx, Path(id): Path<NoticeId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("notice", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            match store::delete(tx, *id).await? {
                true => Ok(NoContent),
                false => Err(Problem::not_found()),
            }
        })
    })
    .await
}
