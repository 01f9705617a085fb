//! The tariff: cost and sell rate of every destination, now and at any past time.
//!
//! A deck never changes after its import. The tariff follows from two append-only histories: the terms of each upstream
//! (its deck, status and markup) and the exchange rates in force. So the tariff of any past time can be rebuilt, and a
//! call priced again exactly.
//!
//! Every node has the [`Tariff`] in force in a [`Cached`](crate::routing::cache::Cached); a past one is read from the
//! database in ranges of prefixes, as a [`PastTariff`]. The `rating` crate computes the prices.

mod past;
mod store;

pub use past::{PastTariff, PrefixRange};
pub use store::{
    Fx, NewLeaf, Terms, activate_deck, changes_after, delete_terms, delete_unfinished_deck, fx_at, insert_deck,
    insert_leaves, lock, record_fx, record_terms, terms_at,
};

use std::sync::Arc;

use rating::{Deck, Ratio, UpstreamState};
use uuid::Uuid;

use crate::routing::cache::{self, Versioned};
use db::{Db, DbError};
use values::{Currency, Time, UpstreamId, text_enum};

/// The row in `versions`.
const NAME: &str = "tariff";
/// Exchange rates are for one euro, in billionths.
const BASE: Currency = Currency::EUR;
const BASE_RATE: i64 = 1_000_000_000;
const LATEST: Time = Time::from_millis(i64::MAX);

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
    fx: Option<Fx>,
    upstreams: Vec<TariffUpstream>,
}

/// An upstream in the tariff.
pub struct TariffUpstream {
    pub terms: Terms,
    /// Absent until the first import.
    pub deck: Option<Arc<Deck>>,
}

/// The prices in one currency, and the upstreams without any.
pub struct Prices {
    pub tariff: rating::Tariff<UpstreamId>,
    pub unpriced: Vec<(UpstreamId, Unpriced)>,
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
        let (version, terms, fx) = db
            .snapshot((), |conn, ()| {
                Box::pin(async move {
                    let version = cache::version(conn, NAME).await?;
                    Ok::<_, DbError>((version, terms_at(conn, LATEST).await?, fx_at(conn, LATEST).await?))
                })
            })
            .await?;
        let before: Vec<Arc<Tariff>> = before.into_iter().collect();
        Ok(Tariff { version, fx, upstreams: load_upstreams(db, terms, &before).await? })
    }
}

/// The upstreams of these terms with their decks, which are taken from `known` tariffs if they have them.
async fn load_upstreams(db: &Db, terms: Vec<Terms>, known: &[Arc<Tariff>]) -> Result<Vec<TariffUpstream>, DbError> {
    let mut upstreams = Vec::with_capacity(terms.len());
    for terms in terms {
        let found = terms.deck_id.and_then(|id| known.iter().find_map(|tariff| tariff.deck(id)));
        let deck = match (terms.deck_id, found) {
            (None, _) => None,
            (Some(_), Some(found)) => Some(found),
            (Some(id), None) => Some(Arc::new(load_deck(db, id).await?)),
        };
        upstreams.push(TariffUpstream { terms, deck });
    }
    Ok(upstreams)
}

async fn load_deck(db: &Db, id: Uuid) -> Result<Deck, DbError> {
    let leaves = db.report(id, |conn, id| Box::pin(store::leaves(conn, *id))).await?;
    let made = tokio::task::spawn_blocking(move || Deck::from_leaves(leaves.into_iter().map(|(body,)| body)));
    made.await.map_err(DbError::other)?.map_err(DbError::other)
}

impl Tariff {
    /// The whole tariff of a past time, to price many calls. A [`PastTariff`] reads only a range of prefixes.
    pub async fn at(db: &Db, moment: Time, known: &[Arc<Tariff>]) -> Result<Tariff, DbError> {
        let (terms, fx) = {
            let mut conn = db.read().await?;
            (terms_at(&mut conn, moment).await?, fx_at(&mut conn, moment).await?)
        };
        Ok(Tariff { version: 0, fx, upstreams: load_upstreams(db, terms, known).await? })
    }

    pub fn upstreams(&self) -> &[TariffUpstream] {
        &self.upstreams
    }

    pub fn upstream(&self, id: UpstreamId) -> Option<&TariffUpstream> {
        self.upstreams.iter().find(|upstream| upstream.terms.upstream_id == id)
    }

    /// A deck in force, by its id.
    pub fn deck(&self, id: Uuid) -> Option<Arc<Deck>> {
        self.upstreams.iter().find(|upstream| upstream.terms.deck_id == Some(id))?.deck.clone()
    }

    /// The prices in a currency. An upstream that is down has prices too, but gets no calls.
    pub fn prices(&self, currency: Currency, is_down: impl Fn(UpstreamId) -> bool) -> Prices {
        let upstreams = self.upstreams.iter().filter_map(|upstream| Some((&upstream.terms, upstream.deck.clone()?)));
        prices(self.fx.as_ref(), upstreams, currency, is_down)
    }
}

fn prices<'t>(
    fx: Option<&Fx>,
    upstreams: impl Iterator<Item = (&'t Terms, Arc<Deck>)>,
    currency: Currency,
    is_down: impl Fn(UpstreamId) -> bool,
) -> Prices {
    let (mut priced, mut unpriced) = (Vec::new(), Vec::new());
    for (terms, deck) in upstreams {
        let state = UpstreamState {
            is_active: terms.status == UpstreamStatus::Active,
            is_down: is_down(terms.upstream_id),
            markup_ppm: u32::try_from(terms.markup.ppm()).unwrap_or_default(),
        };
        let Some(ratio) = ratio(fx, terms.currency, currency) else {
            unpriced.push((terms.upstream_id, Unpriced::NoExchangeRate));
            continue;
        };
        match rating::Upstream::new(terms.upstream_id, state, ratio, deck) {
            Ok(upstream) => priced.push(upstream),
            Err(_) => unpriced.push((terms.upstream_id, Unpriced::TooLarge)),
        }
    }
    Prices { tariff: rating::Tariff::new(priced), unpriced }
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
