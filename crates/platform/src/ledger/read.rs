//! Reads of the ledger: balances, the lines of a customer's book, and daily sums.

use std::collections::BTreeMap;

use super::entry::Entry;
use super::post::{Posted, TransactionId};
use super::{Book, DAY_MILLIS, Kind, LedgerError, day_of};
use db::{Conn, DbError, params, sql, table_row};
use values::{AccountId, Currency, Money, Time, UserId};

/// The balance of a customer in one currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    pub current: Money,
    /// Set aside by open holds.
    pub held: Money,
    /// What guarded debits and holds must leave.
    pub minimum: Money,
    pub last_debit_at: Option<Time>,
}

impl Balance {
    /// What a guarded debit may take; negative if the balance is below its minimum.
    pub fn available(&self) -> Money {
        // None of the three exceeds two billion units, so this fits into 64 bits.
        let nanos = self.current.nanos().saturating_sub(self.held.nanos()).saturating_sub(self.minimum.nanos());
        Money::from_nanos(nanos, self.current.currency())
    }
}

/// The balance; zero for a customer without a balance row.
pub async fn balance(conn: &mut Conn, account: AccountId, currency: Currency) -> Result<Balance, DbError> {
    let found: Option<(i64, i64, i64, Option<Time>)> = conn
        .opt(
            sql!(
                "SELECT balance, held, minimum, last_debit_at FROM ledger_balances
                 WHERE account_id = $1 AND currency = $2"
            ),
            params![account, currency],
        )
        .await?;
    let (current, held, minimum, last_debit_at) = found.unwrap_or_default();
    let money = |nanos| Money::from_nanos(nanos, currency);
    Ok(Balance { current: money(current), held: money(held), minimum: money(minimum), last_debit_at })
}

table_row! {
    pub(super) struct TransactionRow in ledger_transactions {
        pub(super) id: TransactionId,
        pub(super) account_id: AccountId,
        pub(super) currency: Currency,
        pub(super) number: i64,
        pub(super) kind: Kind,
        pub(super) reference: String,
        pub(super) amount: i64,
        /// The first of the other books. It gets what the splits leave.
        pub(super) book: Book,
        pub(super) balance_after: i64,
        pub(super) note: Option<String>,
        pub(super) actor_id: Option<UserId>,
        pub(super) created_at: Time,
    }
}

/// A line of a customer's book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub id: TransactionId,
    pub account: AccountId,
    /// Its number in the book, from 1 without gaps.
    pub number: i64,
    pub kind: Kind,
    pub reference: String,
    pub amount: Money,
    /// The first book on the other side.
    pub book: Book,
    pub balance_after: Money,
    pub note: Option<String>,
    pub at: Time,
}

impl From<TransactionRow> for Line {
    fn from(row: TransactionRow) -> Self {
        let money = |nanos| Money::from_nanos(nanos, row.currency);
        Line {
            id: row.id,
            account: row.account_id,
            number: row.number,
            kind: row.kind,
            amount: money(row.amount),
            book: row.book,
            balance_after: money(row.balance_after),
            reference: row.reference,
            note: row.note,
            at: row.created_at,
        }
    }
}

/// A page of a customer's lines since a time, of one kind or of all, newest first, before the given time and number.
pub async fn lines(
    conn: &mut Conn,
    (account, currency): (AccountId, Currency),
    kind: Option<Kind>,
    from: Time,
    (at, number): (Time, i64),
    limit: i64,
) -> Result<Vec<Line>, DbError> {
    // Nearly all lines are calls, so a list of calls reads all lines. The index of a kind leaves them out.
    let text = match kind {
        None | Some(Kind::Call) => sql!(
            "SELECT ",
            TransactionRow::COLS,
            " FROM ledger_transactions
             WHERE account_id = $1 AND currency = $2 AND created_at >= $3 AND (created_at, number) < ($4, $5)
                 AND (CAST($6 AS TEXT) IS NULL OR kind = $6)
             ORDER BY created_at DESC, number DESC LIMIT $7"
        ),
        Some(_) => sql!(
            "SELECT ",
            TransactionRow::COLS,
            " FROM ledger_transactions
             WHERE account_id = $1 AND currency = $2 AND created_at >= $3 AND (created_at, number) < ($4, $5)
                 AND kind = $6 AND kind <> 'call'
             ORDER BY created_at DESC, number DESC LIMIT $7"
        ),
    };
    let rows: Vec<TransactionRow> = conn.all(text, params![account, currency, from, at, number, kind, limit]).await?;
    Ok(rows.into_iter().map(Line::from).collect())
}

