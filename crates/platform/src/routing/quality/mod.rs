//! How the calls of each upstream to each destination went, and which routes are demoted or broken.
//!
//! Every node counts in memory, so a decision costs no round trip; the rules are those of [`rating::quality`]. A
//! destination is known by the name of its sell rate. Nodes exchange their counts every few seconds through the table
//! `route_stats`, which is also what a node begins with; a breaker that opens or closes is written at once. At most
//! [`MAX_ROUTES`] routes are watched; those without calls make room.
//!
//! - `exchange`: what nodes tell each other · `store`: tables `route_stats` and `route_breakers`

mod exchange;
mod store;

pub use exchange::EXCHANGE_INTERVAL;
pub use store::{count_open, save_change};

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rating::quality::{
    Breaker, Counts, Demotion, Outcome, RankedRoute, RouteState, Rules, Transition, WINDOW_MINUTES, Window, minute_of,
    order,
};

use exchange::Exchange;
use store::BreakerRow;
use values::{Time, UpstreamId};

/// More upstreams times destinations than are called within a quarter of an hour; about 16 MB.
pub const MAX_ROUTES: usize = 10_000;
/// A failure that a switch reports so late says nothing about now. Clocks of switches may be as far behind.
const MAX_FAILURE_AGE_MILLIS: i64 = 300_000;
/// An open breaker without calls is forgotten after this time.
const BREAKER_TTL_MILLIS: i64 = 3_600_000;

/// What happened to a call of a route.
#[derive(Clone, Debug)]
pub struct Observation {
    pub upstream: UpstreamId,
    pub destination: String,
    pub at: Time,
    pub event: RouteEvent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteEvent {
    /// The upstream was tried. `sip_code` is that of a failure, if there was a response.
    Attempt { outcome: Outcome, sip_code: Option<i64>, delay_millis: Option<i64> },
    /// An answered call is over.
    Ended { seconds: i64 },
}

impl RouteEvent {
    fn counts(self) -> Counts {
        match self {
            RouteEvent::Attempt { outcome, delay_millis, .. } => Counts {
                attempts: 1,
                answered: i64::from(outcome == Outcome::Answered),
                delays: i64::from(delay_millis.is_some()),
                delay_millis: delay_millis.unwrap_or(0),
                ..Counts::default()
            },
            RouteEvent::Ended { seconds } => Counts { ended: 1, seconds, ..Counts::default() },
        }
    }
}

/// A breaker that opened, failed again or closed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BreakerChange {
    pub destination: String,
    pub upstream: UpstreamId,
    pub is_open: bool,
    pub sip_code: Option<i64>,
    pub at: Time,
}

/// What is known of one upstream for one destination.
#[derive(Clone, Default)]
struct Route {
    window: Window,
    breaker: Breaker,
    /// When the breaker last opened or closed.
    changed_at: i64,
    demotion: Demotion,
}

impl Route {
    fn state(&self) -> RouteState {
        match (self.breaker, self.demotion.reason()) {
            (Breaker::Open { .. }, _) => RouteState::Open,
            (Breaker::HalfOpen { .. }, _) => RouteState::HalfOpen,
            (Breaker::Closed { .. }, Some(shortfall)) => RouteState::Demoted(shortfall),
            (Breaker::Closed { .. }, None) => RouteState::Healthy,
        }
    }

    fn judge(&mut self, rules: &Rules, now: Time) {
        if rules.floor.is_set() || self.demotion.reason().is_some() {
            let counts = self.window.sum(self.demotion.since(), minute_of(now.millis()));
            self.demotion.judge(&counts, &rules.floor, now.millis());
        }
    }

    /// Whether the next call tries it in its usual place although it is not healthy.
    fn take_probe(&mut self, now: Time) -> bool {
        match self.state() {
            RouteState::Healthy => false,
            RouteState::Demoted(_) => self.demotion.take_probe(),
            RouteState::Open | RouteState::HalfOpen => self.breaker.admit(now.millis()),
        }
    }

