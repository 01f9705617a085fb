//! Quality of routes: windows, breakers, the floor and the order.

use proptest::prelude::*;
use rating::quality::{
    Breaker, Counts, Demotion, FAILURES_TO_OPEN, Floor, Outcome, Policy, RETRY_MILLIS, RankedRoute, RouteState, Rules,
    Shortfall, Transition, WINDOW_MINUTES, Window, order,
};

fn attempts(attempts: i64, answered: i64) -> Counts {
    Counts { attempts, answered, ..Counts::default() }
}

fn floor(min_asr_percent: i64) -> Floor {
    Floor { min_asr_percent: Some(min_asr_percent), min_acd_seconds: None, max_pdd_millis: None, min_attempts: 20 }
}

const NO_FLOOR: Floor = Floor { min_asr_percent: None, min_acd_seconds: None, max_pdd_millis: None, min_attempts: 20 };

fn rules(policy: Policy) -> Rules {
    Rules { policy, floor: NO_FLOOR }
}

fn healthy(cost_nanos: i64, counts: Counts) -> RankedRoute {
    RankedRoute { cost_nanos, state: RouteState::Healthy, is_probe: false, counts }
}

#[test]
fn a_window_forgets_minutes_that_left_it() {
    let mut window = Window::default();
    for minute in 1000..1000 + 3 * WINDOW_MINUTES {
        window.record(minute, &attempts(1, 0));
        let expected = (minute - 999).min(WINDOW_MINUTES);
        assert_eq!(window.sum(0, minute).attempts, expected, "{minute}");
    }
    assert_eq!(window.sum(1040, 1044).attempts, 5);
    assert_eq!(window.sum(0, 1044 + WINDOW_MINUTES).attempts, 0);
    // Too late.
    window.record(1000, &attempts(1, 0));
    assert_eq!(window.sum(0, 1044).attempts, WINDOW_MINUTES);
}

#[test]
fn what_is_written_is_counted_once() {
    let mut window = Window::default();
    window.record(1000, &attempts(3, 1));
    let written: Vec<_> = window.unsaved().collect();
    assert_eq!(written, [(1000, attempts(3, 1))]);
    window.record(1000, &attempts(1, 1));
    // Another node had two calls in the same minute.
    window.mark_saved(1000, &attempts(3, 1), attempts(5, 1));
    assert_eq!(window.sum(0, 1000), attempts(6, 2));
    window.learn(1000, attempts(7, 2));
    assert_eq!((window.sum(0, 1000), window.unsaved().count()), (attempts(8, 3), 1));
}

#[test]
fn asr_acd_and_pdd_follow_from_the_counts() {
    let counts = Counts { attempts: 8, answered: 3, ended: 2, seconds: 130, delays: 4, delay_millis: 5000 };
    assert_eq!((counts.asr_permille(), counts.acd_seconds(), counts.pdd_millis()), (Some(375), Some(65), Some(1250)));
    assert_eq!(counts.score(), 375 + 21 - 25);
    let none = Counts::default();
    assert_eq!((none.asr_permille(), none.acd_seconds(), none.pdd_millis()), (None, None, None));
}

#[test]
fn only_failures_of_the_upstream_are_failures() {
    for code in [408, 500, 502, 503, 504] {
        assert_eq!(Outcome::of_failure(Some(code), false), Outcome::Failed, "{code}");
        assert_eq!(Outcome::of_failure(Some(code), true), Outcome::Reached, "{code}");
    }
    for code in [404, 480, 486, 600, 603] {
        assert_eq!(Outcome::of_failure(Some(code), false), Outcome::Reached, "{code}");
    }
    for code in [Some(403), Some(487), Some(488), None] {
        assert_eq!(Outcome::of_failure(code, false), Outcome::Unclear, "{code:?}");
    }
}

