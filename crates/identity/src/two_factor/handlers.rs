//! Enrolment, confirmation and removal: `/admin/2fa` for admins, `/me/2fa` for every user.

use super::types::{CodeRequest, Enrollment, RecoveryCodes};
use super::{Code, accept_one_time, codes, guesses, notify, store, verify_code, wrong_code};
use crate::users;
use api::answer::{Json, NoContent};
use api::context::{Committed, RequestCtx};
use api::input::Body;
use api::problem::Problem;
use db::{Conn, Entropy};
use platform::crypto::keys::Purpose;
use platform::mail::FactorChange;
use values::UserId;

/// Creates a seed. Sign-in does not change until it is confirmed.
pub async fn enroll(ctx: RequestCtx) -> Result<Committed<Json<Enrollment>>, Problem> {
    let user = ctx.principal()?.user_id;
    let seed: [u8; codes::SEED_BYTES] = Entropy.bytes();
    ctx.commit((user, seed), |tx, (user, seed)| {
        Box::pin(async move {
            let email = users::find(tx, *user).await?.ok_or_else(Problem::not_found)?.email;
            let sealed = tx.ctx.app.keys.seal(Purpose::TotpSeed, seed);
            if !store::save_seed(tx, *user, &sealed).await? {
                return Err(already_confirmed());
            }
            Ok(Json(codes::enrollment(seed, &email)?))
        })
    })
    .await
}

/// Proves that the app has the seed; from now on sign-in needs a code.
pub async fn confirm(
    ctx: RequestCtx,
    Body(request): Body<CodeRequest>,
) -> Result<Committed<Json<RecoveryCodes>>, Problem> {
    let user = ctx.principal()?.user_id;
    ctx.commit((user, request.code), |tx, (user, code)| {
        Box::pin(async move {
            let app = tx.ctx.app.clone();
            let seed = store::find(tx, *user).await?;
            let seed = seed.ok_or_else(|| Problem::state_conflict("There is no enrolment to confirm. Enrol first."))?;
            if seed.confirmed_at.is_some() {
                return Err(already_confirmed());
            }
            let is_correct = match code {
                Code::OneTime(digits) => accept_one_time(tx, &app, &seed, digits).await?,
                Code::Recovery(_) => false,
            };
            if !is_correct || !store::confirm(tx, *user).await? {
                return Err(wrong_code());
            }
            let ctx = tx.ctx;
            notify::send(tx, ctx, *user, FactorChange::Enabled).await?;
            Ok(Json(issue_recovery_codes(tx, *user).await?))
        })
    })
    .await
}

/// Replaces the recovery codes.
pub async fn regenerate_recovery_codes(
    ctx: RequestCtx,
    Body(request): Body<CodeRequest>,
) -> Result<Committed<Json<RecoveryCodes>>, Problem> {
    let user = ctx.principal()?.user_id;
    guesses::count_code(&ctx, user, &request.code).await?;
    ctx.commit((user, request.code), |tx, (user, code)| {
        Box::pin(async move {
            let ctx = tx.ctx;
            verify_code(tx, *user, code).await?;
            notify::send(tx, ctx, *user, FactorChange::RecoveryCodesReplaced).await?;
            Ok(Json(issue_recovery_codes(tx, *user).await?))
        })
    })
    .await
}

pub async fn disable(ctx: RequestCtx, Body(request): Body<CodeRequest>) -> Result<Committed<NoContent>, Problem> {
    let user = ctx.principal()?.user_id;
    guesses::count_code(&ctx, user, &request.code).await?;
    ctx.commit((user, request.code), |tx, (user, code)| {
        Box::pin(async move {
            let ctx = tx.ctx;
            verify_code(tx, *user, code).await?;
            notify::send(tx, ctx, *user, FactorChange::Disabled).await?;
            store::delete_seed(tx, *user).await?;
            store::drop_useless_recovery_codes(tx, *user).await?;
            Ok(NoContent)
        })
    })
    .await
}

/// Makes new recovery codes, in place of any the user has.
pub async fn issue_recovery_codes(conn: &mut Conn, user: UserId) -> Result<RecoveryCodes, Problem> {
    let recovery_codes = codes::new_recovery_codes();
    let hashes: Vec<Vec<u8>> = recovery_codes.iter().map(|code| codes::hash_recovery_code(user, code)).collect();
    store::replace_recovery_codes(conn, user, &hashes).await?;
    Ok(RecoveryCodes { recovery_codes })
}

fn already_confirmed() -> Problem {
    Problem::state_conflict("Two-factor authentication is already set up. Disable it before enrolling again.")
}
