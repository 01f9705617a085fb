//! The tariff: sell rates and routes from the decks of all upstreams, in one currency.
//!
//! A prefix is sold if the deck of any active upstream lists it. Its sell rate is the cost of the cheapest active
//! upstream, each by its own longest match, plus that upstream's markup; so a deck that lists only `31` competes for
//! `31201` too. Equal costs: the lower sell rate wins, then the lower key. Whether an upstream is up or down does not
//! change sell rates, or prices would flicker with the network.
//!
//! At a past time an upstream has the deck of then and its latest one. What the latest deck says of that time counts for
//! the prefixes that the deck of then did not have: those are its back-dated rates.
//!
//! A number is sold at the longest prefix that is sold: the longest of the active upstreams' own matches.
//!
//! With a rate plan ([`Tariff::with_plan`]) the price is what the plan makes of the list price or of the cost; the
//! upstream that it comes from is the same. The prefixes of its rules are sold too, if a deck covers them.
//!
//! With a notice ([`Tariff::with_notice`]) what a new deck raises holds until the notice ends; see `notice`. Routes are
//! compared with the price that holds.
//!
//! Routes are all upstreams from cheap to expensive, each with the reason if it gets no calls. The margin guard
//! ([`DropReason::OverPrice`]) drops an upstream at whose rate any call could cost more than the customer pays.

use std::sync::Arc;

use crate::factor::Factor;
use crate::{
    Deck, Held, Listing, Notice, Offer, Plan, Prefix, Priced, PricedBy, Rate, Ratio, Replacement, Replacements,
    TooLarge, UnixMillis,
};

/// An upstream with its deck and the factors to cost and sell rate.
#[derive(Debug)]
pub struct Upstream<K> {
    key: K,
    state: UpstreamState,
    cost_factor: Factor,
    sell_factor: Factor,
    deck: Arc<Deck>,
    /// The latest deck, for a past time.
    latest: Option<Arc<Deck>>,
}

/// Whether the upstream sells and takes calls, and its markup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpstreamState {
    /// An inactive upstream neither counts for sell rates nor takes calls.
    pub is_active: bool,
    /// An upstream that is down counts for sell rates but takes no calls.
    pub is_down: bool,
    /// Parts per million: 50,000 for 5 %.
    pub markup_ppm: u32,
}

impl<K> Upstream<K> {
    /// `fx` is the value of one unit of the deck's currency in the tariff's currency. Fails if the highest price would
    /// not fit into nanos, so that every price of the tariff fits.
    pub fn new(key: K, state: UpstreamState, fx: Ratio, deck: Arc<Deck>) -> Result<Upstream<K>, TooLarge> {
        let (cost_factor, sell_factor) = (Factor::new(fx, 0), Factor::new(fx, state.markup_ppm));
        for factor in [cost_factor, sell_factor] {
            factor.apply_to_nanos(deck.max_nanos())?;
        }
        Ok(Upstream { key, state, cost_factor, sell_factor, deck, latest: None })
    }

    /// Adds the back-dated rates of the latest deck, for prices of a time before it was imported.
    pub fn with_back_dated(self, latest: Arc<Deck>) -> Upstream<K> {
        Upstream { latest: Some(latest), ..self }
    }

    fn decks(&self) -> impl Iterator<Item = &Deck> {
        std::iter::once(&self.deck).chain(&self.latest).map(|deck| &**deck)
    }

    /// The longest match of a number. Of two equal ones that of the first deck counts.
    fn find(&self, number: Prefix, at: UnixMillis) -> Option<Listing<&Offer>> {
        let longer = |found: Listing<_>, other: Listing<_>| if other.prefix > found.prefix { other } else { found };
        self.decks().filter_map(|deck| deck.find(number, at)).reduce(longer)
    }
}

