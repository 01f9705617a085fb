//! When a failed delivery is tried again, and when an endpoint has failed for too long.

use std::time::Duration;

use values::Time;

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

/// The pauses after each failed attempt.
const PAUSES: [Duration; 9] = [
    Duration::from_secs(5),
    minutes(5),
    minutes(30),
    minutes(2 * 60),
    minutes(5 * 60),
    minutes(10 * 60),
    minutes(14 * 60),
    minutes(20 * 60),
    minutes(24 * 60),
];

/// An endpoint is disabled after this time without a success.
const MAX_FAILING: Duration = minutes(5 * 24 * 60);

/// How long both secrets sign after a rotation.
pub const ROTATION: Duration = minutes(24 * 60);

/// When to try again after this many failed attempts; none after the last. The pause varies by a tenth, so that
/// deliveries that failed together are not repeated together.
pub fn retry_at(tries: i64, now: Time, random: u32) -> Option<Time> {
    let pause = PAUSES.get(usize::try_from(tries.checked_sub(1)?).ok()?)?;
    let jitter = f64::from(random) / f64::from(u32::MAX) * 0.2 - 0.1;
    Some(now.plus(pause.mul_f64(1.0 + jitter)))
}

/// Whether an endpoint that has failed since then is to be disabled.
pub fn is_hopeless(failing_since: Time, now: Time) -> bool {
    now.since(failing_since) >= MAX_FAILING
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const NOW: Time = Time::from_seconds(1_800_000_000);

    #[test]
    fn a_delivery_is_tried_ten_times_over_three_days() {
        let pauses: Vec<u64> =
            (1..).map_while(|tries| retry_at(tries, NOW, u32::MAX / 2)).map(|at| at.since(NOW).as_secs()).collect();
        let expected = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
        assert_eq!(pauses.len(), expected.len());
        for (pause, expected) in pauses.into_iter().zip(expected) {
            assert!(pause.abs_diff(expected) <= 1, "{pause} instead of {expected}");
        }
    }

    proptest! {
        #[test]
        fn the_jitter_is_a_tenth(tries in 1i64..=9, random: u32) {
            let pause = retry_at(tries, NOW, random).unwrap().since(NOW).as_secs_f64();
            let whole = PAUSES[usize::try_from(tries).unwrap() - 1].as_secs_f64();
            prop_assert!((pause - whole).abs() <= whole * 0.1 + 0.001);
        }

        #[test]
        fn no_number_of_tries_panics(tries: i64, random: u32) {
            retry_at(tries, NOW, random);
        }
    }
}
