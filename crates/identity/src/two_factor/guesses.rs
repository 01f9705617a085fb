//! Wrong codes and passwords of a user who got past the first step: each one counts, whatever the `tmp_token`, session or
//! address it came with.
//!
//! After five, the next guess must wait, twice as long each time up to an hour; a day without any forgets them. A guess
//! counts before it is checked, so that parallel ones do not get around the wait. Only somebody with the password or a
//! live session can make one, so a stranger cannot keep the owner out; recovery codes and passkeys, which nobody guesses,
//! are accepted meanwhile.

use std::time::Duration;

use super::types::Code;
use super::{notify, store};
use api::context::{RequestCtx, Tx};
use api::problem::Problem;
use platform::mail::FactorChange;
use values::UserId;

/// Guesses that need no wait.
const FREE_GUESSES: i64 = 5;
const MIN_WAIT: Duration = Duration::from_secs(30);
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// After this long without a wrong guess, they are forgotten.
pub(super) const WINDOW: Duration = Duration::from_secs(24 * 3600);

/// Counts a code that could be guessed.
pub async fn count_code(ctx: &RequestCtx, user: UserId, code: &Code) -> Result<(), Problem> {
    match code {
        Code::OneTime(_) => count(ctx, user).await,
        Code::Recovery(_) => Ok(()),
    }
}

/// Counts a guess that is about to be checked; it commits whatever the result. Refused while the user must wait.
pub async fn count(ctx: &RequestCtx, user: UserId) -> Result<(), Problem> {
    if !ctx.app.limits.is_enabled() {
        return Ok(());
    }
    let counted = ctx.app.db.tx((ctx.clone(), user), |conn, (ctx, user)| {
        Box::pin(async move {
            conn.set_now(ctx.now);
            let Some(guesses) = store::count_guess(conn, *user, ctx.now.minus(WINDOW)).await? else {
                let until = store::must_wait_until(conn, *user).await?.unwrap_or(ctx.now);
                return Ok::<_, Problem>(Some(until.since(ctx.now)));
            };
            // A free guess leaves the wait alone, or a parallel one that arrived a moment earlier would be refused.
            if guesses >= FREE_GUESSES {
                store::wait_until(conn, *user, ctx.now.plus(wait_after(guesses))).await?;
            }
            // All before this one were wrong.
            if guesses == FREE_GUESSES + 1 {
                notify::send(conn, ctx, *user, FactorChange::WrongCodes).await?;
            }
            Ok(None)
        })
    });
    match counted.await? {
        None => Ok(()),
        Some(wait) => Err(Problem::too_many_guesses(wait.as_secs() + 1)),
    }
}

/// The guess was right.
pub async fn was_right(tx: &mut Tx<'_>, user: UserId) -> Result<(), Problem> {
    Ok(store::take_back_guess(tx, user).await?)
}

/// The wait after this many guesses.
fn wait_after(guesses: i64) -> Duration {
    let Some(doublings) = guesses.checked_sub(FREE_GUESSES).filter(|n| *n >= 0) else {
        return Duration::ZERO;
    };
    let factor = 1u32.checked_shl(u32::try_from(doublings).unwrap_or(31).min(31)).unwrap_or(u32::MAX);
    MIN_WAIT.saturating_mul(factor).min(MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_from_30_seconds_to_an_hour() {
        let waits: Vec<u64> = (4..=13).map(|guesses| wait_after(guesses).as_secs()).collect();
        assert_eq!(waits, [0, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        assert_eq!(wait_after(i64::MAX), MAX_WAIT);
    }

    /// docs/security.md has this number. Three codes are valid at a time: the step of now and one on either side.
    #[test]
    fn guessing_a_code_takes_38_years_on_average() {
        let a_day = 86_400 / MAX_WAIT.as_secs();
        let days = 1_000_000 / 3 / a_day;
        assert_eq!(days / 365, 38);
    }
}