    fn is_forgotten(&self, now: Time) -> bool {
        let is_idle = self.window.last_minute() + WINDOW_MINUTES < minute_of(now.millis());
        is_idle && (self.breaker.is_closed() || now.millis() - self.changed_at > BREAKER_TTL_MILLIS)
    }
}

/// A route as the team sees it.
#[derive(Clone, Copy, Debug)]
pub struct RouteReport {
    pub state: RouteState,
    pub counts: Counts,
    /// Its place among the routes of a call, from 0.
    pub place: usize,
}

#[derive(Default)]
struct Routes {
    by_destination: HashMap<Box<str>, Vec<(UpstreamId, Route)>>,
    number: usize,
    /// The minute of the last sweep.
    swept: i64,
}

impl Routes {
    fn find(&mut self, destination: &str, upstream: UpstreamId) -> Option<&mut Route> {
        let routes = self.by_destination.get_mut(destination)?;
        routes.iter_mut().find(|(id, _)| *id == upstream).map(|(_, route)| route)
    }

    /// The route, a new one if there is room.
    fn watch(&mut self, destination: &str, upstream: UpstreamId, now: Time) -> Option<&mut Route> {
        if self.find(destination, upstream).is_none() {
            if self.number >= MAX_ROUTES {
                self.sweep(now);
            }
            if self.number >= MAX_ROUTES {
                return None;
            }
            self.number += 1;
            match self.by_destination.get_mut(destination) {
                Some(routes) => routes.push((upstream, Route::default())),
                None => {
                    self.by_destination.insert(destination.into(), vec![(upstream, Route::default())]);
                }
            }
        }
        self.find(destination, upstream)
    }

    /// Forgets routes without calls, once a minute.
    fn sweep(&mut self, now: Time) {
        let minute = minute_of(now.millis());
        if self.swept == minute {
            return;
        }
        self.swept = minute;
        self.by_destination.retain(|_, routes| {
            routes.retain(|(_, route)| !route.is_forgotten(now));
            !routes.is_empty()
        });
        self.number = self.by_destination.values().map(Vec::len).sum();
    }

    fn count_open(&self) -> usize {
        self.by_destination.values().flatten().filter(|(_, route)| !route.breaker.is_closed()).count()
    }
}

/// The routes that this node watches.
#[derive(Default)]
pub struct RouteQuality {
    routes: Mutex<Routes>,
    /// Breakers that are not closed. While there are none, most decisions need not look at any route.
    open: AtomicUsize,
    /// Held while counts are written, so that none is written twice; the minute of the last purge.
    exchanging: tokio::sync::Mutex<i64>,
}

