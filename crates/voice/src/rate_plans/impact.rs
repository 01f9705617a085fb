//! `/admin/rate-plans/{id}/impact`: what a plan would have made of the calls of the last 30 days.
//!
//! Rollups have no durations of single calls, which increments and minimums need. So every answered call is priced by the
//! latest version and the tariff of now, along the index of its account, up to a limit. The cost is that of the CDR.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rating::Prefix;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::cdrs::{AnsweredCall, each_answered};
use crate::rates::money;
use api::answer::Json;
use api::context::ReadCtx;
use api::input::{Path, Query};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use identity::names::Names;
use identity::onboarding;
use platform::routing::plans;
use platform::routing::tariff::Tariff;
use values::{AccountId, ExactMoney, RatePlanId, Rfc3339, Time, UpstreamId};

/// Days whose calls are priced, today included.
const DAYS: i64 = 30;
const DAY_MILLIS: i64 = 86_400_000;
/// Calls that are priced.
const MAX_CALLS: i64 = 500_000;
/// Customers whose calls are priced, and that are listed.
const MAX_CUSTOMERS: i64 = 200;
/// Destinations below cost that are listed.
const MAX_DESTINATIONS: usize = 200;

/// Whose calls are priced.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImpactQuery {
    /// Price the calls of this customer, whatever plan it has; without it, those of the customers of the plan.
    #[serde(default)]
    customer_id: Option<AccountId>,
}

/// What a rate plan would have made of past calls.
#[derive(Serialize, JsonSchema)]
pub struct RatePlanImpact {
    /// Number of the version of the plan, the latest one.
    version: i64,
    /// Since when calls count (RFC 3339, UTC): the last 30 UTC days, today included.
    from: Rfc3339,
    /// Whether every call counts; if not, the newest 500,000 calls of at most 200 customers do.
    is_complete: bool,
    /// Answered calls to destinations that are not sold any more; they count for nothing else.
    unpriced_calls: i64,
    /// All calls that count.
    total: ImpactSums,
    /// The calls of each customer.
    customers: Vec<CustomerImpact>,
    /// Destinations whose calls would have brought in less than they cost, the largest loss first; at most 200.
    below_cost: Vec<DestinationImpact>,
}

/// Calls as they were charged and as the plan would charge them.
#[derive(Serialize, JsonSchema)]
pub struct ImpactSums {
    /// Answered calls.
    calls: i64,
    /// Answered minutes.
    minutes: f64,
    /// What the calls cost.
    cost: ExactMoney,
    /// What the calls were charged.
    revenue: ExactMoney,
    /// What the calls were charged minus their cost.
    margin: ExactMoney,
    /// What the plan would charge.
    planned_revenue: ExactMoney,
    /// What the plan would charge minus the cost.
    planned_margin: ExactMoney,
}

/// The calls of a customer.
#[derive(Serialize, JsonSchema)]
pub struct CustomerImpact {
    /// Id of the customer.
    customer_id: Uuid,
    /// Name of the customer.
    customer_name: Option<String>,
    #[serde(flatten)]
    sums: ImpactSums,
}

/// The calls to a destination.
#[derive(Serialize, JsonSchema)]
pub struct DestinationImpact {
    /// Country of the destination (ISO 3166-1 alpha-2); null if the calls had no rate.
    country: Option<String>,
    /// Name of the destination; null if the calls had no rate.
    destination_name: Option<String>,
    #[serde(flatten)]
    sums: ImpactSums,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    calls: i64,
    seconds: i64,
    cost: i64,
    charge: i64,
    planned: i64,
}

impl Sums {
    fn add(&mut self, call: &AnsweredCall, planned: i64) {
        self.calls += 1;
        self.seconds = self.seconds.saturating_add(call.duration_seconds);
        self.cost = self.cost.saturating_add(call.cost);
        self.charge = self.charge.saturating_add(call.charge);
        self.planned = self.planned.saturating_add(planned);
    }

    fn loss(&self) -> i64 {
        self.cost.saturating_sub(self.planned)
    }
}

impl From<Sums> for ImpactSums {
    fn from(sums: Sums) -> Self {
        let money = |nanos| money(nanos, CURRENCY);
        ImpactSums {
            calls: sums.calls,
            minutes: sums.seconds as f64 / 60.0,
            cost: money(sums.cost),
            revenue: money(sums.charge),
            margin: money(sums.charge.saturating_sub(sums.cost)),
            planned_revenue: money(sums.planned),
            planned_margin: money(sums.planned.saturating_sub(sums.cost)),
        }
    }
}

type DestinationKey = (Option<String>, Option<String>);

