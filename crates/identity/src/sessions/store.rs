//! Tables `sessions`, `access_tokens`, `refresh_tokens` and `sign_in_failures`.

use std::net::IpAddr;

use uuid::Uuid;

use super::rules::FAILURE_WINDOW;
use crate::accounts::AccountRow;
use api::auth::Principal;
use db::{Conn, DbError, FromRow, Row, insert, params, row, sql};
use values::{AccountRole, Email, SessionId, Time, UserId};

row! {
    /// What a user sees of itself.
    pub struct Profile {
        pub email: Email,
        pub name: String,
        pub account_role: AccountRole,
        pub email_verified_at: Option<Time>,
        pub has_password: bool,
        pub has_app: bool,
        pub passkeys: i64,
        /// Recovery codes that were not used.
        pub recovery_codes: i64,
    }
}

struct ProfileRow(Profile, AccountRow);

impl FromRow for ProfileRow {
    fn from_row(row: &Row<'_>) -> Result<Self, DbError> {
        Ok(ProfileRow(Profile::from_row(row)?, AccountRow::from_column(row, Profile::WIDTH)?))
    }
}

/// A user with its account, in one statement: clients ask for it most often.
pub async fn profile(conn: &mut Conn, user: UserId) -> Result<Option<(Profile, AccountRow)>, DbError> {
    let found = conn
        .opt(
            sql!(
                "SELECT u.email, u.name, u.account_role, u.email_verified_at, u.password_hash IS NOT NULL,
                        EXISTS (SELECT 1 FROM two_factor_seeds WHERE user_id = $1 AND confirmed_at IS NOT NULL),
                        (SELECT COUNT(*) FROM passkeys WHERE user_id = $1),
                        (SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL), ",
                AccountRow::SELECTED,
                " FROM users u JOIN accounts a ON a.id = u.account_id",
                AccountRow::JOINED,
                "WHERE u.id = $1"
            ),
            params![user],
        )
        .await?;
    Ok(found.map(|ProfileRow(profile, account)| (profile, account)))
}

row! {
    pub struct Session {
        pub id: SessionId,
        pub user_id: UserId,
        pub created_at: Time,
        pub last_used_at: Time,
        pub ip: String,
        pub user_agent: Option<String>,
        /// When the user last proved its identity.
        pub authenticated_at: Time,
    }
}

pub struct NewSession<'a> {
    pub id: SessionId,
    pub user_id: UserId,
    pub expires_at: Time,
    pub ip: IpAddr,
    pub user_agent: Option<&'a str>,
}

pub async fn insert_session(conn: &mut Conn, session: &NewSession<'_>) -> Result<(), DbError> {
    insert!(
        conn,
        sessions {
            id: session.id,
            user_id: session.user_id,
            created_at: conn.now(),
            last_used_at: conn.now(),
            expires_at: session.expires_at,
            ip: session.ip.to_string(),
            user_agent: session.user_agent,
            authenticated_at: conn.now()
        }
    )
    .await?;
    Ok(())
}

/// A session that has neither ended nor expired.
pub async fn live_session(conn: &mut Conn, id: SessionId) -> Result<Option<Session>, DbError> {
    conn.opt(
        sql!("SELECT ", Session::COLS, " FROM sessions WHERE id = $1 AND ended_at IS NULL AND expires_at > $2"),
        params![id, conn.now()],
    )
    .await
}

pub async fn touch_session(conn: &mut Conn, id: SessionId, ip: IpAddr) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE sessions SET last_used_at = $2, ip = $3 WHERE id = $1"),
        params![id, conn.now(), ip.to_string()],
    )
    .await?;
    Ok(())
}

/// The user proved its identity again: for this token, and for its session with all tokens of it.
pub async fn reauthenticate(conn: &mut Conn, jti: Uuid, session: Option<SessionId>) -> Result<(), DbError> {
    let now = conn.now();
    conn.forget_callers();
    conn.exec(sql!("UPDATE access_tokens SET authenticated_at = $2 WHERE jti = $1"), params![jti, now]).await?;
    if let Some(session) = session {
        // In this order: a concurrent refresh commits first, and its token is updated too.
        conn.exec(sql!("UPDATE sessions SET authenticated_at = $2 WHERE id = $1"), params![session, now]).await?;
        conn.exec(sql!("UPDATE access_tokens SET authenticated_at = $2 WHERE session_id = $1"), params![session, now])
            .await?;
    }
    Ok(())
}

