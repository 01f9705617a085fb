//! Two-factor authentication (2FA): TOTP codes of an authenticator app, and recovery codes in case it is lost.
//!
//! Enrolment creates a seed; confirmation proves that the app has it and returns the recovery codes, once. A code works
//! once: the last accepted time step is stored, and only a later one passes. Sign-in is in [`super::sessions`], which
//! calls [`verify_code`].
//!
//! - `codes`: TOTP and recovery codes · `guesses`: the wait after wrong ones · `notify`: the mail about each change

mod codes;
mod guesses;
mod handlers;
mod notify;
mod reseal;
mod store;
mod types;

pub use guesses::{count as count_guess, count_code, was_right};
pub use handlers::{confirm, disable, enroll, issue_recovery_codes, regenerate_recovery_codes};
pub use notify::send as notify;
pub use reseal::reseal;
pub use store::{
    Challenge, count_attempt, delete, drop_useless_recovery_codes, forget_guesses, open_challenge, purge_challenges,
    purge_guesses, use_challenge, void_challenges,
};
pub use types::{Code, SecondFactors};

use api::context::Tx;
use api::problem::Problem;
use db::Conn;
use platform::app::App;
use platform::crypto::keys::Purpose;
use platform::mail::FactorChange;
use values::UserId;

/// Whether sign-in needs a second factor.
pub async fn is_required(conn: &mut Conn, user: UserId) -> Result<bool, Problem> {
    Ok(store::has_app(conn, user).await? || store::has_passkey(conn, user).await?)
}

/// Accepts a TOTP or recovery code of a confirmed enrolment; it does not work a second time.
///
/// Count it with [`count_code`] before the transaction.
pub async fn verify_code(tx: &mut Tx<'_>, user: UserId, code: &Code) -> Result<(), Problem> {
    let app = tx.ctx.app.clone();
    let is_accepted = match code {
        Code::OneTime(digits) => {
            let seed = store::find(tx, user).await?.filter(|seed| seed.confirmed_at.is_some());
            let seed = seed.ok_or_else(not_set_up)?;
            accept_one_time(tx, &app, &seed, digits).await?
        }
        Code::Recovery(_) if !is_required(tx, user).await? => return Err(not_set_up()),
        Code::Recovery(text) => {
            let hash = codes::hash_recovery_code(user, text);
            store::use_recovery_code(tx, user, &hash).await?
        }
    };
    match code {
        _ if !is_accepted => Err(wrong_code()),
        Code::OneTime(_) => was_right(tx, user).await,
        Code::Recovery(_) => {
            let (ctx, left) = (tx.ctx, store::unused_recovery_codes(tx, user).await?);
            notify::send(tx, ctx, user, FactorChange::RecoveryCodeUsed { left }).await
        }
    }
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

fn not_set_up() -> Problem {
    Problem::state_conflict("Two-factor authentication is not set up. Enrol first.")
}

fn wrong_code() -> Problem {
    Problem::invalid_credentials("The code is wrong or was already used.")
}
