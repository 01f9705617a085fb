//! Rate lookup in a deck of a million prefixes: lookups per second, memory per prefix, and time to load the deck.
//!
//! The baseline is the standard library's `BTreeMap`, which does less: it finds the nearest prefix not above the
//! number, whether it matches or not.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rating::{
    Country, Deck, DeckTimes, Destination, Entry, Leaf, Notice, Offer, Plan, PlanBase, PlanRule, Prefix, Rate, Ratio,
    Replacement, Replacements, RuleMatch, RulePrice, Tariff, Upstream, UpstreamState, encode_leaves,
};

use crate::report::{Limit, Line, Spread};
use crate::{Outcome, ROUNDS};

const PREFIXES: usize = 1_000_000;
const LOOKUPS: usize = 2_000_000;
/// Rules of the rate plan.
const RULES: usize = 10_000;
/// A time when every entry is effective.
const NOW: i64 = 1_800_000_000_000;

pub fn measure(_: &Path) -> Outcome<Vec<Line>> {
    let mut digits = Digits(1);
    let entries = entries(&mut digits)?;
    let map: BTreeMap<Prefix, Entry> = entries.iter().map(|entry| (entry.prefix, entry.clone())).collect();
    let plan = Arc::new(plan(&mut digits)?);
    let replacements = Arc::new(replacements(&entries)?);
    let stored: Vec<Leaf> = encode_leaves(entries.into_iter()).collect::<Result<_, _>>()?;
    let (mut built, mut bytes) = (Vec::new(), Vec::new());
    let (mut ours, mut yardstick, mut by_plan, mut held) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let deck = Deck::from_leaves(stored.iter().map(|leaf| &leaf.body), DeckTimes { made_at: 0, in_force_at: 0 })?;
        built.push(started.elapsed().as_secs_f64());
        bytes.push(deck.bytes() as f64 / deck.len() as f64);

        let numbers = (0..LOOKUPS).map(|_| digits.take(11)).collect::<Result<Vec<_>, _>>()?;
        yardstick.push(lookups_per_second(&numbers, |number| map.range(..=number).next_back())?);
        ours.push(lookups_per_second(&numbers, |number| deck.find(number, NOW))?);
        let state = UpstreamState { is_active: true, is_down: false, markup_ppm: 120_000 };
        let fx = Ratio::new(10_000, 10_832).ok_or("not an exchange rate")?;
        let upstream = Upstream::new(1, state, fx, Arc::new(deck))?;
        let tariff = Tariff::new(vec![upstream]).with_plan(Some(Arc::clone(&plan)));
        by_plan.push(lookups_per_second(&numbers, |number| tariff.sell_rate(number, NOW))?);
        let tariff = tariff.with_replacements(Arc::clone(&replacements)).with_notice(Notice::of_days(7));
        held.push(lookups_per_second(&numbers, |number| tariff.sell_rate(number, NOW))?);
    }
    let (built, bytes) = (Spread::of(built), Spread::of(bytes));
    let millions = Spread::of(ours.iter().map(|found| found / 1e6).collect());
    let by_plan = Spread::of(by_plan.iter().map(|found| found / 1e6).collect());
    let held = Spread::of(held.iter().map(|found| found / 1e6).collect());
    let alone = |id: &str, what, spread: Spread, decimals, unit, limit| {
        Line::alone(what, spread.text(decimals, unit), String::new(), spread.median, limit).spread(spread).id(id)
    };
    Ok(vec![
        Line::beside(
            "Price lookups among 1,000,000 prefixes; baseline: `BTreeMap` range lookup",
            ours,
            yardstick,
            Some(Limit::AtLeast(1.0, "×")),
        )
        .id("lookups"),
        alone("one-core", "The same on one core", millions, 2, " M/s", Limit::AtLeast(3.0, " M/s")),
        alone(
            "plan",
            "Prices by a rate plan of 10,000 rules over that deck, on one core",
            by_plan,
            2,
            " M/s",
            Limit::AtLeast(2.0, " M/s"),
        ),
        alone(
            "notice",
            "The same while the notice of a deck runs that changed every tenth rate",
            held,
            2,
            " M/s",
            Limit::AtLeast(1.0, " M/s"),
        ),
        alone("memory", "Memory per prefix of that deck", bytes, 1, " bytes", Limit::AtMost(100.0, " bytes")),
        alone("load", "Loading that deck from its stored leaves", built, 3, " s", Limit::AtMost(1.0, " s")),
    ])
}

