//! The tariff of a past time, read in ranges of prefixes.
//!
//! Decks that are still in force are in memory anyway. Of other decks a few leaves are read at a time, with the entries
//! that cover their first prefix. That is enough to price the range, so two tariffs of a million prefixes each can be
//! compared in little memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use rating::{Deck, Prefix, UnixMillis};
use uuid::Uuid;

use super::store::{self, Fx, Terms};
use super::{Prices, Tariff, UpstreamStatus, prices};
use db::{Conn, DbError};
use values::{Currency, Time};

/// Leaves of a deck in one range.
const LEAVES_PER_READ: i64 = 8;

/// The tariff of a past time.
#[derive(Clone)]
pub struct PastTariff {
    pub at: UnixMillis,
    fx: Option<Fx>,
    upstreams: Vec<(Terms, Source)>,
}

#[derive(Clone)]
enum Source {
    InMemory(Arc<Deck>),
    Stored(Uuid),
}

/// A range of prefixes of each deck.
pub struct PrefixRange {
    /// The first prefix after the range; `None` if it reaches the last prefix.
    pub end: Option<Prefix>,
    from: Prefix,
    fx: Option<Fx>,
    upstreams: Vec<(Terms, Part)>,
}

enum Part {
    Whole(Arc<Deck>),
    Leaves(Vec<StoredLeaf>),
}

struct StoredLeaf {
    body: Vec<u8>,
    /// Read only for the entries that cover the first prefix of the range.
    is_before: bool,
}

impl PastTariff {
    /// The tariff at a time. Decks that are still in force are taken from memory.
    pub async fn at(conn: &mut Conn, moment: Time, in_force: &Tariff) -> Result<PastTariff, DbError> {
        let mut upstreams = Vec::new();
        for terms in store::terms_at(conn, moment).await? {
            let Some(deck) = terms.deck_id.filter(|_| terms.status == UpstreamStatus::Active) else { continue };
            let source = in_force.deck(deck).map_or(Source::Stored(deck), Source::InMemory);
            upstreams.push((terms, source));
        }
        Ok(PastTariff { at: moment.millis(), fx: store::fx_at(conn, moment).await?, upstreams })
    }

    /// Reads what is needed to price the prefixes from `from` on, up to the `end` of the range.
    pub async fn read_range(&self, conn: &mut Conn, from: Prefix) -> Result<PrefixRange, DbError> {
        let mut end: Option<Prefix> = None;
        let mut upstreams = Vec::with_capacity(self.upstreams.len());
        for (terms, source) in &self.upstreams {
            let part = match source {
                Source::InMemory(deck) => Part::Whole(deck.clone()),
                Source::Stored(deck) => {
                    let (leaves, its_end) = read_leaves(conn, *deck, from).await?;
                    end = [end, its_end].into_iter().flatten().min();
                    Part::Leaves(leaves)
                }
            };
            upstreams.push((terms.clone(), part));
        }
        Ok(PrefixRange { end, from, fx: self.fx.clone(), upstreams })
    }
}

async fn read_leaves(conn: &mut Conn, deck: Uuid, from: Prefix) -> Result<(Vec<StoredLeaf>, Option<Prefix>), DbError> {
    let mut leaves = store::leaves_from(conn, deck, from, LEAVES_PER_READ + 1).await?;
    let beyond = if leaves.len() as i64 > LEAVES_PER_READ { leaves.pop() } else { None };
    let first = leaves.first().map(|(first, _)| *first);
    let mut all = BTreeMap::new();
    for cover in from.ancestors() {
        let Some((code, body)) = store::leaf_of(conn, deck, cover).await? else { continue };
        if first.is_none_or(|first| code < first) {
            all.insert(code, StoredLeaf { body, is_before: true });
        }
    }
    all.extend(leaves.into_iter().map(|(code, body)| (code, StoredLeaf { body, is_before: false })));
    let end = beyond.and_then(|(code, _)| Prefix::from_code(code.unsigned_abs()));
    Ok((all.into_values().collect(), end))
}

impl PrefixRange {
    /// The prices of the range in a currency. It takes long: run it on a blocking thread.
    pub fn prices(&self, currency: Currency) -> Result<Prices, DbError> {
        let mut upstreams = Vec::with_capacity(self.upstreams.len());
        for (terms, part) in &self.upstreams {
            let deck = match part {
                Part::Whole(deck) => deck.clone(),
                Part::Leaves(leaves) => Arc::new(self.deck(leaves)?),
            };
            upstreams.push((terms, deck));
        }
        Ok(prices(self.fx.as_ref(), upstreams.into_iter(), currency, |_| false))
    }

    fn deck(&self, leaves: &[StoredLeaf]) -> Result<Deck, DbError> {
        let mut entries = Vec::new();
        for leaf in leaves {
            let decoded = rating::decode_leaf(&leaf.body).map_err(DbError::other)?;
            entries.extend(decoded.into_iter().filter(|entry| !leaf.is_before || entry.prefix.covers(self.from)));
        }
        Deck::new(entries).map_err(DbError::other)
    }
}