#[test]
fn a_breaker_opens_after_failures_in_a_row_and_closes_on_success() {
    let mut breaker = Breaker::default();
    for _ in 0..3 {
        for _ in 1..FAILURES_TO_OPEN {
            assert_eq!(breaker.fail(0), None);
        }
        assert_eq!(breaker.succeed(), None);
    }
    for _ in 1..FAILURES_TO_OPEN {
        assert_eq!(breaker.fail(0), None);
    }
    assert_eq!(breaker.fail(0), Some(Transition::Opened));
    assert!(!breaker.admit(RETRY_MILLIS - 1));
    assert!(breaker.admit(RETRY_MILLIS));
    assert!(!breaker.admit(RETRY_MILLIS));
    assert_eq!(breaker.fail(RETRY_MILLIS), Some(Transition::StillOpen));
    assert!(!breaker.admit(2 * RETRY_MILLIS - 1));
    assert!(breaker.admit(2 * RETRY_MILLIS));
    // Nothing came of that call; the next is let through in its turn.
    assert!(breaker.admit(3 * RETRY_MILLIS));
    assert_eq!(breaker.succeed(), Some(Transition::Closed));
    assert_eq!(breaker, Breaker::default());
}

#[test]
fn the_floor_judges_only_enough_attempts() {
    assert_eq!(floor(50).shortfall(&attempts(19, 0)), None);
    assert_eq!(floor(50).shortfall(&attempts(20, 9)), Some(Shortfall::Asr));
    assert_eq!(floor(50).shortfall(&attempts(20, 10)), None);
    let short = Counts { ended: 10, seconds: 90, delays: 10, delay_millis: 60_000, ..attempts(20, 10) };
    let acd = Floor { min_acd_seconds: Some(10), ..floor(50) };
    assert_eq!(acd.shortfall(&short), Some(Shortfall::Acd));
    let pdd = Floor { max_pdd_millis: Some(5999), ..floor(50) };
    assert_eq!(pdd.shortfall(&short), Some(Shortfall::Pdd));
    assert!(!NO_FLOOR.is_set() && NO_FLOOR.shortfall(&attempts(1000, 0)).is_none());
}

#[test]
fn a_demoted_route_recovers_by_probes_or_after_a_window() {
    let minute = 60_000;
    let mut demotion = Demotion::default();
    demotion.judge(&attempts(20, 0), &floor(50), 0);
    assert_eq!(demotion.reason(), Some(Shortfall::Asr));
    // Hysteresis: above the floor is not enough at once.
    demotion.judge(&attempts(40, 21), &floor(50), minute);
    assert!(demotion.reason().is_some());
    let mut by_probes = demotion;
    for _ in 0..5 {
        by_probes.record(&attempts(1, 0));
    }
    by_probes.judge(&attempts(40, 5), &floor(50), 2 * minute);
    assert!(by_probes.reason().is_some());
    for _ in 0..5 {
        by_probes.record(&attempts(1, 1));
    }
    by_probes.judge(&attempts(45, 10), &floor(50), 3 * minute);
    assert_eq!((by_probes.reason(), by_probes.since()), (None, 4));
    demotion.judge(&attempts(3, 1), &floor(50), (WINDOW_MINUTES - 1) * minute);
    assert!(demotion.reason().is_some());
    demotion.judge(&attempts(3, 1), &floor(50), WINDOW_MINUTES * minute);
    assert!(demotion.reason().is_none());
    // Without a floor nothing is demoted.
    demotion.judge(&attempts(20, 0), &floor(50), 0);
    demotion.judge(&attempts(20, 0), &NO_FLOOR, 0);
    assert!(demotion.reason().is_none());
}

#[test]
fn one_of_twenty_calls_is_a_probe() {
    let mut demotion = Demotion::default();
    let probes: Vec<usize> = (1..=60).filter(|_| demotion.take_probe()).collect();
    assert_eq!(probes, [20, 40, 60]);
}

#[test]
fn each_policy_orders_healthy_routes_its_own_way() {
    let routes = [
        healthy(100, attempts(100, 30)),
        healthy(105, attempts(100, 60)),
        healthy(110, attempts(100, 50)),
        healthy(111, attempts(100, 90)),
        healthy(500, attempts(0, 0)),
    ];
    assert_eq!(order(&routes, &rules(Policy::Cheapest)), [0, 1, 2, 3, 4]);
    assert_eq!(order(&routes, &rules(Policy::Balanced)), [1, 2, 0, 3, 4]);
    // The last one is unknown: as good as the average of 57.5 %.
    assert_eq!(order(&routes, &rules(Policy::Quality)), [3, 1, 4, 2, 0]);
    // About the same quality: the cheaper one.
    let alike = [healthy(100, attempts(1000, 601)), healthy(105, attempts(1000, 610))];
    assert_eq!(order(&alike, &rules(Policy::Quality)), [0, 1]);
}

