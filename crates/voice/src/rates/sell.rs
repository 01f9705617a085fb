//! `/rates` and `/rates/lookup`: the sell rates of the caller's account.

use super::types::{NumberQuery, Rate, RateFilters, prefix_of};
use super::{MAX_PAGE_ROWS, MAX_SCANNED, PrefixFilter, RateCursor, own_pricing, prices_by, run_blocking};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Query;
use api::page::{Listing, Page};
use api::problem::Problem;
use identity::balance::CURRENCY;
use platform::routing::plans::CustomerPricing;
use platform::routing::tariff::Tariff;
use values::Time;

pub async fn list(
    ctx: ReadCtx,
    listing: Listing<RateFilters, RateCursor, MAX_PAGE_ROWS>,
) -> Result<Page<Rate>, Problem> {
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let RateFilters { prefix, country, q } = &listing.filters;
    let filter = PrefixFilter::new(listing.after, prefix.as_ref(), *country, q.as_deref())?;
    let tariff = request.app.tariff.current(&request.app.db).await?;
    let pricing = own_pricing(&request).await?;
    let (limit, now) = (listing.limit as usize, request.now);
    let (rates, next) = if filter.has_filters() {
        run_blocking(move || Ok(page(&tariff, &pricing, &filter, limit, now))).await?
    } else {
        page(&tariff, &pricing, &filter, limit, now)
    };
    listing.page_with_next(rates, next, |rate| rate)
}

/// A page of rates, and the cursor of the next page.
fn page(
    tariff: &Tariff,
    pricing: &CustomerPricing,
    filter: &PrefixFilter,
    limit: usize,
    now: Time,
) -> (Vec<Rate>, Option<RateCursor>) {
    let prices = prices_by(tariff, pricing);
    let sells = prices.sell_rates(filter.from, now.millis());
    let mut rates = Vec::new();
    for (scanned, sell) in sells.take_while(|sell| filter.includes(sell.prefix)).enumerate() {
        if rates.len() == limit || scanned == MAX_SCANNED {
            return (rates, Some(RateCursor(sell.prefix)));
        }
        if filter.matches(&sell.source.offer.destination) {
            rates.push(Rate::of(&sell, pricing, CURRENCY));
        }
    }
    (rates, None)
}

pub async fn lookup(ctx: ReadCtx, Query(query): Query<NumberQuery>) -> Result<Json<Rate>, Problem> {
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let number = prefix_of(&query.number)?;
    let tariff = request.app.tariff.current(&request.app.db).await?;
    let pricing = own_pricing(&request).await?;
    let prices = prices_by(&tariff, &pricing);
    let sell = prices.sell_rate(number, request.now.millis()).ok_or_else(Problem::not_found)?;
    Ok(Json(Rate::of(&sell, &pricing, CURRENCY)))
}
