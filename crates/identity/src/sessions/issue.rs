//! Tokens: made once, stored as hashes, handed out.

use uuid::Uuid;

use super::rules::SESSION_LIFETIME;
use super::store::{self, NewSession};
use super::types::{SessionResponse, SessionUser, TokenType};
use crate::users::User;
use api::context::Tx;
use api::input::sha256;
use api::problem::Problem;
use platform::crypto::tokens::{ACCESS_LIFETIME, AccessAudience, AccessClaims};
use values::{SessionId, Time};

/// What is stored of a token that was handed out.
pub fn hash(token: &str) -> [u8; 32] {
    sha256(token.as_bytes())
}

/// Opens a session for a user who has proven who it is.
pub async fn open(tx: &mut Tx<'_>, user: &User) -> Result<SessionResponse, Problem> {
    let call = tx.ctx.clone();
    let id = SessionId::new(call.app.entropy.uuid(call.now));
    let session = NewSession {
        id,
        user_id: user.id,
        expires_at: call.now.plus(SESSION_LIFETIME),
        ip: call.ip,
        user_agent: call.user_agent.as_deref(),
    };
    store::insert_session(tx, &session, call.now).await?;
    call.audit_subject(user.account_id, user.id, &user.roles);
    hand_out(tx, user, id, None).await
}

/// A fresh pair of tokens in a session, after `parent` if one was spent for it.
pub async fn hand_out(
    tx: &mut Tx<'_>,
    user: &User,
    session: SessionId,
    parent: Option<&[u8]>,
) -> Result<SessionResponse, Problem> {
    let call = tx.ctx.clone();
    let jti: Uuid = call.app.entropy.uuid(call.now);
    let issued = call.now.seconds();
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
    let access_token = call.app.tokens.sign(&claims).map_err(Problem::internal)?;
    let refresh_token = call.app.entropy.token();
    store::insert_access_token(tx, jti, user.id, session, Time::from_seconds(expires)).await?;
    store::insert_refresh_token(tx, &hash(&refresh_token), session, parent, call.now).await?;
    Ok(SessionResponse {
        access_token,
        refresh_token,
        expires_at: expires,
        token_type: TokenType::Bearer,
        user: SessionUser::from(user),
    })
}
