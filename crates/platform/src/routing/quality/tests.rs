//! Routes in memory: what moves calls away from an upstream, and what brings them back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rating::quality::{Floor, Policy};
use uuid::Uuid;

use super::*;

const CHEAP: u128 = 1;
const DEAR: u128 = 2;

fn id(number: u128) -> UpstreamId {
    UpstreamId::new(Uuid::from_u128(number))
}

fn rules(min_asr_percent: Option<i64>) -> Rules {
    let floor = Floor { min_asr_percent, min_acd_seconds: None, max_pdd_millis: None, min_attempts: 10 };
    Rules { policy: Policy::Cheapest, floor }
}

fn attempt(upstream: u128, destination: &str, outcome: Outcome, at: Time) -> Observation {
    let event = RouteEvent::Attempt { outcome, sip_code: Some(503), delay_millis: None };
    Observation { upstream: id(upstream), destination: destination.to_owned(), at, event }
}

/// The upstream that a call tries first.
fn first(quality: &RouteQuality, destination: &str, rules: &Rules, now: Time) -> u128 {
    let routes = [(id(CHEAP), 10), (id(DEAR), 20)];
    let order = quality.order(destination, rules, routes.into_iter(), now);
    [CHEAP, DEAR][order.map_or(0, |order| order[0])]
}

#[test]
fn a_breaker_moves_one_destination_and_closes_again() {
    let quality = RouteQuality::default();
    let now = Time::from_seconds(1_000_000);
    for _ in 0..4 {
        assert_eq!(quality.observe(&attempt(CHEAP, "NL", Outcome::Failed, now), now), None);
    }
    assert_eq!(first(&quality, "NL", &rules(None), now), CHEAP);
    let change = quality.observe(&attempt(CHEAP, "NL", Outcome::Failed, now), now).unwrap();
    assert!(change.is_open);
    assert_eq!(quality.open_breakers(), 1);
    assert_eq!(first(&quality, "NL", &rules(None), now), DEAR);
    assert_eq!(first(&quality, "UK", &rules(None), now), CHEAP);
    // One call in half a minute is let through.
    let later = Time::from_seconds(1_000_030);
    assert_eq!(first(&quality, "NL", &rules(None), later), CHEAP);
    assert_eq!(first(&quality, "NL", &rules(None), later), DEAR);
    let change = quality.observe(&attempt(CHEAP, "NL", Outcome::Answered, later), later).unwrap();
    assert!(!change.is_open);
    assert_eq!((quality.open_breakers(), first(&quality, "NL", &rules(None), later)), (0, CHEAP));
}

#[test]
fn failures_of_the_callee_and_late_reports_open_nothing() {
    let quality = RouteQuality::default();
    let now = Time::from_seconds(1_000_000);
    for _ in 0..20 {
        quality.observe(&attempt(CHEAP, "NL", Outcome::Reached, now), now);
        quality.observe(&attempt(CHEAP, "NL", Outcome::Unclear, now), now);
        let late = Time::from_seconds(1_000_000 - 301);
        quality.observe(&attempt(CHEAP, "NL", Outcome::Failed, late), now);
    }
    assert_eq!(quality.open_breakers(), 0);
}

#[test]
fn a_route_below_the_floor_is_demoted_and_recovers_by_probes() {
    let quality = RouteQuality::default();
    let now = Time::from_seconds(1_000_000);
    let rules = rules(Some(50));
    for _ in 0..10 {
        quality.observe(&attempt(CHEAP, "NL", Outcome::Reached, now), now);
    }
    assert_eq!(first(&quality, "NL", &rules, now), DEAR);
    let probes = (0..100).filter(|_| first(&quality, "NL", &rules, now) == CHEAP).count();
    assert_eq!(probes, 5);
    for _ in 0..5 {
        quality.observe(&attempt(CHEAP, "NL", Outcome::Answered, now), now);
    }
    assert!((0..100).all(|_| first(&quality, "NL", &rules, now) == CHEAP));
}

#[test]
fn the_number_of_routes_is_limited_and_idle_ones_make_room() {
    let quality = RouteQuality::default();
    let now = Time::from_seconds(1_000_000);
    for number in 0..MAX_ROUTES + 10 {
        quality.observe(&attempt(CHEAP, &number.to_string(), Outcome::Answered, now), now);
    }
    assert_eq!(quality.lock().number, MAX_ROUTES);
    let later = Time::from_seconds(1_000_000 + 3600);
    quality.observe(&attempt(CHEAP, "new", Outcome::Answered, later), later);
    assert_eq!(quality.lock().number, 1);
}
