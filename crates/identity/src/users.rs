//! Table `users`: people who sign in. A user belongs to one account; an email address belongs to one user.

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Email, Roles, Time, UserId};

row! {
    #[derive(Clone)]
    pub struct User {
        pub id: UserId,
        pub account_id: AccountId,
        pub email: Email,
        pub name: String,
        pub roles: Roles,
        pub password_hash: Option<String>,
        pub is_active: bool,
    }
}

pub struct NewUser {
    pub id: UserId,
    pub account_id: AccountId,
    pub email: Email,
    pub name: String,
    pub roles: Roles,
    pub password_hash: Option<String>,
}

/// Inserts a user; false when the email address has one already.
pub async fn insert_if_new(conn: &mut Conn, user: &NewUser, now: Time) -> Result<bool, DbError> {
    let inserted = conn
        .exec(
            sql!(
                "INSERT INTO users (id, account_id, email, name, roles, password_hash, is_active, created_at, updated_at)
                 VALUES ($1, $2, $3, $4, $5, $6, TRUE, $7, $7)
                 ON CONFLICT (email) DO NOTHING"
            ),
            params![user.id, user.account_id, user.email, user.name, user.roles, user.password_hash, now],
        )
        .await?;
    Ok(inserted == 1)
}

pub async fn find(conn: &mut Conn, id: UserId) -> Result<Option<User>, DbError> {
    conn.opt(sql!("SELECT ", User::COLS, " FROM users WHERE id = $1"), params![id]).await
}

/// The user, with a shared lock: nobody changes it until the transaction ends.
pub async fn find_locked(conn: &mut Conn, id: UserId) -> Result<Option<User>, DbError> {
    conn.opt(sql!("SELECT ", User::COLS, " FROM users WHERE id = $1 /*pg FOR SHARE */"), params![id]).await
}

pub async fn find_by_email(conn: &mut Conn, email: &Email) -> Result<Option<User>, DbError> {
    conn.opt(sql!("SELECT ", User::COLS, " FROM users WHERE email = $1"), params![*email]).await
}

/// The first active user of an account whose only role is `customer`.
pub async fn first_customer(conn: &mut Conn, account: AccountId) -> Result<Option<User>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            User::COLS,
            " FROM users WHERE account_id = $1 AND roles = 'customer' AND is_active ORDER BY id LIMIT 1"
        ),
        params![account],
    )
    .await
}

/// Changes the name of the user with this email address.
pub async fn rename(conn: &mut Conn, email: &Email, name: &str, now: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE users SET name = $2, updated_at = $3 WHERE email = $1"), params![*email, name, now]).await?;
    Ok(())
}

pub async fn set_password(conn: &mut Conn, id: UserId, password_hash: &str, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1"),
        params![id, password_hash, now],
    )
    .await?;
    Ok(())
}

/// Sets what a user may do, and whether it may sign in.
pub async fn update_access(
    conn: &mut Conn,
    user: UserId,
    roles: Roles,
    is_active: bool,
    now: Time,
) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE users SET roles = $2, is_active = $3, updated_at = $4 WHERE id = $1"),
        params![user, roles, is_active, now],
    )
    .await?;
    Ok(())
}
