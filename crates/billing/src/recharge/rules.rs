//! When a balance refills itself, by how much, and when it gives up.

use std::time::Duration;

use values::Time;

/// Attempts begun on one UTC day.
pub const DAILY_MOST: i64 = 3;

/// Declines in a row after which it is switched off.
pub const DECLINES_MOST: i64 = 2;

/// How long a declined card is left alone.
const PAUSE: Duration = Duration::from_secs(3600);

/// How long whoever began an attempt may take before another asks what became of it.
const PATIENCE: Duration = Duration::from_secs(60);

const DAY_MILLIS: i64 = 24 * 3600 * 1000;

/// No balance or payment exceeds two billion units, in nanos.
const MOST: i64 = 2_000_000_000_000_000_000;

/// All that the decision depends on; amounts in nanos of one currency.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    pub enabled: bool,
    pub balance: i64,
    pub threshold: i64,
    pub recharge_amount: i64,
    /// Since when an attempt is under way.
    pub open_since: Option<Time>,
    pub begun_today: i64,
    /// When the card was declined, unless it was accepted since.
    pub declined_at: Option<Time>,
    pub now: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// There is nothing to do.
    Rest,
    /// Charge so much.
    Charge(i64),
    /// Ask what became of the attempt that is under way.
    Resume,
    /// Decide again then.
    Wait(Time),
}

pub fn decide(situation: &Situation) -> Decision {
    let now = situation.now;
    if let Some(since) = situation.open_since {
        let due = since.plus(PATIENCE);
        return if due <= now { Decision::Resume } else { Decision::Wait(due) };
    }
    if !situation.enabled || situation.balance >= situation.threshold {
        return Decision::Rest;
    }
    if situation.begun_today >= DAILY_MOST {
        return Decision::Wait(tomorrow(now));
    }
    if let Some(due) = situation.declined_at.map(|at| at.plus(PAUSE)).filter(|due| *due > now) {
        return Decision::Wait(due);
    }
    size(situation.balance, situation.threshold, situation.recharge_amount).map_or(Decision::Rest, Decision::Charge)
}

/// The smallest multiple of the amount that lifts the balance over the threshold; none if nobody could pay it.
fn size(balance: i64, threshold: i64, amount: i64) -> Option<i64> {
    let lacking = i128::from(threshold) - i128::from(balance);
    let times = lacking.checked_div_euclid(i128::from(amount))?.max(0) + 1;
    i64::try_from(times * i128::from(amount)).ok().filter(|size| (1..=MOST).contains(size))
}

/// Whether so many declines in a row switch it off.
pub fn gives_up(declines: i64) -> bool {
    declines >= DECLINES_MOST
}

/// The first moment of the UTC day.
pub fn today(now: Time) -> Time {
    Time::from_millis(now.millis().div_euclid(DAY_MILLIS).saturating_mul(DAY_MILLIS))
}

