//! Posting: the balance first, guarded and in one statement, then the transaction, its postings and the day's sums.
//! Where a statement can hold others, that one does all of it: over a network each costs as much as the work itself.
//!
//! The balance row is the lock: whoever has changed it is alone with this customer's book until the commit. So numbers
//! have no gaps, and `balance_after` is right in their order.

use super::book::Book;
use super::entry::Entry;
use super::hold::expire_for;
use super::read::{self, Balance};
use super::{LedgerError, day_of, watch};
use crate::entropy::Entropy;
use db::{Conn, DbError, params, sql};
use values::{AccountId, Currency, Money, Time, id};

id! {
    /// A transaction of the ledger.
    pub struct TransactionId;
}

/// A transaction that is in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    pub id: TransactionId,
    /// Its place in the customer's book.
    pub number: i64,
    /// What the customer's balance gained; negative for a charge.
    pub amount: Money,
    pub balance_after: Money,
    pub at: Time,
    /// It was in the ledger before: this time nothing changed.
    pub already: bool,
}

/// Charges the customer if that much is available.
pub async fn debit(conn: &mut Conn, entropy: Entropy, entry: &Entry, now: Time) -> Result<Posted, LedgerError> {
    require_charge(entry)?;
    post(conn, entropy, entry, Guard::Available, now).await
}

/// Charges the customer whatever the balance is: for what has already been used, and for corrections.
pub async fn debit_unguarded(
    conn: &mut Conn,
    entropy: Entropy,
    entry: &Entry,
    now: Time,
) -> Result<Posted, LedgerError> {
    require_charge(entry)?;
    post(conn, entropy, entry, Guard::None { freed: 0 }, now).await
}

/// Adds to the customer's balance.
pub async fn credit(conn: &mut Conn, entropy: Entropy, entry: &Entry, now: Time) -> Result<Posted, LedgerError> {
    if entry.amount < 0 {
        return Err(LedgerError::Unsound("a charge is no credit"));
    }
    post(conn, entropy, entry, Guard::None { freed: 0 }, now).await
}

/// Sets what guarded debits and holds must leave; below zero it is credit.
pub async fn set_minimum(conn: &mut Conn, account: AccountId, minimum: Money) -> Result<(), LedgerError> {
    open(conn, account, minimum.currency()).await?;
    conn.exec(
        sql!("UPDATE ledger_balances SET minimum = $3 WHERE account_id = $1 AND currency = $2"),
        params![account, minimum.currency(), minimum.nanos()],
    )
    .await?;
    Ok(())
}

pub(super) fn require_charge(entry: &Entry) -> Result<(), LedgerError> {
    if entry.amount > 0 { Err(LedgerError::Unsound("a credit is no charge")) } else { Ok(()) }
}

/// What a posting asks of the balance.
#[derive(Clone, Copy)]
pub(super) enum Guard {
    /// As much must be available.
    Available,
    /// Nothing; and so much that was held is let go of.
    None { freed: i64 },
}

/// The customer's book as a posting left it.
struct Moved {
    balance: i64,
    number: i64,
    low_water: Option<i64>,
}

/// What is written beside the balance: the customer's posting with the first of the others, which mostly is the only
/// one, and the day whose sums they are part of.
struct Record {
    id: TransactionId,
    book: Book,
    other: i64,
    day: i64,
}

