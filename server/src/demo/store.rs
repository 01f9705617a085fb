//! What the demo must know of a database.

use super::taken::Taken;
use db::{Conn, DbError, params, sql};
use values::{AccountId, Email};

/// More users, upstreams and rate plans than a database without customers has.
const MAX_TAKEN: i64 = 100_000;

/// No account, and nothing in the audit log.
pub async fn is_empty(conn: &mut Conn) -> Result<bool, DbError> {
    let (has_account,) = conn.one(sql!("SELECT EXISTS (SELECT 1 FROM accounts)"), params![]).await?;
    let (has_audit_row,) = conn.one(sql!("SELECT EXISTS (SELECT 1 FROM audit_log)"), params![]).await?;
    Ok(!(has_account || has_audit_row))
}

pub async fn taken(conn: &mut Conn) -> Result<Taken, DbError> {
    let sql = sql!("SELECT email FROM users UNION SELECT email FROM account_managers LIMIT $1");
    let emails: Vec<(Email,)> = conn.all(sql, params![MAX_TAKEN]).await?;
    let groups: Vec<(i64,)> =
        conn.all(sql!("SELECT dispatcher_group_id FROM upstreams LIMIT $1"), params![MAX_TAKEN]).await?;
    let plans: Vec<(String,)> = conn.all(sql!("SELECT name FROM rate_plans LIMIT $1"), params![MAX_TAKEN]).await?;
    Ok(Taken {
        emails: emails.into_iter().map(|(email,)| email.to_string()).collect(),
        dispatcher_groups: groups.into_iter().map(|(group,)| group).collect(),
        plans: plans.into_iter().map(|(name,)| name).collect(),
    })
}

/// The operator's account.
pub async fn operator(conn: &mut Conn) -> Result<AccountId, DbError> {
    let sql = sql!("SELECT account_id FROM onboardings WHERE is_carrier ORDER BY account_id LIMIT 1");
    let (account,) = conn.one(sql, params![]).await?;
    Ok(account)
}
