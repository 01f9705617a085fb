//! Links sent by mail: the magic link of a first login, and the way back after a forgotten password.

use super::jobs::FORGOT_PASSWORD;
use super::rules::MAGIC_LINK_LIFETIME;
use super::sign_in::failing_pair;
use super::store::{self, LinkPurpose};
use super::types::{
    FirstLoginRequest, ForgotPasswordRequest, ForgotPasswordResponse, MagicLinkRedeemRequest, MagicLinkRedeemResponse,
    ResetPasswordRequest, SessionResponse,
};
use super::{issue, jobs};
use crate::two_factor;
use crate::users::{self, User};
use api::answer::{Accepted, Json, NoContent};
use api::context::{Committed, RequestCtx, Tx};
use api::input::Body;
use api::problem::Problem;
use db::{Conn, DbError};
use platform::app::App;
use platform::crypto::tokens::ACCESS_LIFETIME;
use platform::letters::{self, Addressee, Moment, PasswordChanged};
use platform::limits::{Limit, Subject};
use values::{Time, UserId};

/// Answers everyone alike: whether the address is known is found out by a job, after the answer.
pub async fn forgot_password(
    ctx: RequestCtx,
    Body(request): Body<ForgotPasswordRequest>,
) -> Result<Committed<Accepted<ForgotPasswordResponse>>, Problem> {
    ctx.limit(Limit::SignInEmail, Subject::email(&request.email)).await?;
    ctx.commit(request.email, |tx, email| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            jobs::enqueue_sealed(tx, &app, FORGOT_PASSWORD, email, now).await?;
            let message = "If the address belongs to an account, a mail with a link is on its way.".to_owned();
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
    // Hashing is dear: only a link that may be good is worth it.
    owner(&mut *ctx.app.db.read().await?, &ctx, &hash, LinkPurpose::Reset).await?;
    let password_hash = ctx.app.passwords.hash(request.new_password.expose()).await?;
    ctx.commit((hash, password_hash), |tx, (hash, password_hash)| {
        Box::pin(async move {
            let user = spend(tx, hash, LinkPurpose::Reset).await?;
            let (ctx, now) = (tx.ctx.clone(), tx.ctx.now);
            users::set_password(tx, user.id, password_hash, now).await?;
            // In this order: a code or link that is being used meanwhile is waited for, and the session it opens ends too.
            two_factor::void_challenges(tx, user.id, now).await?;
            void_links(tx, user.id, now).await?;
            store::end_everything(tx, user.id, now).await?;
            // Whoever guessed the old one from here has proved to be its owner; from elsewhere guessing stays slow.
            store::clear_failures(tx, failing_pair(&user.email, ctx.ip)).await?;
            let told = PasswordChanged { at: Moment(now), ip: ctx.ip };
            letters::send(tx, &ctx.app, &Addressee::new(&user.email, &user.name), &told, now).await?;
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
    count_redemption(&ctx, &hash).await?;
    ctx.commit(hash, |tx, hash| Box::pin(async move { Ok(Json(redeem(tx, hash).await?)) })).await
}

pub async fn redeem_magic_link(
    ctx: RequestCtx,
    Body(request): Body<MagicLinkRedeemRequest>,
) -> Result<Committed<Json<MagicLinkRedeemResponse>>, Problem> {
    let hash = issue::hash(&request.token);
    count_redemption(&ctx, &hash).await?;
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

/// Counts it against the email that the link was sent to, if there is such a link.
async fn count_redemption(ctx: &RequestCtx, hash: &[u8]) -> Result<(), Problem> {
    let mut conn = ctx.app.db.read().await?;
    let Some(link) = store::find_link(&mut conn, hash, LinkPurpose::Magic).await? else { return Ok(()) };
    let user = users::find(&mut conn, link.user_id).await?;
    drop(conn);
    match user {
        Some(user) => ctx.limit(Limit::SignInEmail, Subject::email(&user.email)).await,
        None => Ok(()),
    }
}

async fn redeem(tx: &mut Tx<'_>, hash: &[u8]) -> Result<SessionResponse, Problem> {
    let user = spend(tx, hash, LinkPurpose::Magic).await?;
    if two_factor::is_required(tx, user.id).await? {
        return Err(Problem::forbidden("This account has a second factor: sign in with your password and a code."));
    }
    issue::open(tx, &user).await
}

/// Spends a link in the transaction of what it opens.
async fn spend(tx: &mut Tx<'_>, hash: &[u8], purpose: LinkPurpose) -> Result<User, Problem> {
    let call = tx.ctx.clone();
    let user = owner(tx, &call, hash, purpose).await?;
    if !store::spend_link(tx, hash, purpose, call.now).await? {
        return Err(bad_link());
    }
    Ok(user)
}

/// Whose link this is, if it can still be used.
async fn owner(conn: &mut Conn, ctx: &RequestCtx, hash: &[u8], purpose: LinkPurpose) -> Result<User, Problem> {
    let link =
        store::find_link(conn, hash, purpose).await?.filter(|link| link.used_at.is_none()).ok_or_else(bad_link)?;
    let user = users::find(conn, link.user_id).await?.filter(|user| user.is_active).ok_or_else(bad_link)?;
    ctx.audit_subject(user.account_id, user.id, &user.roles);
    if link.expires_at <= ctx.now {
        return Err(Problem::token_expired("The link is too old: ask for a new one."));
    }
    Ok(user)
}

fn bad_link() -> Problem {
    Problem::token_invalid("The link is unknown or was used already: ask for a new one.")
}

/// Makes every link that a user was sent worthless, whatever it was for.
pub async fn void_links(conn: &mut Conn, user: UserId, now: Time) -> Result<(), DbError> {
    store::void_links(conn, user, LinkPurpose::Reset, now).await?;
    store::void_links(conn, user, LinkPurpose::Magic, now).await
}

/// A link that opens an account, and how long it does.
pub struct MagicLink {
    pub url: String,
    pub expires_at: Time,
}

/// A fresh magic link, for a mail. Older ones of the user are void.
pub async fn issue_magic_link(conn: &mut Conn, app: &App, user: UserId, now: Time) -> Result<MagicLink, DbError> {
    store::void_links(conn, user, LinkPurpose::Magic, now).await?;
    let token = app.entropy.token();
    let expires_at = now.plus(MAGIC_LINK_LIFETIME);
    store::insert_link(conn, &issue::hash(&token), LinkPurpose::Magic, user, expires_at).await?;
    Ok(MagicLink { url: link(app, "magic-link", &token), expires_at })
}

/// The page that spends the token, by a POST of its own: mail scanners open links, so opening must not spend. What
/// stands after `#` stays in the browser and reaches no log.
pub fn link(app: &App, page: &str, token: &str) -> String {
    format!("{}/{page}#token={token}", app.public_url)
}
