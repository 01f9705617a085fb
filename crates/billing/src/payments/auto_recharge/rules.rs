//! When auto-recharge charges the card, how much, and when it switches itself off.

use std::time::Duration;

use values::Time;

/// Attempts started per UTC day.
pub const MAX_ATTEMPTS_PER_DAY: i64 = 3;

/// Declines in a row that switch auto-recharge off.
pub const MAX_DECLINES: i64 = 2;

/// Pause after a decline.
const DECLINE_PAUSE: Duration = Duration::from_secs(3600);

/// How long an attempt may be open before another run resumes it.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);

const DAY_MILLIS: i64 = 24 * 3600 * 1000;

/// No balance or payment exceeds two billion units, in nanos.
const MAX_NANOS: i64 = 2_000_000_000_000_000_000;

/// The inputs of the decision; amounts in nanos of one currency.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    pub enabled: bool,
    pub balance: i64,
    pub threshold: i64,
    pub recharge_amount: i64,
    /// Start of the open attempt, if there is one.
    pub open_since: Option<Time>,
    pub attempts_today: i64,
    /// Time of the last decline, unless a charge succeeded since.
    pub declined_at: Option<Time>,
    pub now: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Nothing,
    /// Charge this amount.
    Charge(i64),
    /// Continue with the open attempt.
    Resume,
    /// Decide again at this time.
    Wait(Time),
}

pub fn decide(situation: &Situation) -> Decision {
    let now = situation.now;
    if let Some(since) = situation.open_since {
        let due = since.plus(ATTEMPT_TIMEOUT);
        return if due <= now { Decision::Resume } else { Decision::Wait(due) };
    }
    if !situation.enabled || situation.balance >= situation.threshold {
        return Decision::Nothing;
    }
    if situation.attempts_today >= MAX_ATTEMPTS_PER_DAY {
        return Decision::Wait(next_day(now));
    }
    if let Some(due) = situation.declined_at.map(|at| at.plus(DECLINE_PAUSE)).filter(|due| *due > now) {
        return Decision::Wait(due);
    }
    charge_amount(situation.balance, situation.threshold, situation.recharge_amount)
        .map_or(Decision::Nothing, Decision::Charge)
}

/// The smallest multiple of the amount that lifts the balance over the threshold; none if it exceeds the largest
/// payment.
fn charge_amount(balance: i64, threshold: i64, amount: i64) -> Option<i64> {
    let lacking = i128::from(threshold) - i128::from(balance);
    let times = lacking.checked_div_euclid(i128::from(amount))?.max(0) + 1;
    i64::try_from(times * i128::from(amount)).ok().filter(|total| (1..=MAX_NANOS).contains(total))
}

/// Whether this many declines in a row switch auto-recharge off.
pub fn switches_off(declines: i64) -> bool {
    declines >= MAX_DECLINES
}

/// The first moment of the UTC day.
pub fn day_start(now: Time) -> Time {
    Time::from_millis(now.millis().div_euclid(DAY_MILLIS).saturating_mul(DAY_MILLIS))
}

