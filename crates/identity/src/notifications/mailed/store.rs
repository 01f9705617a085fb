//! Table `notification_preferences`.

use super::MailedCode;
use db::{Conn, DbError, insert, params, row, sql};
use values::{AccountId, Email, UserId};

/// Users of an account that get its mails.
const MAX_USERS: i64 = 200;

row! {
    /// A user of an account, and whether it wants a mail.
    pub struct MailedUser {
        pub email: Email,
        pub name: String,
        pub is_wanted: bool,
    }
}

/// The codes that a user does not want by mail.
pub async fn unwanted(conn: &mut Conn, user: UserId) -> Result<Vec<MailedCode>, DbError> {
    let rows: Vec<(MailedCode,)> = conn
        .all(
            sql!("SELECT code FROM notification_preferences WHERE user_id = $1 AND NOT is_mailed LIMIT 100"),
            params![user],
        )
        .await?;
    Ok(rows.into_iter().map(|(code,)| code).collect())
}

pub async fn set(conn: &mut Conn, user: UserId, code: MailedCode, is_mailed: bool) -> Result<(), DbError> {
    insert!(
        conn,
        notification_preferences { user_id: user, code, is_mailed, updated_at: conn.now() },
        "ON CONFLICT (user_id, code) DO UPDATE SET is_mailed = excluded.is_mailed, updated_at = excluded.updated_at"
    )
    .await?;
    Ok(())
}

/// The active users of an account who have an address of their own and have accepted their invitation.
pub async fn users(conn: &mut Conn, account: AccountId, code: MailedCode) -> Result<Vec<MailedUser>, DbError> {
    conn.all(
        sql!(
            "SELECT u.email, u.name, COALESCE(p.is_mailed, TRUE) FROM users u
             LEFT JOIN notification_preferences p ON p.user_id = u.id AND p.code = $2
             WHERE u.account_id = $1 AND u.is_active AND u.invited_email IS NULL
               AND NOT (u.is_invited AND u.email_verified_at IS NULL) ORDER BY u.id LIMIT $3"
        ),
        params![account, code, MAX_USERS],
    )
    .await
}
