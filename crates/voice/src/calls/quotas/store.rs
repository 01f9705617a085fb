//! The quotas that the team chose.

use db::{Conn, DbError, params, sql};
use values::{AccountId, Time};

/// More zones than anybody has.
const MOST: i64 = 1000;

pub async fn chosen(conn: &mut Conn, account: AccountId) -> Result<Vec<(String, i64)>, DbError> {
    conn.all(
        sql!("SELECT zone, channels FROM zone_quotas WHERE account_id = $1 ORDER BY zone LIMIT $2"),
        params![account, MOST],
    )
    .await
}

pub async fn forget(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM zone_quotas WHERE account_id = $1"), params![account]).await?;
    Ok(())
}

pub async fn choose(conn: &mut Conn, account: AccountId, zone: &str, limit: i64, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("INSERT INTO zone_quotas (account_id, zone, channels, updated_at) VALUES ($1, $2, $3, $4)"),
        params![account, zone, limit, now],
    )
    .await?;
    Ok(())
}
