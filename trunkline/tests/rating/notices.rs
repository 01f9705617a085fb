//! Increases that come from decks, against a naive reading of all decks that there ever were.

use std::sync::Arc;

use proptest::prelude::*;
use rating::{
    Deck, DropReason, Entry, Held, Mode, Notice, Plan, PlanBase, Prefix, Rate, Ratio, Replacement, Replacements,
    Tariff, UnixMillis, Upstream, UpstreamState, apply_import,
};

use crate::samples::{end, entry, prefix, prefixes, rows};

const ACTIVE: UpstreamState = UpstreamState { is_active: true, is_down: false, markup_ppm: 0 };
/// The second one, so that a cheaper deck can make the list price dearer.
const DEAR: UpstreamState = UpstreamState { markup_ppm: 500_000, ..ACTIVE };

/// The decks of two upstreams after every change.
#[derive(Debug)]
struct History {
    entries: [Vec<Entry>; 2],
    states: Vec<[Arc<Deck>; 2]>,
    replacements: Vec<Replacement<usize>>,
}

impl History {
    fn new(first: Vec<Entry>, second: Vec<Entry>) -> History {
        let import = |file| apply_import(Vec::new(), file, Mode::Replace, 0).collect::<Vec<_>>();
        let entries = [import(first), import(second)];
        let decks = entries.clone().map(|entries| Arc::new(Deck::new(entries).unwrap()));
        History { entries, states: vec![decks], replacements: Vec::new() }
    }

    fn import(&mut self, upstream: usize, file: Vec<Entry>, mode: Mode, at: UnixMillis, is_waived: bool) {
        let mut next = apply_import(self.entries[upstream].clone(), file, mode, at);
        self.entries[upstream] = next.by_ref().collect();
        let before = Arc::new(Deck::new(next.into_replaced()).unwrap());
        let mut decks = self.states.last().unwrap().clone();
        decks[upstream] = Arc::new(Deck::new(self.entries[upstream].clone()).unwrap());
        self.states.push(decks);
        self.replacements.push(Replacement { upstream, at, is_waived, before });
    }

    /// The tariff after some changes, without notice.
    fn state(&self, changes: usize) -> Tariff<usize> {
        let [one, other] = self.states[changes].clone();
        Tariff::new(vec![
            Upstream::new(0, ACTIVE, Ratio::ONE, one).unwrap(),
            Upstream::new(1, DEAR, Ratio::ONE, other).unwrap(),
        ])
    }

    fn tariff(&self, notice: Notice, plan: Option<Arc<Plan>>) -> Tariff<usize> {
        let replacements = Arc::new(Replacements::new(self.replacements.clone()).unwrap());
        let current = self.state(self.replacements.len());
        current.with_replacements(replacements).with_notice(notice).with_plan(plan)
    }

    /// What a number costs: each deck in turn replaces what was promised before it, unless it is dearer and its notice is
    /// not over.
    fn naive(&self, number: Prefix, at: UnixMillis, notice: &Notice, plan: Option<Arc<Plan>>) -> Option<Rate> {
        let price = |changes| self.state(changes).with_plan(plan.clone()).sell_rate(number, at).map(|sell| sell.rate);
        let mut promised = price(0);
        for (index, change) in self.replacements.iter().enumerate() {
            let (before, after) = (price(index), price(index + 1));
            let is_bound = !change.is_waived && notice.end(change.at) > at;
            promised = match (promised, after) {
                (Some(promised), Some(after)) if after.exceeds(&promised) && (is_bound || before == Some(after)) => {
                    Some(promised)
                }
                (promised, None) if is_bound => promised,
                (_, after) => after,
            };
        }
        price(self.replacements.len()).and(promised)
    }
}

fn nanos(tariff: &Tariff<usize>, number: &str, at: UnixMillis) -> Option<i64> {
    tariff.sell_rate(prefix(number), at).map(|sell| sell.rate.nanos_per_minute())
}

/// A first deck with these rows, and none of the second upstream.
fn history(rows: Vec<Entry>) -> History {
    History::new(rows, Vec::new())
}

