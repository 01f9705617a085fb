//! Rotation of refresh tokens, and sign-out.

use super::issue;
use super::rules::{Reuse, SESSION_LIFETIME, classify_reuse};
use super::store::{self, RefreshToken};
use super::types::{RefreshRequest, SessionResponse, SignOutRequest};
use crate::users;
use api::answer::{Json, NoContent};
use api::context::{Committed, RequestCtx, Tx};
use api::input::Body;
use api::problem::Problem;
use platform::mail::{self, ReadableTime, Recipient, SessionEnded};
use values::{SessionId, Time};

pub async fn refresh(
    ctx: RequestCtx,
    Body(request): Body<RefreshRequest>,
) -> Result<Committed<Json<SessionResponse>>, Problem> {
    let spendable = check(&ctx, &request.refresh_token).await?;
    ctx.commit(spendable, |tx, spendable| Box::pin(async move { Ok(Json(rotate(tx, spendable).await?.tokens)) })).await
}

/// A refresh token that may be exchanged.
pub(super) struct Spendable {
    hash: [u8; 32],
    session: SessionId,
}

/// New tokens of a session, and when the session ends.
pub(super) struct Rotated {
    pub tokens: SessionResponse,
    pub session_ends_at: Time,
}

/// Checks a refresh token. The second use of one ends its session, unless the client only lost the response.
pub(super) async fn check(ctx: &RequestCtx, refresh_token: &str) -> Result<Spendable, Problem> {
    let hash = issue::hash(refresh_token);
    let token = store::find_refresh_token(&mut *ctx.app.db.read().await?, &hash).await?;
    let token = token.ok_or_else(invalid_token)?;
    if let Some(used_at) = token.used_at {
        if classify_reuse(used_at, token.successor_used, ctx.now) == Reuse::Theft {
            end_stolen_session(ctx, token).await?;
        }
        return Err(invalid_token());
    }
    if is_idle(ctx, &token).await? {
        end_idle_session(ctx, token.session_id).await?;
        return Err(Problem::token_invalid("The session was not used for too long. Sign in again."));
    }
    Ok(Spendable { hash, session: token.session_id })
}

/// Spends a refresh token and issues the next pair.
pub(super) async fn rotate(tx: &mut Tx<'_>, Spendable { hash, session }: &Spendable) -> Result<Rotated, Problem> {
    let ip = tx.ctx.ip;
    if !store::use_refresh_token(tx, hash).await? {
        return Err(invalid_token());
    }
    // Updated before it is read: waits for a concurrent end of the session and then sees it.
    store::touch_session(tx, *session, ip).await?;
    let session = store::live_session(tx, *session).await?.ok_or_else(invalid_token)?;
    let user = users::find(tx, session.user_id).await?.filter(|user| user.is_active).ok_or_else(invalid_token)?;
    tx.ctx.audit_subject(user.account_id, user.id, &user.roles);
    let tokens = issue::issue_tokens(tx, &user, session.id, session.authenticated_at, Some(hash)).await?;
    Ok(Rotated { tokens, session_ends_at: session.created_at.plus(SESSION_LIFETIME) })
}

/// Whether the session is a team member's that nobody used for longer than the settings allow. A session in use is
/// refreshed every fifteen minutes.
async fn is_idle(ctx: &RequestCtx, token: &RefreshToken) -> Result<bool, Problem> {
    if ctx.now.since(token.last_used_at) <= ctx.app.settings.team_idle {
        return Ok(false);
    }
    let user = users::find(&mut *ctx.app.db.read().await?, token.user_id).await?;
    Ok(user.is_some_and(|user| user.roles.is_team()))
}

async fn end_idle_session(ctx: &RequestCtx, session: SessionId) -> Result<(), Problem> {
    ctx.audit_note("idle", true);
    ctx.app
        .db
        .tx(session, |conn, session| {
            Box::pin(async move {
                store::end_session(conn, *session).await?;
                store::revoke_access_of_session(conn, *session).await?;
                Ok::<_, Problem>(())
            })
        })
        .await
}

/// Ends a session whose refresh token was copied, and tells the user.
async fn end_stolen_session(ctx: &RequestCtx, token: RefreshToken) -> Result<(), Problem> {
    let user = users::find(&mut *ctx.app.db.read().await?, token.user_id).await?.ok_or_else(invalid_token)?;
    ctx.audit_subject(user.account_id, user.id, &user.roles);
    ctx.audit_note("token_reuse", true);
    ctx.app
        .db
        .tx((ctx.clone(), token, user), |conn, (ctx, token, user)| {
            Box::pin(async move {
                // In this order: a concurrent refresh of the session commits first, and its token is revoked too.
                let has_ended = store::end_session(conn, token.session_id).await?;
                store::revoke_access_of_session(conn, token.session_id).await?;
                if has_ended {
                    let mail = SessionEnded { at: ReadableTime(ctx.now), ip: ctx.ip };
                    mail::send(conn, &ctx.app, &Recipient::new(&user.email, &user.name), &mail).await?;
                    ctx.record(conn, "session.token_reuse").await?;
                }
                Ok::<_, Problem>(())
            })
        })
        .await?;
    Ok(())
}

pub(super) fn invalid_token() -> Problem {
    Problem::token_invalid("The refresh token is unknown, already used or expired. Sign in again.")
}

pub async fn sign_out(ctx: RequestCtx, Body(request): Body<SignOutRequest>) -> Result<Committed<NoContent>, Problem> {
    let hash = issue::hash(&request.refresh_token);
    let token = store::find_refresh_token(&mut *ctx.app.db.read().await?, &hash).await?;
    let token = token.ok_or_else(invalid_token)?;
    if token.user_id != ctx.principal()?.user_id {
        return Err(Problem::not_found());
    }
    ctx.commit(token.session_id, |tx, session| {
        Box::pin(async move {
            // A second sign-out succeeds too.
            store::end_session(tx, *session).await?;
            Ok(NoContent)
        })
    })
    .await
}
