//! `/admin/rates` and `/admin/routes`: the rates of upstreams, and the routes to a number.

use std::collections::HashMap;
use std::sync::Arc;

use rating::{Candidate, DropReason, Prefix};
use serde::{Deserialize, Serialize};

use super::types::{
    AdminRate, AdminRateFilters, AdminRoutes, RouteCandidate, RouteReason, RoutesQuery, money, prefix_of,
};
use super::{MAX_PAGE_ROWS, MAX_SCANNED, PrefixFilter, RateCursor, run_blocking};
use crate::upstreams::{self, UpstreamRow};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Query;
use api::page::{Listing, Page};
use api::problem::Problem;
use identity::balance::CURRENCY;
use identity::names::Names;
use identity::onboarding;
use platform::routing::plans::CustomerPlan;
use platform::routing::tariff::{Tariff, TariffUpstream, Unpriced};
use platform::routing::upstreams::UpstreamHealth;
use values::{Time, UpstreamId};

/// Limit of the query; far more than any operator has.
const MAX_UPSTREAMS: i64 = 10_000;

/// Cursor of the list of upstreams' rates: the first prefix and upstream of the next page.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct AdminRateCursor {
    prefix: RateCursor,
    upstream: UpstreamId,
}

/// Lists the rates of upstreams, sorted by prefix and then by upstream.
pub async fn list_all(
    ctx: ReadCtx,
    listing: Listing<AdminRateFilters, AdminRateCursor, MAX_PAGE_ROWS>,
) -> Result<Page<AdminRate>, Problem> {
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let AdminRateFilters { upstream_id, prefix, q } = listing.filters.clone();
    let after = listing.after.map(|cursor| cursor.prefix);
    let filter = PrefixFilter::new(after, prefix.as_ref(), None, q.as_deref())?;
    let tariff = request.app.tariff.current(&request.app.db).await?;
    let first = listing.after.map(|cursor| cursor.upstream);
    let (limit, now) = (listing.limit as usize, request.now);
    let work = move || Ok(page(&tariff, &filter, first, upstream_id, limit, now));
    let (rates, next) = if q.is_some() { run_blocking(work).await? } else { work()? };
    let ids = rates.iter().map(|rate| rate.upstream_id);
    let names = Names::of_upstreams(&mut *request.app.db.read().await?, ids).await?;
    listing.page_with_next(rates, next, |rate| AdminRate { upstream_name: names.get(rate.upstream_id.uuid()), ..rate })
}

fn page(
    tariff: &Tariff,
    filter: &PrefixFilter,
    first: Option<UpstreamId>,
    only: Option<UpstreamId>,
    limit: usize,
    now: Time,
) -> (Vec<AdminRate>, Option<AdminRateCursor>) {
    let is_selected = |seller: &&TariffUpstream| only.is_none_or(|only| seller.terms.upstream_id == only);
    let sellers = tariff.upstreams().iter().filter(is_selected);
    let mut lists: Vec<_> = sellers
        .filter_map(|seller| Some((seller, seller.deck.as_ref()?.listings(filter.from, now.millis()).peekable())))
        .collect();
    let (mut rates, mut scanned) = (Vec::new(), 0);
    loop {
        let prefix = lists.iter_mut().filter_map(|(_, list)| Some(list.peek()?.prefix)).min();
        let Some(prefix) = prefix.filter(|prefix| filter.includes(*prefix)) else { return (rates, None) };
        for (seller, list) in &mut lists {
            let Some(listing) = list.next_if(|listing| listing.prefix == prefix) else { continue };
            let upstream = seller.terms.upstream_id;
            // The page before ended within the first prefix.
            if prefix == filter.from && first.is_some_and(|first| upstream < first) {
                continue;
            }
            if rates.len() == limit || scanned == MAX_SCANNED {
                return (rates, Some(AdminRateCursor { prefix: RateCursor(prefix), upstream }));
            }
            scanned += 1;
            if filter.matches(&listing.offer.destination) {
                rates.push(AdminRate::of(upstream, &listing, seller.terms.currency));
            }
        }
    }
}

pub async fn routes(mut ctx: ReadCtx, Query(query): Query<RoutesQuery>) -> Result<Json<AdminRoutes>, Problem> {
    let number = prefix_of(&query.number)?;
    if let Some(customer) = query.customer_id {
        onboarding::require_customer(&mut ctx, customer).await?;
    }
    let upstreams = upstreams::all(&mut ctx, MAX_UPSTREAMS).await?;
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let tariff = request.app.tariff.current(&request.app.db).await?;
    let known: HashMap<UpstreamId, UpstreamRow> = upstreams.into_iter().map(|row| (row.id, row)).collect();
    let plan = match query.customer_id {
        Some(customer) => request.app.plans.current(&request.app.db).await?.of(customer, request.now),
        None => None,
    };
    Ok(Json(routes_to(number, &tariff, plan.as_ref(), &known, request.now)))
}

