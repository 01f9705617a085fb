//! Step-up: the user of a session proves its identity again, before a change that needs a recent sign-in.
//!
//! A user with a second factor sends a code or uses a passkey, which is the stronger proof; everyone else sends the password. A refresh
//! proves nothing, so a stolen refresh token opens none of these endpoints.

use super::store;
use super::types::{ReauthenticateRequest, ReauthenticateResponse};
use crate::passkeys::{self, CheckedAssertion};
use crate::two_factor::{self, Code};
use crate::users::{self, User};
use api::answer::Json;
use api::auth::RECENT_SIGN_IN;
use api::context::{Committed, RequestCtx, Tx};
use api::faults::Faults;
use api::input::Body;
use api::problem::Problem;

/// What the user sent, as far as it could be checked without a transaction.
enum Proof {
    /// The password of the user as it was then.
    Password(User),
    Code(Code),
    Passkey(CheckedAssertion),
}

pub async fn reauthenticate(
    ctx: RequestCtx,
    Body(request): Body<ReauthenticateRequest>,
) -> Result<Committed<Json<ReauthenticateResponse>>, Problem> {
    let proof = read_proof(&ctx, request).await?;
    ctx.commit(proof, |tx, proof| {
        Box::pin(async move {
            check(tx, proof).await?;
            let (principal, now) = (tx.ctx.principal()?, tx.ctx.now);
            store::reauthenticate(tx, principal.jti, principal.session_id).await?;
            Ok(Json(ReauthenticateResponse { valid_until: now.plus(RECENT_SIGN_IN).into() }))
        })
    })
    .await
}

async fn read_proof(ctx: &RequestCtx, request: ReauthenticateRequest) -> Result<Proof, Problem> {
    let mut conn = ctx.app.db.read().await?;
    let user = users::find(&mut conn, ctx.principal()?.user_id).await?.ok_or_else(wrong_password)?;
    let has_factor = two_factor::is_required(&mut conn, user.id).await?;
    drop(conn);
    if let Some(given) = request.passkey.filter(|_| has_factor) {
        let checked = passkeys::check(ctx, &given, false).await?;
        return if checked.user_id == user.id { Ok(Proof::Passkey(checked)) } else { Err(passkeys::wrong_passkey()) };
    }
    match (has_factor, request.code, request.password) {
        (true, Some(code), _) => {
            two_factor::count_code(ctx, user.id, &code).await?;
            Ok(Proof::Code(code))
        }
        (true, None, _) => Err(missing("code", "is required, because you have a second factor")),
        (false, _, None) => Err(missing("password", "is required, because you have no second factor")),
        (false, _, Some(password)) => {
            two_factor::count_guess(ctx, user.id).await?;
            let is_correct = ctx.app.passwords.verify(password.expose(), user.password_hash.clone()).await?;
            if is_correct { Ok(Proof::Password(user)) } else { Err(wrong_password()) }
        }
    }
}

async fn check(tx: &mut Tx<'_>, proof: &Proof) -> Result<(), Problem> {
    match proof {
        Proof::Code(code) => {
            let user = tx.ctx.principal()?.user_id;
            two_factor::verify_code(tx, user, code).await
        }
        Proof::Passkey(checked) => passkeys::accept(tx, checked).await,
        Proof::Password(user) => {
            // Checked before the transaction; it may have been reset meanwhile, or a second factor confirmed.
            let current = users::find_locked(tx, user.id).await?;
            let is_same = current.is_some_and(|current| current.password_hash == user.password_hash);
            if !is_same || two_factor::is_required(tx, user.id).await? {
                return Err(wrong_password());
            }
            two_factor::was_right(tx, user.id).await
        }
    }
}

fn missing(field: &str, reason: &str) -> Problem {
    let mut faults = Faults::default();
    faults.add(field, reason);
    faults.into_result().err().unwrap_or_else(wrong_password)
}

fn wrong_password() -> Problem {
    Problem::invalid_credentials("The password is wrong.")
}
