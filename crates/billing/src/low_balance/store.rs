//! SQL of low-balance alert settings and of the alerts sent.

use db::{Conn, DbError, insert, params, sql};
use values::{AccountId, Time};

/// Whether alerts are on, and the percentage; none if never saved.
pub async fn settings(conn: &mut Conn, account: AccountId) -> Result<Option<(bool, i64)>, DbError> {
    conn.opt(sql!("SELECT enabled, threshold_pct FROM low_balance_settings WHERE account_id = $1"), params![account])
        .await
}

pub async fn set(conn: &mut Conn, account: AccountId, enabled: bool, threshold_pct: i64) -> Result<(), DbError> {
    insert!(conn, low_balance_settings { account_id: account, enabled, threshold_pct, updated_at: conn.now() }, "ON CONFLICT (account_id) DO UPDATE SET enabled = excluded.enabled, threshold_pct = excluded.threshold_pct, updated_at = excluded.updated_at")
    .await?;
    Ok(())
}

/// Since when the balance is low, and since when exhausted; none if it was never checked.
pub async fn alert_state(conn: &mut Conn, account: AccountId) -> Result<Option<(Option<Time>, Option<Time>)>, DbError> {
    conn.opt(sql!("SELECT low_at, exhausted_at FROM balance_watches WHERE account_id = $1"), params![account]).await
}

pub async fn save_alert_state(
    conn: &mut Conn,
    account: AccountId,
    low_at: Option<Time>,
    exhausted_at: Option<Time>,
) -> Result<(), DbError> {
    insert!(
        conn,
        balance_watches { account_id: account, low_at, exhausted_at },
        "ON CONFLICT (account_id) DO UPDATE SET low_at = excluded.low_at, exhausted_at = excluded.exhausted_at"
    )
    .await?;
    Ok(())
}

/// Accounts whose balance was low at the last check, by id, after this one.
pub async fn list_low(conn: &mut Conn, after: AccountId, limit: i64) -> Result<Vec<(AccountId,)>, DbError> {
    conn.all(
        sql!(
            "SELECT account_id FROM balance_watches WHERE low_at IS NOT NULL AND account_id > $1
             ORDER BY account_id LIMIT $2"
        ),
        params![after, limit],
    )
    .await
}
