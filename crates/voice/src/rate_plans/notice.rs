//! The notice of an increase: no price rises before the customers concerned have known of it for long enough.
//!
//! A change is compared with what the customers would pay without it, prefix by prefix over the whole tariff: when it
//! begins, and at every change that was already planned before the notice ends. An increase is any higher price per
//! minute, connect fee, increment or minimum. What the notice of a deck holds counts on both sides, so that another plan
//! with a shorter one does not lift it. The comparison runs before the transaction, which then refuses to commit if any
//! plan has changed since.

use std::sync::Arc;
use std::time::Duration;

use rating::{Increase, Notice, Plan};

use api::faults::Faults;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use platform::app::App;
use platform::routing::plans::Plans;
use platform::routing::tariff::Tariff;
use values::{RatePlanVersionId, Rfc3339, Time};

const HOUR_MILLIS: i64 = 3_600_000;
const DAY_SECONDS: u64 = 86_400;

/// What customers pay from a time on, without a change and with it. No plan is the list price.
pub struct Step {
    pub at: Time,
    pub before: Option<Arc<Plan>>,
    pub after: Option<Arc<Plan>>,
}

/// When the notice of a change that is made now ends.
pub fn end(now: Time, days: i64) -> Time {
    now.plus(Duration::from_secs(u64::try_from(days).unwrap_or_default() * DAY_SECONDS))
}

/// The version of a plan to compare with; none for the list price.
pub async fn compiled(
    cached: &Plans,
    conn: &mut Conn,
    version: Option<RatePlanVersionId>,
) -> Result<Option<Arc<Plan>>, DbError> {
    match version {
        Some(version) => Ok(Some(cached.compiled(conn, version).await?)),
        None => Ok(None),
    }
}

/// Refuses a change that raises a price before its notice ends. `decks` are the notices of increases by decks, without
/// the change and with it.
pub async fn require(app: &App, steps: Vec<Step>, end: Time, decks: (Notice, Notice)) -> Result<(), Problem> {
    let tariff = app.tariff.current(&app.db).await?;
    let compared = move || steps.iter().find_map(|step| step.increase(&tariff, &decks));
    let compared = tokio::task::spawn_blocking(compared).await;
    let Some(Increase { prefix, .. }) = compared.map_err(Problem::internal)? else { return Ok(()) };
    // A full hour, so that the moment is still good a little later.
    let hours = end.millis().div_euclid(HOUR_MILLIS) + i64::from(end.millis().rem_euclid(HOUR_MILLIS) > 0);
    let earliest = Rfc3339(Time::from_millis(hours * HOUR_MILLIS));
    let mut faults = Faults::default();
    faults.add(
        "effective_at",
        format!("must not be before {earliest}, since the price of {prefix} rises; or waive the notice with a reason"),
    );
    Err(faults.into())
}

impl Step {
    /// The first prefix whose price rises.
    fn increase(&self, tariff: &Tariff, decks: &(Notice, Notice)) -> Option<Increase> {
        let is_same = match (&self.before, &self.after) {
            (Some(before), Some(after)) => Arc::ptr_eq(before, after),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return None;
        }
        let prices = |plan: &Option<Arc<Plan>>, decks: &Notice| {
            tariff.prices(CURRENCY, |_| false).with_plan(plan.clone()).with_notice(decks.clone()).tariff
        };
        let (before, after) = (prices(&self.before, &decks.0), prices(&self.after, &decks.1));
        rating::increases(&before, &after, self.at.millis()).next()
    }
}
