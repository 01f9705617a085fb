//! Checks each customer's numbers, balance, holds and daily sums against its postings.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{Customer, Fault, PAGE, Stop};
use crate::ledger::{TransactionId, day_of};
use db::{Conn, params, row, sql};
use values::{AccountId, Time};

/// Transactions read by a statement, each with all its postings.
const TRANSACTIONS_PER_PAGE: i64 = 2000;

row! {
    struct BalanceRow { account_id: AccountId, currency: String, balance: i64, held: i64, entries: i64 }
}

row! {
    struct PostingRow {
        number: i64,
        id: TransactionId,
        kind: String,
        balance_after: i64,
        created_at: Time,
        book: String,
        amount: i64,
    }
}

/// Checks that every open hold and daily sum belongs to a balance.
pub(super) async fn check_owners(conn: &mut Conn) -> Result<(), Stop> {
    let stray: Option<(String, String)> = conn
        .opt(
            sql!(
                "SELECT h.kind, h.reference FROM (
                     SELECT kind, reference, account_id, currency FROM ledger_holds WHERE state = 'open'
                     UNION ALL SELECT 'call', call_id, account_id, currency FROM live_calls WHERE held > 0) AS h
                 LEFT JOIN ledger_balances b ON b.account_id = h.account_id AND b.currency = h.currency
                 WHERE b.account_id IS NULL ORDER BY h.kind, h.reference LIMIT 1"
            ),
            params![],
        )
        .await?;
    if let Some((kind, reference)) = stray {
        return Err(Fault::StrayHold { kind, reference }.into());
    }
    let stray: Option<(AccountId, String, i64)> = conn
        .opt(
            sql!(
                "SELECT d.account_id, d.currency, d.day FROM ledger_days d
                 LEFT JOIN ledger_balances b ON b.account_id = d.account_id AND b.currency = d.currency
                 WHERE b.account_id IS NULL ORDER BY d.account_id, d.currency, d.day LIMIT 1"
            ),
            params![],
        )
        .await?;
    match stray {
        Some((account, currency, day)) => Err(Fault::StrayDay { customer: Customer { account, currency }, day }.into()),
        None => Ok(()),
    }
}

/// Checks every customer's book. Returns the number of books and of open holds, those of live calls included.
pub(super) async fn check_books(conn: &mut Conn) -> Result<(u64, u64), Stop> {
    let (mut customers, mut holds) = (0, 0);
    let mut last = (AccountId::new(Uuid::nil()), String::new());
    loop {
        let page: Vec<BalanceRow> = conn
            .all(
                sql!(
                    "SELECT ",
                    BalanceRow::COLS,
                    " FROM ledger_balances WHERE (account_id, currency) > ($1, $2) ORDER BY account_id, currency LIMIT $3"
                ),
                params![last.0, last.1, PAGE],
            )
            .await?;
        for row in &page {
            let customer = Customer { account: row.account_id, currency: row.currency.clone() };
            let days = sum_postings(conn, &customer, row).await?;
            compare_days(conn, &customer, days).await?;
            holds += compare_held(conn, &customer, row.held).await?;
            customers += 1;
        }
        match page.into_iter().last() {
            Some(row) => last = (row.account_id, row.currency),
            None => return Ok((customers, holds)),
        }
    }
}

/// The sum by day, kind and book. A customer has few of them, however many transactions.
type Days = BTreeMap<(i64, String, String), i128>;

