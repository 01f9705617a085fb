//! Issues access and refresh tokens. Refresh tokens are stored as hashes.

use db::Entropy;
use uuid::Uuid;

use super::new_device;
use super::rules::SESSION_LIFETIME;
use super::store::{self, NewSession};
use super::types::{SessionResponse, SessionUser, TokenType};
use crate::users::{self, User};
use api::context::Tx;
use api::input::sha256;
use api::problem::Problem;
use platform::crypto::tokens::{ACCESS_LIFETIME, AccessAudience, AccessClaims};
use values::{SessionId, Time};

/// Hash under which a token is stored.
pub fn hash(token: &str) -> [u8; 32] {
    sha256(token.as_bytes())
}

/// Opens a session for a user who has authenticated.
pub async fn open(tx: &mut Tx<'_>, user: &User) -> Result<SessionResponse, Problem> {
    let ctx = tx.ctx.clone();
    let id = ctx.new_id();
    let session = NewSession {
        id,
        user_id: user.id,
        expires_at: ctx.now.plus(SESSION_LIFETIME),
        ip: ctx.ip,
        user_agent: ctx.user_agent.as_deref(),
    };
    new_device::tell(tx, user).await?;
    store::insert_session(tx, &session).await?;
    users::record_sign_in(tx, user.id).await?;
    ctx.audit_subject(user.account_id, user.id, &user.roles);
    let now = ctx.now;
    issue_tokens(tx, user, id, now, None).await
}

/// Issues a pair of tokens of a session in which the user proved its identity at `authenticated_at`; `parent` is the
/// refresh token that the pair replaces.
pub async fn issue_tokens(
    tx: &mut Tx<'_>,
    user: &User,
    session: SessionId,
    authenticated_at: Time,
    parent: Option<&[u8]>,
) -> Result<SessionResponse, Problem> {
    let ctx = tx.ctx.clone();
    let jti: Uuid = ctx.new_id();
    let issued = ctx.now.seconds();
    let expires = issued + ACCESS_LIFETIME.as_secs().cast_signed();
    let claims = AccessClaims {
        sub: user.id,
        acc: user.account_id,
        roles: user.roles,
        iat: issued,
        exp: expires,
        jti,
        aud: AccessAudience::Access,
        scope: None,
        act: None,
    };
    let access_token = ctx.app.tokens.sign(&claims).map_err(Problem::internal)?;
    let refresh_token = Entropy.token();
    store::insert_access_token(tx, jti, user.id, session, Time::from_seconds(expires), authenticated_at).await?;
    store::insert_refresh_token(tx, &hash(&refresh_token), session, parent).await?;
    Ok(SessionResponse {
        access_token,
        refresh_token,
        expires_at: expires,
        token_type: TokenType::Bearer,
        user: SessionUser::from(user),
    })
}
