//! Two-factor authentication (2FA): TOTP codes of an authenticator app, and recovery codes in case it is lost.
//!
//! Enrolment creates a seed; confirmation proves that the app has it and returns the recovery codes, once. A code works
//! once: the last accepted time step is stored, and only a later one passes. Sign-in is in [`super::sessions`], which
//! calls [`verify_code`].

mod codes;
mod handlers;
mod reseal;
mod store;
mod types;

pub use handlers::{confirm, disable, enroll, regenerate_recovery_codes};
pub use reseal::reseal;
pub use store::{Challenge, count_attempt, delete, open_challenge, purge_challenges, use_challenge, void_challenges};
pub use types::Code;

use api::problem::Problem;
use db::Conn;
use platform::app::App;
use platform::crypto::keys::Purpose;
use values::UserId;

/// Whether sign-in needs a second factor.
pub async fn is_required(conn: &mut Conn, user: UserId) -> Result<bool, Problem> {
    Ok(store::find(conn, user).await?.is_some_and(|seed| seed.confirmed_at.is_some()))
}

/// Accepts a TOTP or recovery code of a confirmed enrolment; it does not work a second time.
pub async fn verify_code(conn: &mut Conn, app: &App, user: UserId, code: &Code) -> Result<(), Problem> {
    let seed = store::find(conn, user).await?.filter(|seed| seed.confirmed_at.is_some());
    let seed = seed.ok_or_else(|| Problem::state_conflict("Two-factor authentication is not set up. Enrol first."))?;
    let is_accepted = match code {
        Code::OneTime(digits) => accept_one_time(conn, app, &seed, digits).await?,
        Code::Recovery(text) => {
            let hash = codes::hash_recovery_code(user, text);
            store::use_recovery_code(conn, user, &hash).await?
        }
    };
    if is_accepted { Ok(()) } else { Err(wrong_code()) }
}

async fn accept_one_time(conn: &mut Conn, app: &App, seed: &store::Seed, digits: &str) -> Result<bool, Problem> {
    let now = conn.now();
    let plain =
        app.keys.open(Purpose::TotpSeed, &seed.seed).ok_or_else(|| Problem::internal("cannot decrypt a TOTP seed"))?;
    match codes::matching_step(&plain, digits, now)? {
        Some(step) => Ok(store::accept_step(conn, seed.user_id, step).await?),
        None => Ok(false),
    }
}

fn wrong_code() -> Problem {
    Problem::invalid_credentials("The code is wrong or was already used.")
}
