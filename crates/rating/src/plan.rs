//! A rate plan: the prices of some customers, as rules over the tariff.
//!
//! A plan begins with a base: the list price, or the cost of the upstream that the list price comes from. Of its rules
//! one decides: that of the longest prefix of the number, else that of the destination's name, else that of its
//! country, else the markup of the plan. A rule has a markup on the base or a fixed price per minute. What it leaves
//! out follows from the base: increment, minimum, and the connect fee with the markup of the rule or else of the plan.
//!
//! Exchange rate, markup of the upstream and markup of the plan are multiplied exactly and rounded once. Fixed amounts
//! are in the currency of the tariff. A prefix of a rule is sold as a prefix of its own, if any deck covers it.

use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;

use crate::factor::Factor;
use crate::tree::{PrefixTree, TooMany, TreeBuilder};
use crate::{Country, Destination, Prefix, Rate, RateError};

/// What the markups of a plan are added to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlanBase {
    /// The sell rate of customers without a plan.
    List,
    /// What the upstream charges that this sell rate comes from.
    Cost,
}

/// The calls that a rule is for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RuleMatch {
    Prefix(Prefix),
    /// The name exactly as in the deck.
    Destination(Box<str>),
    Country(Country),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RulePrice {
    /// Parts per million, from −1,000,000: −50,000 for a discount of 5 %.
    Markup(i32),
    /// Nanos per minute.
    PerMinute(i64),
}

/// A rule of a plan. What is absent follows from the base.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanRule {
    pub matches: RuleMatch,
    pub price: RulePrice,
    pub connect_fee_nanos: Option<i64>,
    pub increment_seconds: Option<u16>,
    pub minimum_seconds: Option<u16>,
}

/// What decided a price. The number is the position of the rule in its plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PricedBy {
    /// There is no plan.
    List,
    Prefix(u32),
    Destination(u32),
    Country(u32),
    /// No rule matches.
    Markup,
}

impl PricedBy {
    /// The position of the rule.
    pub fn rule(self) -> Option<usize> {
        match self {
            PricedBy::List | PricedBy::Markup => None,
            PricedBy::Prefix(rule) | PricedBy::Destination(rule) | PricedBy::Country(rule) => Some(rule as usize),
        }
    }
}

/// Why rules do not form a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlanError {
    /// The markup of the plan.
    Markup,
    /// The markup of the rule at this position.
    RuleMarkup(usize),
    RuleRate(usize, RateError),
    /// An earlier rule matches the same.
    Duplicate(usize),
    TooManyRules,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Markup => f.write_str("the markup is below -100 %"),
            PlanError::RuleMarkup(rule) => write!(f, "the markup of rule {rule} is below -100 %"),
            PlanError::RuleRate(rule, error) => write!(f, "a value of rule {rule} {error}"),
            PlanError::Duplicate(rule) => write!(f, "rule {rule} matches the same as an earlier one"),
            PlanError::TooManyRules => f.write_str("there are too many rules"),
        }
    }
}

impl std::error::Error for PlanError {}

impl From<TooMany> for PlanError {
    fn from(_: TooMany) -> PlanError {
        PlanError::TooManyRules
    }
}

/// −100 %.
const MIN_MARKUP: i32 = -1_000_000;

/// A plan, compiled for lookups; the module describes its rules. All its customers share one.
#[derive(Debug)]
pub struct Plan {
    base: PlanBase,
    markup_ppm: i32,
    allow_below_cost: bool,
    rules: Vec<PlanRule>,
    /// With the rule of each prefix.
    prefixes: PrefixTree,
    destinations: HashMap<Box<str>, u32, RandomState>,
    countries: HashMap<Country, u32, RandomState>,
}

impl Plan {
    /// `allow_below_cost` lifts the margin guard: an upstream may cost more than the customer pays.
    pub fn new(
        base: PlanBase,
        markup_ppm: i32,
        allow_below_cost: bool,
        rules: Vec<PlanRule>,
    ) -> Result<Plan, PlanError> {
        if markup_ppm < MIN_MARKUP {
            return Err(PlanError::Markup);
        }
        let mut by_prefix = Vec::new();
        let (mut destinations, mut countries) = (HashMap::default(), HashMap::default());
        for (position, rule) in rules.iter().enumerate() {
            check(rule, position)?;
            let index = u32::try_from(position).map_err(|_| PlanError::TooManyRules)?;
            let earlier = match &rule.matches {
                RuleMatch::Prefix(prefix) => {
                    by_prefix.push((*prefix, index));
                    None
                }
                RuleMatch::Destination(name) => destinations.insert(name.clone(), index),
                RuleMatch::Country(country) => countries.insert(*country, index),
            };
            if earlier.is_some() {
                return Err(PlanError::Duplicate(position));
            }
        }
        by_prefix.sort_unstable();
        if let Some([_, (_, later)]) = by_prefix.array_windows().find(|[(one, _), (next, _)]| one == next) {
            return Err(PlanError::Duplicate(*later as usize));
        }
        let mut prefixes = TreeBuilder::default();
        by_prefix.into_iter().try_for_each(|(prefix, rule)| prefixes.push(prefix, rule))?;
        let prefixes = prefixes.finish();
        Ok(Plan { base, markup_ppm, allow_below_cost, rules, prefixes, destinations, countries })
    }

