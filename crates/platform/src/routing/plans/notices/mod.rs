//! How long customers know of an increase by a deck before it counts: on a plan the longer of what was agreed with the
//! customer and what the plan says, without a plan what was agreed. Without either, decks reach a customer at once.
//!
//! Plans and agreements are append-only, so an increase keeps the notice of the time when it was announced.

mod store;

pub use store::{delete, record};

use std::collections::HashMap;

use rating::{Notice, UnixMillis};

use crate::routing::tariff::DEFAULT_NOTICE_DAYS;
use db::{Conn, DbError};
use values::{AccountId, RatePlanId, Time};

/// Since when, and how long in milliseconds.
type Step = (UnixMillis, UnixMillis);

/// The notices of all customers.
pub struct Notices {
    plans: HashMap<RatePlanId, PlanNotice>,
    customers: HashMap<AccountId, AgreedNotice>,
}

struct PlanNotice {
    own: Notice,
    /// Of customers with whom nothing else was agreed.
    or_default: Notice,
}

/// What was agreed with a customer. Before that, the default counts on a plan, and nothing without one.
struct AgreedNotice {
    on_plan: Notice,
    on_list: Notice,
}

impl Notices {
    pub async fn load(conn: &mut Conn) -> Result<Notices, DbError> {
        Ok(Notices::new(store::of_plans(conn).await?, store::of_customers(conn).await?))
    }

    /// From what plans say and customers were promised: since when, and how many days.
    fn new(of_plans: Vec<(RatePlanId, Time, i64)>, of_customers: Vec<(AccountId, Time, i64)>) -> Notices {
        let mut plans: HashMap<RatePlanId, Vec<Step>> = HashMap::new();
        for (plan, since, days) in of_plans {
            plans.entry(plan).or_default().push(step(since, days));
        }
        let mut customers: HashMap<AccountId, Vec<Step>> = HashMap::new();
        for (customer, since, days) in of_customers {
            customers.entry(customer).or_default().push(step(since, days));
        }
        let default = Notice::of_days(DEFAULT_NOTICE_DAYS);
        let plans = plans.into_iter().map(|(plan, steps)| {
            let own = Notice::changing(steps);
            (plan, PlanNotice { or_default: own.longer(&default), own })
        });
        let customers = customers.into_iter().map(|(customer, steps)| {
            let (on_plan, on_list) = (agreed(DEFAULT_NOTICE_DAYS, &steps), agreed(0, &steps));
            (customer, AgreedNotice { on_plan, on_list })
        });
        Notices { plans: plans.collect(), customers: customers.collect() }
    }

    /// The notice of a customer with a plan, or without one.
    pub fn of(&self, customer: AccountId, plan: Option<RatePlanId>) -> Notice {
        let plan = plan.and_then(|plan| self.plans.get(&plan));
        match (self.customers.get(&customer), plan) {
            (None, None) => Notice::default(),
            (None, Some(plan)) => plan.or_default.clone(),
            (Some(agreed), None) => agreed.on_list.clone(),
            (Some(agreed), Some(plan)) => agreed.on_plan.longer(&plan.own),
        }
    }
}

/// A notice that was agreed, and of so many days before that.
fn agreed(days_before: i64, steps: &[Step]) -> Notice {
    let before = (UnixMillis::MIN, days_before * Notice::DAY_MILLIS);
    Notice::changing(std::iter::once(before).chain(steps.iter().copied()).collect())
}

fn step(since: Time, days: i64) -> Step {
    (since.millis(), days * Notice::DAY_MILLIS)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// How many days an increase is announced ahead on these days.
    fn days(notice: &Notice, on: [i64; 3]) -> [i64; 3] {
        on.map(|day| notice.end(day * Notice::DAY_MILLIS) / Notice::DAY_MILLIS - day)
    }

    #[test]
    fn decks_are_bound_by_the_plan_or_by_what_was_agreed_from_then_on() {
        let day = |day: i64| Time::from_millis(day * Notice::DAY_MILLIS);
        let customer = |id| AccountId::new(Uuid::from_u128(id));
        let [short, long] = [1, 2].map(|id| RatePlanId::new(Uuid::from_u128(id)));
        let of_plans = vec![(short, day(0), 3), (long, day(0), 14), (long, day(20), 10)];
        let of_customers = vec![(customer(1), day(10), 2), (customer(1), day(20), 30)];
        let notices = Notices::new(of_plans, of_customers);
        let of = |id, plan| days(&notices.of(customer(id), plan), [5, 15, 25]);
        assert_eq!(of(1, None), [0, 2, 30]);
        assert_eq!(of(1, Some(short)), [7, 3, 30]);
        assert_eq!(of(1, Some(long)), [14, 14, 30]);
        assert_eq!(of(2, Some(short)), [7, 7, 7]);
        assert_eq!(of(2, Some(long)), [14, 14, 10]);
        assert!(!notices.of(customer(2), None).is_any());
    }
}