#[test]
fn an_increase_counts_when_the_notice_ends_and_a_decrease_at_once() {
    let mut history = history(vec![entry("31", 0, 10), entry("44", 0, 10)]);
    history.import(0, vec![entry("31", 0, 20), entry("44", 0, 5)], Mode::Replace, 100, false);
    let tariff = history.tariff(Notice::new(7), None);
    assert_eq!([100, 106, 107].map(|at| nanos(&tariff, "31201", at)), [Some(10), Some(10), Some(20)]);
    assert_eq!([100, 107].map(|at| nanos(&tariff, "44201", at)), [Some(5), Some(5)]);
    assert_eq!(tariff.sell_rate(prefix("31"), 103).unwrap().held, Some(Held { as_of: 99, until: 107 }));
    assert_eq!(tariff.sell_rate(prefix("31"), 107).unwrap().held, None);
    assert_eq!(nanos(&history.tariff(Notice::new(0), None), "31201", 100), Some(20));
}

#[test]
fn what_comes_within_the_notice_is_compared_with_what_was_promised() {
    let mut history = history(vec![entry("31", 0, 10)]);
    history.import(0, vec![entry("31", 0, 20)], Mode::Replace, 100, false);
    history.import(0, vec![entry("31", 0, 15)], Mode::Replace, 105, false);
    let tariff = history.tariff(Notice::new(7), None);
    assert_eq!([104, 106, 107, 112].map(|at| nanos(&tariff, "31", at)), [10, 10, 15, 15].map(Some));
    history.import(0, vec![entry("31", 0, 30)], Mode::Replace, 106, false);
    let tariff = history.tariff(Notice::new(7), None);
    assert_eq!([106, 107, 112, 113].map(|at| nanos(&tariff, "31", at)), [10, 15, 15, 30].map(Some));
}

#[test]
fn an_announced_decrease_cannot_be_withdrawn_without_notice() {
    let mut history = history(vec![entry("31", 0, 20)]);
    history.import(0, vec![entry("31", 110, 10)], Mode::Merge, 100, false);
    history.import(0, vec![entry("31", 0, 20)], Mode::Merge, 108, false);
    let tariff = history.tariff(Notice::new(7), None);
    assert_eq!([109, 110, 114, 115].map(|at| nanos(&tariff, "31", at)), [20, 10, 10, 20].map(Some));
}

#[test]
fn a_longer_prefix_carved_out_or_taken_away_is_an_increase_for_its_numbers() {
    let mut history = history(vec![entry("316", 0, 10), entry("32", 0, 50), entry("325", 0, 10)]);
    let file = vec![entry("316", 0, 10), entry("31612", 0, 30), entry("32", 0, 50), entry("7", 0, 90)];
    history.import(0, file, Mode::Replace, 100, false);
    let tariff = history.tariff(Notice::new(7), None);
    assert_eq!([100, 107].map(|at| nanos(&tariff, "31612345", at)), [Some(10), Some(30)]);
    assert_eq!([100, 107].map(|at| nanos(&tariff, "325123", at)), [Some(10), Some(50)]);
    // What was not sold before is no increase.
    assert_eq!(nanos(&tariff, "7495", 100), Some(90));
    let listed = |at| -> Vec<_> {
        let rates = tariff.sell_rates(Prefix::FIRST, at);
        rates.map(|sell| (sell.prefix.to_string(), sell.rate.nanos_per_minute())).collect()
    };
    let row = |digits: &str, nanos| (digits.to_owned(), nanos);
    assert_eq!(listed(100), [row("316", 10), row("31612", 10), row("32", 50), row("325", 10), row("7", 90)]);
    assert_eq!(listed(107), [row("316", 10), row("31612", 30), row("32", 50), row("7", 90)]);
}

#[test]
fn what_is_not_sold_any_more_has_no_price_that_could_hold() {
    let mut history = history(vec![entry("31", 0, 10), entry("44", 0, 10)]);
    history.import(0, vec![end("31", 0)], Mode::Merge, 100, false);
    let tariff = history.tariff(Notice::new(7), None);
    assert_eq!(nanos(&tariff, "31", 100), None);
    // Nor does its absence lift the notice of what comes then.
    history.import(0, vec![entry("31", 0, 30)], Mode::Merge, 102, false);
    let tariff = history.tariff(Notice::new(7), None);
    assert_eq!([102, 106, 107].map(|at| nanos(&tariff, "31", at)), [Some(10), Some(10), Some(30)]);
}

#[test]
fn a_waived_deck_counts_at_once_and_lifts_no_other_notice() {
    let mut history = history(vec![entry("31", 0, 10), entry("44", 0, 10)]);
    history.import(0, vec![entry("31", 0, 20)], Mode::Merge, 100, false);
    history.import(0, vec![entry("44", 0, 20)], Mode::Merge, 101, true);
    let tariff = history.tariff(Notice::new(7), None);
    assert_eq!((nanos(&tariff, "31", 101), nanos(&tariff, "44", 101)), (Some(10), Some(20)));
    history.import(0, vec![entry("31", 0, 25)], Mode::Merge, 102, true);
    assert_eq!(nanos(&history.tariff(Notice::new(7), None), "31", 102), Some(25));
}

