//! What an import changes: the rates of prefixes, and what the calls of the last 30 days would have cost by it.
//!
//! It is measured by the import's job, before its deck comes into force, and kept with the import: also of a dry run, and
//! of an import that is held. `rules` has the arithmetic.

mod rules;
mod store;
mod types;

use std::collections::HashMap;
use std::sync::Arc;

use rating::{Changes, Deck, SteepestRise, UnixMillis};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store as imports;
use super::types::DeckImportId;
use crate::cdrs::{DAYS, Days, calls_of};
use crate::upstreams::UpstreamRow;
use api::answer::Json;
use api::context::ReadCtx;
use api::input::PathPair;
use api::problem::Problem;
use db::DbError;
use identity::balance::CURRENCY;
use identity::names::Names;
use platform::app::App;
use rules::{CustomerChange, DestinationChange};
use store::RouteCalls;
use types::DeckImpact;
use values::{Time, UpstreamId};

/// Destinations and customers that are kept, those with the largest change first.
const MAX_KEPT: usize = 100;
/// Customers that are read at once.
const BATCH: i64 = 500;

/// The impact as it is kept with the import.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Impact {
    pub added: u64,
    pub removed: u64,
    pub increased: u64,
    pub decreased: u64,
    pub unchanged: u64,
    /// Prefix, and its price per minute before and after, in nanos of the upstream's currency.
    pub steepest: Option<(String, i64, i64)>,
    /// Of all destinations together, in nanos.
    pub cost: i64,
    pub new_cost: i64,
    pub seconds: i64,
    pub destinations: Vec<DestinationChange>,
    pub destinations_below_cost: i64,
    /// Of these, how many are not below cost by the deck in force.
    pub falling_below_cost: i64,
    pub destinations_without_rate: i64,
    pub customers: Vec<CustomerChange>,
    pub customers_below_cost: i64,
}

/// The calls of the last days that the upstream took.
pub struct Traffic {
    days: Days,
    routes: Vec<RouteCalls>,
}

impl Traffic {
    /// Calls of the 30 UTC days before today.
    pub async fn load(app: &App, upstream: UpstreamId, now: Time) -> Result<Traffic, DbError> {
        let days = Days::before(now);
        let routes = app.db.report((upstream, days), |conn, (upstream, days)| {
            Box::pin(async move { store::routes(conn, *upstream, *days).await })
        });
        Ok(Traffic { days, routes: routes.await? })
    }

    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }
}

impl Impact {
    /// The changes of prefixes alone.
    pub fn of_prefixes(changes: Changes, steepest: Option<SteepestRise>) -> Impact {
        let Changes { added, removed, increased, decreased, unchanged } = changes;
        let steepest = steepest.map(|rise| (rise.prefix.to_string(), rise.from_nanos, rise.to_nanos));
        Impact { added, removed, increased, decreased, unchanged, steepest, ..Impact::default() }
    }

    /// Adds what the new deck does to calls.
    pub async fn weigh(
        mut self,
        app: &App,
        upstream: &UpstreamRow,
        traffic: Traffic,
        new: Deck,
        (now, settled): (Time, UnixMillis),
    ) -> Result<Impact, DbError> {
        let tariff = app.tariff.current(&app.db).await?;
        let old = upstream.deck_id.and_then(|deck| tariff.deck(deck)).unwrap_or_default();
        let (days, routes) = (traffic.days, traffic.routes);
        let compared = tokio::task::spawn_blocking(move || {
            let prices = tariff.prices(CURRENCY, |_| false);
            rules::compare(routes, &prices.tariff, (&*old, &new), (now.millis(), settled))
        });
        let mut changes = compared.await.map_err(DbError::other)?;
        let count =
            |filter: fn(&DestinationChange) -> bool| changes.iter().filter(|change| filter(change)).count() as i64;
        self.destinations_below_cost = count(DestinationChange::is_below_cost);
        self.falling_below_cost = count(DestinationChange::falls_below_cost);
        self.destinations_without_rate = count(|change| change.new_cost.is_none());
        for change in changes.iter().filter(|change| change.new_cost.is_some()) {
            self.cost = self.cost.saturating_add(change.cost);
            self.new_cost = self.new_cost.saturating_add(change.new_cost.unwrap_or(change.cost));
            self.seconds = self.seconds.saturating_add(change.seconds);
        }
        let mut customers = customers_below_cost(app, days, &changes).await?;
        self.customers_below_cost = i64::try_from(customers.len()).unwrap_or(i64::MAX);
        customers.sort_by_key(|customer| customer.charge.saturating_sub(customer.new_cost));
        customers.truncate(MAX_KEPT);
        changes.sort_by_key(|change| (!change.is_below_cost(), -change.change().saturating_abs()));
        changes.truncate(MAX_KEPT);
        (self.destinations, self.customers) = (changes, customers);
        Ok(self)
    }
}

async fn customers_below_cost(
    app: &App,
    days: Days,
    changes: &[DestinationChange],
) -> Result<Vec<CustomerChange>, DbError> {
    let key = |change: &DestinationChange| (change.country.clone(), change.destination_name.clone());
    let dearer = changes.iter().filter(|change| change.change() > 0);
    let dearer: Arc<HashMap<_, _>> = Arc::new(dearer.map(|change| (key(change), change.clone())).collect());
    let (mut below, mut after) = (Vec::new(), Uuid::nil());
    while !dearer.is_empty() {
        let batch = app.db.report((Arc::clone(&dearer), days, after), |conn, (dearer, days, after)| {
            Box::pin(async move {
                let customers = store::customers(conn, *days, *after, BATCH).await?;
                let mut below = Vec::new();
                for (customer,) in &customers {
                    let calls = calls_of(conn, *customer, *days).await?;
                    below.extend(rules::customer_below_cost(*customer, &calls, dearer));
                }
                Ok::<_, DbError>((customers, below))
            })
        });
        let (customers, found) = batch.await?;
        below.extend(found);
        after = customers.last().map_or(after, |(customer,)| customer.uuid());
        if (customers.len() as i64) < BATCH {
            break;
        }
    }
    Ok(below)
}

pub async fn show(
    mut ctx: ReadCtx,
    PathPair(upstream, id): PathPair<UpstreamId, DeckImportId>,
) -> Result<Json<DeckImpact>, Problem> {
    let import = imports::find(&mut ctx, upstream, id).await?.ok_or_else(Problem::not_found)?;
    let currency = crate::upstreams::find(&mut ctx, upstream).await?.ok_or_else(Problem::not_found)?.base_currency;
    let text = imports::impact(&mut ctx, id).await?;
    let text = text.ok_or_else(|| {
        Problem::state_conflict(
            "The import has no impact: it has not read its file, the file has errors, or it is the one in force.",
        )
    })?;
    let impact: Impact = serde_json::from_str(&text).map_err(Problem::internal)?;
    let names = Names::of_customers(&mut ctx, impact.customers.iter().map(|customer| customer.customer_id)).await?;
    Ok(Json(DeckImpact::new(import, impact, currency, &names)))
}
