//! The tariff of a past time, read in ranges of prefixes.
//!
//! Decks that are still in force are in memory anyway. Of other decks a few leaves are read at a time, with the entries
//! that cover their first prefix. That is enough to price the range, so two tariffs of a million prefixes each can be
//! compared in little memory. The back-dated rates of later decks are read from the latest one, which keeps them.

use std::collections::BTreeMap;
use std::sync::Arc;

use rating::{Deck, DeckTimes, Prefix, Replacements, UnixMillis};
use uuid::Uuid;

use super::store::{self, Fx, FxHistory, PastTime, ReplacingDeck, StoredLeaves, Terms};
use super::{Prices, Tariff, TariffUpstream, UpstreamStatus, prices};
use db::{Conn, Db, DbError};
use values::{Currency, Time, UpstreamId};

/// Leaves of a deck in one range.
const LEAVES_PER_READ: i64 = 8;

/// The tariff of a past time.
#[derive(Clone)]
pub struct PastTariff {
    pub at: UnixMillis,
    fx: FxHistory,
    upstreams: Vec<PastUpstream>,
    replaced: PastReplaced,
}

/// What the decks of then have replaced: in memory, or to be read.
#[derive(Clone)]
enum PastReplaced {
    InMemory(Arc<Replacements<UpstreamId>>),
    By(Vec<ReplacingDeck>),
}

#[derive(Clone)]
struct PastUpstream {
    terms: Terms,
    /// The deck of then, if it is in memory.
    in_memory: Option<Arc<Deck>>,
    /// The latest deck, unless it is the one of then.
    latest: Option<Uuid>,
}

/// A range of prefixes of each deck.
pub struct PrefixRange {
    /// The first prefix after the range; `None` if it reaches the last prefix.
    pub end: Option<Prefix>,
    from: Prefix,
    at: UnixMillis,
    fx: FxHistory,
    upstreams: Vec<RangeUpstream>,
    replaced: RangeReplaced,
}

enum RangeReplaced {
    Whole(Arc<Replacements<UpstreamId>>),
    Parts(Vec<(ReplacingDeck, Part)>),
}

struct RangeUpstream {
    terms: Terms,
    deck: Option<Part>,
    latest: Option<(Uuid, Part)>,
}

enum Part {
    Whole(Arc<Deck>),
    Leaves(DeckTimes, Vec<StoredLeaf>),
}

/// The tariffs of two times, read side by side in ranges of prefixes.
pub struct TwoTariffs {
    old: PastTariff,
    new: PastTariff,
    /// Where the next range begins; `None` after the last one.
    next: Option<Prefix>,
}

/// The same prefixes at two times.
pub struct TwoRanges {
    pub from: Prefix,
    /// The first prefix after them; `None` if they reach the last prefix.
    pub end: Option<Prefix>,
    pub old: PrefixRange,
    pub new: PrefixRange,
}

/// What a past rate of an upstream follows from.
pub struct PastSource<'r> {
    pub terms: &'r Terms,
    pub fx: Option<&'r Fx>,
    pub deck_id: Option<Uuid>,
}

struct StoredLeaf {
    body: Vec<u8>,
    /// Read only for the entries that cover the first prefix of the range.
    is_before: bool,
}

impl PastTariff {
    /// The tariff at a time. Decks that are still in force are taken from memory.
    pub async fn at(conn: &mut Conn, moment: PastTime, in_force: &Tariff) -> Result<PastTariff, DbError> {
        let mut upstreams = Vec::new();
        for (terms, latest) in store::terms_and_latest_decks(conn, moment).await? {
            if terms.status == UpstreamStatus::Active {
                let in_memory = terms.deck_id.and_then(|deck| in_force.deck(deck));
                upstreams.push(PastUpstream { terms, in_memory, latest });
            }
        }
        let replacing = store::replacing_decks(conn, moment.at()).await?;
        let replaced = match in_force.has_replaced_by(&replacing) {
            true => PastReplaced::InMemory(Arc::clone(&in_force.replacements)),
            false => PastReplaced::By(replacing),
        };
        Ok(PastTariff { at: moment.at().millis(), fx: store::fx_at(conn, moment).await?, upstreams, replaced })
    }

