//! Checks postings and transactions across all customers.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{Customer, Fault, PAGE, Stop};
use crate::ledger::TransactionId;
use db::{Conn, params, row, sql};
use values::AccountId;

row! {
    struct PostingRow {
        transaction_id: TransactionId,
        book: String,
        amount: i64,
        /// The currency of its transaction, if it has one.
        currency: Option<String>,
    }
}

/// Checks that every posting has a transaction and that the postings of each sum to zero. Returns the number of
/// postings.
pub(super) async fn check_postings(conn: &mut Conn) -> Result<u64, Stop> {
    let mut count = 0;
    let mut last = (TransactionId::new(Uuid::nil()), String::new());
    let mut sum: i128 = 0;
    let mut totals: BTreeMap<String, i128> = BTreeMap::new();
    loop {
        let page: Vec<PostingRow> = conn
            .all(
                sql!(
                    "SELECT p.transaction_id, p.book, p.amount, t.currency
                     FROM ledger_postings p LEFT JOIN ledger_transactions t ON t.id = p.transaction_id
                     WHERE (p.transaction_id, p.book) > ($1, $2) ORDER BY p.transaction_id, p.book LIMIT $3"
                ),
                params![last.0, last.1, PAGE],
            )
            .await?;
        let is_last = (page.len() as i64) < PAGE;
        for PostingRow { transaction_id: transaction, book, amount, currency } in page {
            let Some(currency) = currency else { return Err(Fault::StrayPosting { transaction, book }.into()) };
            if transaction != last.0 {
                check_sum(last.0, sum)?;
                sum = 0;
            }
            sum += i128::from(amount);
            *totals.entry(currency).or_default() += i128::from(amount);
            count += 1;
            last = (transaction, book);
        }
        if is_last {
            break;
        }
    }
    check_sum(last.0, sum)?;
    match totals.into_iter().find(|(_, sum)| *sum != 0) {
        Some((currency, sum)) => Err(Fault::UnbalancedTotal { currency, sum }.into()),
        None => Ok(count),
    }
}

fn check_sum(transaction: TransactionId, sum: i128) -> Result<(), Fault> {
    if sum == 0 { Ok(()) } else { Err(Fault::Unbalanced { transaction, sum }) }
}

row! {
    struct TransactionRow {
        kind: String,
        reference: String,
        id: TransactionId,
        account_id: AccountId,
        currency: String,
        has_balance: bool,
        has_posting: bool,
    }
}

/// Checks that no event was posted twice and that every transaction has a customer posting and a balance. Returns the
/// number of transactions.
pub(super) async fn check_transactions(conn: &mut Conn) -> Result<u64, Stop> {
    let mut count = 0;
    let mut last = (String::new(), String::new(), TransactionId::new(Uuid::nil()));
    loop {
        let page: Vec<TransactionRow> = conn
            .all(
                sql!(
                    "SELECT t.kind, t.reference, t.id, t.account_id, t.currency,
                         b.account_id IS NOT NULL, p.transaction_id IS NOT NULL
                     FROM ledger_transactions t
                     LEFT JOIN ledger_balances b ON b.account_id = t.account_id AND b.currency = t.currency
                     LEFT JOIN ledger_postings p ON p.transaction_id = t.id AND p.book = 'customer'
                     WHERE (t.kind, t.reference, t.id) > ($1, $2, $3) ORDER BY t.kind, t.reference, t.id LIMIT $4"
                ),
                params![last.0, last.1, last.2, PAGE],
            )
            .await?;
        let is_last = (page.len() as i64) < PAGE;
        for TransactionRow { kind, reference, id, account_id, currency, has_balance, has_posting } in page {
            if (&kind, &reference) == (&last.0, &last.1) {
                return Err(Fault::Repeated { kind, reference, first: last.2, second: id }.into());
            }
            if !has_posting {
                return Err(Fault::NoPosting { transaction: id }.into());
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
