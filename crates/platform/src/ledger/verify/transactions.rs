//! Checks splits and transactions across all customers.

use uuid::Uuid;

use super::{Customer, Fault, PAGE, Stop};
use crate::ledger::TransactionId;
use db::{Conn, params, row, sql};
use values::AccountId;

/// Checks that every split has a transaction. Returns the number of splits.
pub(super) async fn check_splits(conn: &mut Conn) -> Result<u64, Stop> {
    let mut count = 0;
    let mut last = (TransactionId::new(Uuid::nil()), String::new());
    loop {
        let page: Vec<(TransactionId, String, bool)> = conn
            .all(
                sql!(
                    "SELECT s.transaction_id, s.book, t.id IS NOT NULL
                     FROM ledger_splits s LEFT JOIN ledger_transactions t ON t.id = s.transaction_id
                     WHERE (s.transaction_id, s.book) > ($1, $2) ORDER BY s.transaction_id, s.book LIMIT $3"
                ),
                params![last.0, last.1, PAGE],
            )
            .await?;
        let is_last = (page.len() as i64) < PAGE;
        for (transaction, book, has_transaction) in page {
            if !has_transaction {
                return Err(Fault::StraySplit { transaction, book }.into());
            }
            count += 1;
            last = (transaction, book);
        }
        if is_last {
            return Ok(count);
        }
    }
}

row! {
    struct TransactionRow {
        kind: String,
        reference: String,
        id: TransactionId,
        account_id: AccountId,
        currency: String,
        has_balance: bool,
    }
}

/// Checks that no event was posted twice and that every transaction has a balance. Returns the number of transactions.
pub(super) async fn check_transactions(conn: &mut Conn) -> Result<u64, Stop> {
    let mut count = 0;
    let mut last = (String::new(), String::new(), TransactionId::new(Uuid::nil()));
    loop {
        let page: Vec<TransactionRow> = conn
            .all(
                sql!(
                    "SELECT t.kind, t.reference, t.id, t.account_id, t.currency,
                         b.account_id IS NOT NULL
                     FROM ledger_transactions t
                     LEFT JOIN ledger_balances b ON b.account_id = t.account_id AND b.currency = t.currency
                     WHERE (t.kind, t.reference, t.id) > ($1, $2, $3) ORDER BY t.kind, t.reference, t.id LIMIT $4"
                ),
                params![last.0, last.1, last.2, PAGE],
            )
            .await?;
        let is_last = (page.len() as i64) < PAGE;
        for TransactionRow { kind, reference, id, account_id, currency, has_balance } in page {
            if (&kind, &reference) == (&last.0, &last.1) {
                return Err(Fault::Repeated { kind, reference, first: last.2, second: id }.into());
            }
            if !has_balance {
                let customer = Customer { account: account_id, currency };
                return Err(Fault::NoBalance { transaction: id, customer }.into());
            }
            count += 1;
            last = (kind, reference, id);
        }
        if is_last {
            return Ok(count);
        }
    }
}
