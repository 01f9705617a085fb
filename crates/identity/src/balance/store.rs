//! Table `balance_settings`. The minimum is stored by the ledger.

use db::{Conn, DbError, insert, params, sql};
use values::AccountId;

/// Warning threshold in nanos of EUR; none unless it was set.
pub async fn soft_warn_threshold(conn: &mut Conn, account: AccountId) -> Result<Option<i64>, DbError> {
    let found: Option<(i64,)> = conn
        .opt(sql!("SELECT soft_warn_threshold FROM balance_settings WHERE account_id = $1"), params![account])
        .await?;
    Ok(found.map(|(nanos,)| nanos))
}

pub async fn set_soft_warn_threshold(conn: &mut Conn, account: AccountId, nanos: i64) -> Result<(), DbError> {
    insert!(conn, balance_settings { account_id: account, soft_warn_threshold: nanos, updated_at: conn.now() }, "ON CONFLICT (account_id) DO UPDATE SET soft_warn_threshold = excluded.soft_warn_threshold, updated_at = excluded.updated_at")
    .await?;
    Ok(())
}

/// Charges of an account's calls by the UTC hour in which they began, from one hour to before another.
pub async fn hourly_charges(
    conn: &mut Conn,
    account: AccountId,
    (first, end): (i64, i64),
) -> Result<Vec<(i64, i64)>, DbError> {
    conn.all(
        sql!(
            "SELECT hour, CAST(SUM(charge) AS BIGINT) FROM cdr_hours
             WHERE account_id = $1 AND hour >= $2 AND hour < $3 GROUP BY hour ORDER BY hour"
        ),
        params![account, first, end],
    )
    .await
}

/// Whether this is the account of a customer; the operator's own is not.
pub async fn is_customer(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let found: Option<(AccountId,)> = conn
        .opt(sql!("SELECT account_id FROM onboardings WHERE account_id = $1 AND NOT is_carrier"), params![account])
        .await?;
    Ok(found.is_some())
}