/// The transaction of this kind and reference.
pub async fn find(conn: &mut Conn, kind: Kind, reference: &str) -> Result<Option<Line>, DbError> {
    let row: Option<TransactionRow> = conn
        .opt(
            sql!("SELECT ", TransactionRow::COLS, " FROM ledger_transactions WHERE kind = $1 AND reference = $2"),
            params![kind, reference],
        )
        .await?;
    Ok(row.map(Line::from))
}

/// The transaction of an entry that was posted before. One with other content is a conflict.
pub(super) async fn posted(conn: &mut Conn, entry: &Entry) -> Result<Option<Posted>, LedgerError> {
    let Some(line) = find(conn, entry.kind, &entry.reference).await? else { return Ok(None) };
    let mut others: Vec<(Book, i64)> = conn
        .all(sql!("SELECT book, amount FROM ledger_splits WHERE transaction_id = $1 LIMIT 100"), params![line.id])
        .await?;
    let rest = others.iter().fold(-line.amount.nanos(), |rest, (_, amount)| rest.saturating_sub(*amount));
    others.push((line.book, rest));
    let mut expected = entry.others.clone();
    others.sort_unstable();
    expected.sort_unstable();
    if (line.account, line.amount, &others) != (entry.account, entry.amount(), &expected) {
        return Err(LedgerError::Conflict { kind: entry.kind, reference: entry.reference.clone() });
    }
    let Line { id, number, amount, balance_after, at, .. } = line;
    Ok(Some(Posted { id, number, amount, balance_after, at, already: true }))
}

/// The sum of one kind of transaction in one book of the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    pub kind: Kind,
    pub book: Book,
    pub amount: Money,
    /// The number of transactions.
    pub entries: i64,
}

/// What a customer's transactions moved to the operator's books, by kind and book, from the UTC day of `from` to before
/// that of `to`. The customer's balance moved by the opposite.
pub async fn sums(
    conn: &mut Conn,
    account: AccountId,
    currency: Currency,
    from: Time,
    to: Time,
) -> Result<Vec<Sum>, DbError> {
    let rows: Vec<(Kind, Book, i64, i64)> = conn
        .all(
            sql!(
                "SELECT kind, book, CAST(SUM(amount) AS BIGINT), CAST(SUM(entries) AS BIGINT) FROM ledger_book_days
                 WHERE account_id = $1 AND currency = $2 AND day >= $3 AND day < $4
                 GROUP BY kind, book ORDER BY kind, book"
            ),
            params![account, currency, day_of(from), day_of(to)],
        )
        .await?;
    let money = |nanos| Money::from_nanos(nanos, currency);
    Ok(rows
        .into_iter()
        .map(|(kind, book, amount, entries)| Sum { kind, book, amount: money(amount), entries })
        .collect())
}

/// A customer's spend on the last `days` UTC days, including today.
pub async fn spend(conn: &mut Conn, account: AccountId, currency: Currency, days: i64) -> Result<Money, LedgerError> {
    let now = conn.now();
    let tomorrow = day_of(now) + 1;
    let midnight = |day: i64| Time::from_millis(day.saturating_mul(DAY_MILLIS));
    let sums = sums(conn, account, currency, midnight(tomorrow - days), midnight(tomorrow)).await?;
    let used = sums.iter().filter(|sum| sum.kind.is_usage());
    let total = used.map(|sum| sum.amount).try_fold(Money::zero(currency), Money::add)?;
    Ok(total)
}

