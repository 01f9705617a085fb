//! Posts a transaction: updates the balance if the guard allows it, and inserts the transaction, its postings and the
//! sums of the day.
//!
//! The balance row is the lock: the transaction that updated it has this customer's book alone until the commit. So numbers have no
//! gaps, and `balance_after` is right in their order. Only this customer's transactions update its daily sums, so those
//! add no further lock to wait for.

use super::book::Book;
use super::entry::Entry;
use super::hold::expire_for;
use super::read::{self, Balance};
use super::{LedgerError, day_of, low_water};
use db::{Conn, DbError, insert, params, pg_sql, sql};
use values::{AccountId, Currency, Money, Time, id};

id! {
    /// A transaction of the ledger.
    pub struct TransactionId;
}

/// A posted transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    pub id: TransactionId,
    /// Its number in the customer's book, from 1 without gaps.
    pub number: i64,
    /// The change of the customer's balance; negative for a charge.
    pub amount: Money,
    pub balance_after: Money,
    pub at: Time,
    /// Whether the event was posted before, so that nothing changed this time.
    pub already: bool,
}

/// Charges the customer if the amount is available.
pub async fn debit(conn: &mut Conn, entry: &Entry) -> Result<Posted, LedgerError> {
    require_charge(entry)?;
    post(conn, entry, Guard::Available).await
}

/// Charges the customer whatever the balance is: for usage that has already happened, and for corrections.
pub async fn debit_unguarded(conn: &mut Conn, entry: &Entry) -> Result<Posted, LedgerError> {
    require_charge(entry)?;
    post(conn, entry, Guard::None { released: 0 }).await
}

/// Adds to the customer's balance.
pub async fn credit(conn: &mut Conn, entry: &Entry) -> Result<Posted, LedgerError> {
    if entry.amount < 0 {
        return Err(LedgerError::Invalid("a charge cannot be posted as a credit"));
    }
    post(conn, entry, Guard::None { released: 0 }).await
}

/// Sets the minimum that guarded debits and holds must leave; below zero it is a credit line.
pub async fn set_minimum(conn: &mut Conn, account: AccountId, minimum: Money) -> Result<(), LedgerError> {
    insert_balance(conn, account, minimum.currency()).await?;
    conn.exec(
        sql!("UPDATE ledger_balances SET minimum = $3 WHERE account_id = $1 AND currency = $2"),
        params![account, minimum.currency(), minimum.nanos()],
    )
    .await?;
    Ok(())
}

pub(super) fn require_charge(entry: &Entry) -> Result<(), LedgerError> {
    if entry.amount > 0 { Err(LedgerError::Invalid("a credit cannot be posted as a charge")) } else { Ok(()) }
}

/// What a posting requires of the balance.
#[derive(Clone, Copy)]
pub(super) enum Guard {
    /// The amount must be available.
    Available,
    /// Nothing. `released` is the held amount that ends with the posting.
    None { released: i64 },
}

/// The customer's book after a posting.
struct UpdatedBalance {
    balance: i64,
    number: i64,
    low_water: Option<i64>,
}

/// What is written with the balance: the customer's posting, the first of the other postings (usually the only one),
/// and the day that both are added to.
struct Record {
    id: TransactionId,
    book: Book,
    other: i64,
    day: i64,
}

pub(super) async fn post(conn: &mut Conn, entry: &Entry, guard: Guard) -> Result<Posted, LedgerError> {
    let now = conn.now();
    let Some((&(book, other), rest)) = entry.others.split_first() else {
        return Err(LedgerError::Invalid("a transaction needs two postings"));
    };
    let id = entry.id.unwrap_or_else(|| conn.new_id());
    let record = Record { id, book, other, day: day_of(now) };
    let mut updated = update_balance(conn, entry, &record, guard).await?;
    if updated.is_none() {
        if let Some(posted) = read::posted(conn, entry).await? {
            return Ok(posted);
        }
        let may_succeed_now = match guard {
            Guard::Available => expire_for(conn, entry.account, entry.currency).await? > 0,
            Guard::None { .. } => insert_balance(conn, entry.account, entry.currency).await.map(|()| true)?,
        };
        if may_succeed_now {
            updated = update_balance(conn, entry, &record, guard).await?;
        }
    }
    let updated = match (updated, guard) {
        (Some(updated), _) => updated,
        (None, Guard::Available) => return Err(insufficient(conn, entry).await?),
        // The balance row exists, so another transaction has just posted the same event.
        (None, Guard::None { .. }) => return Err(conn.retry_conflict().into()),
    };
    for &(book, amount) in rest {
        insert_posting(conn, id, entry, book, amount, record.day).await?;
    }
    conn.count(|metrics| metrics.ledger.transactions.of(entry.kind.as_str()), 1);
    if low_water::needs_check(entry.amount, updated.balance, updated.low_water) {
        low_water::enqueue_balance_check(conn, entry.account, entry.currency).await?;
    }
    let money = |nanos| Money::from_nanos(nanos, entry.currency);
    let (amount, balance_after) = (entry.amount(), money(updated.balance));
    Ok(Posted { id, number: updated.number, amount, balance_after, at: now, already: false })
}

