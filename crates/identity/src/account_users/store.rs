//! Users of a customer's account, read from table `users`; `crate::users` writes it.

use crate::accounts::Contact;
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, AccountRole, Email, Time, UserId};

row! {
    #[derive(Clone)]
    pub struct MemberRow {
        pub id: UserId,
        pub email: Email,
        pub name: String,
        pub account_role: AccountRole,
        pub is_active: bool,
        /// The team deactivated the user.
        pub is_blocked: bool,
        /// Invited, and did not sign in yet.
        pub is_pending: bool,
        /// The address belongs to another user, so no invitation reaches this one.
        pub is_shadow: bool,
        pub two_factor: bool,
        pub last_sign_in_at: Option<Time>,
    }
}

/// By descending id, so the newest first.
pub async fn list(conn: &mut Conn, account: AccountId, below: UserId, limit: i64) -> Result<Vec<MemberRow>, DbError> {
    conn.all(
        sql!(
            "SELECT u.id, COALESCE(u.invited_email, u.email), u.name, u.account_role, u.is_active, u.is_blocked,
                    u.is_invited AND u.email_verified_at IS NULL, u.invited_email IS NOT NULL,
                    s.confirmed_at IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = u.id),
                    u.last_sign_in_at
             FROM users u LEFT JOIN two_factor_seeds s ON s.user_id = u.id
             WHERE u.account_id = $1 AND u.deleted_at IS NULL AND u.id < $2 ORDER BY u.id DESC LIMIT $3"
        ),
        params![account, below, limit],
    )
    .await
}

pub async fn find(conn: &mut Conn, account: AccountId, id: UserId) -> Result<Option<MemberRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT u.id, COALESCE(u.invited_email, u.email), u.name, u.account_role, u.is_active, u.is_blocked,
                    u.is_invited AND u.email_verified_at IS NULL, u.invited_email IS NOT NULL,
                    s.confirmed_at IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = u.id),
                    u.last_sign_in_at
             FROM users u LEFT JOIN two_factor_seeds s ON s.user_id = u.id
             WHERE u.account_id = $1 AND u.deleted_at IS NULL AND u.id = $2"
        ),
        params![account, id],
    )
    .await
}

/// The user whom the account knows under this address.
pub async fn find_by_address(conn: &mut Conn, account: AccountId, email: &Email) -> Result<Option<MemberRow>, DbError> {
    let known: Option<(UserId,)> = conn
        .opt(
            sql!(
                "SELECT id FROM users
                 WHERE account_id = $1 AND deleted_at IS NULL AND COALESCE(invited_email, email) = $2 LIMIT 1"
            ),
            params![account, *email],
        )
        .await?;
    match known {
        Some((id,)) => find(conn, account, id).await,
        None => Ok(None),
    }
}

/// Locks all users of an account until the transaction ends, so that changes of them run one after the other.
pub async fn lock_all(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    let _: Vec<(UserId,)> = conn
        .all(
            sql!("SELECT id FROM users WHERE account_id = $1 ORDER BY id LIMIT 10000 /*pg FOR NO KEY UPDATE */"),
            params![account],
        )
        .await?;
    Ok(())
}

pub async fn count(conn: &mut Conn, account: AccountId) -> Result<i64, DbError> {
    let (users,) = conn
        .one(sql!("SELECT COUNT(*) FROM users WHERE account_id = $1 AND deleted_at IS NULL"), params![account])
        .await?;
    Ok(users)
}

/// Who becomes the account's contact when a user leaves: the owner who let it go, else the one who is owner longest.
pub async fn next_contact(
    conn: &mut Conn,
    account: AccountId,
    leaving: UserId,
    preferred: UserId,
) -> Result<Option<Contact>, DbError> {
    conn.opt(
        sql!(
            "SELECT email, name FROM users
             WHERE account_id = $1 AND account_role = 'owner' AND is_active AND deleted_at IS NULL
                 AND NOT (is_invited AND email_verified_at IS NULL) AND id <> $2
             ORDER BY CASE WHEN id = $3 THEN 0 ELSE 1 END, id LIMIT 1"
        ),
        params![account, leaving, preferred],
    )
    .await
}

/// Owners who can sign in, except this user.
pub async fn other_owners(conn: &mut Conn, account: AccountId, user: UserId) -> Result<i64, DbError> {
    let (others,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM users
                 WHERE account_id = $1 AND account_role = 'owner' AND is_active AND deleted_at IS NULL
                     AND NOT (is_invited AND email_verified_at IS NULL) AND id <> $2"
            ),
            params![account, user],
        )
        .await?;
    Ok(others)
}
