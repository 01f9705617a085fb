//! Sign-in with a passkey: alone, or after the password in place of a code.

use super::issue;
use super::sign_in::{read_tmp_token, spent_challenge};
use super::types::{PasskeyChallengeRequest, PasskeySignInRequest, SessionResponse};
use crate::passkeys::{self, PasskeyRequestOptions};
use crate::{two_factor, users};
use api::answer::Json;
use api::context::{Committed, RequestCtx};
use api::input::Body;
use api::problem::Problem;

/// Options for the browser. Nothing is stored.
pub async fn passkey_challenge(
    ctx: RequestCtx,
    Body(request): Body<PasskeyChallengeRequest>,
) -> Result<Committed<Json<PasskeyRequestOptions>>, Problem> {
    let claims = request.tmp_token.map(|token| read_tmp_token(&ctx, &token)).transpose()?;
    let user = claims.map(|claims| claims.sub);
    ctx.commit(user, |tx, user| Box::pin(async move { Ok(Json(passkeys::request_options(tx, *user).await?)) })).await
}

pub async fn sign_in_with_passkey(
    ctx: RequestCtx,
    Body(request): Body<PasskeySignInRequest>,
) -> Result<Committed<Json<SessionResponse>>, Problem> {
    let claims = request.tmp_token.map(|token| read_tmp_token(&ctx, &token)).transpose()?;
    // Without a password, the authenticator must have checked its user: that makes two factors.
    let checked = passkeys::check(&ctx, &request.passkey, claims.is_none()).await?;
    if claims.as_ref().is_some_and(|claims| claims.sub != checked.user_id) {
        return Err(passkeys::wrong_passkey());
    }
    let user = users::find(&mut *ctx.app.db.read().await?, checked.user_id).await?;
    let user = user.filter(|user| user.is_active).ok_or_else(passkeys::wrong_passkey)?;
    ctx.audit_subject(user.account_id, user.id, &user.roles);
    ctx.commit((user, checked, claims), |tx, (user, checked, claims)| {
        Box::pin(async move {
            passkeys::accept(tx, checked).await?;
            if let Some(claims) = claims
                && !two_factor::use_challenge(tx, claims.jti).await?
            {
                return Err(spent_challenge());
            }
            tx.ctx.audit_note("second_factor", "passkey");
            Ok(Json(issue::open(tx, user).await?))
        })
    })
    .await
}