/// The calls that were priced.
#[derive(Default)]
struct Tally {
    total: Sums,
    customers: HashMap<AccountId, Sums>,
    destinations: BTreeMap<DestinationKey, Sums>,
    unpriced: i64,
    is_complete: bool,
}

/// What the calls are priced by.
struct Pricing {
    tariff: rating::Tariff<UpstreamId>,
    now: Time,
}

impl Pricing {
    fn new(tariff: &Tariff, plan: rating::Plan, now: Time) -> Pricing {
        Pricing { tariff: tariff.prices(CURRENCY, |_| false).with_plan(Some(Arc::new(plan))).tariff, now }
    }

    /// The charge of a call; none if its number is not sold. An anonymised number has its prefix.
    fn charge(&self, call: &AnsweredCall) -> Option<i64> {
        let by_prefix = || call.prefix.as_ref()?.parse().ok();
        let number = Prefix::of_number(&call.called).or_else(by_prefix)?;
        let sell = self.tariff.sell_rate(number, self.now.millis())?;
        sell.rate.price(u32::try_from(call.duration_seconds).ok()?).ok()
    }
}

pub async fn impact(
    mut ctx: ReadCtx,
    Path(id): Path<RatePlanId>,
    Query(query): Query<ImpactQuery>,
) -> Result<Json<RatePlanImpact>, Problem> {
    let version = plans::latest_version(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    let customers = match query.customer_id {
        Some(customer) => {
            onboarding::require_customer(&mut ctx, customer).await?;
            vec![(customer,)]
        }
        None => plans::customers_after(&mut ctx, id, None, MAX_CUSTOMERS + 1).await?,
    };
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let (app, now) = (&request.app, request.now);
    let tariff = app.tariff.current(&app.db).await?;
    let pricing = Pricing::new(&tariff, version.compile().map_err(Problem::internal)?, now);
    let from = Time::from_millis((now.millis().div_euclid(DAY_MILLIS) + 1 - DAYS) * DAY_MILLIS);
    let work = (pricing, customers, from);
    let tally =
        app.db.report(work, |conn, (pricing, customers, from)| Box::pin(tally(conn, pricing, customers, *from)));
    let tally = tally.await?;
    let names = Names::of_customers(&mut *app.db.read().await?, tally.customers.keys().copied()).await?;
    Ok(Json(answer(version.number, from, tally, &names)))
}

async fn tally(conn: &mut Conn, pricing: &Pricing, customers: &[(AccountId,)], from: Time) -> Result<Tally, DbError> {
    let mut tally = Tally { is_complete: customers.len() as i64 <= MAX_CUSTOMERS, ..Tally::default() };
    let mut left = MAX_CALLS;
    for (customer,) in customers.iter().take(MAX_CUSTOMERS as usize) {
        let mut sums = Sums::default();
        let visited = each_answered(conn, *customer, from, left + 1, |call| {
            let Some(planned) = pricing.charge(&call) else {
                tally.unpriced += 1;
                return Ok(());
            };
            sums.add(&call, planned);
            tally.total.add(&call, planned);
            let key = (call.country.clone(), call.destination_name.clone());
            tally.destinations.entry(key).or_default().add(&call, planned);
            Ok(())
        });
        let visited = i64::try_from(visited.await?).unwrap_or(i64::MAX);
        tally.customers.insert(*customer, sums);
        if visited > left {
            tally.is_complete = false;
            break;
        }
        left -= visited;
    }
    Ok(tally)
}

fn answer(version: i64, from: Time, tally: Tally, names: &Names) -> RatePlanImpact {
    let mut customers: Vec<_> = tally.customers.into_iter().collect();
    customers.sort_by_key(|(customer, sums)| (-sums.charge, *customer));
    let mut losses: Vec<_> = tally.destinations.into_iter().filter(|(_, sums)| sums.loss() > 0).collect();
    losses.sort_by_key(|(_, sums)| -sums.loss());
    losses.truncate(MAX_DESTINATIONS);
    RatePlanImpact {
        version,
        from: Rfc3339(from),
        is_complete: tally.is_complete,
        unpriced_calls: tally.unpriced,
        total: tally.total.into(),
        customers: customers
            .into_iter()
            .map(|(customer, sums)| CustomerImpact {
                customer_id: customer.uuid(),
                customer_name: names.get(customer.uuid()),
                sums: sums.into(),
            })
            .collect(),
        below_cost: losses
            .into_iter()
            .map(|((country, destination_name), sums)| DestinationImpact {
                country,
                destination_name,
                sums: sums.into(),
            })
            .collect(),
    }
}
