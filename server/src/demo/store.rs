//! Whether the database is empty.

use db::{Conn, DbError, params, sql};

/// No account, and nothing in the audit log.
pub async fn is_empty(conn: &mut Conn) -> Result<bool, DbError> {
    let (has_account,) = conn.one(sql!("SELECT EXISTS (SELECT 1 FROM accounts)"), params![]).await?;
    let (has_audit_row,) = conn.one(sql!("SELECT EXISTS (SELECT 1 FROM audit_log)"), params![]).await?;
    Ok(!(has_account || has_audit_row))
}
