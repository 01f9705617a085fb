//! Rates: what customers pay, what upstreams charge, and who would carry a call.
//!
//! All prices are those of the tariff in memory, which every request first holds against the database: what was
//! imported on another node counts here too. The price of a prefix is what the cheapest active upstream asks, each by
//! its own longest match, in the account's currency and with that upstream's markup.
//!
//! - `sell`: `GET /rates`, `/rates/lookup` · `export`: `/rates/export` · `diff`: `/rates/diff`
//! - `admin`: `GET /admin/rates`, `/admin/routes`

mod admin;
mod diff;
mod export;
mod sell;
mod types;

pub use admin::{list_all, routes};
pub use diff::diff;
pub use export::export;
pub use sell::{list, lookup};
pub use types::{AdminRate, AdminRoutes, Rate, RateDiffEntry};

use rating::Prefix;
use serde::{Deserialize, Serialize};

use api::problem::Problem;
use values::{Country, Digits};

/// The most that a page of rates holds.
const MOST: u32 = 1000;
/// How many prefixes are looked at for one page, however few of them are asked for. A page may therefore be short, or
/// empty, and yet not be the last.
const LOOKED_AT: usize = 200_000;

/// Where a page of rates begins.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Position(u64);

impl Position {
    fn at(prefix: Prefix) -> Position {
        Position(prefix.code())
    }

    fn prefix(self) -> Result<Prefix, Problem> {
        Prefix::from_code(self.0).ok_or_else(|| Problem::invalid("cursor", "is not a cursor of this list"))
    }
}

/// The prefixes that a list is about, and what their destinations are asked to be.
#[derive(Clone)]
struct Wanted {
    from: Prefix,
    within: Option<Prefix>,
    country: Option<rating::Country>,
    /// In lower case.
    name: Option<String>,
}

impl Wanted {
    fn new(
        after: Option<Position>,
        prefix: Option<&Digits>,
        country: Option<Country>,
        name: Option<&str>,
    ) -> Result<Wanted, Problem> {
        let within = prefix.map(types::prefix_of).transpose()?;
        let from = match after {
            Some(after) => after.prefix()?,
            None => within.unwrap_or(Prefix::FIRST),
        };
        let country = country.and_then(|country| rating::Country::new(country.code()));
        Ok(Wanted { from, within, country, name: name.map(str::to_lowercase) })
    }

    fn is_filtered(&self) -> bool {
        self.country.is_some() || self.name.is_some()
    }

    /// Whether a prefix still belongs to the list; once one does not, no later one does.
    fn reaches(&self, prefix: Prefix) -> bool {
        self.within.is_none_or(|within| within.covers(prefix))
    }

    fn takes(&self, destination: &rating::Destination) -> bool {
        self.country.is_none_or(|country| country == destination.country)
            && self.name.as_ref().is_none_or(|name| destination.name.to_lowercase().contains(name))
    }
}

/// Runs work that may take a while where it holds up no request.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, Problem> + Send + 'static) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(Problem::internal)?
}
