//! Rate plans: which customer pays which prices, now and at any past time.
//!
//! A plan has versions, and a customer has assignments; both are append-only, each with the time from which it counts.
//! Of those that have begun, the one that was written last counts, so a new version also replaces what was planned for
//! later. None begins before it is written, so the plan of a past time never changes. A customer without a plan pays
//! the list price.
//!
//! Every node has the plans of now and later in a [`Cached`](crate::routing::cache::Cached); customers of a plan share
//! one compiled version. Those of the past are read from the database, through a [`PlanTimeline`]. The `rating` crate
//! computes the prices.

mod notices;
mod rules;
mod store;
mod timeline;

pub use rules::{PlanBase, PriceRule, RateRule, RuleMatch};
pub use store::{
    AssignmentRow, NewAssignment, NewVersion, PlanRow, PlanSummary, VersionRow, assignments_before, customers_after,
    delete, find, find_version, insert_plan, is_assigned, latest_version, list, lock, longest_notice,
    record_assignment, record_version, save_plan, summary,
};
pub use timeline::{InForce, PlanTimeline};

use std::collections::HashMap;
use std::sync::Arc;

use rating::Notice;

use crate::routing::cache::{self, Versioned};
use crate::routing::tariff::{PastTime, Prices};
use db::{Conn, Db, DbError};
use notices::Notices;
use values::{AccountId, RatePlanId, RatePlanVersionId, Time};

/// The row in `versions`.
const NAME: &str = "rate_plans";

/// How far back a node knows plans by heart, so that a request that began a moment ago finds the plan of then.
const REMEMBERED_MILLIS: i64 = 3_600_000;

/// The plans of now and later.
pub struct Plans {
    version: i64,
    /// Before this time the timeline has gaps.
    since: Time,
    timeline: PlanTimeline,
    compiled: HashMap<RatePlanVersionId, Arc<rating::Plan>>,
    notices: Notices,
}

/// The plan of a customer at a time.
#[derive(Clone, Debug)]
pub struct CustomerPlan {
    pub in_force: InForce,
    pub plan: Arc<rating::Plan>,
}

/// What makes the prices of a customer from the tariff; by default the list price, whose increases need no notice.
#[derive(Clone, Default, Debug)]
pub struct CustomerPricing {
    /// None for the list price.
    pub plan: Option<CustomerPlan>,
    /// How long before an increase by a deck the customer knows of it.
    pub notice: Notice,
}

impl CustomerPricing {
    /// The prices that the customer pays.
    pub fn apply(&self, prices: Prices) -> Prices {
        let plan = self.plan.as_ref().map(|plan| Arc::clone(&plan.plan));
        prices.with_plan(plan).with_notice(self.notice.clone())
    }
}

impl Versioned for Plans {
    const NAME: &'static str = NAME;

    fn version(&self) -> i64 {
        self.version
    }

    async fn load(db: &Db, before: Option<Arc<Self>>) -> Result<Self, DbError> {
        db.snapshot(before, |conn, before| Box::pin(load(conn, before.as_deref()))).await
    }
}

/// The plans of now and later. Versions that the node has compiled before are taken from there.
async fn load(conn: &mut Conn, before: Option<&Plans>) -> Result<Plans, DbError> {
    let version = cache::version(conn, NAME).await?;
    let since = Time::from_millis(conn.now().millis() - REMEMBERED_MILLIS);
    let timeline = PlanTimeline::since(conn, since).await?;
    let mut compiled = HashMap::new();
    for id in timeline.versions() {
        let plan = match before.and_then(|before| before.compiled.get(&id)) {
            Some(known) => Arc::clone(known),
            None => compile_stored(conn, id).await?,
        };
        compiled.insert(id, plan);
    }
    Ok(Plans { version, since, timeline, compiled, notices: Notices::load(conn).await? })
}

impl Plans {
    /// The plan of a customer, now or later; none for the list price.
    pub fn of(&self, account: AccountId, at: Time) -> Option<CustomerPlan> {
        let in_force = self.timeline.at(account, PastTime::known_now(at))?;
        let plan = Arc::clone(self.compiled.get(&in_force.version_id)?);
        Some(CustomerPlan { in_force, plan })
    }

    /// What makes the prices of a customer, now or later.
    pub fn pricing(&self, account: AccountId, at: Time) -> CustomerPricing {
        self.pricing_by(account, self.of(account, at))
    }

    /// The same at any time.
    pub async fn pricing_at(
        &self,
        conn: &mut Conn,
        account: AccountId,
        moment: PastTime,
    ) -> Result<CustomerPricing, DbError> {
        Ok(self.pricing_by(account, self.at(conn, account, moment).await?))
    }

    /// The same of a customer with this plan.
    pub fn pricing_by(&self, account: AccountId, plan: Option<CustomerPlan>) -> CustomerPricing {
        let notice = self.notice(account, plan.as_ref().map(|plan| plan.in_force.rate_plan_id));
        CustomerPricing { plan, notice }
    }

    /// The notice of increases by decks of a customer with a plan, or without one.
    pub fn notice(&self, account: AccountId, plan: Option<RatePlanId>) -> Notice {
        self.notices.of(account, plan)
    }

    /// Whether [`Plans::of`] knows the plans of a time.
    pub fn knows(&self, at: Time) -> bool {
        at >= self.since
    }

    /// The compiled version, from memory or from the database.
    pub async fn compiled(&self, conn: &mut Conn, id: RatePlanVersionId) -> Result<Arc<rating::Plan>, DbError> {
        match self.compiled.get(&id) {
            Some(known) => Ok(Arc::clone(known)),
            None => compile_stored(conn, id).await,
        }
    }

    /// The plan of a customer at any time, as it was known then.
    pub async fn at(
        &self,
        conn: &mut Conn,
        account: AccountId,
        moment: PastTime,
    ) -> Result<Option<CustomerPlan>, DbError> {
        let timeline = PlanTimeline::of_account(conn, account).await?;
        let Some(in_force) = timeline.at(account, moment) else { return Ok(None) };
        let plan = self.compiled(conn, in_force.version_id).await?;
        Ok(Some(CustomerPlan { in_force, plan }))
    }
}

async fn compile_stored(conn: &mut Conn, id: RatePlanVersionId) -> Result<Arc<rating::Plan>, DbError> {
    let stored = find_version(conn, id).await?.ok_or_else(|| DbError::other("the version of a rate plan is gone"))?;
    Ok(Arc::new(stored.compile().map_err(DbError::other)?))
}
