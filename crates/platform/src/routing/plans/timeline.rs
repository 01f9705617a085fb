//! Which version of which plan counts for a customer at a time.

use std::collections::{BTreeSet, HashMap};

use super::store::{self, Assignment, VersionTimes};
use crate::routing::tariff::PastTime;
use db::{Conn, DbError};
use values::{AccountId, RatePlanId, RatePlanVersionId, Time};

/// Assignments of customers and versions of plans, each in the order in which they were written.
#[derive(Debug, Default)]
pub struct PlanTimeline {
    assignments: HashMap<AccountId, Vec<Assignment>>,
    versions: HashMap<RatePlanId, Vec<VersionTimes>>,
}

/// The version in force for a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    pub version_id: RatePlanVersionId,
    pub rate_plan_id: RatePlanId,
    /// Since when the customer has this version.
    pub since: Time,
}

impl PlanTimeline {
    /// Everything about one customer.
    pub async fn of_account(conn: &mut Conn, account: AccountId) -> Result<PlanTimeline, DbError> {
        let assignments = store::assignments_of(conn, account).await?;
        if assignments.is_empty() {
            return Ok(PlanTimeline::default());
        }
        Ok(PlanTimeline::new(assignments, store::versions_for(conn, account).await?))
    }

    /// Everything about all customers.
    pub async fn of_all(conn: &mut Conn) -> Result<PlanTimeline, DbError> {
        PlanTimeline::since(conn, Time::from_millis(i64::MIN)).await
    }

    /// What counts at a time or later.
    pub(super) async fn since(conn: &mut Conn, at: Time) -> Result<PlanTimeline, DbError> {
        Ok(PlanTimeline::new(store::assignments_since(conn, at).await?, store::versions_since(conn, at).await?))
    }

    /// Adds the versions of a plan.
    pub async fn with_plan(mut self, conn: &mut Conn, plan: RatePlanId) -> Result<PlanTimeline, DbError> {
        self.versions.insert(plan, store::versions_of(conn, plan).await?);
        Ok(self)
    }

    fn new(assignments: Vec<Assignment>, versions: Vec<VersionTimes>) -> PlanTimeline {
        let mut timeline = PlanTimeline::default();
        for assignment in assignments {
            timeline.assignments.entry(assignment.account_id).or_default().push(assignment);
        }
        for version in versions {
            timeline.versions.entry(version.rate_plan_id).or_default().push(version);
        }
        timeline
    }

    /// The ids of all versions.
    pub fn versions(&self) -> impl Iterator<Item = RatePlanVersionId> {
        self.versions.values().flatten().map(|version| version.id)
    }

    /// The times after one and before another at which something begins.
    pub fn changes_between(&self, after: Time, before: Time) -> BTreeSet<Time> {
        let assignments = self.assignments.values().flatten().map(|assignment| assignment.effective_at);
        let versions = self.versions.values().flatten().map(|version| version.effective_at);
        assignments.chain(versions).filter(|at| after < *at && *at < before).collect()
    }

    /// The version of a plan in force at a time, and since when.
    pub fn version_at(&self, plan: RatePlanId, moment: PastTime) -> Option<(RatePlanVersionId, Time)> {
        let mut versions = self.versions.get(&plan)?.iter().rev();
        let found = versions.find(|one| has_begun(one.effective_at, one.recorded_at, moment))?;
        Some((found.id, found.effective_at))
    }

    /// The version in force for a customer; none for the list price.
    pub fn at(&self, account: AccountId, moment: PastTime) -> Option<InForce> {
        let mut assignments = self.assignments.get(&account)?.iter().rev();
        let assignment = assignments.find(|one| has_begun(one.effective_at, one.recorded_at, moment))?;
        let rate_plan_id = assignment.rate_plan_id?;
        let (version_id, since) = self.version_at(rate_plan_id, moment)?;
        Some(InForce { version_id, rate_plan_id, since: since.max(assignment.effective_at) })
    }
}

/// Whether something counts at a time and was known then.
fn has_begun(effective_at: Time, recorded_at: Time, moment: PastTime) -> bool {
    effective_at <= moment.at() && recorded_at <= moment.known_at()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use uuid::Uuid;

    use super::*;

    fn time(millis: i64) -> Time {
        Time::from_millis(millis)
    }

    fn plan(id: u128) -> RatePlanId {
        RatePlanId::new(Uuid::from_u128(id))
    }

    fn version(id: u128, of: u128, effective_at: i64, recorded_at: i64) -> VersionTimes {
        let (id, rate_plan_id) = (RatePlanVersionId::new(Uuid::from_u128(id)), plan(of));
        VersionTimes { id, rate_plan_id, effective_at: time(effective_at), recorded_at: time(recorded_at) }
    }

    fn assignment(to: Option<u128>, effective_at: i64, recorded_at: i64) -> Assignment {
        let (account_id, rate_plan_id) = (AccountId::new(Uuid::nil()), to.map(plan));
        Assignment { account_id, rate_plan_id, effective_at: time(effective_at), recorded_at: time(recorded_at) }
    }

    fn at(timeline: &PlanTimeline, moment: PastTime) -> Option<(u128, i64)> {
        let found = timeline.at(AccountId::new(Uuid::nil()), moment)?;
        Some((found.version_id.uuid().as_u128(), found.since.millis()))
    }

    #[test]
    fn what_was_written_last_replaces_what_was_planned_for_later() {
        let assignments = vec![assignment(Some(1), 10, 10), assignment(None, 50, 40)];
        let versions = vec![version(1, 1, 5, 5), version(2, 1, 30, 12), version(3, 1, 20, 15)];
        let timeline = PlanTimeline::new(assignments, versions);
        let now = |millis| at(&timeline, PastTime::known_now(time(millis)));
        assert_eq!(now(9), None);
        assert_eq!(now(10), Some((1, 10)));
        assert_eq!(now(19), Some((1, 10)));
        assert_eq!(now(20), Some((3, 20)));
        // The second version was planned for 30 and is void.
        assert_eq!(now(30), Some((3, 20)));
        assert_eq!(now(50), None);
    }
}
