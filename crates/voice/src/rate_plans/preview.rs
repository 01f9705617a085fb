//! `/admin/rate-plans/{id}/preview`: what a number or prefix costs by the latest version of a plan, and why.

use std::sync::Arc;

use rating::{Candidate, DropReason, SellRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rates::{country, money, prefix_of};
use api::answer::Json;
use api::context::ReadCtx;
use api::faults::Faults;
use api::input::{Path, Query};
use api::problem::Problem;
use identity::balance::CURRENCY;
use platform::routing::plans::{self, PriceRule, RateRule, VersionRow};
use values::{Country, Digits, ExactMoney, RatePlanId, UpstreamId};

/// The number or the prefix to price.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewQuery {
    /// Number to price, country code first; give this or `prefix`.
    #[serde(default)]
    number: Option<Digits>,
    /// Prefix to price, country code first; give this or `number`.
    #[serde(default)]
    prefix: Option<Digits>,
}

impl PreviewQuery {
    /// The number or the prefix, whichever is given.
    fn digits(self) -> Result<Digits, Problem> {
        match (self.number, self.prefix) {
            (Some(digits), None) | (None, Some(digits)) => Ok(digits),
            _ => {
                let mut faults = Faults::default();
                faults.add("number", "must be given if prefix is not, and only then");
                Err(faults.into())
            }
        }
    }
}

/// The price of a number by a rate plan.
#[derive(Serialize, JsonSchema)]
pub struct RatePlanPreview {
    /// Number of the version of the plan, the latest one.
    version: i64,
    /// Prefix that the number is sold at.
    prefix: String,
    /// Country of the destination (ISO 3166-1 alpha-2).
    country: Country,
    /// Name of the destination.
    destination_name: String,
    /// Price per minute by the plan.
    rate_per_minute: ExactMoney,
    /// Fee per answered call by the plan.
    connect_fee: ExactMoney,
    /// Billing increment in seconds.
    billing_increment_seconds: u16,
    /// Minimum number of seconds that an answered call is billed for.
    minimum_seconds: u16,
    /// What decided the price.
    rule: PriceRule,
    /// The rule that decided the price; null if none applies.
    matched: Option<RateRule>,
    /// Price per minute of the list.
    list_rate_per_minute: ExactMoney,
    /// Cost per minute of the cheapest active upstream; null if none is up.
    cost: Option<ExactMoney>,
    /// Price per minute minus this cost; null if the cost is unknown.
    margin: Option<ExactMoney>,
    /// Whether calls get no route because every upstream could cost more than the customer pays.
    is_below_cost: bool,
}

pub async fn preview(
    mut ctx: ReadCtx,
    Path(id): Path<RatePlanId>,
    Query(query): Query<PreviewQuery>,
) -> Result<Json<RatePlanPreview>, Problem> {
    let version = plans::latest_version(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    let number = prefix_of(&query.digits()?)?;
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let tariff = request.app.tariff.current(&request.app.db).await?;
    let gateways = request.app.gateways.current(&request.app.db).await?;
    let at = request.now.millis();
    let list = tariff.prices(CURRENCY, |_| false).tariff;
    let list = list.sell_rate(number, at).ok_or_else(Problem::not_found)?;
    let plan = Arc::new(version.compile().map_err(Problem::internal)?);
    let prices = tariff.prices(CURRENCY, |id| gateways.is_down(id)).with_plan(Some(plan)).tariff;
    let routes = prices.routes(number, at);
    let sell = routes.price.as_ref().ok_or_else(Problem::not_found)?;
    Ok(Json(answer(&version, sell, &list, &routes.candidates)))
}

fn answer(
    version: &VersionRow,
    sell: &SellRate<'_, UpstreamId>,
    list: &SellRate<'_, UpstreamId>,
    candidates: &[Candidate<'_, UpstreamId>],
) -> RatePlanPreview {
    let is_usable = |reason: &Option<DropReason>| matches!(reason, None | Some(DropReason::OverPrice));
    // They are sorted by cost.
    let cheapest = candidates.iter().find(|candidate| is_usable(&candidate.drop_reason));
    let cost = cheapest.and_then(|candidate| candidate.cost).map(|(_, rate)| rate.nanos_per_minute());
    let is_kept = candidates.iter().any(|candidate| candidate.drop_reason.is_none());
    let (destination, rate) = (&sell.source.offer.destination, &sell.rate);
    RatePlanPreview {
        version: version.number,
        prefix: sell.prefix.to_string(),
        country: country(destination.country),
        destination_name: destination.name.to_string(),
        rate_per_minute: money(rate.nanos_per_minute(), CURRENCY),
        connect_fee: money(rate.connect_fee_nanos(), CURRENCY),
        billing_increment_seconds: rate.increment_seconds(),
        minimum_seconds: rate.minimum_seconds(),
        rule: sell.by.into(),
        matched: sell.by.rule().and_then(|rule| version.rules.0.get(rule)).cloned(),
        list_rate_per_minute: money(list.rate.nanos_per_minute(), CURRENCY),
        cost: cost.map(|nanos| money(nanos, CURRENCY)),
        margin: cost.map(|nanos| money(rate.nanos_per_minute() - nanos, CURRENCY)),
        is_below_cost: cheapest.is_some() && !is_kept,
    }
}
