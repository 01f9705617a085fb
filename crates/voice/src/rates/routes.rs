//! `/admin/routes`: the routes to a number, their order, and what it follows from.

use std::collections::HashMap;

use rating::quality::{Counts, FAILURES_TO_OPEN, PROBE_EVERY, RETRY_MILLIS, RouteState, Shortfall};
use rating::{Candidate, DropReason, Prefix};

use super::types::{AdminRoutes, RouteCandidate, RouteReason, RoutesQuery, moment, money, prefix_of};
use crate::upstreams::{self, UpstreamRow};
use api::answer::Json;
use api::context::{ReadCtx, RequestCtx};
use api::input::Query;
use api::problem::Problem;
use identity::balance::CURRENCY;
use identity::onboarding;
use platform::routing::plans::CustomerPricing;
use platform::routing::policies::{Policies, RoutingPolicy, RoutingRules};
use platform::routing::quality::RouteReport;
use platform::routing::tariff::{Tariff, Unpriced};
use platform::routing::upstreams::UpstreamHealth;
use values::UpstreamId;

/// Limit of the query; far more than any operator has.
const MAX_UPSTREAMS: i64 = 10_000;

pub async fn routes(mut ctx: ReadCtx, Query(query): Query<RoutesQuery>) -> Result<Json<AdminRoutes>, Problem> {
    let number = prefix_of(&query.number)?;
    if let Some(customer) = query.customer_id {
        onboarding::require_customer(&mut ctx, customer).await?;
    }
    let upstreams = upstreams::all(&mut ctx, MAX_UPSTREAMS).await?;
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let tariff = request.app.tariff.current(&request.app.db).await?;
    let policies = request.app.routing_policies.current(&request.app.db).await?;
    let known: HashMap<UpstreamId, UpstreamRow> = upstreams.into_iter().map(|row| (row.id, row)).collect();
    let pricing = match query.customer_id {
        Some(customer) => request.app.plans.current(&request.app.db).await?.pricing(customer, request.now),
        None => CustomerPricing::default(),
    };
    Ok(Json(routes_to(&request, number, &tariff, &pricing, &policies, &known)))
}

fn routes_to(
    request: &RequestCtx,
    number: Prefix,
    tariff: &Tariff,
    pricing: &CustomerPricing,
    policies: &Policies,
    known: &HashMap<UpstreamId, UpstreamRow>,
) -> AdminRoutes {
    let is_down = |id| known.get(&id).is_some_and(|row| row.health == UpstreamHealth::Down);
    let prices = pricing.apply(tariff.prices(CURRENCY, is_down));
    let routes = prices.tariff.routes(number, request.now.millis());
    let price = routes.price.as_ref();
    let destination = price.map(|sell| &*sell.source.offer.destination.name).unwrap_or_default();
    let (rules, routing) = policies.of(number, destination);
    let sold = price.map(|sell| sell.rate);
    let paid = sold.map(|rate| rate.nanos_per_minute());
    let name = |id: UpstreamId| known.get(&id).map(|row| row.name.to_string()).unwrap_or_default();
    let kept = || routes.candidates.iter().filter(|candidate| candidate.drop_reason.is_none());
    let cheapest = kept().next().map(|kept| kept.upstream);
    let costs = kept().filter_map(|candidate| Some((candidate.upstream, candidate.cost?.1.nanos_per_minute())));
    let reports = request.app.route_quality.report(destination, rules, costs, request.now);
    let mut reports = reports.into_iter();
    let mut candidates: Vec<RouteCandidate> = routes
        .candidates
        .iter()
        .map(|candidate| {
            let reason = reason(candidate, cheapest == Some(candidate.upstream));
            let report = if candidate.drop_reason.is_none() { reports.next() } else { None };
            route_candidate(candidate, name(candidate.upstream), paid, reason).with_report(report, routing)
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
        let candidate = Candidate { upstream: id, cost: None, drop_reason: Some(DropReason::NoRate) };
        Some(route_candidate(&candidate, name(id), None, reason))
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
        held_until: price.and_then(|sell| sell.held).map(|held| moment(held.until)),
        routing: *routing,
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

/// An upstream that gets no calls, unless a report follows.
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
        place: None,
        state: None,
        attempts: 0,
        asr: None,
        acd_seconds: None,
        pdd_ms: None,
        explanation: explain_drop(reason).to_owned(),
    }
}

impl RouteCandidate {
    fn with_report(self, report: Option<RouteReport>, routing: &RoutingRules) -> RouteCandidate {
        let Some(RouteReport { state, counts, place }) = report else { return self };
        RouteCandidate {
            place: i64::try_from(place + 1).ok(),
            state: Some(state.into()),
            attempts: counts.attempts,
            asr: counts.asr_permille().map(ratio),
            acd_seconds: counts.acd_seconds(),
            pdd_ms: counts.pdd_millis(),
            explanation: explain(state, &counts, routing),
            ..self
        }
    }
}

fn ratio(permille: i64) -> f64 {
    f64::from(i32::try_from(permille).unwrap_or(1000)) / 1000.0
}

fn explain_drop(reason: RouteReason) -> &'static str {
    match reason {
        RouteReason::Cheapest | RouteReason::WithinPrice => "It may take the call.",
        RouteReason::Disabled => "The upstream is disabled.",
        RouteReason::Down => "The upstream does not respond.",
        RouteReason::NoRate => "The upstream has no rate for the number.",
        RouteReason::NoExchangeRate => "There is no exchange rate for the currency of the upstream.",
        RouteReason::TooLarge => "The price of the upstream is too large.",
        RouteReason::OverPrice => "Margin guard: a call of some length would cost more than the customer pays.",
    }
}

