//! Team members, and users of customers, in table `users`.

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Email, Roles, Time, UserId};

row! {
    #[derive(Clone)]
    pub struct MemberRow {
        pub id: UserId,
        pub account_id: AccountId,
        pub email: Email,
        pub name: String,
        pub roles: Roles,
        pub is_active: bool,
        pub has_second_factor: bool,
        pub email_verified_at: Option<Time>,
        pub created_at: Time,
    }
}

/// Team members, by descending id, so the newest first.
pub async fn list(conn: &mut Conn, below: UserId, limit: i64) -> Result<Vec<MemberRow>, DbError> {
    conn.all(
        sql!(
            "SELECT u.id, u.account_id, u.email, u.name, u.roles, u.is_active,
                    s.confirmed_at IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = u.id),
                    u.email_verified_at, u.created_at
             FROM users u LEFT JOIN two_factor_seeds s ON s.user_id = u.id
             WHERE u.deleted_at IS NULL AND u.roles <> 'customer' AND u.id < $1 ORDER BY u.id DESC LIMIT $2"
        ),
        params![below, limit],
    )
    .await
}

pub async fn find(conn: &mut Conn, id: UserId) -> Result<Option<MemberRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT u.id, u.account_id, u.email, u.name, u.roles, u.is_active,
                    s.confirmed_at IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = u.id),
                    u.email_verified_at, u.created_at
             FROM users u LEFT JOIN two_factor_seeds s ON s.user_id = u.id
             WHERE u.roles <> 'customer' AND u.id = $1"
        ),
        params![id],
    )
    .await
}

/// The users of an account, in the same order.
pub async fn list_of_account(
    conn: &mut Conn,
    account: AccountId,
    below: UserId,
    limit: i64,
) -> Result<Vec<MemberRow>, DbError> {
    conn.all(
        sql!(
            "SELECT u.id, u.account_id, u.email, u.name, u.roles, u.is_active,
                    s.confirmed_at IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = u.id),
                    u.email_verified_at, u.created_at
             FROM users u LEFT JOIN two_factor_seeds s ON s.user_id = u.id
             WHERE u.deleted_at IS NULL AND u.invited_email IS NULL AND u.account_id = $1 AND u.id < $2 ORDER BY u.id DESC LIMIT $3"
        ),
        params![account, below, limit],
    )
    .await
}

/// A team member or a user of a customer.
pub async fn find_user(conn: &mut Conn, id: UserId) -> Result<Option<MemberRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT u.id, u.account_id, u.email, u.name, u.roles, u.is_active,
                    s.confirmed_at IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = u.id),
                    u.email_verified_at, u.created_at
             FROM users u LEFT JOIN two_factor_seeds s ON s.user_id = u.id
             WHERE u.deleted_at IS NULL AND u.invited_email IS NULL AND u.id = $1"
        ),
        params![id],
    )
    .await
}

/// Locks all team members until the transaction ends, so that changes of the team run one after the other.
pub async fn lock_team(conn: &mut Conn) -> Result<(), DbError> {
    let _: Vec<(UserId,)> = conn
        .all(
            sql!("SELECT id FROM users WHERE roles <> 'customer' ORDER BY id LIMIT 10000 /*pg FOR NO KEY UPDATE */"),
            params![],
        )
        .await?;
    Ok(())
}

/// Number of active admins except this user.
pub async fn other_admins(conn: &mut Conn, user: UserId) -> Result<i64, DbError> {
    let (others,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM users
                 WHERE roles <> 'customer' AND roles LIKE '%admin%' AND is_active AND id <> $1"
            ),
            params![user],
        )
        .await?;
    Ok(others)
}
