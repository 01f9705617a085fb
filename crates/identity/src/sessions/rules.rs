//! Lockout and token reuse, as pure functions.

use std::time::Duration;

use values::Time;

/// From the sign-in, however often the session is refreshed.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// Within this time a refresh token may be used again because the client lost the response.
const REUSE_GRACE: Duration = Duration::from_secs(10);

/// Failures of an email address from one network before it is locked out.
const FAILURES_BEFORE_LOCKOUT: i64 = 5;
const MIN_LOCKOUT: Duration = Duration::from_secs(30);
const MAX_LOCKOUT: Duration = Duration::from_secs(15 * 60);
/// Older failures do not count.
pub const FAILURE_WINDOW: Duration = Duration::from_secs(24 * 3600);

/// What the second use of a refresh token means.
#[derive(Debug, PartialEq, Eq)]
pub enum Reuse {
    /// The client never received its new token: refused, the session goes on.
    LostResponse,
    /// Two parties have tokens of the session: it ends.
    Theft,
}

/// `successor_used`: the token that replaced this one was used.
pub fn classify_reuse(used_at: Time, successor_used: bool, now: Time) -> Reuse {
    if !successor_used && now.since(used_at) <= REUSE_GRACE { Reuse::LostResponse } else { Reuse::Theft }
}

/// Lockout after this many failures in a row: it doubles up to [`MAX_LOCKOUT`].
pub fn lockout_after(failures: i64) -> Duration {
    let Some(doublings) = failures.checked_sub(FAILURES_BEFORE_LOCKOUT).filter(|n| *n >= 0) else {
        return Duration::ZERO;
    };
    let factor = 1u32.checked_shl(u32::try_from(doublings).unwrap_or(31).min(31)).unwrap_or(u32::MAX);
    MIN_LOCKOUT.saturating_mul(factor).min(MAX_LOCKOUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reuse_is_forgiven_for_ten_seconds_while_the_new_token_is_unused() {
        let used = Time::from_seconds(1000);
        assert_eq!(classify_reuse(used, false, Time::from_seconds(1010)), Reuse::LostResponse);
        assert_eq!(classify_reuse(used, false, Time::from_millis(1_010_001)), Reuse::Theft);
        assert_eq!(classify_reuse(used, true, Time::from_seconds(1001)), Reuse::Theft);
    }

    #[test]
    fn the_lockout_doubles_from_30_seconds_to_15_minutes() {
        let lockouts: Vec<u64> = (4..=11).map(|failures| lockout_after(failures).as_secs()).collect();
        assert_eq!(lockouts, [0, 30, 60, 120, 240, 480, 900, 900]);
    }

    proptest! {
        #[test]
        fn the_lockout_never_shrinks_and_is_limited(failures in 0i64..i64::MAX) {
            prop_assert!(lockout_after(failures) <= MAX_LOCKOUT);
            prop_assert!(lockout_after(failures) <= lockout_after(failures.saturating_add(1)));
        }
    }
}
