//! Rate plans: the prices of some customers, and who has which.
//!
//! A change of a plan writes a new version, and a change of a customer's plan a new assignment; both count from their
//! `effective_at` on and are never changed (`platform::routing::plans`). An increase needs notice: see `notice`.
//!
//! - `assign`: `/admin/customers/{id}/rate-plan` · `preview`: the price of a number by a plan · `impact`: what a plan
//!   would have made of the calls of the last 30 days
//!
//! Customers are notified by `price_notices`.

mod assign;
mod impact;
mod notice;
mod preview;
mod types;

pub use assign::{assign, history};
pub use impact::impact;
pub use preview::preview;

use std::sync::Arc;

use rating::Notice;

use crate::price_notices::{self, Audience, ChangeCause};
use api::answer::{Created, NoContent, VolatileJson};
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use db::Conn;
use notice::Step;
use platform::routing::cache::Versioned;
use platform::routing::plans::{self, NewVersion, PlanRow, PlanTimeline};
use platform::routing::tariff::{DEFAULT_NOTICE_DAYS, PastTime};
use types::{MAX_PLAN_BYTES, RatePlan, RatePlanCreate, RatePlanItem, RatePlanUpdate};
use values::{RatePlanId, Rfc3339};

/// Why a change that was checked a moment ago is not made.
const CHANGING: &str = "The rate plans are changing; try again.";

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<RatePlanId>>,
) -> Result<Page<RatePlanItem>, Problem> {
    let rows = plans::list(&mut ctx, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), RatePlanItem::from)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<RatePlanId>) -> Result<VolatileJson<RatePlan>, Problem> {
    Ok(VolatileJson(view(&mut ctx, id).await?))
}

async fn view(conn: &mut Conn, id: RatePlanId) -> Result<RatePlan, Problem> {
    let plan = plans::summary(conn, id).await?.ok_or_else(Problem::not_found)?;
    let latest = plans::find_version(conn, plan.version_id).await?.ok_or_else(Problem::not_found)?;
    Ok(RatePlan { plan: plan.into(), rules: latest.rules.0 })
}

pub async fn create(
    ctx: RequestCtx,
    Body(Checked(body)): Body<Checked<RatePlanCreate>, MAX_PLAN_BYTES>,
) -> Result<Committed<Created<RatePlan>>, Problem> {
    let id: RatePlanId = ctx.new_id();
    ctx.audit_note("rate_plan_id", id.to_string());
    ctx.commit((body.plan(id, ctx.now), body.version(id, ctx.now)), |tx, (plan, version)| {
        Box::pin(async move {
            if !plans::insert_plan(tx, plan).await? {
                return Err(name_is_taken(plan));
            }
            plans::record_version(tx, version).await?;
            Ok(Created(view(tx, plan.id).await?))
        })
    })
    .await
}

fn name_is_taken(plan: &PlanRow) -> Problem {
    Problem::resource_in_use(format!("Another rate plan has the name {}.", plan.name))
}

/// A change of a plan, checked before its transaction.
struct Draft {
    id: RatePlanId,
    changes: RatePlanUpdate,
    /// The new version, if there is to be one.
    version: Option<NewVersion>,
    /// The version of the plans that it was checked with.
    plans_version: i64,
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<RatePlanId>,
    Body(Checked(changes)): Body<Checked<RatePlanUpdate>, MAX_PLAN_BYTES>,
) -> Result<Committed<VolatileJson<RatePlan>>, Problem> {
    ctx.audit_note("rate_plan_id", id.to_string());
    let draft = draft(&ctx, id, changes).await?;
    ctx.commit(draft, |tx, draft| Box::pin(apply(tx, draft))).await
}

async fn draft(ctx: &RequestCtx, id: RatePlanId, changes: RatePlanUpdate) -> Result<Draft, Problem> {
    let cached = ctx.app.plans.current(&ctx.app.db).await?;
    let mut conn = ctx.app.db.read().await?;
    let plan = plans::find(&mut conn, id).await?.ok_or_else(Problem::not_found)?;
    let latest = plans::latest_version(&mut conn, id).await?.ok_or_else(Problem::not_found)?;
    let customers_notice = plans::longest_notice(&mut conn, id, DEFAULT_NOTICE_DAYS).await?;
    let timeline = PlanTimeline::default().with_plan(&mut conn, id).await?;
    let version = changes.version_after(&latest, ctx.now);
    let mut after = plan.clone();
    changes.apply_to_plan(&mut after, ctx.now);
    if let (Some(new), Some(days), false) = (&version, customers_notice, changes.waive_notice) {
        let days = days.max(plan.notice_days).max(after.notice_days);
        let end = notice::end(ctx.now, days);
        let compiled = Arc::new(new.compile().map_err(Problem::internal)?);
        let mut steps = Vec::new();
        let later = timeline.changes_between(new.effective_at, end);
        for at in std::iter::once(new.effective_at).filter(|at| *at < end).chain(later) {
            let before = timeline.version_at(id, PastTime::known_now(at)).map(|(version, _)| version);
            let before = notice::compiled(&cached, &mut conn, before).await?;
            steps.push(Step { at, before, after: Some(Arc::clone(&compiled)) });
        }
        drop(conn);
        let decks = Notice::of_days(days);
        notice::require(&ctx.app, steps, end, (decks.clone(), decks)).await?;
    }
    Ok(Draft { id, changes, version, plans_version: cached.version() })
}

async fn apply(tx: &mut Tx<'_>, draft: &Draft) -> Result<VolatileJson<RatePlan>, Problem> {
    let (ctx, Draft { id, changes, version, plans_version }) = (tx.ctx, draft);
    if plans::lock(tx).await? != *plans_version {
        return Err(Problem::unavailable(CHANGING));
    }
    let before = view(tx, *id).await?;
    tx.expect_stable_version(&before)?;
    let mut plan = plans::find(tx, *id).await?.ok_or_else(Problem::not_found)?;
    changes.apply_to_plan(&mut plan, ctx.now);
    if !plans::save_plan(tx, &plan).await? {
        return Err(name_is_taken(&plan));
    }
    if let Some(new) = version {
        let recorded = plans::record_version(tx, new).await?;
        ctx.audit_note("version", recorded.number);
        ctx.audit_note("effective_at", Rfc3339(recorded.effective_at).to_string());
        note_waiver(ctx, changes.reason.as_deref());
        if before.plan.customers > 0 {
            let period = price_notices::moment(recorded.effective_at);
            price_notices::announce(tx, ChangeCause::RatePlan, Audience::Plan(*id), period).await?;
        }
    }
    let after = view(tx, *id).await?;
    ctx.audit_change("name", before.plan.name.to_string(), after.plan.name.to_string());
    ctx.audit_change("notice_days", before.plan.notice_days, after.plan.notice_days);
    Ok(VolatileJson(after))
}

/// Adds the reason to the audit row if the notice was waived.
fn note_waiver(ctx: &RequestCtx, reason: Option<&str>) {
    if let Some(reason) = reason {
        ctx.audit_note("waive_notice", reason);
    }
}

pub async fn delete(ctx: RequestCtx, Path(id): Path<RatePlanId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("rate_plan_id", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            plans::lock(tx).await?;
            let plan = view(tx, *id).await?;
            tx.expect_stable_version(&plan)?;
            if plans::is_assigned(tx, *id).await? {
                let detail = "Customers have this rate plan or had it, and past charges refer to it; move them to \
                              another plan instead.";
                return Err(Problem::resource_in_use(detail));
            }
            plans::delete(tx, *id).await?;
            Ok(NoContent)
        })
    })
    .await
}