impl RouteQuality {
    fn lock(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Breakers of this node that are open or half-open.
    pub fn open_breakers(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Counts what happened; the change of a breaker if that opened or closed it.
    pub fn observe(&self, seen: &Observation, now: Time) -> Option<BreakerChange> {
        let at = seen.at.min(now);
        let mut routes = self.lock();
        let route = routes.watch(&seen.destination, seen.upstream, now)?;
        let counts = seen.event.counts();
        route.window.record(minute_of(at.millis()), &counts);
        route.demotion.record(&counts);
        let RouteEvent::Attempt { outcome, sip_code, .. } = seen.event else { return None };
        let transition = match outcome {
            Outcome::Answered | Outcome::Reached => route.breaker.succeed(),
            Outcome::Failed if now.millis() - at.millis() <= MAX_FAILURE_AGE_MILLIS => route.breaker.fail(now.millis()),
            Outcome::Failed | Outcome::Unclear => None,
        }?;
        route.changed_at = now.millis();
        match transition {
            Transition::Opened => {
                self.open.fetch_add(1, Ordering::Relaxed);
            }
            Transition::StillOpen => {}
            Transition::Closed => {
                self.open.fetch_sub(1, Ordering::Relaxed);
                // Its failures are explained; the floor counts from here.
                route.demotion.forgive(now.millis());
            }
        }
        let is_open = transition != Transition::Closed;
        let (destination, upstream) = (seen.destination.clone(), seen.upstream);
        Some(BreakerChange { destination, upstream, is_open, sip_code: sip_code.filter(|_| is_open), at: now })
    }

    /// The order in which a call tries its routes, given as upstream and cost per minute from cheap to expensive; none if
    /// that is the order.
    ///
    /// A call that is later denied may have taken the turn of a probe; the next turn comes soon.
    pub fn order(
        &self,
        destination: &str,
        rules: &Rules,
        routes: impl Iterator<Item = (UpstreamId, i64)>,
        now: Time,
    ) -> Option<Vec<usize>> {
        if rules.is_by_cost_alone() && self.open_breakers() == 0 {
            return None;
        }
        let mut watched = self.lock();
        let known = watched.by_destination.get_mut(destination)?;
        let mut has_probe = false;
        let ranked: Vec<RankedRoute> = routes
            .map(|(upstream, cost_nanos)| {
                let Some((_, route)) = known.iter_mut().find(|(id, _)| *id == upstream) else {
                    return unknown_route(cost_nanos);
                };
                route.judge(rules, now);
                // One probe is enough of a risk for one call.
                let is_probe = !has_probe && route.take_probe(now);
                has_probe |= is_probe;
                let counts = route.window.sum(0, minute_of(now.millis()));
                RankedRoute { cost_nanos, state: route.state(), is_probe, counts }
            })
            .collect();
        drop(watched);
        let order = order(&ranked, rules);
        if order.is_sorted() { None } else { Some(order) }
    }

    /// The state and the place of each route, as the next call that is no probe would find them.
    pub fn report(
        &self,
        destination: &str,
        rules: &Rules,
        routes: impl Iterator<Item = (UpstreamId, i64)>,
        now: Time,
    ) -> Vec<RouteReport> {
        let mut watched = self.lock();
        let mut known = watched.by_destination.get_mut(destination);
        let ranked: Vec<RankedRoute> = routes
            .map(|(upstream, cost_nanos)| {
                let found = known.as_mut().and_then(|known| known.iter_mut().find(|(id, _)| *id == upstream));
                let Some((_, route)) = found else { return unknown_route(cost_nanos) };
                route.judge(rules, now);
                let counts = route.window.sum(0, minute_of(now.millis()));
                RankedRoute { cost_nanos, state: route.state(), is_probe: false, counts }
            })
            .collect();
        drop(watched);
        let order = order(&ranked, rules);
        let place = |index: usize| order.iter().position(|other| *other == index).unwrap_or(index);
        let reports = ranked.iter().enumerate();
        reports
            .map(|(index, route)| RouteReport { state: route.state, counts: route.counts, place: place(index) })
            .collect()
    }

    /// Takes over breakers as other nodes saw them, and the counts of all nodes.
    fn learn(&self, exchanged: &Exchange, now: Time) {
        let mut routes = self.lock();
        for row in &exchanged.stats {
            if let Some(route) = routes.watch(&row.destination_name, row.upstream_id, now) {
                route.window.learn(row.minute, row.counts());
            }
        }
        for BreakerRow { destination_name, upstream_id, is_open, changed_at, .. } in &exchanged.breakers {
            let Some(route) = routes.watch(destination_name, *upstream_id, now) else { continue };
            if changed_at.millis() <= route.changed_at {
                continue;
            }
            route.changed_at = changed_at.millis();
            if *is_open {
                route.breaker = Breaker::Open { since: changed_at.millis() };
            } else if route.breaker.succeed().is_some() {
                route.demotion.forgive(now.millis());
            }
        }
        routes.sweep(now);
        self.open.store(routes.count_open(), Ordering::Relaxed);
    }
}

/// A route that had no calls lately.
fn unknown_route(cost_nanos: i64) -> RankedRoute {
    RankedRoute { cost_nanos, state: RouteState::Healthy, is_probe: false, counts: Counts::default() }
}

#[cfg(test)]
mod tests;
