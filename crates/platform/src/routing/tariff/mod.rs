//! The tariff: cost and sell rate of every destination, now and at any past time.
//!
//! A deck never changes after its import. The tariff follows from two append-only histories: the terms of each upstream
//! (its deck, status and markup) and the exchange rates in force. So the tariff of any past time can be rebuilt, and a
//! call priced again exactly.
//!
//! A later deck adds its back-dated rates to the tariff of a past time, for prefixes that had no rate then. A
//! [`PastTime`] therefore also says when it is looked at: a CDR keeps the price that was known when it was written.
//!
//! A customer's price does not rise before its notice ends, so the tariff also has what its latest decks have replaced.
//!
//! Every node has the [`Tariff`] in force in a [`Cached`](crate::routing::cache::Cached); a past one is read from the
//! database in ranges of prefixes, as a [`PastTariff`]. The `rating` crate computes the prices.

mod past;
mod replaced;
mod store;

pub use past::{PastSource, PastTariff, PrefixRange, TwoRanges, TwoTariffs};
pub use store::{
    Fx, NewLeaf, PastTime, Terms, activate_deck, changes_after, decks_between, delete_terms, delete_unfinished_deck,
    insert_deck, insert_leaves, insert_replaced_leaves, lock, record_fx, record_terms, version,
};

use std::sync::Arc;

use rating::{Deck, DeckTimes, Notice, Ratio, Replacements, UpstreamState};
use uuid::Uuid;

use crate::routing::cache::{self, Versioned};
use db::{Db, DbError};
use store::{FxHistory, StoredLeaves};
use values::{Currency, UpstreamId, text_enum};

/// The row in `versions`.
const NAME: &str = "tariff";
/// Notice of an increase where nothing else was agreed.
pub const DEFAULT_NOTICE_DAYS: i64 = 7;
/// Exchange rates are for one euro, in billionths.
const BASE: Currency = Currency::EUR;
const BASE_RATE: i64 = 1_000_000_000;

text_enum! {
    /// Whether an upstream takes calls and its rates make the tariff (`active`), or neither (`disabled`).
    pub enum UpstreamStatus {
        Active = "active",
        Disabled = "disabled",
    }
}

/// The tariff in force.
pub struct Tariff {
    version: i64,
    fx: FxHistory,
    upstreams: Vec<TariffUpstream>,
    replacements: Arc<Replacements<UpstreamId>>,
}

/// An upstream in the tariff.
pub struct TariffUpstream {
    pub terms: Terms,
    /// Absent until the first import.
    pub deck: Option<Arc<Deck>>,
    /// In a past tariff the latest deck, unless it is the one of then.
    latest: Option<(Uuid, Arc<Deck>)>,
}

/// The prices in one currency, and the upstreams without any.
pub struct Prices {
    pub tariff: rating::Tariff<UpstreamId>,
    pub unpriced: Vec<(UpstreamId, Unpriced)>,
}

impl Prices {
    /// The prices by a customer's plan, or the list prices.
    pub fn with_plan(self, plan: Option<Arc<rating::Plan>>) -> Prices {
        Prices { tariff: self.tariff.with_plan(plan), ..self }
    }

    /// The prices of a customer with this notice of increases.
    pub fn with_notice(self, notice: Notice) -> Prices {
        Prices { tariff: self.tariff.with_notice(notice), ..self }
    }
}

/// Why an upstream with a deck has no prices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unpriced {
    NoExchangeRate,
    TooLarge,
}

impl Versioned for Tariff {
    const NAME: &'static str = NAME;

    fn version(&self) -> i64 {
        self.version
    }

    async fn load(db: &Db, before: Option<Arc<Self>>) -> Result<Self, DbError> {
        let (version, terms, fx, replacing) = db
            .snapshot((), |conn, ()| {
                Box::pin(async move {
                    let version = cache::version(conn, NAME).await?;
                    let latest = PastTime::latest();
                    let terms = store::terms_and_latest_decks(conn, latest).await?;
                    let replacing = store::replacing_decks(conn, latest.at()).await?;
                    Ok::<_, DbError>((version, terms, store::fx_at(conn, latest).await?, replacing))
                })
            })
            .await?;
        let before: Vec<Arc<Tariff>> = before.into_iter().collect();
        let replacements = replaced::load(db, replacing, &before).await?;
        Ok(Tariff { version, fx, upstreams: load_upstreams(db, terms, &before).await?, replacements })
    }
}

/// The upstreams of these terms with their decks, which are taken from `known` tariffs if they have them.
async fn load_upstreams(
    db: &Db,
    terms: Vec<(Terms, Option<Uuid>)>,
    known: &[Arc<Tariff>],
) -> Result<Vec<TariffUpstream>, DbError> {
    let mut upstreams = Vec::with_capacity(terms.len());
    for (terms, latest) in terms {
        let deck = match terms.deck_id {
            None => None,
            Some(id) => Some(match known.iter().find_map(|tariff| tariff.deck(id)) {
                Some(known) => known,
                None => load_deck(db, id, false).await?,
            }),
        };
        let latest = match latest {
            None => None,
            Some(id) => Some(match known.iter().find_map(|tariff| tariff.latest_deck(id)) {
                Some(known) => (id, known),
                None => (id, load_deck(db, id, true).await?),
            }),
        };
        upstreams.push(TariffUpstream { terms, deck, latest });
    }
    Ok(upstreams)
}

