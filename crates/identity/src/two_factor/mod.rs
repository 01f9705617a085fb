//! Two-factor authentication: one-time codes from an authenticator app, and recovery codes for when it is lost.
//!
//! Enrolment makes a seed, confirmation proves that the app has it and hands out the recovery codes, once. A code is
//! accepted once: the last accepted time step is remembered and only a later one passes. Signing in with a code is the
//! second step of [`super::sessions`], which asks [`pass`] here.

mod codes;
mod handlers;
mod store;
mod types;

pub use handlers::{confirm, disable, enroll, renew_recovery_codes};
pub use store::{Challenge, forget_challenges, open_challenge, remove, try_challenge, use_challenge, void_challenges};
pub use types::Code;

use api::problem::Problem;
use db::Conn;
use platform::app::App;
use platform::crypto::keys::Purpose;
use values::{Time, UserId};

/// Whether signing in takes a code.
pub async fn is_required(conn: &mut Conn, user: UserId) -> Result<bool, Problem> {
    Ok(store::find(conn, user).await?.is_some_and(|seed| seed.confirmed_at.is_some()))
}

/// Accepts a code of a confirmed enrolment, of the app or of the recovery set, and spends it.
pub async fn pass(conn: &mut Conn, app: &App, user: UserId, code: &Code, now: Time) -> Result<(), Problem> {
    let seed = store::find(conn, user).await?.filter(|seed| seed.confirmed_at.is_some());
    let seed = seed.ok_or_else(|| Problem::state_conflict("Two-factor authentication is not set up; enrol first."))?;
    let passed = match code {
        Code::OneTime(digits) => accept_one_time(conn, app, &seed, digits, now).await?,
        Code::Recovery(text) => {
            let hash = codes::hash_recovery_code(user, text);
            store::spend_recovery_code(conn, user, &hash, now).await?
        }
    };
    if passed { Ok(()) } else { Err(wrong_code()) }
}

async fn accept_one_time(
    conn: &mut Conn,
    app: &App,
    seed: &store::Seed,
    digits: &str,
    now: Time,
) -> Result<bool, Problem> {
    let plain =
        app.keys.open(Purpose::TotpSeed, &seed.seed).ok_or_else(|| Problem::internal("a seed cannot be opened"))?;
    match codes::matching_step(&plain, digits, now)? {
        Some(step) => Ok(store::accept_step(conn, seed.user_id, step, now).await?),
        None => Ok(false),
    }
}

fn wrong_code() -> Problem {
    Problem::invalid_credentials("The code is wrong, or was used already.")
}