/// Why a route has its place.
fn explain(state: RouteState, counts: &Counts, routing: &RoutingRules) -> String {
    let limit = |limit: Option<i64>| limit.unwrap_or_default();
    let demoted = |what: String| format!("Demoted: {what}. One of {PROBE_EVERY} calls tries it in its usual place.");
    match state {
        RouteState::Open => format!(
            "Last resort: {FAILURES_TO_OPEN} failures in a row opened its circuit breaker. One call in {} seconds \
             tries whether it has recovered.",
            RETRY_MILLIS / 1000
        ),
        RouteState::HalfOpen => "Last resort: one call tries whether it has recovered.".to_owned(),
        RouteState::Demoted(Shortfall::Asr) => {
            let (asr, attempts) = (ratio(counts.asr_permille().unwrap_or(0)) * 100.0, counts.attempts);
            let floor = limit(routing.min_asr_pct);
            demoted(format!("ASR fell below {floor} %; it is {asr:.1} % of {attempts} attempts"))
        }
        RouteState::Demoted(Shortfall::Acd) => {
            let (acd, floor) = (counts.acd_seconds().unwrap_or(0), limit(routing.min_acd_seconds));
            demoted(format!("ACD fell below {floor} seconds; it is {acd}"))
        }
        RouteState::Demoted(Shortfall::Pdd) => {
            let (pdd, ceiling) = (counts.pdd_millis().unwrap_or(0), limit(routing.max_pdd_ms));
            demoted(format!("PDD rose above {ceiling} ms; it is {pdd}"))
        }
        RouteState::Healthy => {
            let is_measured = counts.attempts >= routing.min_attempts;
            match (routing.routing_policy, is_measured) {
                (RoutingPolicy::Cheapest, _) => "Placed by cost.".to_owned(),
                (RoutingPolicy::Balanced, true) => {
                    format!("Placed by its score of {} among routes of about the same cost.", counts.score())
                }
                (RoutingPolicy::Quality, true) => format!("Placed by its score of {}.", counts.score()),
                (RoutingPolicy::Balanced | RoutingPolicy::Quality, false) => format!(
                    "Fewer than {} attempts: taken to be as good as the others on average.",
                    routing.min_attempts
                ),
            }
        }
    }
}
