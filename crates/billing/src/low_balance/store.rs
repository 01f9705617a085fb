//! When accounts want to hear of a low balance, and what was last seen of theirs.

use db::{Conn, DbError, params, sql};
use values::{AccountId, Time};

/// Whether, and at how many per cent; none unless it was set.
pub async fn settings(conn: &mut Conn, account: AccountId) -> Result<Option<(bool, i64)>, DbError> {
    conn.opt(sql!("SELECT enabled, threshold_pct FROM low_balance_settings WHERE account_id = $1"), params![account])
        .await
}

pub async fn set(
    conn: &mut Conn,
    account: AccountId,
    enabled: bool,
    threshold_pct: i64,
    now: Time,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO low_balance_settings (account_id, enabled, threshold_pct, updated_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (account_id) DO UPDATE SET enabled = excluded.enabled,
                 threshold_pct = excluded.threshold_pct, updated_at = excluded.updated_at"
        ),
        params![account, enabled, threshold_pct, now],
    )
    .await?;
    Ok(())
}

/// Since when the balance was seen low, and since when exhausted; none when it was never looked at.
pub async fn seen(conn: &mut Conn, account: AccountId) -> Result<Option<(Option<Time>, Option<Time>)>, DbError> {
    conn.opt(sql!("SELECT low_at, exhausted_at FROM balance_watches WHERE account_id = $1"), params![account]).await
}

pub async fn remember(
    conn: &mut Conn,
    account: AccountId,
    low_at: Option<Time>,
    exhausted_at: Option<Time>,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO balance_watches (account_id, low_at, exhausted_at) VALUES ($1, $2, $3)
             ON CONFLICT (account_id) DO UPDATE SET low_at = excluded.low_at, exhausted_at = excluded.exhausted_at"
        ),
        params![account, low_at, exhausted_at],
    )
    .await?;
    Ok(())
}

/// Accounts whose balance was last seen low, after this one.
pub async fn low(conn: &mut Conn, after: AccountId, limit: i64) -> Result<Vec<(AccountId,)>, DbError> {
    conn.all(
        sql!(
            "SELECT account_id FROM balance_watches WHERE low_at IS NOT NULL AND account_id > $1
             ORDER BY account_id LIMIT $2"
        ),
        params![after, limit],
    )
    .await
}