/// Reads a customer's transactions by number and sums their postings.
async fn sum_postings(conn: &mut Conn, customer: &Customer, row: &BalanceRow) -> Result<Days, Stop> {
    let mut days = Days::new();
    let (mut last, mut balance): (i64, i128) = (0, 0);
    let mut stated: Option<(TransactionId, i64)> = None;
    let mut from = 0;
    while from < row.entries {
        let page: Vec<PostingRow> = conn
            .all(
                sql!(
                    "SELECT ",
                    PostingRow::COLS,
                    " FROM ledger_transactions JOIN ledger_postings ON transaction_id = id
                     WHERE account_id = $1 AND currency = $2 AND number > $3 AND number <= $4 ORDER BY number, book"
                ),
                params![customer.account, customer.currency, from, from.saturating_add(TRANSACTIONS_PER_PAGE)],
            )
            .await?;
        if page.is_empty() {
            break;
        }
        for posting in page {
            if posting.number != last {
                check_balance_after(stated, balance)?;
                if posting.number != last + 1 {
                    let (expected, found) = (last + 1, posting.number);
                    return Err(Fault::Gap { customer: customer.clone(), expected, found }.into());
                }
                (last, stated) = (posting.number, Some((posting.id, posting.balance_after)));
            }
            if posting.book == "customer" {
                balance += i128::from(posting.amount);
            }
            *days.entry((day_of(posting.created_at), posting.kind, posting.book)).or_default() +=
                i128::from(posting.amount);
        }
        from += TRANSACTIONS_PER_PAGE;
    }
    check_balance_after(stated, balance)?;
    compare_balance(conn, customer, row, last, balance).await?;
    Ok(days)
}

/// Checks the `balance_after` of a transaction.
fn check_balance_after(stated: Option<(TransactionId, i64)>, computed: i128) -> Result<(), Fault> {
    match stated {
        Some((transaction, written)) if i128::from(written) != computed => {
            Err(Fault::BalanceAfter { transaction, written, computed })
        }
        _ => Ok(()),
    }
}

async fn compare_balance(
    conn: &mut Conn,
    customer: &Customer,
    row: &BalanceRow,
    last: i64,
    computed: i128,
) -> Result<(), Stop> {
    let outside: Option<(i64,)> = conn
        .opt(
            sql!(
                "SELECT number FROM ledger_transactions
                 WHERE account_id = $1 AND currency = $2 AND (number < 1 OR number > $3) ORDER BY number LIMIT 1"
            ),
            params![customer.account, customer.currency, row.entries],
        )
        .await?;
    let last = outside.map_or(last, |(number,)| number);
    let customer = customer.clone();
    if last != row.entries {
        return Err(Fault::Count { customer, counted: row.entries, last }.into());
    }
    if computed != i128::from(row.balance) {
        return Err(Fault::Balance { customer, written: row.balance, computed }.into());
    }
    Ok(())
}

async fn compare_days(conn: &mut Conn, customer: &Customer, mut days: Days) -> Result<(), Stop> {
    let mut wrong = None;
    conn.each(
        sql!("SELECT day, kind, book, amount FROM ledger_days WHERE account_id = $1 AND currency = $2"),
        params![customer.account, customer.currency],
        |(day, kind, book, written): (i64, String, String, i64)| {
            let key = (day, kind, book);
            let computed = days.remove(&key).unwrap_or_default();
            if computed != i128::from(written) && wrong.is_none() {
                wrong = Some((key, written, computed));
            }
            Ok(())
        },
    )
    .await?;
    // A computed sum without a row.
    let wrong = wrong.or_else(|| days.into_iter().next().map(|(key, computed)| (key, 0, computed)));
    match wrong {
        Some(((day, kind, book), written, computed)) => {
            Err(Fault::Day { customer: customer.clone(), day, kind, book, written, computed }.into())
        }
        None => Ok(()),
    }
}

async fn compare_held(conn: &mut Conn, customer: &Customer, written: i64) -> Result<u64, Stop> {
    let mut computed: i128 = 0;
    let count = conn
        .each(
            sql!(
                "SELECT amount FROM ledger_holds WHERE account_id = $1 AND currency = $2 AND state = 'open'
                 UNION ALL SELECT held FROM live_calls WHERE account_id = $1 AND currency = $2 AND held > 0"
            ),
            params![customer.account, customer.currency],
            |(amount,): (i64,)| {
                computed += i128::from(amount);
                Ok(())
            },
        )
        .await?;
    if computed != i128::from(written) {
        return Err(Fault::Held { customer: customer.clone(), written, computed }.into());
    }
    Ok(count)
}
