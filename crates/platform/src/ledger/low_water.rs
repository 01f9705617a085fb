//! Low-water marks: when a posting enqueues a check of the balance.
//!
//! Each balance row has a low-water mark. A charge that takes the balance below the mark, and everything that raises
//! the balance, enqueues a [`BALANCE_CHANGED`] job in its own transaction; every other charge only compares two
//! numbers. The job acts on the balance and sets the next mark.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::read::{Balance, balance};
use crate::jobs;
use db::{Conn, DbError, params, sql};
use values::{AccountId, Currency, Money};

/// The job that checks a balance.
pub const BALANCE_CHANGED: jobs::Kind = jobs::Kind::new("ledger.moved").class(jobs::Class::Money);

/// The payload of a [`BALANCE_CHANGED`] job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct BalanceChanged {
    pub account_id: AccountId,
    pub currency: Currency,
}

/// Whether a posting requires a check of the balance. As long as no mark is set, each does.
pub(super) fn needs_check(amount: i64, balance: i64, low_water: Option<i64>) -> bool {
    let before = balance.saturating_sub(amount);
    amount > 0 || low_water.is_none_or(|mark| balance < mark && mark <= before)
}

/// Enqueues a check of the balance, such as after a change of its thresholds.
pub async fn enqueue_balance_check(conn: &mut Conn, account_id: AccountId, currency: Currency) -> Result<(), DbError> {
    let payload = json!(BalanceChanged { account_id, currency });
    jobs::enqueue(conn, BALANCE_CHANGED, payload).await.map(drop)
}

/// The balance, locked until the commit.
pub async fn lock_balance(conn: &mut Conn, account: AccountId, currency: Currency) -> Result<Balance, DbError> {
    let _: Option<(i64,)> = conn
        .opt(
            sql!(
                "SELECT balance FROM ledger_balances WHERE account_id = $1 AND currency = $2 /*pg FOR NO KEY UPDATE */"
            ),
            params![account, currency],
        )
        .await?;
    balance(conn, account, currency).await
}

/// Sets the low-water mark; without one the balance is checked only when it rises.
pub async fn set_low_water(
    conn: &mut Conn,
    account: AccountId,
    currency: Currency,
    mark: Option<Money>,
) -> Result<(), DbError> {
    let nanos = mark.map_or(i64::MIN, Money::nanos);
    conn.exec(
        sql!("UPDATE ledger_balances SET low_water = $3 WHERE account_id = $1 AND currency = $2"),
        params![account, currency, nanos],
    )
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_needs_a_check_only_if_it_crosses_the_mark() {
        assert!(needs_check(-1, 9, Some(10)));
        assert!(needs_check(-100, -50, Some(10)));
        assert!(!needs_check(-1, 10, Some(10)));
        assert!(!needs_check(-1, 8, Some(10)));
        assert!(!needs_check(-1, i64::MIN, Some(i64::MIN)));
    }

    #[test]
    fn a_credit_and_a_posting_without_a_mark_need_a_check() {
        assert!(needs_check(1, 100, Some(10)));
        assert!(needs_check(1, 1, Some(i64::MIN)));
        assert!(needs_check(-1, 100, None));
    }
}
