//! What is sold: the decks of all upstreams, with their markup and in the currency that is asked for.
//!
//! A prefix is sold if the deck of any active upstream lists it. Its price is what the cheapest active upstream asks,
//! each by its own longest match of that prefix, and that upstream's markup; so one that knows only `31` has its say
//! about `31201` too. Between equals the lower markup decides.
//! Whether an upstream is up or down does not change what is sold, or prices would flicker with the network.
//!
//! A number is sold at the price of the longest prefix that is sold, which follows from the upstreams' own longest
//! matches of the number itself: no upstream knows a longer one.

use std::sync::Arc;

use crate::factor::Factor;
use crate::{Deck, Listing, Moment, Offer, Prefix, Priced, Rate, Ratio, TooLarge};

/// One who carries calls, as the tariff sees it.
#[derive(Debug)]
pub struct Upstream<K> {
    key: K,
    standing: Standing,
    cost: Factor,
    sale: Factor,
    deck: Arc<Deck>,
}

/// Whether calls may go there, and what is added to its prices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    pub active: bool,
    pub down: bool,
    /// Millionths: 50,000 for five percent.
    pub markup_ppm: u32,
}

impl<K> Upstream<K> {
    /// `fx` is what one unit of the deck's currency is worth in the currency that is asked for. An upstream whose
    /// highest price would not fit into nanos is refused here, so that every price of a tariff fits.
    pub fn new(key: K, standing: Standing, fx: Ratio, deck: Arc<Deck>) -> Result<Upstream<K>, TooLarge> {
        let (cost, sale) = (Factor::new(fx, 0), Factor::new(fx, standing.markup_ppm));
        for factor in [cost, sale] {
            factor.of_nanos(deck.most_nanos())?;
        }
        Ok(Upstream { key, standing, cost, sale, deck })
    }
}

/// What is sold at a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sell<'t, K> {
    pub prefix: Prefix,
    /// The price, in the currency asked for, with the increments of the upstream that it comes from.
    pub rate: Rate,
    /// Whose price it is, and by which row of its deck.
    pub upstream: K,
    pub source: Listing<&'t Offer>,
}

impl<K> Priced for Sell<'_, K> {
    fn prefix(&self) -> Prefix {
        self.prefix
    }

    fn rate(&self) -> &Rate {
        &self.rate
    }
}

/// See the top of this module. Every price in it is of one currency.
#[derive(Debug)]
pub struct Tariff<K> {
    upstreams: Vec<Upstream<K>>,
}

impl<K: Ord + Copy> Tariff<K> {
    pub fn new(mut upstreams: Vec<Upstream<K>>) -> Tariff<K> {
        upstreams.sort_by_key(|upstream| upstream.key);
        Tariff { upstreams }
    }

    /// The price of a number, under the longest prefix that is sold.
    pub fn sell(&self, number: Prefix, at: Moment) -> Option<Sell<'_, K>> {
        let (mut longest, mut cheapest) = (None, None::<((i64, i64), Sell<'_, K>)>);
        for upstream in self.active() {
            let Some(source) = upstream.deck.find(number, at) else { continue };
            longest = longest.max(Some(source.prefix));
            let asked = &source.offer.rate;
            let (Ok(cost), Ok(rate)) = (upstream.cost.of(asked), upstream.sale.of(asked)) else { continue };
            // Upstreams come by their keys, so of equals the first one stays.
            let place = (cost.order(), rate.order());
            if cheapest.is_none_or(|(cost, sell)| place < (cost, sell.rate.order())) {
                cheapest = Some((cost.order(), Sell { prefix: source.prefix, rate, upstream: upstream.key, source }));
            }
        }
        let (_, sell) = cheapest?;
        Some(Sell { prefix: longest?, ..sell })
    }

    /// The price of exactly this prefix, if it is sold as such.
    pub fn sell_at(&self, prefix: Prefix, at: Moment) -> Option<Sell<'_, K>> {
        self.sell(prefix, at).filter(|sell| sell.prefix == prefix)
    }

    /// All that is sold, in order, from a prefix on.
    ///
    /// The decks need not be whole: for what is sold from `from` on and before some other prefix, it is enough that
    /// they hold the entries of that stretch and of [`Prefix::ancestors`] of `from`.
    pub fn sells(&self, from: Prefix, at: Moment) -> impl Iterator<Item = Sell<'_, K>> {
        let mut lists: Vec<_> = self.active().map(|upstream| upstream.deck.listings(from, at).peekable()).collect();
        std::iter::from_fn(move || {
            loop {
                let prefix = lists.iter_mut().filter_map(|list| Some(list.peek()?.prefix)).min()?;
                for list in &mut lists {
                    list.next_if(|listing| listing.prefix == prefix);
                }
                if let Some(sell) = self.sell(prefix, at) {
                    return Some(sell);
                }
            }
        })
    }

    /// So many of them.
    pub fn page(&self, from: Prefix, limit: usize, at: Moment) -> Vec<Sell<'_, K>> {
        self.sells(from, at).take(limit).collect()
    }

    fn active(&self) -> impl Iterator<Item = &Upstream<K>> {
        self.upstreams.iter().filter(|upstream| upstream.standing.active)
    }
}

/// Where a call to a number may go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routes<'t, K> {
    /// What the customer pays; nothing if no active upstream has a rate.
    pub price: Option<Sell<'t, K>>,
    /// Every upstream, cheapest first; those without a rate come last.
    pub candidates: Vec<Candidate<'t, K>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate<'t, K> {
    pub upstream: K,
    /// The row of its deck and what it asks, in the currency asked for and without markup.
    pub cost: Option<(Listing<&'t Offer>, Rate)>,
    /// Why no call goes there; nothing if it may.
    pub dropped: Option<Dropped>,
}

/// Why an upstream is passed over. Of several reasons the first counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    Disabled,
    Down,
    NoRate,
    /// A call of some length would cost more than the customer pays: for the minute, the connection, or because its
    /// seconds are counted in longer steps.
    OverPrice,
}

impl<K: Ord + Copy> Tariff<K> {
    /// Who would carry a call, for how much, and why the others would not.
    pub fn routes(&self, number: Prefix, at: Moment) -> Routes<'_, K> {
        let price = self.sell(number, at);
        let mut candidates: Vec<_> =
            self.upstreams.iter().map(|upstream| upstream.candidate(number, at, price.as_ref())).collect();
        candidates.sort_by_key(|candidate| {
            let cost = candidate.cost.map(|(_, rate)| rate.order());
            (cost.is_none(), cost, candidate.upstream)
        });
        Routes { price, candidates }
    }
}

impl<K: Copy> Upstream<K> {
    fn candidate(&self, number: Prefix, at: Moment, price: Option<&Sell<'_, K>>) -> Candidate<'_, K> {
        let source = self.deck.find(number, at);
        let cost = source.and_then(|source| Some((source, self.cost.of(&source.offer.rate).ok()?)));
        let dropped = match (cost, price) {
            _ if !self.standing.active => Some(Dropped::Disabled),
            _ if self.standing.down => Some(Dropped::Down),
            (None, _) | (_, None) => Some(Dropped::NoRate),
            (Some((_, cost)), Some(price)) => (!cost.is_within(&price.rate)).then_some(Dropped::OverPrice),
        };
        Candidate { upstream: self.key, cost, dropped }
    }
}