/// The live sessions of a user, newest first.
pub async fn list_sessions(
    conn: &mut Conn,
    user: UserId,
    (at, id): (Time, SessionId),
    limit: i64,
) -> Result<Vec<Session>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            Session::COLS,
            " FROM sessions WHERE user_id = $1 AND (created_at, id) < ($2, $3) AND ended_at IS NULL AND expires_at > $4
              ORDER BY created_at DESC, id DESC LIMIT $5"
        ),
        params![user, at, id, conn.now(), limit],
    )
    .await
}

/// The addresses of the latest sessions of the user with this email.
pub async fn session_addresses(conn: &mut Conn, email: &Email) -> Result<Vec<(String,)>, DbError> {
    conn.all(
        sql!(
            "SELECT s.ip FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.email = $1
             ORDER BY s.created_at DESC, s.id DESC LIMIT 100"
        ),
        params![*email],
    )
    .await
}

/// Address and program of the user's latest sessions.
pub async fn session_devices(conn: &mut Conn, user: UserId) -> Result<Vec<(String, Option<String>)>, DbError> {
    conn.all(
        sql!("SELECT ip, user_agent FROM sessions WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT 100"),
        params![user],
    )
    .await
}

/// Ends a session; false when it had ended before. Its access tokens stay valid unless they are revoked too.
pub async fn end_session(conn: &mut Conn, id: SessionId) -> Result<bool, DbError> {
    let now = conn.now();
    let ended = conn
        .exec(sql!("UPDATE sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL"), params![id, now])
        .await?;
    Ok(ended == 1)
}

pub async fn revoke_access_of_session(conn: &mut Conn, id: SessionId) -> Result<(), DbError> {
    conn.forget_callers();
    conn.exec(
        sql!("UPDATE access_tokens SET revoked_at = $2 WHERE session_id = $1 AND revoked_at IS NULL"),
        params![id, conn.now()],
    )
    .await?;
    Ok(())
}

/// Ends all sessions of a user and revokes its access tokens, also those with which it impersonates.
pub async fn end_all_sessions(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    let now = conn.now();
    conn.forget_callers();
    conn.exec(sql!("UPDATE sessions SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL"), params![user, now])
        .await?;
    conn.exec(
        sql!("UPDATE access_tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL"),
        params![user, now],
    )
    .await?;
    conn.exec(
        sql!("UPDATE access_tokens SET revoked_at = $2 WHERE impersonator_id = $1 AND revoked_at IS NULL"),
        params![user, now],
    )
    .await?;
    Ok(())
}

/// Ends all sessions of a user but the caller's and revokes their access tokens, also those with which it impersonates.
pub async fn end_other_sessions(conn: &mut Conn, caller: &Principal) -> Result<(), DbError> {
    let (user, now) = (caller.user_id, conn.now());
    let keep = caller.session_id.unwrap_or(SessionId::new(Uuid::nil()));
    conn.forget_callers();
    conn.exec(
        sql!("UPDATE sessions SET ended_at = $3 WHERE user_id = $1 AND id <> $2 AND ended_at IS NULL"),
        params![user, keep, now],
    )
    .await?;
    conn.exec(
        sql!(
            "UPDATE access_tokens SET revoked_at = $4
             WHERE user_id = $1 AND (session_id IS NULL OR session_id <> $2) AND jti <> $3 AND revoked_at IS NULL"
        ),
        params![user, keep, caller.jti, now],
    )
    .await?;
    conn.exec(
        sql!("UPDATE access_tokens SET revoked_at = $2 WHERE impersonator_id = $1 AND revoked_at IS NULL"),
        params![user, now],
    )
    .await?;
    Ok(())
}

/// An access token with which an admin impersonates a user.
pub async fn insert_impersonation(
    conn: &mut Conn,
    jti: Uuid,
    user: UserId,
    impersonator: UserId,
    expires_at: Time,
) -> Result<(), DbError> {
    insert!(conn, access_tokens { jti, user_id: user, impersonator_id: impersonator, is_read_only: true, expires_at })
        .await?;
    Ok(())
}

