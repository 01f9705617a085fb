//! Checks that calls were priced by the rate plan of their customer, and at the fixed amounts of its rules.
//!
//! The markups of rules need the tariff of the call, which the proof of price rebuilds.

use std::collections::HashMap;

use rating::RulePrice;

use super::Mismatch;
use super::store::PricedCdr;
use crate::cdrs::price_proof::decided_by;
use db::{Conn, DbError};
use platform::routing::plans::{self, PlanTimeline};
use platform::routing::tariff::PastTime;
use values::{RatePlanVersionId, Time};

/// A plan counts from the time at which its transaction began; a call may begin before others can see it.
const COMMIT_MILLIS: i64 = 60_000;

/// The plans of all customers at all times.
pub struct AllPlans {
    timeline: PlanTimeline,
    compiled: HashMap<RatePlanVersionId, rating::Plan>,
}

impl AllPlans {
    pub async fn load(conn: &mut Conn) -> Result<AllPlans, DbError> {
        let timeline = PlanTimeline::of_all(conn).await?;
        let mut compiled = HashMap::new();
        for id in timeline.versions() {
            if let Some(version) = plans::find_version(conn, id).await? {
                compiled.insert(id, version.compile().map_err(DbError::other)?);
            }
        }
        Ok(AllPlans { timeline, compiled })
    }

    pub fn check(&self, cdr: &PricedCdr) -> Option<Mismatch> {
        // A call without a rate has no plan.
        cdr.prefix.as_ref()?;
        self.check_version(cdr).or_else(|| self.check_amounts(cdr))
    }

    fn check_version(&self, cdr: &PricedCdr) -> Option<Mismatch> {
        let in_force = |at: Time| {
            let found = self.timeline.at(cdr.account_id, PastTime::known_now(at));
            found.map(|in_force| in_force.version_id)
        };
        let stored = cdr.rate_plan_version_id;
        let computed = in_force(cdr.started_at);
        if computed == stored {
            return None;
        }
        let earliest = Time::from_millis(cdr.started_at.millis() - COMMIT_MILLIS);
        let mut moments = std::iter::once(earliest).chain(self.timeline.changes_between(earliest, cdr.started_at));
        if moments.any(|at| in_force(at) == stored) {
            return None;
        }
        let text = |version: Option<RatePlanVersionId>| version.map_or("list price".to_owned(), |id| id.to_string());
        let (stored, computed) = (text(stored), text(computed));
        Some(Mismatch { what: "rate plan version", which: cdr.id.to_string(), stored, computed })
    }

    fn check_amounts(&self, cdr: &PricedCdr) -> Option<Mismatch> {
        let plan = self.compiled.get(&cdr.rate_plan_version_id?)?;
        let by = decided_by(plan, cdr.prefix.as_deref(), cdr.destination_name.as_deref(), cdr.country.as_deref())?;
        let rule = plan.rules().get(by.rule()?)?;
        let minute = match rule.price {
            RulePrice::PerMinute(nanos) => Some(nanos),
            RulePrice::Markup(_) => None,
        };
        let computed = [
            minute.unwrap_or(cdr.rate_per_minute),
            rule.connect_fee_nanos.unwrap_or(cdr.connect_fee),
            rule.increment_seconds.map_or(cdr.increment_seconds, i64::from),
            rule.minimum_seconds.map_or(cdr.minimum_seconds, i64::from),
        ];
        let stored = [cdr.rate_per_minute, cdr.connect_fee, cdr.increment_seconds, cdr.minimum_seconds];
        (stored != computed).then(|| Mismatch {
            what: "rate by plan",
            which: cdr.id.to_string(),
            stored: format!("{stored:?}"),
            computed: format!("{computed:?}"),
        })
    }
}
