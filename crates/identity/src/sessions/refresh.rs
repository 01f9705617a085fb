//! Rotation of refresh tokens, and signing out.

use super::issue;
use super::rules::{Reuse, judge_reuse};
use super::store::{self, RefreshToken};
use super::types::{RefreshRequest, SessionResponse, SignOutRequest};
use crate::users;
use api::answer::{Json, NoContent};
use api::context::{Committed, RequestCtx};
use api::input::Body;
use api::problem::Problem;
use platform::letters::{self, Addressee, Moment, SessionEnded};

pub async fn refresh(
    ctx: RequestCtx,
    Body(request): Body<RefreshRequest>,
) -> Result<Committed<Json<SessionResponse>>, Problem> {
    let hash = issue::hash(&request.refresh_token);
    let known = store::find_refresh_token(&mut *ctx.app.db.read().await?, &hash).await?;
    let token = known.ok_or_else(bad_token)?;
    if let Some(used_at) = token.used_at {
        if judge_reuse(used_at, token.successor_used, ctx.now) == Reuse::Theft {
            end_family(&ctx, token).await?;
        }
        return Err(bad_token());
    }
    ctx.commit((hash, token.session_id), |tx, (hash, session)| {
        Box::pin(async move {
            let (now, ip) = (tx.ctx.now, tx.ctx.ip);
            if !store::spend_refresh_token(tx, hash, now).await? {
                return Err(bad_token());
            }
            // Touched before it is read: a session that is being ended meanwhile is waited for, and then seen to have ended.
            store::touch_session(tx, *session, ip, now).await?;
            let session = store::live_session(tx, *session, now).await?.ok_or_else(bad_token)?;
            let user = users::find(tx, session.user_id).await?.filter(|user| user.is_active).ok_or_else(bad_token)?;
            tx.ctx.audit_subject(user.account_id, user.id, &user.roles);
            Ok(Json(issue::hand_out(tx, &user, session.id, Some(hash)).await?))
        })
    })
    .await
}

/// Somebody holds a copy of a token: nobody may go on with this session, and the user is told.
async fn end_family(ctx: &RequestCtx, token: RefreshToken) -> Result<(), Problem> {
    let user = users::find(&mut *ctx.app.db.read().await?, token.user_id).await?.ok_or_else(bad_token)?;
    ctx.audit_subject(user.account_id, user.id, &user.roles);
    ctx.audit_note("token_reuse", true);
    ctx.app
        .db
        .tx((ctx.clone(), token, user), |conn, (ctx, token, user)| {
            Box::pin(async move {
                // In this order: a refresh of the family that goes on meanwhile is waited for, and its token dies too.
                let has_ended = store::end_session(conn, token.session_id, ctx.now).await?;
                store::revoke_access_of_session(conn, token.session_id, ctx.now).await?;
                if has_ended {
                    let told = SessionEnded { at: Moment(ctx.now), ip: ctx.ip };
                    letters::send(conn, &ctx.app, &Addressee::new(&user.email, &user.name), &told, ctx.now).await?;
                    ctx.record(conn, "session.token_reuse").await?;
                }
                Ok::<_, Problem>(())
            })
        })
        .await?;
    ctx.app.jobs_waker.notify_one();
    Ok(())
}

fn bad_token() -> Problem {
    Problem::token_invalid("The refresh token is unknown, spent or too old: sign in again.")
}

pub async fn sign_out(ctx: RequestCtx, Body(request): Body<SignOutRequest>) -> Result<Committed<NoContent>, Problem> {
    let hash = issue::hash(&request.refresh_token);
    let known = store::find_refresh_token(&mut *ctx.app.db.read().await?, &hash).await?;
    let token = known.ok_or_else(bad_token)?;
    if token.user_id != ctx.principal()?.user_id {
        return Err(Problem::not_found());
    }
    ctx.commit(token.session_id, |tx, session| {
        Box::pin(async move {
            let now = tx.ctx.now;
            // Signing out twice is signed out.
            store::end_session(tx, *session, now).await?;
            Ok(NoContent)
        })
    })
    .await
}
