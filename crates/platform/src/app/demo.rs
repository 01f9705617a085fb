//! Whether the demo filled this database, and with which users.

use db::{Conn, DbError, params, sql};

/// The password of demo users in a lab, unless whoever made the demo chose another one. Everyone knows it.
pub const PASSWORD: &str = "correct horse battery staple";

/// Records that the demo fills this database, and whether its users have the [`PASSWORD`].
pub async fn mark(conn: &mut Conn, has_known_password: bool) -> Result<(), DbError> {
    let sql = sql!("UPDATE installation SET is_demo = TRUE, has_demo_password = $1 WHERE id = 1");
    conn.exec(sql, params![has_known_password]).await?;
    Ok(())
}

/// Whether the demo filled this database.
pub async fn is_marked(conn: &mut Conn) -> Result<bool, DbError> {
    let (is_demo,) = conn.one(sql!("SELECT is_demo FROM installation WHERE id = 1"), params![]).await?;
    Ok(is_demo)
}

/// Whether the users of the demo have the [`PASSWORD`].
pub async fn has_known_password(conn: &mut Conn) -> Result<bool, DbError> {
    let (has_known,) = conn.one(sql!("SELECT has_demo_password FROM installation WHERE id = 1"), params![]).await?;
    Ok(has_known)
}

/// Records all users of a database that has none but those of the demo.
pub async fn record_users(conn: &mut Conn) -> Result<(), DbError> {
    let sql = sql!("INSERT INTO demo_users (user_id) SELECT id FROM users WHERE TRUE ON CONFLICT (user_id) DO NOTHING");
    conn.exec(sql, params![]).await?;
    Ok(())
}