impl<K: PartialEq> Upstream<K> {
    /// The longest match of a number as if these decks had not come, oldest first. Of a prefix that they change, the
    /// first one knows what was there before.
    fn find_before<'t>(
        &'t self,
        number: Prefix,
        at: UnixMillis,
        replaced: &[&'t Replacement<K>],
    ) -> Option<Listing<&'t Offer>> {
        let replaced: Vec<&'t Deck> =
            replaced.iter().copied().filter(|one| one.upstream == self.key).map(|one| &*one.before).collect();
        let decks = replaced.iter().copied().chain(self.decks());
        let mut walks: Vec<_> = decks.map(|deck| (deck, deck.covering(number).peekable())).collect();
        loop {
            let prefix = walks.iter_mut().filter_map(|(_, walk)| Some(walk.peek()?.prefix)).max()?;
            let (mut found, mut is_decided) = (None, false);
            for (position, (deck, walk)) in walks.iter_mut().enumerate() {
                let Some(covering) = walk.next_if(|covering| covering.prefix == prefix) else { continue };
                if !is_decided {
                    found = deck.in_force(covering, at);
                    is_decided = found.is_some() || position < replaced.len();
                }
            }
            if found.is_some() {
                return found;
            }
        }
    }
}

/// The sell rate of a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SellRate<'t, K> {
    pub prefix: Prefix,
    /// The price in the tariff's currency, with increment and minimum of the upstream that it comes from.
    pub rate: Rate,
    /// The upstream that the price comes from.
    pub upstream: K,
    /// The row of its deck.
    pub source: Listing<&'t Offer>,
    /// The rule of the plan that decided the price.
    pub by: PricedBy,
    /// Why it is not the price of the decks in force; `None` if it is.
    pub held: Option<Held>,
}

impl<K> Priced for SellRate<'_, K> {
    fn prefix(&self) -> Prefix {
        self.prefix
    }

    fn rate(&self) -> &Rate {
        &self.rate
    }
}

/// The upstreams that sell in one currency; the module describes how sell rates come about.
#[derive(Debug)]
pub struct Tariff<K> {
    upstreams: Vec<Upstream<K>>,
    /// The plan of the customer; `None` for the list price.
    plan: Option<Arc<Plan>>,
    /// What its decks have replaced.
    replacements: Option<Arc<Replacements<K>>>,
    /// The notice of the customer; `None` if increases count at once.
    notice: Option<Notice>,
}

impl<K: Ord + Copy> Tariff<K> {
    pub fn new(mut upstreams: Vec<Upstream<K>>) -> Tariff<K> {
        upstreams.sort_by_key(|upstream| upstream.key);
        Tariff { upstreams, plan: None, replacements: None, notice: None }
    }

    /// Adds what the decks of its upstreams have replaced.
    pub fn with_replacements(self, replacements: Arc<Replacements<K>>) -> Tariff<K> {
        Tariff { replacements: Some(replacements), ..self }
    }

    /// The prices of a customer with this notice.
    pub fn with_notice(self, notice: Notice) -> Tariff<K> {
        Tariff { notice: Some(notice).filter(Notice::is_any), ..self }
    }

    /// The prices by a plan, or the list prices.
    pub fn with_plan(self, plan: Option<Arc<Plan>>) -> Tariff<K> {
        Tariff { plan, ..self }
    }

