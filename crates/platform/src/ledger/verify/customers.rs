//! Checks each customer's numbers, balance, holds and daily sums against its transactions.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{Customer, Fault, PAGE, Stop};
use crate::ledger::{TransactionId, day_of};
use db::{Conn, params, row, sql};
use values::{AccountId, Time};

/// How many transactions are read before one of a lower number is looked for.
const MAX_WAITING: usize = 1000;

row! {
    struct BalanceRow { account_id: AccountId, currency: String, balance: i64, held: i64, entries: i64 }
}

row! {
    struct TransactionRow {
        number: i64,
        id: TransactionId,
        kind: String,
        amount: i64,
        book: String,
        balance_after: i64,
        created_at: Time,
        /// How many splits it has.
        splits: i64,
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
                "SELECT d.account_id, d.currency, d.day FROM ledger_book_days d
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

/// Reads a customer's transactions and sums their postings.
async fn sum_postings(conn: &mut Conn, customer: &Customer, row: &BalanceRow) -> Result<Days, Stop> {
    let mut sums = Sums::default();
    // Some are read before one of a lower number: a clock was wrong, or they are older than the rule about their times.
    let mut waiting: BTreeMap<(i64, TransactionId), TransactionRow> = BTreeMap::new();
    // Found by their number, and read once more later.
    let mut found_early = BTreeSet::new();
    let mut after = (Time::from_millis(i64::MIN), i64::MIN);
    loop {
        let page: Vec<TransactionRow> = conn
            .all(
                sql!(
                    "SELECT number, id, kind, amount, book, balance_after, created_at,
                         (SELECT COUNT(*) FROM ledger_splits WHERE transaction_id = id)
                     FROM ledger_transactions
                     WHERE account_id = $1 AND currency = $2 AND (created_at, number) > ($3, $4)
                     ORDER BY created_at, number LIMIT $5"
                ),
                params![customer.account, customer.currency, after.0, after.1, PAGE],
            )
            .await?;
        let is_last = (page.len() as i64) < PAGE;
        for transaction in page {
            after = (transaction.created_at, transaction.number);
            if found_early.remove(&transaction.id) {
                continue;
            }
            waiting.insert((transaction.number, transaction.id), transaction);
            if waiting.len() > MAX_WAITING {
                let Some(missing) = find(conn, customer, sums.last + 1).await? else { break };
                found_early.insert(missing.id);
                waiting.insert((missing.number, missing.id), missing);
            }
            while let Some(next) = waiting.first_entry().filter(|next| next.key().0 <= sums.last + 1) {
                let transaction = next.remove();
                if transaction.number <= sums.last {
                    let (customer, last) = (customer.clone(), transaction.number);
                    return Err(Fault::Count { customer, counted: row.entries, last }.into());
                }
                sums.add(conn, transaction).await?;
            }
        }
        if is_last || waiting.len() > MAX_WAITING {
            break;
        }
    }
    let customer = customer.clone();
    if let Some(((found, _), _)) = waiting.first_key_value() {
        return Err(Fault::Gap { customer, expected: sums.last + 1, found: *found }.into());
    }
    if sums.last != row.entries {
        return Err(Fault::Count { customer, counted: row.entries, last: sums.last }.into());
    }
    if sums.balance != i128::from(row.balance) {
        return Err(Fault::Balance { customer, written: row.balance, computed: sums.balance }.into());
    }
    Ok(sums.days)
}

/// The transaction with this number. There is no index by number.
async fn find(conn: &mut Conn, customer: &Customer, number: i64) -> Result<Option<TransactionRow>, Stop> {
    let found = conn
        .opt(
            sql!(
                "SELECT number, id, kind, amount, book, balance_after, created_at,
                     (SELECT COUNT(*) FROM ledger_splits WHERE transaction_id = id)
                 FROM ledger_transactions WHERE account_id = $1 AND currency = $2 AND number = $3"
            ),
            params![customer.account, customer.currency, number],
        )
        .await?;
    Ok(found)
}

/// The sums of a customer's transactions up to the last number.
#[derive(Default)]
struct Sums {
    last: i64,
    balance: i128,
    days: Days,
}

impl Sums {
    async fn add(&mut self, conn: &mut Conn, transaction: TransactionRow) -> Result<(), Stop> {
        let TransactionRow { number, id, kind, amount, book, balance_after, created_at, splits } = transaction;
        self.last = number;
        self.balance += i128::from(amount);
        if i128::from(balance_after) != self.balance {
            let (transaction, written, computed) = (id, balance_after, self.balance);
            return Err(Fault::BalanceAfter { transaction, written, computed }.into());
        }
        let mut rest = -i128::from(amount);
        let splits: Vec<(String, i64)> = match splits {
            0 => Vec::new(),
            _ => {
                let text = sql!("SELECT book, amount FROM ledger_splits WHERE transaction_id = $1 LIMIT 100");
                conn.all(text, params![id]).await?
            }
        };
        let mut add = |book: String, amount: i128| {
            *self.days.entry((day_of(created_at), kind.clone(), book)).or_default() += amount;
        };
        for (book, amount) in splits {
            rest -= i128::from(amount);
            add(book, i128::from(amount));
        }
        add(book, rest);
        Ok(())
    }
}

async fn compare_days(conn: &mut Conn, customer: &Customer, mut days: Days) -> Result<(), Stop> {
    let mut wrong = None;
    conn.each(
        sql!("SELECT day, kind, book, amount FROM ledger_book_days WHERE account_id = $1 AND currency = $2"),
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