fn lookups_per_second<T>(numbers: &[Prefix], find: impl Fn(Prefix) -> Option<T>) -> Outcome<f64> {
    let started = Instant::now();
    let found = numbers.iter().filter(|number| black_box(find(**number)).is_some()).count();
    let elapsed = started.elapsed();
    if found < numbers.len() / 2 {
        return Err(format!("only {found} numbers have a rate").into());
    }
    Ok(numbers.len() as f64 / elapsed.as_secs_f64())
}

/// Prefixes of three to nine digits, many of them nested; one destination per three digits, and a few hundred rates.
fn entries(digits: &mut Digits) -> Outcome<Vec<Entry>> {
    let mut prefixes = BTreeSet::new();
    while prefixes.len() < PREFIXES {
        let length = 3 + digits.next() as usize % 7;
        prefixes.insert(digits.take(length)?);
    }
    let country = Country::new("NL").ok_or("not a country code")?;
    let mut destination = Arc::new(Destination { name: "".into(), country });
    let mut entries = Vec::with_capacity(PREFIXES);
    for prefix in prefixes {
        let name: String = prefix.to_string().chars().take(3).collect();
        if *destination.name != *name {
            destination = Arc::new(Destination { name: name.into(), country });
        }
        let rate = Rate::new(i64::from(digits.next() % 300) * 100_000, 0, 1, 1)?;
        let offer = Some(Offer { rate, destination: Arc::clone(&destination) });
        entries.push(Entry::new(prefix, 0, offer));
    }
    Ok(entries)
}

/// What a deck of yesterday replaced: every tenth rate was lower.
fn replacements(entries: &[Entry]) -> Outcome<Replacements<i32>> {
    let lower = Rate::new(1, 0, 1, 1)?;
    let before = entries.iter().step_by(10).map(|entry| {
        let offer =
            entry.offer.as_ref().map(|offer| Offer { rate: lower, destination: Arc::clone(&offer.destination) });
        Entry::new(entry.prefix, entry.effective_at, offer)
    });
    let before = Arc::new(Deck::new(before)?);
    Ok(Replacements::new(vec![Replacement { upstream: 1, at: NOW - Notice::DAY_MILLIS, is_waived: false, before }])?)
}

/// A plan with rules of three to eight digits, and one for every tenth destination.
fn plan(digits: &mut Digits) -> Outcome<Plan> {
    let mut matches = BTreeSet::new();
    matches.extend((100..1000).step_by(10).map(|name| RuleMatch::Destination(name.to_string().into())));
    matches.insert(RuleMatch::Country(Country::new("NL").ok_or("not a country code")?));
    while matches.len() < RULES {
        let length = 3 + digits.next() as usize % 6;
        matches.insert(RuleMatch::Prefix(digits.take(length)?));
    }
    let rule = |(nth, matches)| PlanRule {
        matches,
        price: if nth % 3 == 0 { RulePrice::PerMinute(10_000_000) } else { RulePrice::Markup(-35_000) },
        connect_fee_nanos: None,
        increment_seconds: None,
        minimum_seconds: None,
    };
    Ok(Plan::new(PlanBase::List, -20_000, false, (0..).zip(matches).map(rule).collect())?)
}

/// Pseudo-random digits, the same in every run.
struct Digits(u64);

impl Digits {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    /// `length` digits, the first of them not 0.
    fn take(&mut self, length: usize) -> Result<Prefix, rating::PrefixError> {
        let digits =
            format!("{}{:09}{:09}", 1 + self.next() % 9, self.next() % 1_000_000_000, self.next() % 1_000_000_000);
        digits.get(..length).unwrap_or_default().parse()
    }
}
