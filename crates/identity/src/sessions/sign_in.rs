//! Sign-in: password first, then the second factor if the user has one.

use std::net::IpAddr;

use uuid::Uuid;

use super::types::{
    SessionResponse, SignInRequest, SignInResponse, SignInTwoFaRequired, TwoFactorRequired, VerifyRequest,
};
use super::{issue, rules, store};
use crate::two_factor::{self, Challenge, Code};
use crate::users::{self, User};
use api::answer::Json;
use api::context::{Committed, RequestCtx, Tx};
use api::input::{Body, sha256};
use api::problem::Problem;
use platform::crypto::tokens::{CHALLENGE_LIFETIME, ChallengeAudience, ChallengeClaims, TokenError};
use platform::limits::{self, Limit, Subject};
use platform::request_stats::Count;
use values::{Email, UserId};

pub async fn sign_in(
    ctx: RequestCtx,
    Body(request): Body<SignInRequest>,
) -> Result<Committed<Json<SignInResponse>>, Problem> {
    limit_attempts(&ctx, &request.email).await?;
    let pair = lockout_key(&request.email, ctx.ip);
    let user = check_password(&ctx, &request, pair).await?;
    ctx.commit((user, pair), |tx, (user, pair)| {
        Box::pin(async move {
            // The password was checked before the transaction; it may have been reset meanwhile.
            let current = users::find_locked(tx, user.id).await?;
            if current.is_none_or(|current| current.password_hash != user.password_hash) {
                return Err(wrong_credentials());
            }
            store::clear_failures(tx, *pair).await?;
            if two_factor::is_required(tx, user.id).await? {
                return Ok(Json(SignInResponse::TwoFactor(challenge(tx, user).await?)));
            }
            Ok(Json(SignInResponse::Session(issue::open(tx, user).await?)))
        })
    })
    .await
}

/// Counts an attempt for an email address: strictly from the caller's network, loosely over all networks. The loose limit
/// does not hold where the user signed in before: naming an address from elsewhere must not keep its owner out.
pub(super) async fn limit_attempts(ctx: &RequestCtx, email: &Email) -> Result<(), Problem> {
    ctx.limit(Limit::SignInEmail, Subject::email_from(email, ctx.ip)).await?;
    let overall = ctx.app.limits.take(Limit::SignInEmailAll, Subject::email(email), ctx.now).await?;
    if overall.is_none_or(|status| status.allowed) || is_known_network(ctx, email).await? {
        return Ok(());
    }
    ctx.limit(Limit::SignInEmailAll, Subject::email(email)).await
}

/// Whether the user with this address has had a session from the caller's network.
async fn is_known_network(ctx: &RequestCtx, email: &Email) -> Result<bool, Problem> {
    let addresses = store::session_addresses(&mut *ctx.app.db.read().await?, email).await?;
    let here = limits::network_of(ctx.ip);
    Ok(addresses.iter().filter_map(|(ip,)| ip.parse().ok()).any(|ip| limits::network_of(ip) == here))
}

/// The user with this email and password. Unknown, wrong, locked out and deactivated give the same response in the same
/// time.
pub(super) async fn check_password(ctx: &RequestCtx, request: &SignInRequest, pair: Uuid) -> Result<User, Problem> {
    let mut conn = ctx.app.db.read().await?;
    let user = users::find_by_email(&mut conn, &request.email).await?;
    let locked_until = store::locked_until(&mut conn, pair).await?;
    drop(conn);
    if let Some(user) = &user {
        ctx.audit_subject(user.account_id, user.id, &user.roles);
    }
    let stored = user.as_ref().and_then(|user| user.password_hash.clone());
    let is_correct = ctx.app.passwords.verify(request.password.expose(), stored).await?;
    let limits_on = ctx.app.limits.is_enabled();
    let is_locked = limits_on && locked_until.is_some_and(|until| until > ctx.now);
    let user_id = user.as_ref().map(|user| user.id);
    match user.filter(|user| is_correct && user.is_active && !is_locked) {
        Some(user) => Ok(user),
        None => {
            ctx.app.request_stats.count(Count::FailedSignIn, ctx.ip.to_string());
            if limits_on && !is_locked {
                record_failure(ctx, pair, user_id).await?;
            }
            Err(wrong_credentials())
        }
    }
}

