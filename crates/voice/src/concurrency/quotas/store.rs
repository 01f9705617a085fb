//! Table `zone_quotas`: the quotas that the team set.

use crate::concurrency::store::MAX_ZONES;
use db::{Conn, DbError, params, sql};
use values::{AccountId, Time};

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

pub async fn insert(conn: &mut Conn, account: AccountId, zone: &str, limit: i64, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("INSERT INTO zone_quotas (account_id, zone, channels, updated_at) VALUES ($1, $2, $3, $4)"),
        params![account, zone, limit, now],
    )
    .await?;
    Ok(())
}
