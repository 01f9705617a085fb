//! Enrolment and its end, for admins at `/admin/2fa` and for everyone at `/me/2fa`.

use super::types::{CodeRequest, Enrollment, RecoveryCodes};
use super::{Code, accept_one_time, codes, pass, store, wrong_code};
use crate::users;
use api::answer::{Json, NoContent};
use api::context::{Committed, RequestCtx};
use api::input::Body;
use api::problem::Problem;
use db::Conn;
use platform::crypto::keys::Purpose;
use values::UserId;

/// Makes a seed and shows it. Nothing changes for signing in until it is confirmed.
pub async fn enroll(ctx: RequestCtx) -> Result<Committed<Json<Enrollment>>, Problem> {
    let user = ctx.principal()?.user_id;
    let seed: [u8; codes::SEED_BYTES] = ctx.app.entropy.bytes();
    ctx.commit((user, seed), |tx, (user, seed)| {
        Box::pin(async move {
            let email = users::find(tx, *user).await?.ok_or_else(Problem::not_found)?.email;
            let sealed = tx.ctx.app.keys.seal(Purpose::TotpSeed, seed);
            let now = tx.ctx.now;
            if !store::keep_seed(tx, *user, &sealed, now).await? {
                return Err(already_confirmed());
            }
            Ok(Json(codes::enrollment(seed, &email)?))
        })
    })
    .await
}

/// Proves that the app has the seed; from now on signing in takes a code.
pub async fn confirm(
    ctx: RequestCtx,
    Body(request): Body<CodeRequest>,
) -> Result<Committed<Json<RecoveryCodes>>, Problem> {
    let user = ctx.principal()?.user_id;
    ctx.commit((user, request.code), |tx, (user, code)| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            let seed = store::find(tx, *user).await?;
            let seed = seed.ok_or_else(|| Problem::state_conflict("Enrol first: there is nothing to confirm."))?;
            if seed.confirmed_at.is_some() {
                return Err(already_confirmed());
            }
            let proven = match code {
                Code::OneTime(digits) => accept_one_time(tx, &app, &seed, digits, now).await?,
                Code::Recovery(_) => false,
            };
            if !proven || !store::confirm(tx, *user, now).await? {
                return Err(wrong_code());
            }
            Ok(Json(fresh_codes(tx, &app, *user).await?))
        })
    })
    .await
}

/// Hands out a fresh set; the old codes are void.
pub async fn renew_recovery_codes(
    ctx: RequestCtx,
    Body(request): Body<CodeRequest>,
) -> Result<Committed<Json<RecoveryCodes>>, Problem> {
    let user = ctx.principal()?.user_id;
    ctx.commit((user, request.code), |tx, (user, code)| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            pass(tx, &app, *user, code, now).await?;
            Ok(Json(fresh_codes(tx, &app, *user).await?))
        })
    })
    .await
}

pub async fn disable(ctx: RequestCtx, Body(request): Body<CodeRequest>) -> Result<Committed<NoContent>, Problem> {
    let user = ctx.principal()?.user_id;
    ctx.commit((user, request.code), |tx, (user, code)| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            pass(tx, &app, *user, code, now).await?;
            store::remove(tx, *user).await?;
            Ok(NoContent)
        })
    })
    .await
}

async fn fresh_codes(conn: &mut Conn, app: &platform::app::App, user: UserId) -> Result<RecoveryCodes, Problem> {
    let recovery_codes = codes::new_recovery_codes(app.entropy);
    let hashes: Vec<Vec<u8>> = recovery_codes.iter().map(|code| codes::hash_recovery_code(user, code)).collect();
    store::replace_recovery_codes(conn, user, &hashes).await?;
    Ok(RecoveryCodes { recovery_codes })
}

fn already_confirmed() -> Problem {
    Problem::state_conflict("Two-factor authentication is confirmed already; disable it before enrolling again.")
}