    /// The sell rate of a number, at the longest prefix that is sold.
    pub fn sell_rate(&self, number: Prefix, at: UnixMillis) -> Option<SellRate<'_, K>> {
        let current = self.sell_rate_by(number, |upstream| upstream.find(number, at))?;
        match (&self.replacements, &self.notice) {
            (Some(replacements), Some(notice)) if replacements.may_hold(number, at, notice) => {
                Some(self.hold(current, number, at, replacements, notice))
            }
            _ => Some(current),
        }
    }

    /// The price that a customer was promised: the current one, unless any part of it is higher than before a deck whose
    /// notice is not over.
    #[inline(never)]
    fn hold<'t>(
        &'t self,
        current: SellRate<'t, K>,
        number: Prefix,
        at: UnixMillis,
        replacements: &'t Replacements<K>,
        notice: &Notice,
    ) -> SellRate<'t, K> {
        let pending = replacements.pending(number, at, notice);
        // The price as if the ones from the first on had not come.
        let without = |first: usize| match pending.get(first..) {
            None | Some([]) => Some(current),
            Some(replaced) => self.sell_rate_by(number, |upstream| upstream.find_before(number, at, replaced)),
        };
        let mut before = without(0);
        let mut promised = before.map(|sell| (0, sell));
        // The numbers of a longer prefix may have been promised something else than the others.
        let mut longest = current.prefix.max(before.map_or(current.prefix, |sell| sell.prefix));
        for (index, replacement) in pending.iter().enumerate() {
            let (after, is_bound) = (without(index + 1), replacement.is_bound(at, notice));
            match after {
                Some(after) => {
                    longest = longest.max(after.prefix);
                    let is_higher = promised.as_ref().is_some_and(|(_, promised)| after.rate.exceeds(&promised.rate));
                    // A deck without notice that does not change this price does not raise it either.
                    let is_same = before.is_some_and(|before| before.rate == after.rate);
                    if !(is_higher && (is_bound || is_same)) {
                        promised = Some((index + 1, after));
                    }
                }
                None if is_bound => {}
                None => promised = None,
            }
            before = after;
        }
        let Some((first, sell)) = promised else { return SellRate { prefix: longest, ..current } };
        let bound = pending.get(first..).unwrap_or_default().iter().filter(|one| one.is_bound(at, notice));
        let until = bound.map(|one| notice.end(one.at)).min();
        let held = pending.get(first).zip(until).map(|(next, until)| Held { as_of: next.at - 1, until });
        SellRate { prefix: longest, held, ..sell }
    }

    /// The sell rate of a number by what `find` finds in the decks of each upstream.
    #[inline]
    fn sell_rate_by<'t>(
        &'t self,
        number: Prefix,
        find: impl Fn(&'t Upstream<K>) -> Option<Listing<&'t Offer>>,
    ) -> Option<SellRate<'t, K>> {
        // First, so that memory is read for both at once.
        let by_prefix = self.plan.as_ref().and_then(|plan| plan.decide_by_prefix(number));
        let (mut longest, mut cheapest) = (None, None::<Bid<'_, K>>);
        for upstream in self.active() {
            let Some(source) = find(upstream) else { continue };
            longest = longest.max(Some(source.prefix));
            let bid = Bid { upstream, source };
            // Upstreams are sorted by key, so the lower key wins among equals.
            if cheapest.as_ref().is_none_or(|cheapest| bid.is_cheaper_than(cheapest)) {
                cheapest = Some(bid);
            }
        }
        let (Bid { upstream, source }, prefix) = (cheapest?, longest?);
        let (list, cost, deck_rate) = (upstream.sell_factor, upstream.cost_factor, &source.offer.rate);
        let (rate, by, of_rule) = match &self.plan {
            Some(plan) => plan.price(by_prefix, (deck_rate, &source.offer.destination), (list, cost))?,
            None => (list.apply(deck_rate).ok()?, PricedBy::List, None),
        };
        // Both cover the number, so the longer one sorts last.
        let prefix = of_rule.map_or(prefix, |of_rule| of_rule.max(prefix));
        Some(SellRate { prefix, rate, upstream: upstream.key, source, by, held: None })
    }

    /// The sell rate of exactly this prefix, if it is sold.
    pub fn sell_rate_at(&self, prefix: Prefix, at: UnixMillis) -> Option<SellRate<'_, K>> {
        self.sell_rate(prefix, at).filter(|sell| sell.prefix == prefix)
    }

    /// All sell rates in prefix order, starting at `from`.
    ///
    /// The decks may be partial: for the sell rates from `from` up to another prefix they only need the entries of that
    /// range and of the [`Prefix::ancestors`] of `from`.
    pub fn sell_rates(&self, from: Prefix, at: UnixMillis) -> impl Iterator<Item = SellRate<'_, K>> {
        let decks = self.active().flat_map(Upstream::decks);
        let mut lists: Vec<_> = decks.map(|deck| deck.listings(from, at).peekable()).collect();
        let mut of_rules = self.plan.iter().flat_map(move |plan| plan.prefixes(from)).peekable();
        // A prefix that is not listed any more may have its price until the notice ends.
        let replacements = self.replacements.iter().filter(move |_| self.notice.is_some());
        let mut changed = replacements.flat_map(move |replacements| replacements.prefixes(from)).peekable();
        std::iter::from_fn(move || {
            loop {
                let listed = lists.iter_mut().filter_map(|list| Some(list.peek()?.prefix)).min();
                let others = [of_rules.peek().copied(), changed.peek().copied()];
                let prefix = listed.into_iter().chain(others.into_iter().flatten()).min()?;
                for list in &mut lists {
                    list.next_if(|listing| listing.prefix == prefix);
                }
                of_rules.next_if(|of_rule| *of_rule == prefix);
                changed.next_if(|changed| *changed == prefix);
                if let Some(sell) = self.sell_rate_at(prefix, at) {
                    return Some(sell);
                }
            }
        })
    }

    /// The first `limit` sell rates, starting at `from`.
    pub fn page(&self, from: Prefix, limit: usize, at: UnixMillis) -> Vec<SellRate<'_, K>> {
        self.sell_rates(from, at).take(limit).collect()
    }

    fn active(&self) -> impl Iterator<Item = &Upstream<K>> {
        self.upstreams.iter().filter(|upstream| upstream.state.is_active)
    }
}

