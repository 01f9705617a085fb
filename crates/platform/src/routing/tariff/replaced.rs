//! What the decks of a tariff have replaced: customers whose notice is not over may still pay it.

use std::sync::Arc;

use rating::{Deck, Replacement, Replacements};
use uuid::Uuid;

use super::Tariff;
use super::store::{self, ReplacingDeck, StoredLeaves};
use db::{Db, DbError};
use values::UpstreamId;

/// Loads what these decks have replaced, unless a `known` tariff has it.
pub async fn load(
    db: &Db,
    decks: Vec<ReplacingDeck>,
    known: &[Arc<Tariff>],
) -> Result<Arc<Replacements<UpstreamId>>, DbError> {
    if let Some(same) = known.iter().find(|tariff| tariff.has_replaced_by(&decks)) {
        return Ok(Arc::clone(&same.replacements));
    }
    let mut all = Vec::with_capacity(decks.len());
    for deck in decks {
        let before = match known.iter().find_map(|tariff| tariff.replaced_by(&deck)) {
            Some(known) => known,
            None => load_replaced(db, deck.id).await?,
        };
        all.push(deck.with(before));
    }
    let made = tokio::task::spawn_blocking(move || Replacements::new(all));
    Ok(Arc::new(made.await.map_err(DbError::other)?.map_err(DbError::other)?))
}

async fn load_replaced(db: &Db, deck: Uuid) -> Result<Arc<Deck>, DbError> {
    let leaves = db.report(deck, |conn, deck| Box::pin(store::leaves(conn, StoredLeaves::Replaced, *deck))).await?;
    let made = tokio::task::spawn_blocking(move || Deck::decode(leaves));
    Ok(Arc::new(made.await.map_err(DbError::other)?.map_err(DbError::other)?))
}

impl ReplacingDeck {
    pub fn with(&self, before: Arc<Deck>) -> Replacement<UpstreamId> {
        let ReplacingDeck { upstream_id, in_force_at, is_waived, .. } = *self;
        Replacement { upstream: upstream_id, at: in_force_at.millis(), is_waived, before }
    }
}

impl Tariff {
    /// Whether it has what these decks have replaced, and nothing else. No two decks come into force at the same time.
    pub(super) fn has_replaced_by(&self, decks: &[ReplacingDeck]) -> bool {
        let times = self.replacements.all().iter().map(|one| one.at);
        times.eq(decks.iter().map(|deck| deck.in_force_at.millis()))
    }

    fn replaced_by(&self, deck: &ReplacingDeck) -> Option<Arc<Deck>> {
        let at = deck.in_force_at.millis();
        self.replacements.all().iter().find(|one| one.at == at).map(|one| Arc::clone(&one.before))
    }
}