    pub fn base(&self) -> PlanBase {
        self.base
    }

    pub fn allows_below_cost(&self) -> bool {
        self.allow_below_cost
    }

    /// The rules in the order in which they were given.
    pub fn rules(&self) -> &[PlanRule] {
        &self.rules
    }

    /// What decides the price of a number, given the destination of its base. The prefix that a number is sold at has
    /// the same rule as the number.
    pub fn decide(&self, number: Prefix, destination: &str, country: Country) -> PricedBy {
        self.decide_by_prefix(number).unwrap_or_else(|| self.decide_by_destination(destination, country))
    }

    /// The rule of a prefix, which comes before all others: it takes no destination to know it.
    pub(crate) fn decide_by_prefix(&self, number: Prefix) -> Option<PricedBy> {
        self.prefixes.longest(number).map(|found| PricedBy::Prefix(found.value))
    }

    fn decide_by_destination(&self, destination: &str, country: Country) -> PricedBy {
        if let Some(rule) = self.destinations.get(destination) {
            return PricedBy::Destination(*rule);
        }
        self.countries.get(&country).map_or(PricedBy::Markup, |rule| PricedBy::Country(*rule))
    }

    /// The prefixes of the rules, in order, starting at `from`.
    pub(crate) fn prefixes(&self, from: Prefix) -> impl Iterator<Item = Prefix> {
        self.prefixes.from(from).map(|found| found.prefix)
    }

    /// The price of a number with this rule of a prefix, if any, and with this rate of a deck as its base, by the factors
    /// to its list price and its cost; `None` if the price does not fit into nanos. Also the prefix of the rule, if it has
    /// one.
    pub(crate) fn price(
        &self,
        by_prefix: Option<PricedBy>,
        (deck_rate, destination): (&Rate, &Destination),
        (list, cost): (Factor, Factor),
    ) -> Option<(Rate, PricedBy, Option<Prefix>)> {
        let by = by_prefix.unwrap_or_else(|| self.decide_by_destination(&destination.name, destination.country));
        let rule = by.rule().and_then(|rule| self.rules.get(rule));
        let (markup_ppm, fixed) = match rule.map(|rule| rule.price) {
            Some(RulePrice::Markup(ppm)) => (ppm, None),
            Some(RulePrice::PerMinute(nanos)) => (self.markup_ppm, Some(nanos)),
            None => (self.markup_ppm, None),
        };
        let base = match self.base {
            PlanBase::List => list,
            PlanBase::Cost => cost,
        };
        let factor = base.with_markup(markup_ppm).ok()?;
        let minute = match fixed {
            Some(nanos) => nanos,
            None => factor.apply_to_nanos(deck_rate.nanos_per_minute()).ok()?,
        };
        let connect_fee = match rule.and_then(|rule| rule.connect_fee_nanos) {
            Some(nanos) => nanos,
            None => factor.apply_to_nanos(deck_rate.connect_fee_nanos()).ok()?,
        };
        let increment = rule.and_then(|rule| rule.increment_seconds).unwrap_or(deck_rate.increment_seconds());
        let minimum = rule.and_then(|rule| rule.minimum_seconds).unwrap_or(deck_rate.minimum_seconds());
        let rate = Rate::new(minute, connect_fee, increment, minimum).ok()?;
        let prefix = match rule.map(|rule| &rule.matches) {
            Some(RuleMatch::Prefix(prefix)) => Some(*prefix),
            _ => None,
        };
        Some((rate, by, prefix))
    }
}

fn check(rule: &PlanRule, position: usize) -> Result<(), PlanError> {
    let minute = match rule.price {
        RulePrice::Markup(ppm) if ppm < MIN_MARKUP => return Err(PlanError::RuleMarkup(position)),
        RulePrice::Markup(_) => 0,
        RulePrice::PerMinute(nanos) => nanos,
    };
    let (increment, minimum) = (rule.increment_seconds.unwrap_or(1), rule.minimum_seconds.unwrap_or(0));
    let rate = Rate::new(minute, rule.connect_fee_nanos.unwrap_or(0), increment, minimum);
    rate.map(drop).map_err(|error| PlanError::RuleRate(position, error))
}
