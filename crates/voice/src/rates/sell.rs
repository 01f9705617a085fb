//! What customers pay.

use std::sync::Arc;

use super::types::{NumberQuery, Rate, RateFilters, prefix_of};
use super::{LOOKED_AT, MOST, Position, Wanted, aside};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Query;
use api::page::{Listing, Page};
use api::problem::Problem;
use identity::balance::CURRENCY;
use platform::routing::tariff::Tariff;
use values::Time;

pub async fn list(ctx: ReadCtx, listing: Listing<RateFilters, Position, MOST>) -> Result<Page<Rate>, Problem> {
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let RateFilters { prefix, country, q } = &listing.filters;
    let wanted = Wanted::new(listing.after, prefix.as_ref(), *country, q.as_deref())?;
    let tariff = request.app.tariff.current(&request.app.db).await?;
    let (limit, now) = (listing.limit as usize, request.now);
    let (rates, next) = if wanted.is_filtered() {
        aside(move || Ok(page(&tariff, &wanted, limit, now))).await?
    } else {
        page(&tariff, &wanted, limit, now)
    };
    listing.page_with_next(rates, next, |rate| rate)
}

/// So many rates, and where the next ones begin.
fn page(tariff: &Arc<Tariff>, wanted: &Wanted, limit: usize, now: Time) -> (Vec<Rate>, Option<Position>) {
    let prices = tariff.prices(CURRENCY, |_| false);
    let sells = prices.tariff.sell_rates(wanted.from, now.millis());
    let mut rates = Vec::new();
    for (looked_at, sell) in sells.take_while(|sell| wanted.reaches(sell.prefix)).enumerate() {
        if rates.len() == limit || looked_at == LOOKED_AT {
            return (rates, Some(Position::at(sell.prefix)));
        }
        if wanted.takes(&sell.source.offer.destination) {
            rates.push(Rate::of(&sell, CURRENCY));
        }
    }
    (rates, None)
}

pub async fn lookup(ctx: ReadCtx, Query(query): Query<NumberQuery>) -> Result<Json<Rate>, Problem> {
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let number = prefix_of(&query.number)?;
    let tariff = request.app.tariff.current(&request.app.db).await?;
    let prices = tariff.prices(CURRENCY, |_| false);
    let sell = prices.tariff.sell_rate(number, request.now.millis()).ok_or_else(Problem::not_found)?;
    Ok(Json(Rate::of(&sell, CURRENCY)))
}