fn tomorrow(now: Time) -> Time {
    today(now).plus(Duration::from_millis(DAY_MILLIS.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    const NOON: Time = Time::from_millis(20_000 * DAY_MILLIS + DAY_MILLIS / 2);
    const MINUTE: Duration = Duration::from_secs(60);

    fn low() -> Situation {
        Situation {
            enabled: true,
            balance: 15,
            threshold: 20,
            recharge_amount: 50,
            open_since: None,
            begun_today: 0,
            declined_at: None,
            now: NOON,
        }
    }

    fn any_situation() -> impl Strategy<Value = Situation> {
        let amount = || prop_oneof![-1000i64..1000, -MOST..MOST];
        let time = || proptest::option::of((0u64..10_000).prop_map(|seconds| NOON.minus(Duration::from_secs(seconds))));
        (any::<bool>(), amount(), amount(), prop_oneof![1i64..100, 1..MOST], time(), 0i64..6, time()).prop_map(
            |(enabled, balance, threshold, recharge_amount, open_since, begun_today, declined_at)| Situation {
                enabled,
                balance,
                threshold,
                recharge_amount,
                open_since,
                begun_today,
                declined_at,
                now: NOON,
            },
        )
    }

    proptest! {
        #[test]
        fn a_charge_is_the_smallest_multiple_that_lifts_the_balance_over_the_threshold(situation in any_situation()) {
            if let Decision::Charge(amount) = decide(&situation) {
                let (one, amount) = (i128::from(situation.recharge_amount), i128::from(amount));
                let after = i128::from(situation.balance) + amount;
                prop_assert!(amount >= one && amount % one == 0);
                prop_assert!(after > i128::from(situation.threshold));
                prop_assert!(amount == one || after - one <= i128::from(situation.threshold));
            }
        }

        #[test]
        fn a_charge_needs_all_of_its_conditions(situation in any_situation()) {
            if let Decision::Charge(_) = decide(&situation) {
                prop_assert!(situation.enabled && situation.balance < situation.threshold);
                prop_assert!(situation.open_since.is_none() && situation.begun_today < DAILY_MOST);
                prop_assert!(situation.declined_at.is_none_or(|at| at.plus(PAUSE) <= situation.now));
            }
        }

        #[test]
        fn whoever_waits_waits_for_what_is_still_to_come(situation in any_situation()) {
            if let Decision::Wait(until) = decide(&situation) {
                prop_assert!(until > situation.now && until.since(situation.now) <= Duration::from_secs(24 * 3600));
            }
        }

        /// Plays a day of a card that is declined or accepted at will, and of a customer who spends at will.
        #[test]
        fn a_day_has_at_most_three_attempts_and_two_declines_in_a_row_end_them(
            steps in proptest::collection::vec((1u64..7200, 0i64..200, any::<bool>()), 1..200),
        ) {
            let mut now = today(NOON);
            let (mut situation, mut declines, mut day, mut begun) = (low(), 0, now, 0);
            for (seconds, spent, accepted) in steps {
                now = now.plus(Duration::from_secs(seconds));
                if today(now) != day {
                    (day, begun) = (today(now), 0);
                }
                situation.balance -= spent;
                let decision = decide(&Situation { now, begun_today: begun, ..situation });
                let Decision::Charge(amount) = decision else { continue };
                begun += 1;
                prop_assert!(begun <= DAILY_MOST && declines < DECLINES_MOST);
                if accepted {
                    situation.balance += amount;
                    (declines, situation.declined_at) = (0, None);
                } else {
                    declines += 1;
                    situation.declined_at = Some(now);
                    situation.enabled = !gives_up(declines);
                }
            }
        }
    }

    #[test]
    fn the_amount_is_multiplied_until_it_is_enough() {
        assert_eq!(decide(&low()), Decision::Charge(50));
        assert_eq!(decide(&Situation { balance: -29, ..low() }), Decision::Charge(50));
        assert_eq!(decide(&Situation { balance: -30, ..low() }), Decision::Charge(100));
        assert_eq!(decide(&Situation { balance: -1000, ..low() }), Decision::Charge(1050));
        assert_eq!(decide(&Situation { balance: -MOST, recharge_amount: MOST, ..low() }), Decision::Rest);
    }

    #[test]
    fn nothing_is_charged_at_the_threshold_or_when_it_is_off() {
        assert_eq!(decide(&Situation { balance: 20, ..low() }), Decision::Rest);
        assert_eq!(decide(&Situation { enabled: false, ..low() }), Decision::Rest);
    }

    #[test]
    fn one_attempt_is_under_way_at_a_time() {
        let open = |ago: Duration| decide(&Situation { open_since: Some(NOON.minus(ago)), ..low() });
        assert_eq!(open(MINUTE / 2), Decision::Wait(NOON.plus(MINUTE / 2)));
        assert_eq!(open(MINUTE), Decision::Resume);
        // Whatever was switched off meanwhile, what became of it has to be known.
        let off = Situation { open_since: Some(NOON.minus(MINUTE)), enabled: false, ..low() };
        assert_eq!(decide(&off), Decision::Resume);
    }

    #[test]
    fn the_fourth_of_a_day_waits_for_the_next_and_a_declined_card_for_an_hour() {
        assert_eq!(
            decide(&Situation { begun_today: 3, ..low() }),
            Decision::Wait(Time::from_millis(20_001 * DAY_MILLIS))
        );
        let declined = Situation { declined_at: Some(NOON.minus(MINUTE)), ..low() };
        assert_eq!(decide(&declined), Decision::Wait(NOON.plus(MINUTE * 59)));
        assert!(!gives_up(1) && gives_up(2));
    }
}
