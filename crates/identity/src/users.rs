//! Table `users`: people who sign in. A user belongs to one account; an email address belongs to one user.

use api::problem::Problem;
use db::{Conn, DbError, insert, params, row, sql};
use values::{AccountId, AccountRole, Email, Invalid, Roles, Time, UserId};

row! {
    #[derive(Clone)]
    pub struct User {
        pub id: UserId,
        pub account_id: AccountId,
        pub email: Email,
        pub name: String,
        pub roles: Roles,
        /// What a customer's user may do in its account.
        pub account_role: AccountRole,
        pub password_hash: Option<String>,
        pub is_active: bool,
        /// When the user first proved to receive mail at its address.
        pub email_verified_at: Option<Time>,
    }
}

pub struct NewUser {
    pub id: UserId,
    pub account_id: AccountId,
    pub email: Email,
    pub name: String,
    pub roles: Roles,
    pub account_role: AccountRole,
    /// Whether an owner of the account invited the user.
    pub is_invited: bool,
    pub password_hash: Option<String>,
    /// Set when somebody trusted vouches for the address.
    pub email_verified_at: Option<Time>,
}

/// Inserts a user; false when the email address has one already.
pub async fn insert_if_new(conn: &mut Conn, user: &NewUser) -> Result<bool, DbError> {
    let now = conn.now();
    let inserted = insert!(
        conn,
        users {
            id: user.id,
            account_id: user.account_id,
            email: user.email,
            name: user.name,
            roles: user.roles,
            account_role: user.account_role,
            is_invited: user.is_invited,
            password_hash: user.password_hash,
            is_active: true,
            email_verified_at: user.email_verified_at,
            created_at: now,
            updated_at: now
        },
        "ON CONFLICT (email) DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

/// Inserts an invited user whose address is another user's. It is listed under that address, and no mail reaches it.
pub async fn insert_shadow(conn: &mut Conn, user: &NewUser) -> Result<(), DbError> {
    let now = conn.now();
    insert!(
        conn,
        users {
            id: user.id,
            account_id: user.account_id,
            email: nowhere(user.id)?,
            invited_email: user.email,
            name: user.name,
            roles: user.roles,
            account_role: user.account_role,
            is_invited: user.is_invited,
            is_active: true,
            created_at: now,
            updated_at: now
        }
    )
    .await?;
    Ok(())
}

/// An address of the user's own that receives no mail.
fn nowhere(id: UserId) -> Result<Email, DbError> {
    let parsed: Result<Email, Invalid> = format!("{}@no-mail.invalid", id.uuid().simple()).parse();
    parsed.map_err(DbError::other)
}

pub async fn find(conn: &mut Conn, id: UserId) -> Result<Option<User>, DbError> {
    conn.opt(sql!("SELECT ", User::COLS, " FROM users WHERE id = $1"), params![id]).await
}

/// The user, locked: nobody else changes it until the transaction ends.
pub async fn find_locked(conn: &mut Conn, id: UserId) -> Result<Option<User>, DbError> {
    conn.opt(sql!("SELECT ", User::COLS, " FROM users WHERE id = $1 /*pg FOR NO KEY UPDATE */"), params![id]).await
}

/// Refuses a customer's user who is no longer active or has lost this role since its token was checked. The user stays
/// as it is until the commit.
pub async fn require_role(conn: &mut Conn, id: UserId, least: AccountRole) -> Result<(), Problem> {
    match find_locked(conn, id).await? {
        Some(user) if user.is_active && user.account_role.covers(least) => Ok(()),
        _ => Err(Problem::forbidden("Your role in the account does not allow this any more.")),
    }
}

pub async fn find_by_email(conn: &mut Conn, email: &Email) -> Result<Option<User>, DbError> {
    conn.opt(sql!("SELECT ", User::COLS, " FROM users WHERE email = $1"), params![*email]).await
}

/// The user with this address who was invited and has not signed in yet, unless the team deactivated it. Whom its own
/// company deactivated has no link that works, and must not keep the address.
pub async fn find_invited(conn: &mut Conn, email: &Email) -> Result<Option<User>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            User::COLS,
            " FROM users WHERE email = $1 AND is_invited AND email_verified_at IS NULL AND NOT is_blocked
               AND deleted_at IS NULL /*pg FOR NO KEY UPDATE */"
        ),
        params![*email],
    )
    .await
}

/// Makes an invited user one whom no mail reaches, so that its address is free. It stays listed under the address.
pub async fn give_up_address(conn: &mut Conn, user: &User) -> Result<(), DbError> {
    conn.forget_callers();
    conn.exec(
        sql!("UPDATE users SET email = $2, invited_email = $3, updated_at = $4 WHERE id = $1"),
        params![user.id, nowhere(user.id)?, user.email, conn.now()],
    )
    .await?;
    Ok(())
}