/// Loads a deck for the time since it came into force, or with its past.
pub async fn load_deck(db: &Db, id: Uuid, with_past: bool) -> Result<Arc<Deck>, DbError> {
    let (times, leaves) = stored_deck(db, id).await?;
    let make = if with_past { Deck::with_past } else { Deck::from_leaves };
    let made = tokio::task::spawn_blocking(move || make(leaves, times));
    Ok(Arc::new(made.await.map_err(DbError::other)?.map_err(DbError::other)?))
}

/// When a deck was made and came into force, and its leaves.
pub async fn stored_deck(db: &Db, id: Uuid) -> Result<(DeckTimes, Vec<Vec<u8>>), DbError> {
    let stored = db.report(id, |conn, id| {
        Box::pin(async move {
            let times = store::deck_times(conn, *id).await?;
            Ok::<_, DbError>((times, store::leaves(conn, StoredLeaves::Deck, *id).await?))
        })
    });
    stored.await
}

impl Tariff {
    /// The whole tariff of a past time, to price many calls. A [`PastTariff`] reads only a range of prefixes.
    pub async fn at(db: &Db, moment: PastTime, known: &[Arc<Tariff>]) -> Result<Tariff, DbError> {
        let (terms, fx, replacing) = {
            let mut conn = db.read().await?;
            let terms = store::terms_and_latest_decks(&mut conn, moment).await?;
            let replacing = store::replacing_decks(&mut conn, moment.at()).await?;
            (terms, store::fx_at(&mut conn, moment).await?, replacing)
        };
        let replacements = replaced::load(db, replacing, known).await?;
        Ok(Tariff { version: 0, fx, upstreams: load_upstreams(db, terms, known).await?, replacements })
    }

    pub fn upstreams(&self) -> &[TariffUpstream] {
        &self.upstreams
    }

    /// A deck in force, by its id.
    pub fn deck(&self, id: Uuid) -> Option<Arc<Deck>> {
        self.upstreams.iter().find(|upstream| upstream.terms.deck_id == Some(id))?.deck.clone()
    }

    fn latest_deck(&self, id: Uuid) -> Option<Arc<Deck>> {
        let mut latest = self.upstreams.iter().filter_map(|upstream| upstream.latest.as_ref());
        latest.find(|(latest, _)| *latest == id).map(|(_, deck)| Arc::clone(deck))
    }

    /// The prices in a currency. An upstream that is down has prices too, but gets no calls.
    pub fn prices(&self, currency: Currency, is_down: impl Fn(UpstreamId) -> bool) -> Prices {
        prices(&self.fx, &self.upstreams, &self.replacements, currency, is_down)
    }
}

fn prices(
    fx: &FxHistory,
    upstreams: &[TariffUpstream],
    replacements: &Arc<Replacements<UpstreamId>>,
    currency: Currency,
    is_down: impl Fn(UpstreamId) -> bool,
) -> Prices {
    let (mut priced, mut unpriced) = (Vec::new(), Vec::new());
    for TariffUpstream { terms, deck, latest } in upstreams {
        let latest = latest.as_ref().map(|(_, deck)| deck);
        let Some(deck) = deck.as_ref().or(latest) else { continue };
        let state = UpstreamState {
            is_active: terms.status == UpstreamStatus::Active,
            is_down: is_down(terms.upstream_id),
            markup_ppm: u32::try_from(terms.markup.ppm()).unwrap_or_default(),
        };
        let Some(ratio) = ratio(fx.of(terms), terms.currency, currency) else {
            unpriced.push((terms.upstream_id, Unpriced::NoExchangeRate));
            continue;
        };
        match rating::Upstream::new(terms.upstream_id, state, ratio, Arc::clone(deck)) {
            Ok(upstream) => priced.push(match latest {
                Some(latest) => upstream.with_back_dated(Arc::clone(latest)),
                None => upstream,
            }),
            Err(_) => unpriced.push((terms.upstream_id, Unpriced::TooLarge)),
        }
    }
    Prices { tariff: rating::Tariff::new(priced).with_replacements(Arc::clone(replacements)), unpriced }
}

/// The exchange rate between two currencies.
fn ratio(fx: Option<&Fx>, from: Currency, to: Currency) -> Option<Ratio> {
    if from == to {
        return Some(Ratio::ONE);
    }
    let rate = |currency| match currency {
        BASE => Some(BASE_RATE),
        other => fx?.rates.get(&other).copied(),
    };
    Ratio::new(u64::try_from(rate(to)?).ok()?, u64::try_from(rate(from)?).ok()?)
}