pub(super) fn wrong_credentials() -> Problem {
    Problem::invalid_credentials(
        "Email and password do not match. Use POST /v1/auth/forgot-password to reset the password.",
    )
}

async fn record_failure(ctx: &RequestCtx, pair: Uuid, user: Option<UserId>) -> Result<(), Problem> {
    ctx.app
        .db
        .tx((pair, user, ctx.now), |conn, (pair, user, now)| {
            Box::pin(async move {
                let failures = store::count_failure(conn, *pair, *user).await?;
                store::lock_until(conn, *pair, now.plus(rules::lockout_after(failures))).await?;
                Ok(())
            })
        })
        .await
}

/// Email and network: failures from one network must not lock the user out on another.
pub(super) fn lockout_key(email: &Email, ip: IpAddr) -> Uuid {
    let hash = sha256(format!("{email} {}", limits::network_of(ip)).as_bytes());
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    Uuid::from_bytes(first)
}

async fn challenge(tx: &mut Tx<'_>, user: &User) -> Result<SignInTwoFaRequired, Problem> {
    let ctx = tx.ctx.clone();
    let jti = ctx.new_id();
    let claims = ChallengeClaims {
        sub: user.id,
        iat: ctx.now.seconds(),
        exp: ctx.now.seconds() + CHALLENGE_LIFETIME.as_secs().cast_signed(),
        jti,
        aud: ChallengeAudience::Challenge,
    };
    let expires_at = ctx.now.plus(CHALLENGE_LIFETIME);
    two_factor::open_challenge(tx, &Challenge { jti, user_id: user.id, expires_at }).await?;
    let tmp_token = ctx.app.tokens.sign(&claims).map_err(Problem::internal)?;
    ctx.audit_note("second_factor", "required");
    Ok(SignInTwoFaRequired { status: TwoFactorRequired::Required, tmp_token })
}

pub(super) fn read_tmp_token(ctx: &RequestCtx, token: &str) -> Result<ChallengeClaims, Problem> {
    ctx.app.tokens.read_challenge(token, ctx.now).map_err(|error| match error {
        TokenError::Expired => Problem::token_expired("The tmp_token has expired. Sign in again."),
        TokenError::Invalid => Problem::token_invalid("The tmp_token is invalid. Sign in again."),
    })
}

pub async fn verify_second_factor(
    ctx: RequestCtx,
    Body(request): Body<VerifyRequest>,
) -> Result<Committed<Json<SessionResponse>>, Problem> {
    let claims = read_tmp_token(&ctx, &request.tmp_token)?;
    let user = users::find(&mut *ctx.app.db.read().await?, claims.sub).await?;
    let user = user.filter(|user| user.is_active).ok_or_else(spent_challenge)?;
    ctx.audit_subject(user.account_id, user.id, &user.roles);
    limit_attempts(&ctx, &user.email).await?;
    count_attempt(&ctx, &claims).await?;
    two_factor::count_code(&ctx, user.id, &request.code).await?;
    ctx.commit((user, claims.jti, request.code), |tx, (user, jti, code)| {
        Box::pin(async move {
            two_factor::verify_code(tx, user.id, code).await?;
            if !two_factor::use_challenge(tx, *jti).await? {
                return Err(spent_challenge());
            }
            tx.ctx.audit_note(
                "second_factor",
                if matches!(code, Code::Recovery(_)) { "recovery_code" } else { "one_time_code" },
            );
            Ok(Json(issue::open(tx, user).await?))
        })
    })
    .await
}

/// An attempt counts whatever its result, so it commits in a transaction of its own.
async fn count_attempt(ctx: &RequestCtx, claims: &ChallengeClaims) -> Result<(), Problem> {
    let open = ctx
        .app
        .db
        .tx((claims.jti, claims.sub), |conn, (jti, user)| Box::pin(two_factor::count_attempt(conn, *jti, *user)))
        .await?;
    if open { Ok(()) } else { Err(spent_challenge()) }
}

pub(super) fn spent_challenge() -> Problem {
    Problem::token_invalid("The tmp_token was already used or has no attempts left. Sign in again.")
}