    /// The tariff of a later time by the decks, terms and exchange rates that were in force at an earlier one.
    pub async fn expected(conn: &mut Conn, at: Time, as_of: Time, in_force: &Tariff) -> Result<PastTariff, DbError> {
        let tariff = PastTariff::at(conn, PastTime::new(as_of, as_of), in_force).await?;
        Ok(PastTariff { at: at.millis(), ..tariff })
    }

    /// Reads what is needed to price the prefixes from `from` on, up to the `end` of the range.
    pub async fn read_range(&self, conn: &mut Conn, from: Prefix) -> Result<PrefixRange, DbError> {
        let mut end: Option<Prefix> = None;
        let mut upstreams = Vec::with_capacity(self.upstreams.len());
        for PastUpstream { terms, in_memory, latest } in &self.upstreams {
            let deck = match (terms.deck_id, in_memory) {
                (None, _) => None,
                (Some(_), Some(deck)) => Some(Part::Whole(Arc::clone(deck))),
                (Some(id), None) => Some(read_deck(conn, id, from, &mut end).await?),
            };
            let latest = match latest {
                None => None,
                Some(id) => Some((*id, read_deck(conn, *id, from, &mut end).await?)),
            };
            upstreams.push(RangeUpstream { terms: terms.clone(), deck, latest });
        }
        let replaced = match &self.replaced {
            PastReplaced::InMemory(replacements) => RangeReplaced::Whole(Arc::clone(replacements)),
            PastReplaced::By(decks) => {
                let mut parts = Vec::with_capacity(decks.len());
                for deck in decks {
                    let leaves = read_leaves(conn, StoredLeaves::Replaced, deck.id, from, &mut end).await?;
                    // They begin at their own times.
                    let at = deck.in_force_at.millis();
                    parts.push((*deck, Part::Leaves(DeckTimes { made_at: at, in_force_at: at }, leaves)));
                }
                RangeReplaced::Parts(parts)
            }
        };
        Ok(PrefixRange { end, from, at: self.at, fx: self.fx.clone(), upstreams, replaced })
    }
}

impl TwoTariffs {
    /// The tariffs of two times, from a prefix on. `in_force` has the decks that need not be read.
    pub async fn at(
        conn: &mut Conn,
        (old, new): (PastTime, PastTime),
        in_force: &Tariff,
        from: Prefix,
    ) -> Result<TwoTariffs, DbError> {
        let old = PastTariff::at(conn, old, in_force).await?;
        let new = PastTariff::at(conn, new, in_force).await?;
        Ok(TwoTariffs { old, new, next: Some(from) })
    }

    /// The tariffs of one time, as they were expected at two earlier ones.
    pub async fn expected(
        conn: &mut Conn,
        at: Time,
        (old, new): (Time, Time),
        in_force: &Tariff,
    ) -> Result<TwoTariffs, DbError> {
        let old = PastTariff::expected(conn, at, old, in_force).await?;
        let new = PastTariff::expected(conn, at, new, in_force).await?;
        Ok(TwoTariffs { old, new, next: Some(Prefix::FIRST) })
    }

    /// Reads the next range; `None` after the last one.
    pub async fn next(&mut self, db: &Db) -> Result<Option<TwoRanges>, DbError> {
        let Some(from) = self.next.take() else { return Ok(None) };
        let both = db.report((self.old.clone(), self.new.clone(), from), |conn, (old, new, from)| {
            Box::pin(async move {
                Ok::<_, DbError>((old.read_range(conn, *from).await?, new.read_range(conn, *from).await?))
            })
        });
        let (old, new) = both.await?;
        let end = [old.end, new.end].into_iter().flatten().min();
        self.next = end;
        Ok(Some(TwoRanges { from, end, old, new }))
    }
}

impl TwoRanges {
    /// The prices of both times in a currency. It takes long: run it on a blocking thread.
    pub fn prices(&self, currency: Currency) -> Result<(Prices, Prices), DbError> {
        Ok((self.old.prices(currency)?, self.new.prices(currency)?))
    }

    /// Both times.
    pub fn at(&self) -> (UnixMillis, UnixMillis) {
        (self.old.at, self.new.at)
    }

    /// Whether a prefix from `from` on is in the range.
    pub fn has(&self, prefix: Prefix) -> bool {
        self.end.is_none_or(|end| prefix < end)
    }
}