#[test]
fn routes_that_are_not_healthy_come_last_unless_they_are_probed() {
    let of = |state, is_probe| RankedRoute { state, is_probe, ..healthy(100, Counts::default()) };
    let routes = [
        of(RouteState::Open, false),
        of(RouteState::Demoted(Shortfall::Asr), false),
        of(RouteState::Healthy, false),
        of(RouteState::HalfOpen, true),
    ];
    for policy in [Policy::Cheapest, Policy::Balanced, Policy::Quality] {
        assert_eq!(order(&routes, &rules(policy)), [2, 3, 1, 0], "{policy:?}");
    }
}

fn counts() -> impl Strategy<Value = Counts> {
    let parts = (0..200_i64, 0..=200_i64, 0..1000_i64, 0..20_000_i64);
    parts.prop_map(|(attempts, answered, seconds, delay)| {
        let answered = answered.min(attempts);
        let (ended, delays) = (answered, attempts);
        Counts { attempts, answered, ended, seconds: seconds * ended, delays, delay_millis: delay * delays }
    })
}

fn state() -> impl Strategy<Value = RouteState> {
    prop_oneof![
        4 => Just(RouteState::Healthy),
        1 => Just(RouteState::Demoted(Shortfall::Pdd)),
        1 => Just(RouteState::Open),
        1 => Just(RouteState::HalfOpen),
    ]
}

fn routes() -> impl Strategy<Value = Vec<RankedRoute>> {
    let route = (0..1_000_000_i64, state(), any::<bool>(), counts());
    prop::collection::vec(route, 0..12).prop_map(|mut routes| {
        routes.sort_by_key(|(cost, ..)| *cost);
        let route = |(cost_nanos, state, is_probe, counts)| RankedRoute { cost_nanos, state, is_probe, counts };
        routes.into_iter().map(route).collect()
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![Just(Policy::Cheapest), Just(Policy::Balanced), Just(Policy::Quality)]
}

proptest! {
    /// The margin guard has dropped what is not given here, so what is not invented stays dropped.
    #[test]
    fn no_route_is_invented_dropped_or_doubled(routes in routes(), policy in policy(), min_attempts in 0..300_i64) {
        let rules = Rules { policy, floor: Floor { min_attempts, ..NO_FLOOR } };
        let mut order = order(&routes, &rules);
        order.sort_unstable();
        prop_assert_eq!(order, (0..routes.len()).collect::<Vec<_>>());
    }

    #[test]
    fn healthy_routes_stay_cheapest_first(routes in routes()) {
        let healthy: Vec<_> = routes.iter().map(|route| healthy(route.cost_nanos, route.counts)).collect();
        prop_assert_eq!(order(&healthy, &rules(Policy::Cheapest)), (0..healthy.len()).collect::<Vec<_>>());
    }

    #[test]
    fn no_route_that_is_not_healthy_precedes_a_healthy_one(routes in routes(), policy in policy()) {
        let order = order(&routes, &rules(policy));
        let is_usual = |index: &usize| routes[*index].state == RouteState::Healthy || routes[*index].is_probe;
        prop_assert!(order.iter().map(is_usual).is_sorted_by(|one, next| one >= next));
    }

    #[test]
    fn within_a_band_the_balanced_order_never_pays_more_than_ten_percent_extra(routes in routes()) {
        let healthy: Vec<_> = routes.iter().map(|route| healthy(route.cost_nanos, route.counts)).collect();
        let order = order(&healthy, &rules(Policy::Balanced));
        if let Some(first) = order.first() {
            prop_assert!(healthy[*first].cost_nanos * 100 <= healthy[0].cost_nanos * 110);
        }
    }

    #[test]
    fn a_breaker_that_is_not_closed_admits_one_call_in_thirty_seconds(
        steps in prop::collection::vec((0..20_000_i64, 0..3_u8), 1..100)
    ) {
        let (mut breaker, mut now, mut admitted) = (Breaker::default(), 0, None::<i64>);
        for (pause, step) in steps {
            now += pause;
            match step {
                0 => {
                    breaker.fail(now);
                }
                1 if breaker.is_closed() => {
                    breaker.succeed();
                }
                _ => {
                    let was_closed = breaker.is_closed();
                    if breaker.admit(now) && !was_closed {
                        prop_assert!(admitted.is_none_or(|last| now - last >= RETRY_MILLIS));
                        admitted = Some(now);
                    }
                }
            }
        }
    }
}
