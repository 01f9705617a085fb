//! Holding imports: a deck that changes too much waits until somebody decides.
//!
//! The policy of an upstream says what is too much; a deck that was mailed by somebody who may be anybody always waits. A held import has its impact and no deck; when it is applied, it runs
//! again without the policy, so it is built on the deck in force by then. It is rejected by a decision, or when a newer
//! deck comes into force.

mod store;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::impact::Impact;
use super::store as imports;
use super::types::{DeckImport, DeckImportId};
use crate::price_notices::check_waiver;
use crate::upstreams;
use api::answer::{Accepted, Json};
use api::checks::{Checked, Checks, Given};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, OptionalBody, Path, PathPair};
use api::problem::Problem;
use db::{Conn, DbError};
use values::{Text, UpstreamId, text_enum};

text_enum! {
    /// Why an import was held: too many prefixes change, a rate rises too much, destinations would be sold below cost, or
    /// the file arrived by mail whose sender may be forged.
    pub enum HoldReason {
        ChangedPrefixes = "changed_prefixes",
        RateIncrease = "rate_increase",
        BelowCost = "below_cost",
        UnverifiedSender = "unverified_sender",
    }
}

/// Which rate deck imports of an upstream wait for a decision.
#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldPolicy {
    /// Hold when more than this percentage of the prefixes change; null never. A first deck is not held for this.
    #[schemars(range(min = 0, max = 1000))]
    pub changed_percent: Option<i64>,
    /// Hold when the rate of a prefix rises by more than this percentage; null never.
    #[schemars(range(min = 0, max = 1000))]
    pub increase_percent: Option<i64>,
    /// Hold when destinations that were called in the last 30 days would fall below cost.
    #[serde(default)]
    pub below_cost: bool,
}

/// A policy in a request, where fields may be left out.
#[derive(Clone, Copy, Deserialize)]
#[serde(transparent)]
pub struct HoldPolicyInput(HoldPolicy);

impl JsonSchema for HoldPolicyInput {
    fn schema_name() -> Cow<'static, str> {
        "HoldPolicyInput".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        HoldPolicy::json_schema(generator)
    }
}

/// A decision for an import.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportApproval {
    /// Let increases reach customers before their notice ends; needs a `reason`.
    #[serde(default)]
    pub waive_notice: bool,
    /// Why the notice is waived; for the audit log.
    #[serde(default)]
    pub reason: Option<Text<1, 500>>,
}

impl Checks for ImportApproval {
    fn check(given: &Given<'_>) {
        check_waiver(given);
    }
}

/// A decision against an import.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRejection {
    /// Why the import is rejected; goes to the import and to the audit log.
    #[serde(default)]
    pub reason: Option<Text<1, 500>>,
}

impl HoldPolicy {
    /// Why an import with this impact is held, if it is.
    pub fn reasons(&self, impact: &Impact) -> Vec<HoldReason> {
        let Impact { added, removed, increased, decreased, unchanged, .. } = *impact;
        let before = i128::from(removed) + i128::from(increased) + i128::from(decreased) + i128::from(unchanged);
        let changed = i128::from(added) + i128::from(removed) + i128::from(increased) + i128::from(decreased);
        let changes = |limit: i64| before > 0 && changed * 100 > before * i128::from(limit);
        let rises = |limit: i64| {
            let rise = |(_, from, to): &(String, i64, i64)| {
                (i128::from(*to) - i128::from(*from)) * 100 > i128::from(*from) * i128::from(limit)
            };
            impact.steepest.as_ref().is_some_and(rise)
        };
        let checks = [
            (HoldReason::ChangedPrefixes, self.changed_percent.is_some_and(changes)),
            (HoldReason::RateIncrease, self.increase_percent.is_some_and(rises)),
            (HoldReason::BelowCost, self.below_cost && impact.falling_below_cost > 0),
        ];
        checks.into_iter().filter(|(_, holds)| *holds).map(|(reason, _)| reason).collect()
    }
}

/// The policy of an upstream; by default nothing is held.
pub async fn policy(conn: &mut Conn, upstream: UpstreamId) -> Result<HoldPolicy, DbError> {
    Ok(store::find(conn, upstream).await?.unwrap_or_default())
}

pub async fn show_policy(mut ctx: ReadCtx, Path(upstream): Path<UpstreamId>) -> Result<Json<HoldPolicy>, Problem> {
    upstreams::find(&mut ctx, upstream).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(policy(&mut ctx, upstream).await?))
}