/// Reads a part of a deck, and lowers `end` to the first prefix after it.
async fn read_deck(conn: &mut Conn, deck: Uuid, from: Prefix, end: &mut Option<Prefix>) -> Result<Part, DbError> {
    let leaves = read_leaves(conn, StoredLeaves::Deck, deck, from, end).await?;
    Ok(Part::Leaves(store::deck_times(conn, deck).await?, leaves))
}

async fn read_leaves(
    conn: &mut Conn,
    of: StoredLeaves,
    deck: Uuid,
    from: Prefix,
    end: &mut Option<Prefix>,
) -> Result<Vec<StoredLeaf>, DbError> {
    let mut leaves = store::leaves_from(conn, of, deck, from, LEAVES_PER_READ + 1).await?;
    let beyond = if leaves.len() as i64 > LEAVES_PER_READ { leaves.pop() } else { None };
    let first = leaves.first().map(|(first, _)| *first);
    let mut all = BTreeMap::new();
    for cover in from.ancestors() {
        let Some((code, body)) = store::leaf_of(conn, of, deck, cover).await? else { continue };
        if first.is_none_or(|first| code < first) {
            all.insert(code, StoredLeaf { body, is_before: true });
        }
    }
    all.extend(leaves.into_iter().map(|(code, body)| (code, StoredLeaf { body, is_before: false })));
    let beyond = beyond.and_then(|(code, _)| Prefix::from_code(code.unsigned_abs()));
    *end = [*end, beyond].into_iter().flatten().min();
    Ok(all.into_values().collect())
}

impl PrefixRange {
    /// The prices of the range in a currency. It takes long: run it on a blocking thread.
    pub fn prices(&self, currency: Currency) -> Result<Prices, DbError> {
        let mut upstreams = Vec::with_capacity(self.upstreams.len());
        for RangeUpstream { terms, deck, latest } in &self.upstreams {
            let deck = deck.as_ref().map(|part| self.deck(part)).transpose()?;
            let latest = latest.as_ref().map(|(id, part)| Ok::<_, DbError>((*id, self.deck(part)?))).transpose()?;
            upstreams.push(TariffUpstream { terms: terms.clone(), deck, latest });
        }
        let replacements = match &self.replaced {
            RangeReplaced::Whole(replacements) => Arc::clone(replacements),
            RangeReplaced::Parts(parts) => {
                let parts = parts.iter().map(|(deck, part)| Ok::<_, DbError>(deck.with(self.deck(part)?)));
                let parts = parts.collect::<Result<Vec<_>, _>>()?;
                Arc::new(Replacements::new(parts).map_err(DbError::other)?)
            }
        };
        Ok(prices(&self.fx, &upstreams, &replacements, currency, |_| false))
    }

    /// The terms of an upstream and its exchange rates, and the deck that has its rate of a prefix in the range.
    pub fn source(&self, upstream: UpstreamId, prefix: Prefix) -> Result<Option<PastSource<'_>>, DbError> {
        let found = self.upstreams.iter().find(|one| one.terms.upstream_id == upstream);
        let Some(RangeUpstream { terms, deck, latest }) = found else { return Ok(None) };
        let in_force = deck.as_ref().map(|part| self.deck(part)).transpose()?;
        let deck_id = match in_force.and_then(|deck| deck.get(prefix, self.at).map(drop)) {
            Some(()) => terms.deck_id,
            None => latest.as_ref().map(|(id, _)| *id),
        };
        Ok(Some(PastSource { terms, fx: self.fx.of(terms), deck_id }))
    }

    fn deck(&self, part: &Part) -> Result<Arc<Deck>, DbError> {
        let (times, leaves) = match part {
            Part::Whole(deck) => return Ok(Arc::clone(deck)),
            Part::Leaves(times, leaves) => (*times, leaves),
        };
        let mut entries = Vec::new();
        for leaf in leaves {
            let decoded = rating::read_leaf(&leaf.body, times).map_err(DbError::other)?;
            entries.extend(decoded.filter(|entry| !leaf.is_before || entry.prefix.covers(self.from)));
        }
        Ok(Arc::new(Deck::new(entries).map_err(DbError::other)?))
    }
}
