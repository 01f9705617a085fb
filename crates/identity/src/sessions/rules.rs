//! Decisions about sessions, without a database.

use std::time::Duration;

use values::Time;

/// A family of refresh tokens lives this long from its sign-in, however often it is refreshed.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);
pub const MAGIC_LINK_LIFETIME: Duration = Duration::from_secs(72 * 3600);
pub const RESET_LINK_LIFETIME: Duration = Duration::from_secs(3600);

/// Within this time a spent token may come back because the answer to its use was lost.
const LOST_ANSWER: Duration = Duration::from_secs(10);

/// Failures before a pair of email and address has to wait.
const FREE_FAILURES: i64 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// Failures older than this are forgotten.
pub const FAILURE_MEMORY: Duration = Duration::from_secs(24 * 3600);

/// What a spent refresh token that comes back means.
#[derive(Debug, PartialEq, Eq)]
pub enum Reuse {
    /// The client never saw its new token: refused, nothing more.
    LostAnswer,
    /// Two parties hold the family: it ends.
    Theft,
}

/// `successor_used` is whether the token that followed has been used by someone.
pub fn judge_reuse(used_at: Time, successor_used: bool, now: Time) -> Reuse {
    if !successor_used && now.since(used_at) <= LOST_ANSWER { Reuse::LostAnswer } else { Reuse::Theft }
}

/// How long to wait after this many failures in a row: doubling, never for ever.
pub fn wait_after(failures: i64) -> Duration {
    let Some(doublings) = failures.checked_sub(FREE_FAILURES).filter(|n| *n >= 0) else { return Duration::ZERO };
    let factor = 1u32.checked_shl(u32::try_from(doublings).unwrap_or(31).min(31)).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(factor).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_lost_answer_is_forgiven_for_ten_seconds_and_only_while_nobody_used_the_new_token() {
        let used = Time::from_seconds(1000);
        assert_eq!(judge_reuse(used, false, Time::from_seconds(1010)), Reuse::LostAnswer);
        assert_eq!(judge_reuse(used, false, Time::from_millis(1_010_001)), Reuse::Theft);
        assert_eq!(judge_reuse(used, true, Time::from_seconds(1001)), Reuse::Theft);
    }

    #[test]
    fn the_wait_doubles_from_half_a_minute_to_a_quarter_of_an_hour() {
        let waits: Vec<u64> = (4..=11).map(|failures| wait_after(failures).as_secs()).collect();
        assert_eq!(waits, [0, 30, 60, 120, 240, 480, 900, 900]);
    }

    proptest! {
        #[test]
        fn the_wait_never_shrinks_and_never_locks_the_owner_out(failures in 0i64..i64::MAX) {
            prop_assert!(wait_after(failures) <= LONGEST_WAIT);
            prop_assert!(wait_after(failures) <= wait_after(failures.saturating_add(1)));
        }
    }
}
