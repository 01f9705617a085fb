//! Compares the prices of customers with the same rate plan and notice at two times, over all prefixes. For customers
//! with a notice, those of a new deck are compared at one time, without it and with it: what was announced before is not
//! announced again.

use std::collections::HashMap;
use std::sync::Arc;

use rating::{Compared, Destination, Notice, Plan, Prefix, Rate, SellRate, UnixMillis};

use super::impact::ChangedDestination;
use db::DbError;
use identity::balance::CURRENCY;
use platform::app::App;
use platform::routing::tariff::{PastTime, TwoRanges, TwoTariffs};
use values::{Time, UpstreamId, text_enum};

/// Changes that are listed one by one.
pub const MAX_ROWS: usize = 100_000;
/// Destinations whose changes are kept.
const MAX_DESTINATIONS: usize = 20_000;

text_enum! {
    /// What a change does to the numbers of a prefix.
    pub enum PriceChange {
        /// They were not sold before.
        Added = "added",
        /// They are not sold any more.
        Removed = "removed",
        /// Price per minute, connect fee, increment or minimum is higher.
        Increased = "increased",
        /// None of them is higher, and some are lower.
        Decreased = "decreased",
    }
}

/// A prefix whose price changes.
pub struct ChangedRate {
    pub prefix: Prefix,
    pub destination: Arc<Destination>,
    pub change: PriceChange,
    pub from: Option<Rate>,
    pub to: Option<Rate>,
    /// Since when it has the new price; `None` if it has none.
    pub effective_at: Option<UnixMillis>,
}

/// What is compared: two times, and the plan of the customers at either.
pub struct Period {
    pub from: Time,
    pub to: Time,
    pub plans: (Option<Arc<Plan>>, Option<Arc<Plan>>),
    /// No new price counts earlier for these customers.
    pub since: Time,
    /// The notice of increases by decks, at either time.
    pub notices: (Notice, Notice),
    /// When the deck came into force that changes the prices, if one does and its increases need notice.
    pub deck_at: Option<Time>,
    /// When increases count at the earliest.
    pub increases_since: Time,
}

/// How many prefixes change in each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub added: i64,
    pub removed: i64,
    pub increased: i64,
    pub decreased: i64,
}

impl Counts {
    pub fn total(&self) -> i64 {
        self.added + self.removed + self.increased + self.decreased
    }

    fn add(&mut self, change: PriceChange) {
        *match change {
            PriceChange::Added => &mut self.added,
            PriceChange::Removed => &mut self.removed,
            PriceChange::Increased => &mut self.increased,
            PriceChange::Decreased => &mut self.decreased,
        } += 1;
    }
}

#[derive(Default)]
pub struct Comparison {
    pub counts: Counts,
    /// In order; the first ones if there are too many.
    pub rows: Vec<ChangedRate>,
    destinations: HashMap<Arc<Destination>, Prices>,
}

/// The prefixes of a destination.
struct Prices {
    rates: ChangedDestination,
    is_changed: bool,
}

/// Compares all prefixes. The tariffs are read in ranges, so it takes little memory.
pub async fn compare(app: &App, period: Period) -> Result<Comparison, DbError> {
    let in_force = app.tariff.current(&app.db).await?;
    let times = (period.from, period.to, period.deck_at);
    let tariffs = app.db.snapshot((in_force, times), |conn, (in_force, (from, to, deck_at))| {
        Box::pin(async move {
            match deck_at {
                Some(deck_at) => {
                    let before = Time::from_millis(deck_at.millis() - 1);
                    TwoTariffs::expected(conn, *to, (before, *deck_at), in_force).await
                }
                None => {
                    let times = (PastTime::known_now(*from), PastTime::known_now(*to));
                    TwoTariffs::at(conn, times, in_force, Prefix::FIRST).await
                }
            }
        })
    });
    let mut tariffs = tariffs.await?;
    let (mut comparison, period) = (Comparison::default(), Arc::new(period));
    while let Some(ranges) = tariffs.next(&app.db).await? {
        let period = Arc::clone(&period);
        let work = move || comparison.add(&ranges, &period).map(|()| comparison);
        comparison = tokio::task::spawn_blocking(work).await.map_err(DbError::other)??;
    }
    Ok(comparison)
}

impl Comparison {
    /// The destinations some of whose prices change.
    pub fn destinations(&self) -> Vec<ChangedDestination> {
        let changed = self.destinations.values().filter(|prices| prices.is_changed);
        let mut changed: Vec<ChangedDestination> = changed.map(|prices| prices.rates.clone()).collect();
        changed.sort_by(|one, other| (&one.country, &one.name).cmp(&(&other.country, &other.name)));
        changed.truncate(MAX_DESTINATIONS);
        changed
    }

    fn add(&mut self, ranges: &TwoRanges, period: &Period) -> Result<(), DbError> {
        let (old, new) = ranges.prices(CURRENCY)?;
        let (old, new) = (old.with_notice(period.notices.0.clone()), new.with_notice(period.notices.1.clone()));
        let (old, new) = (old.with_plan(period.plans.0.clone()), new.with_plan(period.plans.1.clone()));
        let all = rating::compare((&old.tariff, &new.tariff), ranges.at(), ranges.from);
        for compared in all.take_while(|compared| ranges.has(compared.prefix)) {
            self.add_prefix(&compared, period);
        }
        Ok(())
    }

    fn add_prefix(&mut self, Compared { prefix, from, to }: &Compared<'_, UpstreamId>, period: &Period) {
        // Calls have the name that their destination had before.
        let Some(named) = from.as_ref().or(to.as_ref()) else { return };
        let destination = &named.source.offer.destination;
        let rate = |sell: &Option<SellRate<'_, UpstreamId>>| sell.as_ref().map(|sell| sell.rate);
        let (old, new) = (rate(from), rate(to));
        let change = match (&old, &new) {
            (None, _) => Some(PriceChange::Added),
            (_, None) => Some(PriceChange::Removed),
            (Some(old), Some(new)) if new.exceeds(old) => Some(PriceChange::Increased),
            (Some(old), Some(new)) => (old != new).then_some(PriceChange::Decreased),
        };
        let prices = self.destinations.entry(Arc::clone(destination)).or_insert_with(|| Prices {
            rates: ChangedDestination::new(destination.country.as_str(), &destination.name),
            is_changed: false,
        });
        if let (Some(old), Some(new)) = (&old, &new) {
            prices.rates.add(old, new);
        }
        let Some(change) = change else { return };
        prices.is_changed = true;
        self.counts.add(change);
        let since = match change {
            PriceChange::Increased => period.since.max(period.increases_since),
            _ => period.since,
        };
        if self.rows.len() < MAX_ROWS {
            self.rows.push(ChangedRate {
                prefix: *prefix,
                destination: Arc::clone(&to.as_ref().unwrap_or(named).source.offer.destination),
                change,
                from: old,
                to: new,
                effective_at: to.as_ref().map(|sell| sell.source.effective_at.max(since.millis())),
            });
        }
    }
}