#[test]
fn a_route_that_costs_more_than_the_price_that_holds_is_dropped() {
    let mut history = history(vec![entry("31", 0, 10)]);
    history.import(0, vec![entry("31", 0, 20)], Mode::Replace, 100, false);
    let plan = Plan::new(PlanBase::Cost, 500_000, false, Vec::new()).unwrap();
    let tariff = history.tariff(Notice::new(7), Some(Arc::new(plan)));
    let route = |at| {
        let routes = tariff.routes(prefix("31"), at);
        (routes.price.unwrap().rate.nanos_per_minute(), routes.candidates[0].drop_reason)
    };
    assert_eq!(route(100), (15, Some(DropReason::OverPrice)));
    assert_eq!(route(107), (30, None));
}

#[test]
fn a_deck_keeps_the_notice_of_the_time_when_it_came() {
    let notice = Notice::changing(vec![(0, 30), (100, 7)]);
    assert_eq!([-5, 99, 100].map(|at| notice.end(at)), [25, 129, 107]);
    let longer = notice.longer(&Notice::changing(vec![(0, 10), (110, 20)]));
    assert_eq!([50, 105, 115].map(|at| longer.end(at)), [80, 115, 135]);
}

type Change = (usize, Vec<Entry>, bool, bool, UnixMillis);

fn histories() -> impl Strategy<Value = History> {
    let change: BoxedStrategy<Change> =
        (0_usize..2, rows(), any::<bool>(), prop::bool::weighted(0.2), 1_i64..4).boxed();
    (rows(), rows(), prop::collection::vec(change, 0..5)).prop_map(|(first, second, changes)| {
        let (mut history, mut at) = (History::new(first, second), 0);
        for (upstream, file, replaces, is_waived, gap) in changes {
            at += gap;
            // The first deck of an upstream needs no notice.
            if history.entries[upstream].is_empty() {
                continue;
            }
            history.import(upstream, file, if replaces { Mode::Replace } else { Mode::Merge }, at, is_waived);
        }
        history
    })
}

fn notices() -> impl Strategy<Value = Notice> {
    prop::collection::vec((0_i64..12, 0_i64..10), 1..3).prop_map(Notice::changing)
}

proptest! {
    #[test]
    fn prices_are_those_of_a_naive_reading_of_all_decks(
        history in histories(), notice in notices(), numbers in prop::collection::vec(prefixes(5), 1..8),
        later in 0_i64..15, has_plan in any::<bool>()
    ) {
        let plan = Plan::new(PlanBase::Cost, 300_000, false, Vec::new()).unwrap();
        let plan = has_plan.then(|| Arc::new(plan));
        let tariff = history.tariff(notice.clone(), plan.clone());
        let at = later + history.replacements.last().map_or(0, |last| last.at);
        for number in numbers {
            let sold = tariff.sell_rate(number, at);
            prop_assert_eq!(sold.map(|sell| sell.rate), history.naive(number, at, &notice, plan.clone()));
            // The price that holds is that of the decks of the time it names.
            if let Some(Held { as_of, until }) = sold.and_then(|sell| sell.held) {
                let changes = history.replacements.partition_point(|change| change.at <= as_of);
                let then = history.state(changes).with_plan(plan.clone());
                let of_then = then.sell_rate(number, at);
                prop_assert_eq!(of_then.map(|sell| sell.rate), sold.map(|sell| sell.rate));
                prop_assert!(until > at);
            }
        }
    }

    #[test]
    fn the_longest_prefix_on_the_list_has_the_price_of_a_number(
        history in histories(), notice in notices(), numbers in prop::collection::vec(prefixes(5), 1..8),
        later in 0_i64..15
    ) {
        let tariff = history.tariff(notice, None);
        let at = later + history.replacements.last().map_or(0, |last| last.at);
        let listed: Vec<_> = tariff.sell_rates(Prefix::FIRST, at).collect();
        prop_assert!(listed.is_sorted_by(|one, next| one.prefix < next.prefix));
        for number in numbers {
            let row = listed.iter().rfind(|sell| sell.prefix.covers(number));
            prop_assert_eq!(row.map(|sell| sell.rate), tariff.sell_rate(number, at).map(|sell| sell.rate));
        }
    }
}
