//! `/rates/diff`: compares the sell rates of the caller's account at two moments.

use rating::{Prefix, Priced, SellRate};

use super::types::{DiffQuery, RateDiffEntry, money};
use super::{MAX_PAGE_ROWS, RateCursor, run_blocking};
use api::checks::Checked;
use api::context::ReadCtx;
use api::page::{Listing, Page};
use api::problem::Problem;
use db::DbError;
use identity::balance::CURRENCY;
use platform::app::App;
use platform::routing::plans::CustomerPricing;
use platform::routing::tariff::{PastTime, TwoRanges, TwoTariffs};
use values::{AccountId, Time, UpstreamId};

pub async fn diff(
    ctx: ReadCtx,
    listing: Listing<Checked<DiffQuery>, RateCursor, MAX_PAGE_ROWS>,
) -> Result<Page<RateDiffEntry>, Problem> {
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let Checked(DiffQuery { from, to }) = listing.filters;
    let account = request.principal()?.account_id;
    let after = listing.after.map_or(Prefix::FIRST, |RateCursor(prefix)| prefix);
    let (entries, next) = page(&request.app, account, (from.0, to.0), after, listing.limit as usize).await?;
    listing.page_with_next(entries, next, |entry| entry)
}

/// A page of differences, and the cursor of the next page. Both tariffs are read in parts, not as a whole.
async fn page(
    app: &App,
    account: AccountId,
    moments: (Time, Time),
    after: Prefix,
    limit: usize,
) -> Result<(Vec<RateDiffEntry>, Option<RateCursor>), Problem> {
    let in_force = app.tariff.current(&app.db).await?;
    let plans = app.plans.current(&app.db).await?;
    let work = (in_force, plans, account, moments, after);
    let pasts = app.db.snapshot(work, |conn, (in_force, plans, account, (from, to), after)| {
        Box::pin(async move {
            let (from, to) = (PastTime::known_now(*from), PastTime::known_now(*to));
            let by = (plans.pricing_at(conn, *account, from).await?, plans.pricing_at(conn, *account, to).await?);
            Ok::<_, DbError>((TwoTariffs::at(conn, (from, to), in_force, *after).await?, by))
        })
    });
    let (mut tariffs, by) = pasts.await?;
    let mut entries = Vec::new();
    while let Some(ranges) = tariffs.next(&app.db).await? {
        // One more than the page holds gives the cursor of the next page.
        let (missing, by) = (limit + 1 - entries.len(), by.clone());
        entries.extend(run_blocking(move || differences(&ranges, &by, missing)).await?);
        if entries.len() > limit {
            let next = entries.pop().map(|(prefix, _)| RateCursor(prefix));
            return Ok((entries.into_iter().map(|(_, entry)| entry).collect(), next));
        }
    }
    Ok((entries.into_iter().map(|(_, entry)| entry).collect(), None))
}

fn differences(
    ranges: &TwoRanges,
    by: &(CustomerPricing, CustomerPricing),
    limit: usize,
) -> Result<Vec<(Prefix, RateDiffEntry)>, Problem> {
    let (old, new) = ranges.prices(CURRENCY)?;
    let (old, new) = (by.0.apply(old), by.1.apply(new));
    let within = |sell: &SellRate<'_, UpstreamId>| ranges.has(sell.prefix);
    let old = old.tariff.sell_rates(ranges.from, ranges.at().0).take_while(within);
    let new = new.tariff.sell_rates(ranges.from, ranges.at().1).take_while(within);
    let minute = |sell: &Option<SellRate<'_, UpstreamId>>| {
        sell.as_ref().map(|sell| money(sell.rate().nanos_per_minute(), CURRENCY))
    };
    let connect_fee = |sell: &Option<SellRate<'_, UpstreamId>>| {
        sell.as_ref().map(|sell| money(sell.rate().connect_fee_nanos(), CURRENCY))
    };
    let entries = rating::diff(old, new).take(limit).map(|difference| {
        let named = difference.to.as_ref().or(difference.from.as_ref());
        let entry = RateDiffEntry {
            prefix: difference.prefix.to_string(),
            destination_name: named.map(|sell| sell.source.offer.destination.name.to_string()).unwrap_or_default(),
            change: difference.change.into(),
            from: minute(&difference.from),
            to: minute(&difference.to),
            from_connect_fee: connect_fee(&difference.from),
            to_connect_fee: connect_fee(&difference.to),
        };
        (difference.prefix, entry)
    });
    Ok(entries.collect())
}