fn next_day(now: Time) -> Time {
    day_start(now).plus(Duration::from_millis(DAY_MILLIS.unsigned_abs()))
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
            attempts_today: 0,
            declined_at: None,
            now: NOON,
        }
    }

    fn any_situation() -> impl Strategy<Value = Situation> {
        let amount = || prop_oneof![-1000i64..1000, -MAX_NANOS..MAX_NANOS];
        let time = || proptest::option::of((0u64..10_000).prop_map(|seconds| NOON.minus(Duration::from_secs(seconds))));
        (any::<bool>(), amount(), amount(), prop_oneof![1i64..100, 1..MAX_NANOS], time(), 0i64..6, time()).prop_map(
            |(enabled, balance, threshold, recharge_amount, open_since, attempts_today, declined_at)| Situation {
                enabled,
                balance,
                threshold,
                recharge_amount,
                open_since,
                attempts_today,
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
        fn a_charge_meets_every_condition(situation in any_situation()) {
            if let Decision::Charge(_) = decide(&situation) {
                prop_assert!(situation.enabled && situation.balance < situation.threshold);
                prop_assert!(situation.open_since.is_none() && situation.attempts_today < MAX_ATTEMPTS_PER_DAY);
                prop_assert!(situation.declined_at.is_none_or(|at| at.plus(DECLINE_PAUSE) <= situation.now));
            }
        }

        #[test]
        fn a_wait_ends_in_the_future_and_within_a_day(situation in any_situation()) {
            if let Decision::Wait(until) = decide(&situation) {
                prop_assert!(until > situation.now && until.since(situation.now) <= Duration::from_secs(24 * 3600));
            }
        }

        /// Simulates a card that is accepted or declined at random, and random spending.
        #[test]
        fn a_day_has_at_most_three_attempts_and_two_declines_switch_it_off(
            steps in proptest::collection::vec((1u64..7200, 0i64..200, any::<bool>()), 1..200),
        ) {
            let mut now = day_start(NOON);
            let (mut situation, mut declines, mut day, mut started) = (low(), 0, now, 0);
            for (seconds, spent, accepted) in steps {
                now = now.plus(Duration::from_secs(seconds));
                if day_start(now) != day {
                    (day, started) = (day_start(now), 0);
                }
                situation.balance -= spent;
                let decision = decide(&Situation { now, attempts_today: started, ..situation });
                let Decision::Charge(amount) = decision else { continue };
                started += 1;
                prop_assert!(started <= MAX_ATTEMPTS_PER_DAY && declines < MAX_DECLINES);
                if accepted {
                    situation.balance += amount;
                    (declines, situation.declined_at) = (0, None);
                } else {
                    declines += 1;
                    situation.declined_at = Some(now);
                    situation.enabled = !switches_off(declines);
                }
            }
        }
    }

    #[test]
    fn a_charge_is_a_multiple_of_the_recharge_amount() {
        assert_eq!(decide(&low()), Decision::Charge(50));
        assert_eq!(decide(&Situation { balance: -29, ..low() }), Decision::Charge(50));
        assert_eq!(decide(&Situation { balance: -30, ..low() }), Decision::Charge(100));
        assert_eq!(decide(&Situation { balance: -1000, ..low() }), Decision::Charge(1050));
        assert_eq!(decide(&Situation { balance: -MAX_NANOS, recharge_amount: MAX_NANOS, ..low() }), Decision::Nothing);
    }

    #[test]
    fn nothing_is_charged_at_the_threshold_or_while_switched_off() {
        assert_eq!(decide(&Situation { balance: 20, ..low() }), Decision::Nothing);
        assert_eq!(decide(&Situation { enabled: false, ..low() }), Decision::Nothing);
    }

    #[test]
    fn an_open_attempt_is_resumed_and_no_other_starts() {
        let open = |ago: Duration| decide(&Situation { open_since: Some(NOON.minus(ago)), ..low() });
        assert_eq!(open(MINUTE / 2), Decision::Wait(NOON.plus(MINUTE / 2)));
        assert_eq!(open(MINUTE), Decision::Resume);
        // An open attempt is resumed even after auto-recharge was switched off.
        let off = Situation { open_since: Some(NOON.minus(MINUTE)), enabled: false, ..low() };
        assert_eq!(decide(&off), Decision::Resume);
    }

    #[test]
    fn a_fourth_attempt_waits_for_the_next_day_and_a_decline_for_an_hour() {
        assert_eq!(
            decide(&Situation { attempts_today: 3, ..low() }),
            Decision::Wait(Time::from_millis(20_001 * DAY_MILLIS))
        );
        let declined = Situation { declined_at: Some(NOON.minus(MINUTE)), ..low() };
        assert_eq!(decide(&declined), Decision::Wait(NOON.plus(MINUTE * 59)));
        assert!(!switches_off(1) && switches_off(2));
    }
}