/// Updates the balance and inserts the transaction. Returns `None`, and changes nothing, if the guard refuses it, the
/// customer has no balance row or the event was posted before.
async fn update_balance(
    conn: &mut Conn,
    entry: &Entry,
    record: &Record,
    guard: Guard,
) -> Result<Option<UpdatedBalance>, DbError> {
    if conn.supports_writable_cte() {
        post_in_one_statement(conn, entry, record, guard).await
    } else {
        post_step_by_step(conn, entry, record, guard).await
    }
}

impl Guard {
    /// Whether the amount must be available, and what is released.
    fn parameters(self) -> (bool, i64) {
        match self {
            Guard::Available => (true, 0),
            Guard::None { released } => (false, released),
        }
    }
}

/// PostgreSQL: one round trip, which costs as much as the work itself.
async fn post_in_one_statement(
    conn: &mut Conn,
    entry: &Entry,
    record: &Record,
    guard: Guard,
) -> Result<Option<UpdatedBalance>, DbError> {
    let now = conn.now();
    let (is_guarded, released) = guard.parameters();
    let updated: Result<Option<(i64, i64, Option<i64>)>, DbError> = conn
        .opt(
            pg_sql!(
                "WITH moved AS (
                     UPDATE ledger_balances
                     SET balance = balance + $3, held = held - $4, entries = entries + 1,
                         last_debit_at = CASE WHEN $3 < 0 THEN $5 ELSE last_debit_at END
                     WHERE account_id = $1 AND currency = $2 AND (NOT $6 OR balance - held - minimum + $3 >= 0)
                       AND NOT EXISTS (SELECT 1 FROM ledger_transactions WHERE kind = $7 AND reference = $8)
                     RETURNING balance, entries, low_water
                 ), posted AS (
                     INSERT INTO ledger_transactions
                         (id, account_id, currency, number, kind, reference, balance_after, note, actor_id, created_at)
                     SELECT $9, $1, $2, entries, $7, $8, balance, $10, $11, $5 FROM moved
                 ), books (book, amount) AS (
                     SELECT 'customer', CAST($3 AS BIGINT) FROM moved
                     UNION ALL SELECT CAST($12 AS TEXT), CAST($13 AS BIGINT) FROM moved
                 ), postings AS (
                     INSERT INTO ledger_postings (transaction_id, book, amount) SELECT $9, book, amount FROM books
                 ), days AS (
                     INSERT INTO ledger_days (account_id, currency, day, kind, book, amount, entries)
                     SELECT $1, $2, CAST($14 AS BIGINT), $7, book, amount, 1 FROM books
                     ON CONFLICT (account_id, currency, day, kind, book) DO UPDATE
                     SET amount = ledger_days.amount + excluded.amount, entries = ledger_days.entries + 1
                 )
                 SELECT balance, entries, low_water FROM moved"
            ),
            params![
                entry.account,
                entry.currency,
                entry.amount,
                released,
                now,
                is_guarded,
                entry.kind,
                entry.reference,
                record.id,
                entry.note,
                entry.actor,
                record.book,
                record.other,
                record.day
            ],
        )
        .await;
    match updated {
        // Another transaction posted the same event while this one waited for the balance row; a retry will find it.
        Err(DbError::Unique(key)) if key == "ledger_transactions_kind_reference_key" => Err(conn.retry_conflict()),
        updated => Ok(updated?.map(|(balance, number, low_water)| UpdatedBalance { balance, number, low_water })),
    }
}