pub async fn insert_access_token(
    conn: &mut Conn,
    jti: Uuid,
    user: UserId,
    session: SessionId,
    expires_at: Time,
    authenticated_at: Time,
) -> Result<(), DbError> {
    insert!(conn, access_tokens { jti, user_id: user, session_id: session, expires_at, authenticated_at }).await?;
    Ok(())
}

row! {
    pub struct RefreshToken {
        pub session_id: SessionId,
        pub user_id: UserId,
        pub last_used_at: Time,
        pub used_at: Option<Time>,
        pub successor_used: bool,
    }
}

pub async fn insert_refresh_token(
    conn: &mut Conn,
    hash: &[u8],
    session: SessionId,
    parent: Option<&[u8]>,
) -> Result<(), DbError> {
    insert!(conn, refresh_tokens { token_hash: hash, session_id: session, parent, created_at: conn.now() }).await?;
    Ok(())
}

pub async fn find_refresh_token(conn: &mut Conn, hash: &[u8]) -> Result<Option<RefreshToken>, DbError> {
    conn.opt(
        sql!(
            "SELECT r.session_id, s.user_id, s.last_used_at, r.used_at,
                    EXISTS (SELECT 1 FROM refresh_tokens next WHERE next.parent = r.token_hash AND next.used_at IS NOT NULL)
             FROM refresh_tokens r JOIN sessions s ON s.id = r.session_id WHERE r.token_hash = $1"
        ),
        params![hash],
    )
    .await
}

/// Marks a token as used; only one of several concurrent attempts succeeds.
pub async fn use_refresh_token(conn: &mut Conn, hash: &[u8]) -> Result<bool, DbError> {
    let now = conn.now();
    let spent = conn
        .exec(
            sql!("UPDATE refresh_tokens SET used_at = $2 WHERE token_hash = $1 AND used_at IS NULL"),
            params![hash, now],
        )
        .await?;
    Ok(spent == 1)
}

/// End of the lockout of this email and network.
pub async fn locked_until(conn: &mut Conn, subject: Uuid) -> Result<Option<Time>, DbError> {
    let found: Option<(Time,)> =
        conn.opt(sql!("SELECT locked_until FROM sign_in_failures WHERE subject = $1"), params![subject]).await?;
    Ok(found.map(|(until,)| until))
}

/// Counts a failure and returns how many there were in the last 24 hours.
pub async fn count_failure(conn: &mut Conn, subject: Uuid, user: Option<UserId>) -> Result<i64, DbError> {
    let now = conn.now();
    let (failures,) = conn
        .one(
            sql!(
                "INSERT INTO sign_in_failures (subject, failures, locked_until, failed_at, user_id) VALUES ($1, 1, 0, $2, $4)
                 ON CONFLICT (subject) DO UPDATE SET
                     failures = CASE WHEN sign_in_failures.failed_at < $3 THEN 1 ELSE sign_in_failures.failures + 1 END,
                     failed_at = excluded.failed_at, user_id = excluded.user_id
                 RETURNING failures"
            ),
            params![subject, now, now.minus(FAILURE_WINDOW), user],
        )
        .await?;
    Ok(failures)
}

pub async fn lock_until(conn: &mut Conn, subject: Uuid, until: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE sign_in_failures SET locked_until = $2 WHERE subject = $1"), params![subject, until])
        .await?;
    Ok(())
}

pub async fn clear_failures(conn: &mut Conn, subject: Uuid) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM sign_in_failures WHERE subject = $1"), params![subject]).await?;
    Ok(())
}

/// Deletes access tokens that expired before `cutoff`, oldest first.
pub async fn purge_access_tokens(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM access_tokens WHERE jti IN
                 (SELECT jti FROM access_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}

/// Deletes sessions that expired before `cutoff`, oldest first, with their tokens.
pub async fn purge_sessions(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM sessions WHERE id IN
                 (SELECT id FROM sessions WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}

/// Deletes failed sign-ins from before `cutoff`, oldest first.
pub async fn purge_failures(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM sign_in_failures WHERE subject IN
                 (SELECT subject FROM sign_in_failures WHERE failed_at < $1 ORDER BY failed_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
