//! What has to be true of a database before it is filled.

use db::{Conn, DbError, params, sql};

/// Whether nobody has ever used it: no account, and nothing in the audit log.
pub async fn is_empty(conn: &mut Conn) -> Result<bool, DbError> {
    let (has_account,) = conn.one(sql!("SELECT EXISTS (SELECT 1 FROM accounts)"), params![]).await?;
    let (is_audited,) = conn.one(sql!("SELECT EXISTS (SELECT 1 FROM audit_log)"), params![]).await?;
    Ok(!(has_account || is_audited))
}
