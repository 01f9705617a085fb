//! `/admin/customers/{id}/rate-plan`: the plan of a customer, and its history.

use std::collections::{HashMap, HashSet};

use super::notice::{self, Step};
use super::types::{CustomerRatePlan, RatePlanAssign, RatePlanAssignment};
use super::{CHANGING, note_waiver};
use crate::price_notices::{self, Audience, ChangeCause};
use api::answer::Json;
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
use api::input::{Body, Path};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::onboarding;
use platform::routing::cache::Versioned;
use platform::routing::plans::{self, NewAssignment, PlanTimeline};
use platform::routing::tariff::{DEFAULT_NOTICE_DAYS, PastTime};
use values::{AccountId, Change, RatePlanId, Rfc3339, Text};

/// Assignments that are shown.
const MAX_HISTORY: i64 = 200;

pub async fn history(mut ctx: ReadCtx, Path(customer): Path<AccountId>) -> Result<Json<CustomerRatePlan>, Problem> {
    onboarding::require_customer(&mut ctx, customer).await?;
    Ok(Json(view(&mut ctx, customer).await?))
}

async fn view(conn: &mut Conn, customer: AccountId) -> Result<CustomerRatePlan, DbError> {
    let now = PastTime::known_now(conn.now());
    let in_force = PlanTimeline::of_account(conn, customer).await?.at(customer, now);
    let rows = plans::assignments_before(conn, customer, i64::MAX, MAX_HISTORY).await?;
    let plan_id = in_force.map(|in_force| in_force.rate_plan_id);
    let names = names(conn, rows.iter().filter_map(|row| row.rate_plan_id).chain(plan_id).collect()).await?;
    let name = |id: Option<RatePlanId>| id.and_then(|id| names.get(&id).cloned());
    Ok(CustomerRatePlan {
        customer_id: customer.uuid(),
        rate_plan_id: plan_id,
        rate_plan_name: name(plan_id),
        rate_plan_version_id: in_force.map(|in_force| in_force.version_id),
        notice_days: rows.first().and_then(|latest| latest.notice_days).unwrap_or(DEFAULT_NOTICE_DAYS),
        history: rows.into_iter().map(|row| RatePlanAssignment::new(name(row.rate_plan_id), row)).collect(),
    })
}

/// The names of plans; a history has few different ones.
async fn names(conn: &mut Conn, ids: HashSet<RatePlanId>) -> Result<HashMap<RatePlanId, Text<1, 100>>, DbError> {
    let mut names = HashMap::new();
    for id in ids {
        if let Some(plan) = plans::find(conn, id).await? {
            names.insert(id, plan.name);
        }
    }
    Ok(names)
}

/// An assignment, checked before its transaction.
struct Draft {
    assignment: NewAssignment,
    /// Whether anything changes for the customer.
    is_change: bool,
    /// The version of the plans that it was checked with.
    plans_version: i64,
}

pub async fn assign(
    ctx: RequestCtx,
    Path(customer): Path<AccountId>,
    Body(Checked(request)): Body<Checked<RatePlanAssign>>,
) -> Result<Committed<Json<CustomerRatePlan>>, Problem> {
    ctx.audit_account(customer);
    let draft = draft(&ctx, customer, &request).await?;
    ctx.commit(draft, |tx, draft| Box::pin(apply(tx, draft))).await
}

async fn draft(ctx: &RequestCtx, customer: AccountId, request: &RatePlanAssign) -> Result<Draft, Problem> {
    let cached = ctx.app.plans.current(&ctx.app.db).await?;
    let mut conn = ctx.app.db.read().await?;
    onboarding::require_customer(&mut conn, customer).await?;
    let effective_at = request.effective_at.map_or(ctx.now, |Rfc3339(at)| at);
    let mut timeline = PlanTimeline::of_account(&mut conn, customer).await?;
    let in_force = |timeline: &PlanTimeline, at| timeline.at(customer, PastTime::known_now(at));
    let old = in_force(&timeline, effective_at).map(|in_force| in_force.rate_plan_id);
    let rate_plan_id = match request.rate_plan_id {
        Change::Set(id) => id,
        Change::Absent => old,
    };
    let latest = plans::assignments_before(&mut conn, customer, i64::MAX, 1).await?.into_iter().next();
    let promised = latest.and_then(|latest| latest.notice_days);
    // A notice that this request shortens still counts for it.
    let mut days = promised.unwrap_or(DEFAULT_NOTICE_DAYS).max(request.notice_days.unwrap_or(0));
    for id in [old, rate_plan_id].into_iter().flatten() {
        let found = plans::find(&mut conn, id).await?;
        let mut faults = Faults::default();
        faults.unless(found.is_some(), "rate_plan_id", "does not name a rate plan");
        faults.into_result()?;
        days = days.max(found.map_or(0, |plan| plan.notice_days));
    }
    if let Some(id) = rate_plan_id {
        timeline = timeline.with_plan(&mut conn, id).await?;
        let has_begun = timeline.version_at(id, PastTime::known_now(effective_at)).is_some();
        let mut faults = Faults::default();
        faults.unless(has_begun, "effective_at", "must not be before the plan itself takes effect");
        faults.into_result()?;
    }
    let end = notice::end(ctx.now, days);
    if !request.waive_notice && effective_at < end {
        let mut steps = Vec::new();
        let later = timeline.changes_between(effective_at, end);
        for at in std::iter::once(effective_at).chain(later) {
            let before = in_force(&timeline, at).map(|in_force| in_force.version_id);
            let after = rate_plan_id.and_then(|id| timeline.version_at(id, PastTime::known_now(at)));
            steps.push(Step {
                at,
                before: notice::compiled(&cached, &mut conn, before).await?,
                after: notice::compiled(&cached, &mut conn, after.map(|(version, _)| version)).await?,
            });
        }
        drop(conn);
        let decks = (cached.notice(customer, old), cached.notice(customer, rate_plan_id));
        notice::require(&ctx.app, steps, end, decks).await?;
    }
    let waive_reason = request.reason.as_ref().map(ToString::to_string);
    let notice_days = request.notice_days.or(promised);
    let assignment = NewAssignment { account_id: customer, rate_plan_id, effective_at, notice_days, waive_reason };
    Ok(Draft { assignment, is_change: old != rate_plan_id, plans_version: cached.version() })
}

async fn apply(tx: &mut Tx<'_>, draft: &Draft) -> Result<Json<CustomerRatePlan>, Problem> {
    let (ctx, Draft { assignment, is_change, plans_version }) = (tx.ctx, draft);
    if plans::lock(tx).await? != *plans_version {
        return Err(Problem::unavailable(CHANGING));
    }
    let customer = assignment.account_id;
    let before = view(tx, customer).await?;
    tx.expect_version(&before)?;
    let recorded = plans::record_assignment(tx, assignment).await?;
    let text = |id: Option<RatePlanId>| id.map(|id| id.to_string());
    ctx.audit_change("rate_plan_id", text(before.rate_plan_id), text(recorded.rate_plan_id));
    ctx.audit_note("effective_at", Rfc3339(recorded.effective_at).to_string());
    note_waiver(ctx, recorded.waive_reason.as_deref());
    if *is_change {
        let period = price_notices::moment(recorded.effective_at);
        price_notices::announce(tx, ChangeCause::Assignment, Audience::Customer(customer), period).await?;
    }
    Ok(Json(view(tx, customer).await?))
}
