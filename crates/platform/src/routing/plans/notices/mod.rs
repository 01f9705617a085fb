//! How long customers know of an increase before it counts: the longer of what was agreed with the customer and what its
//! plan says.
//!
//! Both are append-only, so an increase keeps the notice of the time when it was announced.

mod store;

pub use store::{delete, record};

use std::collections::HashMap;

use rating::{Notice, UnixMillis};

use crate::routing::tariff::DEFAULT_NOTICE_DAYS;
use db::{Conn, DbError};
use values::{AccountId, RatePlanId, Time};

/// The notices of all customers.
pub struct Notices {
    /// Where nothing else was agreed.
    default: Notice,
    plans: HashMap<RatePlanId, PlanNotice>,
    /// Those that were agreed with a customer.
    customers: HashMap<AccountId, Notice>,
}

struct PlanNotice {
    own: Notice,
    /// Of customers with whom nothing else was agreed.
    or_default: Notice,
}

impl Notices {
    pub async fn load(conn: &mut Conn) -> Result<Notices, DbError> {
        let default = Notice::of_days(DEFAULT_NOTICE_DAYS);
        let mut plans: HashMap<RatePlanId, Vec<(UnixMillis, UnixMillis)>> = HashMap::new();
        for (plan, since, days) in store::of_plans(conn).await? {
            plans.entry(plan).or_default().push(step(since, days));
        }
        let mut customers: HashMap<AccountId, Vec<(UnixMillis, UnixMillis)>> = HashMap::new();
        for (customer, since, days) in store::of_customers(conn).await? {
            let first = || vec![(UnixMillis::MIN, DEFAULT_NOTICE_DAYS * Notice::DAY_MILLIS)];
            customers.entry(customer).or_insert_with(first).push(step(since, days));
        }
        let plans = plans.into_iter().map(|(plan, steps)| {
            let own = Notice::changing(steps);
            (plan, PlanNotice { or_default: own.longer(&default), own })
        });
        let customers = customers.into_iter().map(|(customer, steps)| (customer, Notice::changing(steps)));
        Ok(Notices { plans: plans.collect(), customers: customers.collect(), default })
    }

    /// The notice of a customer with a plan, or without one.
    pub fn of(&self, customer: AccountId, plan: Option<RatePlanId>) -> Notice {
        let plan = plan.and_then(|plan| self.plans.get(&plan));
        match (self.customers.get(&customer), plan) {
            (None, None) => self.default.clone(),
            (None, Some(plan)) => plan.or_default.clone(),
            (Some(agreed), None) => agreed.clone(),
            (Some(agreed), Some(plan)) => agreed.longer(&plan.own),
        }
    }

    /// The notice where nothing else was agreed.
    pub fn default(&self) -> Notice {
        self.default.clone()
    }
}

fn step(since: Time, days: i64) -> (UnixMillis, UnixMillis) {
    (since.millis(), days * Notice::DAY_MILLIS)
}
