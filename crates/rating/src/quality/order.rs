//! The order in which the routes of a call are tried.

use std::cmp::Reverse;

use super::floor::{Floor, Shortfall};
use super::window::Counts;

/// Routes that cost at most so much more than the cheapest of them count as equally cheap.
pub const BALANCED_BAND_PERCENT: i64 = 10;
/// Scores within one step are the same, so that the cheaper route wins unless another is clearly better.
const SCORE_STEP: i64 = 20;

/// What decides between healthy routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The cost alone.
    Cheapest,
    /// The score among routes of about the same cost.
    Balanced,
    /// The score; of equal ones the cost.
    Quality,
}

/// How the routes of a destination are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    pub policy: Policy,
    pub floor: Floor,
}

impl Rules {
    /// Whether the quality of routes changes nothing, as long as no breaker is open.
    pub fn is_by_cost_alone(&self) -> bool {
        self.policy == Policy::Cheapest && !self.floor.is_set()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouteState {
    Healthy,
    Demoted(Shortfall),
    Open,
    HalfOpen,
}

/// A route that may take a call.
#[derive(Clone, Copy, Debug)]
pub struct RankedRoute {
    /// Per minute.
    pub cost_nanos: i64,
    pub state: RouteState,
    /// This call tries the route in its usual place, whatever its state.
    pub is_probe: bool,
    pub counts: Counts,
}

impl RankedRoute {
    /// Healthy routes first, then demoted ones, then those whose breaker is open.
    fn tier(&self) -> usize {
        match self.state {
            _ if self.is_probe => 0,
            RouteState::Healthy => 0,
            RouteState::Demoted(_) => 1,
            RouteState::Open | RouteState::HalfOpen => 2,
        }
    }
}

/// The order of routes that are given cheapest first: their indices, each once.
pub fn order(routes: &[RankedRoute], rules: &Rules) -> Vec<usize> {
    let scores = scores(routes, rules.floor.min_attempts);
    let bands = bands(routes);
    let mut order: Vec<usize> = (0..routes.len()).collect();
    // Stable, so that cost decides between equals.
    order.sort_by_key(|index| {
        let tier = routes.get(*index).map_or(0, RankedRoute::tier);
        let (score, band) = (scores.get(*index).copied(), bands.get(*index).copied());
        match rules.policy {
            Policy::Cheapest => (tier, None, Reverse(None)),
            Policy::Balanced => (tier, band, Reverse(score)),
            Policy::Quality => (tier, None, Reverse(score)),
        }
    });
    order
}

/// The score of each route in steps. A route with too few attempts is taken to be as good as the others on average.
fn scores(routes: &[RankedRoute], min_attempts: i64) -> Vec<i64> {
    let known = |route: &RankedRoute| (route.counts.attempts >= min_attempts.max(1)).then(|| route.counts.score());
    let (mut sum, mut number) = (0, 0);
    for score in routes.iter().filter_map(known) {
        (sum, number) = (sum + score, number + 1);
    }
    let average = sum.checked_div(number).unwrap_or(0);
    routes.iter().map(|route| known(route).unwrap_or(average).div_euclid(SCORE_STEP)).collect()
}

/// The band of each route among those of its tier: a new one begins where the cost leaves that of the band's first.
fn bands(routes: &[RankedRoute]) -> Vec<usize> {
    let mut open: [Option<(usize, i64)>; 3] = [None; 3];
    let band_of = |route: &RankedRoute| {
        let Some(of_tier) = open.get_mut(route.tier()) else { return 0 };
        let limit = |first: i64| i128::from(first) * i128::from(100 + BALANCED_BAND_PERCENT);
        let (band, _) = match *of_tier {
            Some((band, first)) if i128::from(route.cost_nanos) * 100 <= limit(first) => (band, first),
            before => *of_tier.insert((before.map_or(0, |(band, _)| band + 1), route.cost_nanos)),
        };
        band
    };
    routes.iter().map(band_of).collect()
}
