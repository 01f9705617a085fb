//! Our side of a statement: the answered calls that the upstream carried, with their cost in the upstream's currency.
//!
//! A CDR has its cost in the currency of our customers. That is the cost if the upstream has the same currency.
//! Otherwise the call is priced again by the upstream's deck that was in force when the call began, which is what the
//! cost of the CDR was converted from. An imported CDR may also have been rated by a back-dated rate of the latest deck.

use std::sync::Arc;

use rating::{Deck, OurCall, Prefix, Rate};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::cdrs::{CarriedCall, CarriedCursor, carried_after};
use crate::upstreams::UpstreamRow;
use db::DbError;
use platform::app::App;
use platform::routing::tariff;
use values::{CallId, Time};

/// CDRs of all upstreams that are read at once.
const PAGE_SIZE: i64 = 5000;
/// Decks of the past that are kept in memory.
const MAX_LOADED: usize = 2;

/// What is read for a statement.
pub struct Calls {
    pub upstream: UpstreamRow,
    pub from: Time,
    /// Exclusive.
    pub to: Time,
    /// Whether the statement has call ids to compare.
    pub has_call_ids: bool,
}

impl Calls {
    /// Sends the calls, in the order of their starts. Ends early if nobody receives them any more.
    pub async fn send(self, app: &App, sink: mpsc::Sender<Vec<OurCall>>) -> Result<(), DbError> {
        let mut rates = PastRates::load(app, &self.upstream, self.from, self.to).await?;
        let mut next: Option<CarriedCursor> = Some((self.from, CallId::new(Uuid::nil())));
        while let Some(after) = next {
            let range = (self.upstream.id, after, self.to);
            let read = app.db.report(range, |conn, (upstream, after, to)| {
                Box::pin(carried_after(conn, *upstream, *after, *to, PAGE_SIZE))
            });
            let (page, after) = read.await?;
            let mut calls = Vec::with_capacity(page.len());
            for call in page {
                let rate = rates.of(app, &call).await?;
                calls.push(self.ours(call, rate));
            }
            if !calls.is_empty() && sink.send(calls).await.is_err() {
                break;
            }
            next = after;
        }
        Ok(())
    }

    fn ours(&self, call: CarriedCall, rate: Option<Rate>) -> OurCall {
        let duration_seconds = u32::try_from(call.duration_seconds).unwrap_or_default();
        let priced = || rate.and_then(|rate| rate.price(duration_seconds).ok()).unwrap_or_default();
        OurCall {
            id: call.id.uuid().as_u128(),
            // An anonymised number matches none.
            number: rating::dialled_number(&call.called).unwrap_or_default(),
            started_at: call.started_at.millis(),
            duration_seconds,
            cost_nanos: if call.currency == self.upstream.base_currency { call.cost } else { priced() },
            rate,
            call_id: self.has_call_ids.then(|| call.call_id.into_boxed_str()),
        }
    }
}

/// The upstream's rates of a period, in its own currency.
struct PastRates {
    /// The decks of the period, each since when it was in force.
    decks: Vec<(Time, Option<Uuid>)>,
    /// The deck in force now, with its back-dated rates, once an imported call needs it.
    latest: Option<Uuid>,
    back_dated: Option<Arc<Deck>>,
    /// The decks that were used last.
    loaded: Vec<(Uuid, Arc<Deck>)>,
}

impl PastRates {
    async fn load(app: &App, upstream: &UpstreamRow, from: Time, to: Time) -> Result<PastRates, DbError> {
        let decks = tariff::decks_between(&mut *app.db.read().await?, upstream.id, from, to).await?;
        Ok(PastRates { decks, latest: upstream.deck_id, back_dated: None, loaded: Vec::new() })
    }

    /// The rate of a call; none if the upstream had none.
    async fn of(&mut self, app: &App, call: &CarriedCall) -> Result<Option<Rate>, DbError> {
        let Some(number) = Prefix::of_number(&call.called) else { return Ok(None) };
        let at = call.started_at;
        let since = self.decks.partition_point(|(since, _)| *since <= at);
        let id = since.checked_sub(1).and_then(|index| self.decks.get(index)).and_then(|(_, deck)| *deck);
        let deck = match id {
            Some(id) => Some(self.deck(app, id).await?),
            None => None,
        };
        let mut found = deck.as_ref().and_then(|deck| deck.find(number, at.millis()));
        let latest = match self.latest.filter(|latest| call.imported && id != Some(*latest)) {
            Some(latest) => Some(self.with_back_dated(app, latest).await?),
            None => None,
        };
        let back_dated = latest.as_ref().and_then(|deck| deck.find(number, at.millis()));
        if found.as_ref().is_none_or(|found| back_dated.as_ref().is_some_and(|other| other.prefix > found.prefix)) {
            found = back_dated;
        }
        Ok(found.map(|listing| listing.offer.rate))
    }

    async fn deck(&mut self, app: &App, id: Uuid) -> Result<Arc<Deck>, DbError> {
        if let Some((_, deck)) = self.loaded.iter().find(|(known, _)| *known == id) {
            return Ok(Arc::clone(deck));
        }
        let deck = match app.tariff.current(&app.db).await?.deck(id) {
            Some(in_force) => in_force,
            None => tariff::load_deck(&app.db, id, false).await?,
        };
        if self.loaded.len() == MAX_LOADED {
            self.loaded.remove(0);
        }
        self.loaded.push((id, Arc::clone(&deck)));
        Ok(deck)
    }

    async fn with_back_dated(&mut self, app: &App, latest: Uuid) -> Result<Arc<Deck>, DbError> {
        if let Some(deck) = &self.back_dated {
            return Ok(Arc::clone(deck));
        }
        let deck = tariff::load_deck(&app.db, latest, true).await?;
        Ok(Arc::clone(self.back_dated.insert(deck)))
    }
}