pub(super) async fn post(
    conn: &mut Conn,
    entropy: Entropy,
    entry: &Entry,
    guard: Guard,
    now: Time,
) -> Result<Posted, LedgerError> {
    let Some((&(book, other), rest)) = entry.others.split_first() else {
        return Err(LedgerError::Unsound("a transaction needs two postings"));
    };
    let id = entry.id.unwrap_or_else(|| TransactionId::new(entropy.uuid(now)));
    let record = Record { id, book, other, day: day_of(now) };
    let mut moved = move_balance(conn, entry, &record, guard, now).await?;
    if moved.is_none() {
        if let Some(posted) = read::posted(conn, entry).await? {
            return Ok(posted);
        }
        let changed = match guard {
            Guard::Available => expire_for(conn, entry.account, entry.currency, now).await? > 0,
            Guard::None { .. } => open(conn, entry.account, entry.currency).await.map(|()| true)?,
        };
        if changed {
            moved = move_balance(conn, entry, &record, guard, now).await?;
        }
    }
    let moved = match (moved, guard) {
        (Some(moved), _) => moved,
        (None, Guard::Available) => return Err(insufficient(conn, entry).await?),
        // The row is there, so somebody has posted the same event just now.
        (None, Guard::None { .. }) => return Err(conn.lose_race().into()),
    };
    for &(book, amount) in rest {
        record_other(conn, id, entry, book, amount, record.day).await?;
    }
    conn.count(|metrics| metrics.ledger.transactions.of(entry.kind.as_str()), 1);
    if watch::is_news(entry.amount, moved.balance, moved.low_water) {
        watch::tell(conn, entropy, entry.account, entry.currency, now).await?;
    }
    let money = |nanos| Money::from_nanos(nanos, entry.currency);
    let (amount, balance_after) = (entry.amount(), money(moved.balance));
    Ok(Posted { id, number: moved.number, amount, balance_after, at: now, already: false })
}

/// Changes the balance and writes down why, unless the guard forbids it or the event is in the ledger already.
async fn move_balance(
    conn: &mut Conn,
    entry: &Entry,
    record: &Record,
    guard: Guard,
    now: Time,
) -> Result<Option<Moved>, DbError> {
    let (guarded, freed) = match guard {
        Guard::Available => (true, 0),
        Guard::None { freed } => (false, freed),
    };
    let moved: Result<Option<(i64, i64, Option<i64>)>, DbError> = conn
        .opt(
            sql!(
                "/*pg WITH moved AS ( */
                 UPDATE ledger_balances
                 SET balance = balance + $3, held = held - $4, entries = entries + 1,
                     last_debit_at = CASE WHEN $3 < 0 THEN $5 ELSE last_debit_at END
                 WHERE account_id = $1 AND currency = $2 AND (NOT $6 OR balance - held - minimum + $3 >= 0)
                   AND NOT EXISTS (SELECT 1 FROM ledger_transactions WHERE kind = $7 AND reference = $8)
                 RETURNING balance, entries, low_water
                 /*pg ), posted AS (
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
                 SELECT balance, entries, low_water FROM moved */"
            ),
            params![
                entry.account,
                entry.currency,
                entry.amount,
                freed,
                now,
                guarded,
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
    let moved = match moved {
        // Somebody posted the same event while we waited for the balance row; the next attempt will see it.
        Err(DbError::Unique(key)) if key == "ledger_transactions_kind_reference_key" => return Err(conn.lose_race()),
        moved => moved?.map(|(balance, number, low_water)| Moved { balance, number, low_water }),
    };
    if let Some(moved) = &moved
        && !conn.nests_writes()
    {
        write_down(conn, entry, record, moved, now).await?;
    }
    Ok(moved)
}

/// What a statement that can hold others has written with the balance.
async fn write_down(conn: &mut Conn, entry: &Entry, record: &Record, moved: &Moved, now: Time) -> Result<(), DbError> {
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
                moved.number,
                entry.kind,
                entry.reference,
                moved.balance,
                entry.note,
                entry.actor,
                now
            ],
        ),
        (
            sql!(
                "INSERT INTO ledger_postings (transaction_id, book, amount)
                 VALUES ($1, 'customer', $2), ($1, $3, $4)"
            ),
            params![record.id, entry.amount, record.book, record.other],
        ),
        // Only this customer's transactions touch the sums of its day, so nobody new waits.
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

/// Makes the customer's balance row where there is none.
async fn open(conn: &mut Conn, account: AccountId, currency: Currency) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO ledger_balances (account_id, currency, balance, held, minimum, entries)
             VALUES ($1, $2, 0, 0, 0, 0) ON CONFLICT (account_id, currency) DO NOTHING"
        ),
        params![account, currency],
    )
    .await?;
    Ok(())
}

async fn insufficient(conn: &mut Conn, entry: &Entry) -> Result<LedgerError, LedgerError> {
    conn.metrics().ledger.refusals.of(entry.kind.as_str()).inc();
    let balance: Balance = read::balance(conn, entry.account, entry.currency).await?;
    Ok(LedgerError::Insufficient { required: entry.amount().neg()?, available: balance.available() })
}

/// What one more book gains.
async fn record_other(
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
