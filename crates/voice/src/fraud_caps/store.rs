//! The `fraud_caps` table.

use db::{Conn, DbError, insert, params, sql};
use values::AccountId;

/// Spend per day and rate per minute, in nanos; none when the account set none.
pub async fn find(conn: &mut Conn, account: AccountId) -> Result<Option<(i64, i64)>, DbError> {
    conn.opt(
        sql!("SELECT max_spend_per_day, max_rate_per_minute FROM fraud_caps WHERE account_id = $1"),
        params![account],
    )
    .await
}

pub async fn save(conn: &mut Conn, account: AccountId, spend: i64, rate: i64) -> Result<(), DbError> {
    insert!(conn, fraud_caps { account_id: account, max_spend_per_day: spend, max_rate_per_minute: rate, updated_at: conn.now() }, "ON CONFLICT (account_id) DO UPDATE SET max_spend_per_day = excluded.max_spend_per_day, max_rate_per_minute = excluded.max_rate_per_minute, updated_at = excluded.updated_at")
    .await?;
    Ok(())
}