/// Gives a shadow the address that it was invited with, if that is nobody's any more. True if it has it now.
pub async fn claim_free_address(conn: &mut Conn, id: UserId) -> Result<bool, DbError> {
    let sql = sql!(
        "UPDATE users SET email = invited_email, invited_email = NULL, updated_at = $2
         WHERE id = $1 AND invited_email IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM users AS holder WHERE holder.email = users.invited_email)"
    );
    conn.forget_callers();
    match conn.exec(sql, params![id, conn.now()]).await {
        // Somebody else took it at this moment.
        Err(DbError::Unique(_)) => Err(DbError::Retry),
        claimed => Ok(claimed? == 1),
    }
}

/// The first active user of an account whose only role is `customer`, an owner if there is one.
pub async fn first_customer(conn: &mut Conn, account: AccountId) -> Result<Option<User>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            User::COLS,
            " FROM users WHERE account_id = $1 AND roles = 'customer' AND is_active AND invited_email IS NULL
              ORDER BY CASE WHEN account_role = 'owner' THEN 0 ELSE 1 END, id LIMIT 1"
        ),
        params![account],
    )
    .await
}

/// Active admins, the longest serving first.
pub async fn list_admins(conn: &mut Conn, limit: i64) -> Result<Vec<User>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            User::COLS,
            " FROM users WHERE roles <> 'customer' AND roles LIKE '%admin%' AND is_active ORDER BY id LIMIT $1"
        ),
        params![limit],
    )
    .await
}

/// Changes the name of the user with this email address.
pub async fn rename(conn: &mut Conn, email: &Email, name: &str) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE users SET name = $2, updated_at = $3 WHERE email = $1"), params![*email, name, conn.now()])
        .await?;
    Ok(())
}

pub async fn set_password(conn: &mut Conn, id: UserId, password_hash: &str) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1"),
        params![id, password_hash, conn.now()],
    )
    .await?;
    Ok(())
}

/// Records the first proof of the mailbox; false when there was one before.
pub async fn verify_email(conn: &mut Conn, id: UserId) -> Result<bool, DbError> {
    let verified = conn
        .exec(
            sql!(
                "UPDATE users SET email_verified_at = $2, updated_at = $2
                 WHERE id = $1 AND email_verified_at IS NULL"
            ),
            params![id, conn.now()],
        )
        .await?;
    Ok(verified == 1)
}

/// Replaces a password, or sets the first one; false when it is no longer the one given.
pub async fn replace_password(conn: &mut Conn, id: UserId, current: Option<&str>, new: &str) -> Result<bool, DbError> {
    let now = conn.now();
    let replaced = conn
        .exec(
            sql!(
                "UPDATE users SET password_hash = $3, updated_at = $4
                 WHERE id = $1 AND is_active AND COALESCE(password_hash, '') = $2"
            ),
            params![id, current.unwrap_or_default(), new, now],
        )
        .await?;
    Ok(replaced == 1)
}

/// Removes the password: only a mailed link signs the user in.
pub async fn clear_password(conn: &mut Conn, id: UserId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE users SET password_hash = NULL, updated_at = $2 WHERE id = $1"), params![id, conn.now()])
        .await?;
    Ok(())
}

/// Sets what a user may do, and whether it may sign in, as the team decides: no owner lets it sign in again.
pub async fn update_access(conn: &mut Conn, user: UserId, roles: Roles, is_active: bool) -> Result<(), DbError> {
    conn.forget_callers();
    conn.exec(
        sql!("UPDATE users SET roles = $2, is_active = $3, is_blocked = NOT $3, updated_at = $4 WHERE id = $1"),
        params![user, roles, is_active, conn.now()],
    )
    .await?;
    Ok(())
}

/// Sets what an owner may change of a user of its account.
pub async fn update_member(
    conn: &mut Conn,
    user: UserId,
    name: &str,
    account_role: AccountRole,
    is_active: bool,
) -> Result<(), DbError> {
    conn.forget_callers();
    conn.exec(
        sql!("UPDATE users SET name = $2, account_role = $3, is_active = $4, updated_at = $5 WHERE id = $1"),
        params![user, name, account_role, is_active, conn.now()],
    )
    .await?;
    Ok(())
}

/// Deletes a user: its row stays for what it did, its address and password go.
pub async fn delete(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    let now = conn.now();
    conn.forget_callers();
    conn.exec(
        sql!(
            "UPDATE users SET deleted_at = $2, updated_at = $2, is_active = FALSE, email = $3, invited_email = NULL,
                 password_hash = NULL
             WHERE id = $1"
        ),
        params![user, now, nowhere(user)?],
    )
    .await?;
    Ok(())
}

/// All users that an account ever had.
pub async fn list_all_of(conn: &mut Conn, account: AccountId) -> Result<Vec<(UserId,)>, DbError> {
    conn.all(sql!("SELECT id FROM users WHERE account_id = $1 ORDER BY id"), params![account]).await
}

/// Deletes a user and its name.
pub async fn erase(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    delete(conn, user).await?;
    conn.exec(sql!("UPDATE users SET name = 'Erased user' WHERE id = $1"), params![user]).await?;
    Ok(())
}

/// Records a sign-in.
pub async fn record_sign_in(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE users SET last_sign_in_at = $2 WHERE id = $1"), params![user, conn.now()]).await?;
    Ok(())
}
