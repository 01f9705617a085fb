//! `/admin/rates`: the rates of upstreams.

use serde::{Deserialize, Serialize};

use super::types::{AdminRate, AdminRateFilters};
use super::{MAX_PAGE_ROWS, MAX_SCANNED, PrefixFilter, RateCursor, run_blocking};
use api::context::ReadCtx;
use api::page::{Listing, Page};
use api::problem::Problem;
use identity::names::Names;
use platform::routing::tariff::{Tariff, TariffUpstream};
use values::{Time, UpstreamId};

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