/// An upstream and its row for a number.
struct Bid<'t, K> {
    upstream: &'t Upstream<K>,
    source: Listing<&'t Offer>,
}

impl<K> Bid<'_, K> {
    /// By cost, then by list price.
    fn is_cheaper_than(&self, other: &Self) -> bool {
        let price = |bid: &Self, of: fn(&Upstream<K>) -> Factor| {
            of(bid.upstream).apply(&bid.source.offer.rate).map_or((i64::MAX, i64::MAX), |rate| rate.price_key())
        };
        let order = |of| price(self, of).cmp(&price(other, of));
        order(|upstream| upstream.cost_factor).then_with(|| order(|upstream| upstream.sell_factor)).is_lt()
    }
}

/// The sell rate of a number and the upstreams that could carry the call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routes<'t, K> {
    /// The sell rate; `None` if no active upstream has a rate.
    pub price: Option<SellRate<'t, K>>,
    /// All upstreams, cheapest first; those without a rate last.
    pub candidates: Vec<Candidate<'t, K>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate<'t, K> {
    pub upstream: K,
    /// The row of its deck, and its cost in the tariff's currency without markup.
    pub cost: Option<(Listing<&'t Offer>, Rate)>,
    /// Why it gets no calls; `None` if it may carry the call.
    pub drop_reason: Option<DropReason>,
}

/// Why an upstream gets no calls to a number. Of several reasons the first applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    Disabled,
    Down,
    NoRate,
    /// The margin guard: an answered call of some length would cost more than the customer pays, by minute price,
    /// connect fee, increment or minimum. See [`Rate::is_within`].
    OverPrice,
}

impl<K: Ord + Copy> Tariff<K> {
    /// Least-cost routing: all upstreams by cost, with the reason for each that gets no calls.
    pub fn routes(&self, number: Prefix, at: UnixMillis) -> Routes<'_, K> {
        let price = self.sell_rate(number, at);
        let is_guarded = !self.plan.as_ref().is_some_and(|plan| plan.allows_below_cost());
        let mut candidates: Vec<_> =
            self.upstreams.iter().map(|upstream| upstream.candidate(number, at, price.as_ref(), is_guarded)).collect();
        candidates.sort_by_key(|candidate| {
            let cost = candidate.cost.map(|(_, rate)| rate.price_key());
            (cost.is_none(), cost, candidate.upstream)
        });
        Routes { price, candidates }
    }
}

impl<K: Copy> Upstream<K> {
    fn candidate(
        &self,
        number: Prefix,
        at: UnixMillis,
        price: Option<&SellRate<'_, K>>,
        is_guarded: bool,
    ) -> Candidate<'_, K> {
        let source = self.find(number, at);
        let cost = source.and_then(|source| Some((source, self.cost_factor.apply(&source.offer.rate).ok()?)));
        let drop_reason = match (cost, price) {
            _ if !self.state.is_active => Some(DropReason::Disabled),
            _ if self.state.is_down => Some(DropReason::Down),
            (None, _) | (_, None) => Some(DropReason::NoRate),
            (Some((_, cost)), Some(price)) => {
                (is_guarded && !cost.is_within(&price.rate)).then_some(DropReason::OverPrice)
            }
        };
        Candidate { upstream: self.key, cost, drop_reason }
    }
}