/// SQLite: the same in four statements, since its CTEs cannot write. They run in-process, so the number hardly matters.
async fn post_step_by_step(
    conn: &mut Conn,
    entry: &Entry,
    record: &Record,
    guard: Guard,
) -> Result<Option<UpdatedBalance>, DbError> {
    let now = conn.now();
    let (is_guarded, released) = guard.parameters();
    let updated: Option<(i64, i64, Option<i64>)> = conn
        .opt(
            sql!(
                "UPDATE ledger_balances
                 SET balance = balance + $3, held = held - $4, entries = entries + 1,
                     last_debit_at = CASE WHEN $3 < 0 THEN $5 ELSE last_debit_at END
                 WHERE account_id = $1 AND currency = $2 AND (NOT $6 OR balance - held - minimum + $3 >= 0)
                   AND NOT EXISTS (SELECT 1 FROM ledger_transactions WHERE kind = $7 AND reference = $8)
                 RETURNING balance, entries, low_water"
            ),
            params![
                entry.account,
                entry.currency,
                entry.amount,
                released,
                now,
                is_guarded,
                entry.kind,
                entry.reference
            ],
        )
        .await?;
    let Some((balance, number, low_water)) = updated else { return Ok(None) };
    let updated = UpdatedBalance { balance, number, low_water };
    insert_transaction(conn, entry, record, &updated).await?;
    Ok(Some(updated))
}

async fn insert_transaction(
    conn: &mut Conn,
    entry: &Entry,
    record: &Record,
    updated: &UpdatedBalance,
) -> Result<(), DbError> {
    conn.exec_all(&[
        (
            sql!(
                "INSERT INTO ledger_transactions
                     (id, account_id, currency, number, kind, reference, balance_after, note, actor_id, created_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
            ),
            params![
                record.id,
                entry.account,
                entry.currency,
                updated.number,
                entry.kind,
                entry.reference,
                updated.balance,
                entry.note,
                entry.actor,
                conn.now()
            ],
        ),
        (
            sql!(
                "INSERT INTO ledger_postings (transaction_id, book, amount)
                 VALUES ($1, 'customer', $2), ($1, $3, $4)"
            ),
            params![record.id, entry.amount, record.book, record.other],
        ),
        (
            sql!(
                "INSERT INTO ledger_days (account_id, currency, day, kind, book, amount, entries)
                 VALUES ($1, $2, $3, $4, 'customer', $5, 1), ($1, $2, $3, $4, $6, $7, 1)
                 ON CONFLICT (account_id, currency, day, kind, book) DO UPDATE
                 SET amount = ledger_days.amount + excluded.amount, entries = ledger_days.entries + 1"
            ),
            params![entry.account, entry.currency, record.day, entry.kind, entry.amount, record.book, record.other],
        ),
    ])
    .await
    .map(drop)
}

/// Inserts the customer's balance row if there is none.
async fn insert_balance(conn: &mut Conn, account: AccountId, currency: Currency) -> Result<(), DbError> {
    insert!(
        conn,
        ledger_balances { account_id: account, currency, balance: 0i64, held: 0i64, minimum: 0i64, entries: 0i64 },
        "ON CONFLICT (account_id, currency) DO NOTHING"
    )
    .await?;
    Ok(())
}

async fn insufficient(conn: &mut Conn, entry: &Entry) -> Result<LedgerError, LedgerError> {
    conn.metrics().ledger.refusals.of(entry.kind.as_str()).inc();
    let balance: Balance = read::balance(conn, entry.account, entry.currency).await?;
    Ok(LedgerError::Insufficient { required: entry.amount().neg()?, available: balance.available() })
}

/// Inserts one more posting and adds it to the sums of the day.
async fn insert_posting(
    conn: &mut Conn,
    id: TransactionId,
    entry: &Entry,
    book: Book,
    amount: i64,
    day: i64,
) -> Result<(), DbError> {
    conn.exec_all(&[
        (
            sql!("INSERT INTO ledger_postings (transaction_id, book, amount) VALUES ($1, $2, $3)"),
            params![id, book, amount],
        ),
        (
            sql!(
                "INSERT INTO ledger_days (account_id, currency, day, kind, book, amount, entries)
                 VALUES ($1, $2, $3, $4, $5, $6, 1)
                 ON CONFLICT (account_id, currency, day, kind, book) DO UPDATE
                 SET amount = ledger_days.amount + excluded.amount, entries = ledger_days.entries + 1"
            ),
            params![entry.account, entry.currency, day, entry.kind, book, amount],
        ),
    ])
    .await
    .map(drop)
}