/// A customer's balance at the end of each UTC day, from that of `from` to that of `to`, oldest first.
pub async fn daily_balances(
    conn: &mut Conn,
    account: AccountId,
    currency: Currency,
    from: Time,
    to: Time,
) -> Result<Vec<(Time, Money)>, DbError> {
    let (first, last) = (day_of(from), day_of(to));
    // One statement, so that the balance and the days are of the same state. Its first row is the balance at the end of
    // the last day: the current one without what came later.
    let rows: Vec<(i64, i64)> = conn
        .all(
            sql!(
                "SELECT CAST(-1 AS BIGINT), CAST(balance + COALESCE(
                            (SELECT SUM(amount) FROM ledger_book_days
                             WHERE account_id = $1 AND currency = $2 AND day > $4), 0) AS BIGINT)
                 FROM ledger_balances WHERE account_id = $1 AND currency = $2
                 UNION ALL
                 SELECT day, CAST(-SUM(amount) AS BIGINT) FROM ledger_book_days
                 WHERE account_id = $1 AND currency = $2 AND day >= $3 AND day <= $4 GROUP BY day
                 ORDER BY 1"
            ),
            params![account, currency, first, last],
        )
        .await?;
    let (mut rows, mut balance) = (rows.into_iter().peekable(), 0);
    if let Some((_, closing)) = rows.next_if(|(day, _)| *day < 0) {
        balance = closing;
    }
    let moved: BTreeMap<i64, i64> = rows.collect();
    let mut days = Vec::new();
    for day in (first..=last).rev() {
        days.push((Time::from_millis(day.saturating_mul(DAY_MILLIS)), Money::from_nanos(balance, currency)));
        balance -= moved.get(&day).copied().unwrap_or_default();
    }
    days.reverse();
    Ok(days)
}

/// The sum of all customers' postings in a book of the operator, from the UTC day of `from` to before that of `to`.
pub async fn book_total(
    conn: &mut Conn,
    book: Book,
    currency: Currency,
    from: Time,
    to: Time,
) -> Result<Money, DbError> {
    let (nanos,): (i64,) = conn
        .one(
            sql!(
                "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM ledger_book_days
                 WHERE book = $1 AND currency = $2 AND day >= $3 AND day < $4"
            ),
            params![book, currency, day_of(from), day_of(to)],
        )
        .await?;
    Ok(Money::from_nanos(nanos, currency))
}

/// The first UTC day with a transaction.
pub async fn first_day(conn: &mut Conn) -> Result<Option<Time>, DbError> {
    let (day,): (Option<i64>,) = conn.one(sql!("SELECT MIN(day) FROM ledger_book_days"), params![]).await?;
    Ok(day.map(|day| Time::from_millis(day.saturating_mul(DAY_MILLIS))))
}

/// The UTC days on which something was posted in an account's books, with the kinds and the operator's books of that day.
pub async fn posted_days(conn: &mut Conn, account: AccountId) -> Result<Vec<(Currency, Time, Kind, Book)>, DbError> {
    let sql = sql!("SELECT currency, day, kind, book FROM ledger_book_days WHERE account_id = $1");
    let rows: Vec<(Currency, i64, Kind, Book)> = conn.all(sql, params![account]).await?;
    let time = |day: i64| Time::from_millis(day.saturating_mul(DAY_MILLIS));
    Ok(rows.into_iter().map(|(currency, day, kind, book)| (currency, time(day), kind, book)).collect())
}

/// A page of the customers with usage or corrections from the UTC day of `from` to before that of `to`, in the order of
/// their ids.
pub async fn customers_between(
    conn: &mut Conn,
    from: Time,
    to: Time,
    after: Option<(AccountId, Currency)>,
    limit: i64,
) -> Result<Vec<(AccountId, Currency)>, DbError> {
    let account = after.map_or(AccountId::new(uuid::Uuid::nil()), |(account, _)| account);
    let currency = after.map_or("", |(_, currency)| currency.code());
    conn.all(
        sql!(
            "SELECT b.account_id, b.currency FROM ledger_balances b
             WHERE (b.account_id, b.currency) > ($1, $2) AND EXISTS (
                 SELECT 1 FROM ledger_book_days d
                 WHERE d.account_id = b.account_id AND d.currency = b.currency AND d.day >= $3 AND d.day < $4
                   AND d.kind IN ('call', 'number_order', 'number_renewal', 'number_refund', 'call_credit', 'correction'))
             ORDER BY b.account_id, b.currency LIMIT $5"
        ),
        params![account, currency, day_of(from), day_of(to), limit],
    )
    .await
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn every_kind_of_usage_makes_a_customer_one_to_invoice() {
        let usage = Kind::ALL.iter().filter(|kind| kind.is_usage()).map(|kind| format!("'{kind}'"));
        let kinds: Vec<String> = usage.collect();
        let invoiced = format!("d.kind IN ({}, 'correction')", kinds.join(", "));
        assert!(include_str!("read.rs").contains(&invoiced), "{invoiced}");
    }
}