fn routes_to(
    number: Prefix,
    tariff: &Tariff,
    plan: Option<&CustomerPlan>,
    known: &HashMap<UpstreamId, UpstreamRow>,
    now: Time,
) -> AdminRoutes {
    let is_down = |id| known.get(&id).is_some_and(|row| row.health == UpstreamHealth::Down);
    let prices = tariff.prices(CURRENCY, is_down).with_plan(plan.map(|plan| Arc::clone(&plan.plan)));
    let routes = prices.tariff.routes(number, now.millis());
    let price = routes.price.as_ref();
    let sold = price.map(|sell| sell.rate);
    let paid = sold.map(|rate| rate.nanos_per_minute());
    let name = |id: UpstreamId| known.get(&id).map(|row| row.name.to_string()).unwrap_or_default();
    let cheapest = routes.candidates.iter().find(|candidate| candidate.drop_reason.is_none()).map(|kept| kept.upstream);
    let mut candidates: Vec<RouteCandidate> = routes
        .candidates
        .iter()
        .map(|candidate| {
            let reason = reason(candidate, cheapest == Some(candidate.upstream));
            route_candidate(candidate, name(candidate.upstream), paid, reason)
        })
        .collect();
    candidates.extend(tariff.upstreams().iter().filter_map(|seller| {
        let id = seller.terms.upstream_id;
        let unpriced = prices.unpriced.iter().find(|(unpriced, _)| *unpriced == id).map(|(_, why)| *why);
        let reason = match (unpriced, &seller.deck) {
            (Some(Unpriced::NoExchangeRate), _) => RouteReason::NoExchangeRate,
            (Some(Unpriced::TooLarge), _) => RouteReason::TooLarge,
            (None, None) => RouteReason::NoRate,
            (None, Some(_)) => return None,
        };
        Some(RouteCandidate {
            upstream_id: id,
            name: name(id),
            prefix: None,
            cost: None,
            connect_fee: None,
            billing_increment_seconds: None,
            minimum_seconds: None,
            margin: None,
            kept: false,
            reason,
        })
    }));
    AdminRoutes {
        number: format!("+{number}"),
        prefix: price.map(|sell| sell.prefix.to_string()),
        destination_name: price.map(|sell| sell.source.offer.destination.name.to_string()),
        price: paid.map(|nanos| money(nanos, CURRENCY)),
        connect_fee: sold.map(|rate| money(rate.connect_fee_nanos(), CURRENCY)),
        billing_increment_seconds: sold.map(|rate| rate.increment_seconds()),
        minimum_seconds: sold.map(|rate| rate.minimum_seconds()),
        rule: price.map(|sell| sell.by.into()),
        candidates,
    }
}

fn reason(candidate: &Candidate<'_, UpstreamId>, is_cheapest: bool) -> RouteReason {
    match candidate.drop_reason {
        None if is_cheapest => RouteReason::Cheapest,
        None => RouteReason::WithinPrice,
        Some(DropReason::Disabled) => RouteReason::Disabled,
        Some(DropReason::Down) => RouteReason::Down,
        Some(DropReason::NoRate) => RouteReason::NoRate,
        Some(DropReason::OverPrice) => RouteReason::OverPrice,
    }
}

fn route_candidate(
    candidate: &Candidate<'_, UpstreamId>,
    name: String,
    paid: Option<i64>,
    reason: RouteReason,
) -> RouteCandidate {
    let asked = candidate.cost.as_ref().map(|(_, rate)| rate);
    let cost = asked.map(|rate| rate.nanos_per_minute());
    let margin = paid.zip(cost).map(|(paid, cost)| money(paid - cost, CURRENCY));
    RouteCandidate {
        upstream_id: candidate.upstream,
        name,
        prefix: candidate.cost.as_ref().map(|(listing, _)| listing.prefix.to_string()),
        cost: cost.map(|nanos| money(nanos, CURRENCY)),
        connect_fee: asked.map(|rate| money(rate.connect_fee_nanos(), CURRENCY)),
        billing_increment_seconds: asked.map(|rate| rate.increment_seconds()),
        minimum_seconds: asked.map(|rate| rate.minimum_seconds()),
        margin,
        kept: candidate.drop_reason.is_none(),
        reason,
    }
}