pub async fn save_policy(
    ctx: RequestCtx,
    Path(upstream): Path<UpstreamId>,
    Body(HoldPolicyInput(wanted)): Body<HoldPolicyInput>,
) -> Result<Committed<Json<HoldPolicy>>, Problem> {
    ctx.audit_note("upstream_id", upstream.to_string());
    ctx.commit((upstream, wanted), |tx, (upstream, wanted)| {
        Box::pin(async move {
            upstreams::lock(tx, *upstream).await?.ok_or_else(Problem::not_found)?;
            let before = policy(tx, *upstream).await?;
            tx.expect_version(&before)?;
            store::save(tx, *upstream, wanted).await?;
            let ctx = tx.ctx;
            let value = |policy: &HoldPolicy| serde_json::to_value(policy).unwrap_or_default();
            ctx.audit_note("from", value(&before));
            ctx.audit_note("to", value(wanted));
            Ok(Json(*wanted))
        })
    })
    .await
}

/// Queues a held import again, this time without the policy.
pub async fn apply(
    ctx: RequestCtx,
    PathPair(upstream, id): PathPair<UpstreamId, DeckImportId>,
    OptionalBody(Checked(approval)): OptionalBody<Checked<ImportApproval>>,
) -> Result<Committed<Accepted<DeckImport>>, Problem> {
    note(&ctx, upstream, id);
    let waived = approval.reason.filter(|_| approval.waive_notice);
    if let Some(reason) = &waived {
        ctx.audit_note("waive_notice", reason.to_string());
    }
    ctx.commit((upstream, id, waived), |tx, (upstream, id, waived)| {
        Box::pin(async move {
            upstreams::lock(tx, *upstream).await?.ok_or_else(Problem::not_found)?;
            // It would come into force after that one, though it is older.
            if imports::is_running(tx, *upstream).await? {
                return Err(Problem::state_conflict(
                    "An import of this upstream is running. Try again when it has ended.",
                ));
            }
            if !imports::approve(tx, *upstream, *id, waived.as_deref()).await? {
                return Err(not_held(imports::find(tx, *upstream, *id).await?.is_some()));
            }
            super::enqueue(tx, *upstream).await?;
            let import = super::report(tx, *upstream, *id).await?.ok_or_else(Problem::not_found)?;
            Ok(Accepted(import))
        })
    })
    .await
}

pub async fn reject(
    ctx: RequestCtx,
    PathPair(upstream, id): PathPair<UpstreamId, DeckImportId>,
    OptionalBody(rejection): OptionalBody<ImportRejection>,
) -> Result<Committed<Json<DeckImport>>, Problem> {
    note(&ctx, upstream, id);
    if let Some(reason) = &rejection.reason {
        ctx.audit_note("reason", reason.to_string());
    }
    ctx.commit((upstream, id, rejection), |tx, (upstream, id, rejection)| {
        Box::pin(async move {
            upstreams::lock(tx, *upstream).await?.ok_or_else(Problem::not_found)?;
            if !imports::reject(tx, *upstream, *id, rejection.reason.as_deref()).await? {
                return Err(not_held(imports::find(tx, *upstream, *id).await?.is_some()));
            }
            let import = super::report(tx, *upstream, *id).await?.ok_or_else(Problem::not_found)?;
            Ok(Json(import))
        })
    })
    .await
}

fn note(ctx: &RequestCtx, upstream: UpstreamId, id: DeckImportId) {
    ctx.audit_note("upstream_id", upstream.to_string());
    ctx.audit_note("import_id", id.to_string());
}

fn not_held(exists: bool) -> Problem {
    match exists {
        true => Problem::state_conflict("The import is not held, so there is nothing to decide."),
        false => Problem::not_found(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impact(added: u64, increased: u64, unchanged: u64) -> Impact {
        Impact { added, increased, unchanged, ..Impact::default() }
    }

    #[test]
    fn each_limit_holds_what_exceeds_it_and_nothing_else() {
        let changed = HoldPolicy { changed_percent: Some(20), ..HoldPolicy::default() };
        assert!(changed.reasons(&impact(10, 10, 90)).is_empty());
        assert_eq!(changed.reasons(&impact(11, 10, 90)), [HoldReason::ChangedPrefixes]);
        assert!(changed.reasons(&impact(1000, 0, 0)).is_empty());
        let rises = HoldPolicy { increase_percent: Some(50), ..HoldPolicy::default() };
        let rise = |from, to| Impact { steepest: Some(("31".to_owned(), from, to)), ..impact(0, 1, 0) };
        assert!(rises.reasons(&rise(100, 150)).is_empty());
        assert_eq!(rises.reasons(&rise(100, 151)), [HoldReason::RateIncrease]);
        assert_eq!(rises.reasons(&rise(0, 1)), [HoldReason::RateIncrease]);
        let below = HoldPolicy { below_cost: true, ..HoldPolicy::default() };
        assert_eq!(below.reasons(&Impact { falling_below_cost: 1, ..impact(0, 1, 0) }), [HoldReason::BelowCost]);
        assert!(HoldPolicy::default().reasons(&Impact { falling_below_cost: 1, ..rise(0, 1) }).is_empty());
    }
}
