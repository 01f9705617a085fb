//! Links sent by mail: magic links and password resets. A link works once.

use super::jobs::FORGOT_PASSWORD;
use super::sign_in::{limit_attempts, lockout_key};
use super::store;
use super::types::{
    FirstLoginRequest, ForgotPasswordRequest, ForgotPasswordResponse, MagicLinkRedeemRequest, MagicLinkRedeemResponse,
    ResetPasswordRequest, SessionResponse,
};
use super::{issue, jobs, passwords, verification};
use crate::mailed_links::{self, LinkPurpose, MailKind};
use crate::two_factor;
use crate::users::{self, User};
use api::answer::{Accepted, Json, NoContent};
use api::context::{Committed, RequestCtx, Tx};
use api::faults::Faults;
use api::input::Body;
use api::problem::Problem;
use db::Conn;
use platform::crypto::tokens::ACCESS_LIFETIME;
use platform::mail::{self, PasswordChanged, ReadableTime, Recipient};

/// The response does not tell whether the address is known; a job looks it up later.
pub async fn forgot_password(
    ctx: RequestCtx,
    Body(request): Body<ForgotPasswordRequest>,
) -> Result<Committed<Accepted<ForgotPasswordResponse>>, Problem> {
    limit_attempts(&ctx, &request.email).await?;
    let may_mail = mailed_links::may_mail(&ctx, MailKind::Reset, &request.email).await?;
    ctx.commit((request.email, may_mail), |tx, (email, may_mail)| {
        Box::pin(async move {
            let app = tx.ctx.app.clone();
            if *may_mail {
                jobs::enqueue_encrypted(tx, &app, FORGOT_PASSWORD, email).await?;
            }
            let message = "If the address belongs to a user, we have sent a mail with a link.".to_owned();
            Ok(Accepted(ForgotPasswordResponse { message }))
        })
    })
    .await
}

pub async fn reset_password(
    ctx: RequestCtx,
    Body(request): Body<ResetPasswordRequest>,
) -> Result<Committed<NoContent>, Problem> {
    let hash = issue::hash(&request.token);
    // Checked before hashing the password, which is expensive.
    let mut conn = ctx.app.db.read().await?;
    let user = find_link_user(&mut conn, &ctx, &hash, LinkPurpose::Reset).await?;
    let mut faults = Faults::default();
    passwords::add_own_words(&mut conn, &mut faults, &user, &request.new_password).await?;
    drop(conn);
    faults.into_result()?;
    let password_hash = ctx.app.passwords.hash(request.new_password.expose()).await?;
    ctx.commit((hash, password_hash), |tx, (hash, password_hash)| {
        Box::pin(async move {
            let user = use_link(tx, hash, LinkPurpose::Reset).await?;
            let (ctx, now) = (tx.ctx.clone(), tx.ctx.now);
            verification::record_proof(tx, &user).await?;
            users::set_password(tx, user.id, password_hash).await?;
            // In this order: a challenge or link in concurrent use commits first, and its session ends too.
            two_factor::void_challenges(tx, user.id).await?;
            two_factor::forget_guesses(tx, user.id).await?;
            mailed_links::void_all(tx, user.id).await?;
            store::end_all_sessions(tx, user.id).await?;
            // Clears the lockout for this network only; from other networks guessing stays slow.
            store::clear_failures(tx, lockout_key(&user.email, ctx.ip)).await?;
            let mail = PasswordChanged { at: ReadableTime(now), ip: ctx.ip };
            mail::send(tx, &ctx.app, &Recipient::new(&user.email, &user.name), &mail).await?;
            Ok(NoContent)
        })
    })
    .await
}

pub async fn first_login(
    ctx: RequestCtx,
    Body(request): Body<FirstLoginRequest>,
) -> Result<Committed<Json<SessionResponse>>, Problem> {
    let hash = issue::hash(&request.token);
    limit_redemption(&ctx, &hash).await?;
    ctx.commit(hash, |tx, hash| Box::pin(async move { Ok(Json(redeem(tx, hash).await?)) })).await
}

pub async fn redeem_magic_link(
    ctx: RequestCtx,
    Body(request): Body<MagicLinkRedeemRequest>,
) -> Result<Committed<Json<MagicLinkRedeemResponse>>, Problem> {
    let hash = issue::hash(&request.token);
    limit_redemption(&ctx, &hash).await?;
    ctx.commit(hash, |tx, hash| {
        Box::pin(async move {
            let session = redeem(tx, hash).await?;
            Ok(Json(MagicLinkRedeemResponse {
                access_token: session.access_token,
                refresh_token: session.refresh_token,
                expires_in: ACCESS_LIFETIME.as_secs(),
            }))
        })
    })
    .await
}

/// Counts the attempt against the rate limit of the user's email address, if the link exists.
async fn limit_redemption(ctx: &RequestCtx, hash: &[u8]) -> Result<(), Problem> {
    let mut conn = ctx.app.db.read().await?;
    let Some(link) = mailed_links::find(&mut conn, hash, LinkPurpose::Magic).await? else { return Ok(()) };
    let user = users::find(&mut conn, link.user_id).await?;
    drop(conn);
    match user {
        Some(user) => limit_attempts(ctx, &user.email).await,
        None => Ok(()),
    }
}

async fn redeem(tx: &mut Tx<'_>, hash: &[u8]) -> Result<SessionResponse, Problem> {
    let user = use_link(tx, hash, LinkPurpose::Magic).await?;
    verification::record_proof(tx, &user).await?;
    if two_factor::is_required(tx, user.id).await? {
        return Err(Problem::forbidden("The user has a second factor. Sign in with your password and a code."));
    }
    issue::open(tx, &user).await
}

/// Marks a link as used, in the transaction of its effect.
pub(super) async fn use_link(tx: &mut Tx<'_>, hash: &[u8], purpose: LinkPurpose) -> Result<User, Problem> {
    let ctx = tx.ctx.clone();
    let user = find_link_user(tx, &ctx, hash, purpose).await?;
    if !mailed_links::mark_used(tx, hash, purpose).await? {
        return Err(invalid_link());
    }
    Ok(user)
}

/// The user of a link that can still be used.
pub(super) async fn find_link_user(
    conn: &mut Conn,
    ctx: &RequestCtx,
    hash: &[u8],
    purpose: LinkPurpose,
) -> Result<User, Problem> {
    let link = mailed_links::find(conn, hash, purpose).await?.filter(|link| link.used_at.is_none());
    let link = link.ok_or_else(invalid_link)?;
    let user = users::find(conn, link.user_id).await?.filter(|user| user.is_active).ok_or_else(invalid_link)?;
    ctx.audit_subject(user.account_id, user.id, &user.roles);
    if link.expires_at <= ctx.now {
        return Err(Problem::token_expired("The link has expired. Request a new one."));
    }
    Ok(user)
}

fn invalid_link() -> Problem {
    Problem::token_invalid("The link is unknown or was already used. Request a new one.")
}
