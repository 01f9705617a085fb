//! Rates: sell rates of customers, costs of upstreams, and the routes of a call.
//!
//! All prices come from the cached tariff, whose version every request checks, so an import on another node applies
//! here too. The sell rate of a prefix is the rate of the cheapest active upstream, each by its own longest match, in
//! the account's currency and with that upstream's markup. A customer with a rate plan sees what the plan makes of it, and
//! what a new deck raises only when its notice ends.
//!
//! - `sell`: `GET /rates`, `/rates/lookup` · `export`: `/rates/export` · `diff`: `/rates/diff`
//! - `admin`: `GET /admin/rates` · `routes`: `/admin/routes`

mod admin;
mod diff;
mod export;
mod routes;
mod sell;
mod types;

pub use admin::list_all;
pub use diff::diff;
pub use export::export;
pub use routes::routes;
pub use sell::{list, lookup};
pub use types::{AdminRate, AdminRoutes, Rate, RateDiffEntry, country, money, prefix_of};

use rating::Prefix;
use serde::{Deserialize, Serialize};

use api::context::RequestCtx;
use api::problem::Problem;
use identity::balance::CURRENCY;
use platform::routing::plans::CustomerPricing;
use platform::routing::tariff::Tariff;
use values::{Country, Digits, UpstreamId};

/// Maximum number of rates on a page.
const MAX_PAGE_ROWS: u32 = 1000;
/// Maximum number of prefixes scanned for one page, however few match. A page may therefore be short or empty and not
/// be the last.
const MAX_SCANNED: usize = 200_000;

/// Cursor of a list of rates: the first prefix of the next page.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct RateCursor(Prefix);

impl TryFrom<u64> for RateCursor {
    type Error = &'static str;

    fn try_from(code: u64) -> Result<Self, Self::Error> {
        Prefix::from_code(code).map(RateCursor).ok_or("is not the code of a prefix")
    }
}

impl From<RateCursor> for u64 {
    fn from(RateCursor(prefix): RateCursor) -> u64 {
        prefix.code()
    }
}

/// Range of prefixes, and filters of their destinations.
#[derive(Clone)]
struct PrefixFilter {
    from: Prefix,
    within: Option<Prefix>,
    country: Option<rating::Country>,
    /// In lower case.
    name: Option<String>,
}

impl PrefixFilter {
    fn new(
        after: Option<RateCursor>,
        prefix: Option<&Digits>,
        country: Option<Country>,
        name: Option<&str>,
    ) -> Result<PrefixFilter, Problem> {
        let within = prefix.map(types::prefix_of).transpose()?;
        let from = match after {
            Some(RateCursor(prefix)) => prefix,
            None => within.unwrap_or(Prefix::FIRST),
        };
        let country = country.and_then(|country| rating::Country::new(country.code()));
        Ok(PrefixFilter { from, within, country, name: name.map(str::to_lowercase) })
    }

    fn has_filters(&self) -> bool {
        self.country.is_some() || self.name.is_some()
    }

    /// Whether a prefix is in the range; after the first that is not, none is.
    fn includes(&self, prefix: Prefix) -> bool {
        self.within.is_none_or(|within| within.covers(prefix))
    }

    fn matches(&self, destination: &rating::Destination) -> bool {
        self.country.is_none_or(|country| country == destination.country)
            && self.name.as_ref().is_none_or(|name| destination.name.to_lowercase().contains(name))
    }
}

/// What makes the prices of the caller's account now.
async fn own_pricing(request: &RequestCtx) -> Result<CustomerPricing, Problem> {
    let account = request.principal()?.account_id;
    Ok(request.app.plans.current(&request.app.db).await?.pricing(account, request.now))
}

/// The prices of a customer.
fn prices_by(tariff: &Tariff, pricing: &CustomerPricing) -> rating::Tariff<UpstreamId> {
    pricing.apply(tariff.prices(CURRENCY, |_| false)).tariff
}

/// Runs slow work on a blocking thread.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(Problem::internal)?
}
