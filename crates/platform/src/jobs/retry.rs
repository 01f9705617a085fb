//! The backoff of failed jobs.

use std::time::Duration;

const FIRST_BACKOFF: Duration = Duration::from_secs(5);
const MAX_BACKOFF: Duration = Duration::from_secs(60 * 60);

/// The time until the next attempt: doubled each time, at most an hour, with random jitter in its upper half, so that
/// jobs that failed together are not retried together.
pub(super) fn backoff(attempts: i64, random: u32) -> Duration {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(0).min(16);
    let whole = FIRST_BACKOFF.saturating_mul(1 << doublings).min(MAX_BACKOFF);
    whole / 2 + (whole / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_backoff_doubles_up_to_an_hour() {
        let longest: Vec<u64> = (1..=12).map(|attempts| backoff(attempts, u32::MAX).as_secs()).collect();
        assert_eq!(longest, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
    }

    #[test]
    fn sixty_attempts_span_more_than_a_day() {
        let shortest: Duration = (1..60).map(|attempts| backoff(attempts, 0)).sum();
        assert!(shortest > Duration::from_secs(24 * 60 * 60), "{shortest:?}");
    }

    proptest! {
        #[test]
        fn the_jitter_stays_in_the_upper_half(attempts: i64, random: u32) {
            let longest = backoff(attempts, u32::MAX);
            prop_assert!(backoff(attempts, random) <= longest);
            prop_assert!(backoff(attempts, random) >= longest / 2);
        }
    }
}
