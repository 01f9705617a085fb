//! Table `zone_quotas`: the quotas that the team set.

use crate::concurrency::store::MAX_ZONES;
use db::{Conn, DbError, insert, params, sql};
use values::AccountId;

pub async fn list(conn: &mut Conn, account: AccountId) -> Result<Vec<(String, i64)>, DbError> {
    conn.all(
        sql!("SELECT zone, channels FROM zone_quotas WHERE account_id = $1 ORDER BY zone LIMIT $2"),
        params![account, MAX_ZONES],
    )
    .await
}

pub async fn delete_all(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM zone_quotas WHERE account_id = $1"), params![account]).await?;
    Ok(())
}

pub async fn insert(conn: &mut Conn, account: AccountId, zone: &str, limit: i64) -> Result<(), DbError> {
    insert!(conn, zone_quotas { account_id: account, zone, channels: limit, updated_at: conn.now() }).await?;
    Ok(())
}
