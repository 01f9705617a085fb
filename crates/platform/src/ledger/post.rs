//! Posts transactions: locks the balances, judges each transaction by them, and writes those that may be posted. Any
//! number of transactions takes two round trips to PostgreSQL.
//!
//! The balance row is the lock: whoever locked it has this customer's book alone until the commit. So numbers have no
//! gaps, and `balance_after` is right in their order. Only this customer's transactions update its daily sums, so those
//! add no further lock to wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::book::Book;
use super::entry::{Entry, Event, MAX_AMOUNT_NANOS};
use super::hold::expire_for;
use super::read::{self, Balance, TransactionRow};
use super::{Kind, LedgerError, day_of, low_water};
use db::{Conn, DbError, Inserts, TableRow, Value, insert, params, row, row_values, sql, table_row};
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
    /// Not before the transaction with the number before, unless that was dated by a wrong clock.
    pub at: Time,
    /// Whether the event was posted before, so that nothing changed this time.
    pub already: bool,
}

/// Charges the customer if the amount is available.
pub async fn debit(conn: &mut Conn, entry: &Entry) -> Result<Posted, LedgerError> {
    require_charge(entry)?;
    post(conn, entry, Guard::Available).await
}

/// Charges customers, each if the amount is available: one that is refused leaves the others as they are. What became of
/// each is in the order of the entries.
pub async fn debit_each(conn: &mut Conn, entries: &[Entry]) -> Result<Vec<Result<Posted, LedgerError>>, LedgerError> {
    entries.iter().try_for_each(require_charge)?;
    let postings: Vec<(&Entry, Guard)> = entries.iter().map(|entry| (entry, Guard::Available)).collect();
    post_each(conn, &postings, &[]).await
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

impl Guard {
    pub(super) fn released(self) -> i64 {
        match self {
            Guard::Available => 0,
            Guard::None { released } => released,
        }
    }
}

pub(super) async fn post(conn: &mut Conn, entry: &Entry, guard: Guard) -> Result<Posted, LedgerError> {
    let outcome = post_each(conn, &[(entry, guard)], &[]).await?.pop();
    outcome.unwrap_or_else(|| Err(DbError::NotFound.into()))
}

/// Posts entries in their order, each judged by the balance that those before it leave, and releases what was held in
/// further books. What became of each entry is in the same order; an error of the database is one of all.
pub(super) async fn post_each(
    conn: &mut Conn,
    postings: &[(&Entry, Guard)],
    releases: &[(BookKey, i64)],
) -> Result<Vec<Result<Posted, LedgerError>>, LedgerError> {
    let mut outcomes = Vec::with_capacity(postings.len());
    if postings.is_empty() && releases.is_empty() {
        return Ok(outcomes);
    }
    for (attempted, &(entry, guard)) in post_allowed(conn, postings, releases).await?.into_iter().zip(postings) {
        outcomes.push(match attempted {
            Ok(Some(posted)) => Ok(posted),
            Ok(None) => match not_posted(conn, entry, guard).await {
                Err(error @ LedgerError::Db(_)) => return Err(error),
                outcome => outcome,
            },
            Err(error) => Err(error),
        });
    }
    Ok(outcomes)
}

/// What becomes of an entry that was not posted with the others: it was posted before, or holds that are due have to end
/// first, or too little is available.
async fn not_posted(conn: &mut Conn, entry: &Entry, guard: Guard) -> Result<Posted, LedgerError> {
    if let Some(posted) = read::posted(conn, entry).await? {
        return Ok(posted);
    }
    if expire_for(conn, entry.account, entry.currency).await? > 0
        && let Some(posted) = post_allowed(conn, &[(entry, guard)], &[]).await?.pop().transpose()?.flatten()
    {
        return Ok(posted);
    }
    Err(insufficient(conn, entry).await?)
}

/// Posts what may be posted. `None` for an entry that was posted before or that its guard refuses.
async fn post_allowed(
    conn: &mut Conn,
    postings: &[(&Entry, Guard)],
    releases: &[(BookKey, i64)],
) -> Result<Vec<Result<Option<Posted>, LedgerError>>, LedgerError> {
    let (mut books, mut events) = lock_books(conn, postings, releases).await?;
    let mut batch = Batch::default();
    for (key, released) in releases.iter().filter(|(_, released)| *released > 0) {
        if let Some(book) = books.get_mut(key) {
            book.held -= released;
            batch.changed.insert(*key);
        }
    }
    let mut outcomes = Vec::with_capacity(postings.len());
    for &(entry, guard) in postings {
        let is_new = events.insert(entry.event());
        let posted = match books.get_mut(&entry.book()).filter(|_| is_new) {
            Some(book) => book.post(conn, entry, guard),
            None => Ok(None),
        };
        if let (Ok(Some(posted)), Some(book)) = (&posted, books.get(&entry.book())) {
            batch.add(entry, posted, book);
        }
        outcomes.push(posted);
    }
    batch.write(conn, &books).await?;
    Ok(outcomes)
}

/// The account and the currency of a book.
pub(super) type BookKey = (AccountId, Currency);

type Books = BTreeMap<BookKey, LockedBook>;

row! {
    /// A customer's book, locked until the commit.
    struct LockedBook {
        balance: i64,
        held: i64,
        minimum: i64,
        entries: i64,
        low_water: Option<i64>,
        last_debit_at: Option<Time>,
        posted_at: Option<Time>,
        /// The number of the transaction that the event has, if it was posted before.
        event_number: Option<i64>,
    }
}

/// How far a transaction may be dated ahead of the clock to be no earlier than the one before it. A clock that was
/// further ahead was wrong.
const MAX_AHEAD: Duration = Duration::from_secs(60);

impl LockedBook {
    /// Posts an entry, unless the guard refuses it.
    fn post(&mut self, conn: &Conn, entry: &Entry, guard: Guard) -> Result<Option<Posted>, LedgerError> {
        // None of these exceeds two billion units, so all of it fits into 64 bits.
        let available = self.balance - self.held - self.minimum;
        if matches!(guard, Guard::Available) && available + entry.amount < 0 {
            return Ok(None);
        }
        let (balance, held) = (self.balance + entry.amount, self.held - guard.released());
        if balance.abs() > MAX_AMOUNT_NANOS || !(0..=MAX_AMOUNT_NANOS).contains(&held) {
            return Err(LedgerError::TooLarge);
        }
        let now = conn.now();
        let at = self.posted_at.filter(|last| (now..=now.plus(MAX_AHEAD)).contains(last)).unwrap_or(now);
        (self.balance, self.held, self.posted_at) = (balance, held, Some(at));
        self.entries += 1;
        if entry.amount < 0 {
            self.last_debit_at = Some(at);
        }
        let id = entry.id.unwrap_or_else(|| conn.new_id());
        let (number, balance_after) = (self.entries, Money::from_nanos(balance, entry.currency));
        Ok(Some(Posted { id, number, amount: entry.amount(), balance_after, at, already: false }))
    }
}

/// Locks the books in one order, and finds the events that were posted before. A book that is charged or credited
/// whatever its balance is begins here.
async fn lock_books<'a>(
    conn: &mut Conn,
    postings: &[(&'a Entry, Guard)],
    releases: &[(BookKey, i64)],
) -> Result<(Books, BTreeSet<Event<'a>>), DbError> {
    // What is only released has no event.
    let mut locks: Vec<(BookKey, Event<'a>)> = releases.iter().map(|(key, _)| (*key, ("", ""))).collect();
    locks.extend(postings.iter().map(|(entry, _)| (entry.book(), entry.event())));
    locks.sort_unstable();
    let (mut books, mut events) = lock_found(conn, &locks).await?;
    let unguarded = postings.iter().filter(|(_, guard)| matches!(guard, Guard::None { .. }));
    let missing: BTreeSet<BookKey> =
        unguarded.map(|(entry, _)| entry.book()).filter(|key| !books.contains_key(key)).collect();
    for (account, currency) in &missing {
        insert_balance(conn, *account, *currency).await?;
    }
    if !missing.is_empty() {
        (books, events) = lock_found(conn, &locks).await?;
    }
    Ok((books, events))
}

/// Locks the books that there are.
async fn lock_found<'a>(
    conn: &mut Conn,
    locks: &[(BookKey, Event<'a>)],
) -> Result<(Books, BTreeSet<Event<'a>>), DbError> {
    let lists: Vec<Vec<Value<'_>>> = locks
        .iter()
        .map(|((account, currency), (kind, reference))| row_values![*account, *currency, *kind, *reference].into())
        .collect();
    // A subquery with a value is asked for each event. EXISTS might become one pass over all transactions, which looks
    // cheap as long as there are few.
    let found: Vec<Option<LockedBook>> = conn
        .opt_each(
            sql!(
                "SELECT balance, held, minimum, entries, low_water, last_debit_at, posted_at,
                     (SELECT number FROM ledger_transactions WHERE kind = $3 AND reference = $4)
                 FROM ledger_balances WHERE account_id = $1 AND currency = $2 /*pg FOR NO KEY UPDATE */"
            ),
            &lists,
        )
        .await?;
    let (mut books, mut events) = (Books::new(), BTreeSet::new());
    for ((key, event), book) in locks.iter().zip(found) {
        let Some(book) = book else { continue };
        if book.event_number.is_some() {
            events.insert(*event);
        }
        books.entry(*key).or_insert(book);
    }
    Ok((books, events))
}

table_row! {
    struct SplitRow in ledger_splits { transaction_id: TransactionId, book: Book, amount: i64 }
}

/// What is to be written, table by table.
#[derive(Default)]
struct Batch {
    transactions: Vec<TransactionRow>,
    splits: Vec<SplitRow>,
    /// Amount and number of transactions by book, day, kind and book of a posting.
    days: BTreeMap<(BookKey, i64, Kind, Book), (i64, i64)>,
    changed: BTreeSet<BookKey>,
    /// Books whose balance is to be checked.
    to_check: BTreeSet<BookKey>,
}

impl Batch {
    fn add(&mut self, entry: &Entry, posted: &Posted, book: &LockedBook) {
        let key = entry.book();
        for (book, amount) in &entry.others {
            let day = self.days.entry((key, day_of(posted.at), entry.kind, *book)).or_default();
            *day = (day.0.saturating_add(*amount), day.1 + 1);
        }
        let Some(((first, _), further)) = entry.others.split_first() else { return };
        self.transactions.push(TransactionRow {
            id: posted.id,
            account_id: entry.account,
            currency: entry.currency,
            number: posted.number,
            kind: entry.kind,
            reference: entry.reference.clone(),
            amount: entry.amount,
            book: *first,
            balance_after: posted.balance_after.nanos(),
            note: entry.note.clone(),
            actor_id: entry.actor,
            created_at: posted.at,
        });
        let transaction_id = posted.id;
        self.splits.extend(further.iter().map(|&(book, amount)| SplitRow { transaction_id, book, amount }));
        self.changed.insert(key);
        if low_water::needs_check(entry.amount, posted.balance_after.nanos(), book.low_water) {
            self.to_check.insert(key);
        }
    }

    /// Writes it: the balances first, in the order in which they are locked.
    async fn write(&self, conn: &mut Conn, books: &Books) -> Result<(), DbError> {
        let changed = self.changed.iter().filter_map(|key| books.get_key_value(key));
        let balances = changed.map(|((account, currency), book)| {
            row_values![
                *account,
                *currency,
                book.balance,
                book.held,
                book.minimum,
                book.entries,
                book.last_debit_at,
                book.posted_at
            ]
            .into()
        });
        let days = self.days.iter().map(|(((account, currency), day, kind, book), (amount, entries))| {
            row_values![*account, *currency, *day, *kind, *book, *amount, *entries].into()
        });
        let inserts = [
            Inserts {
                text: sql!(
                    "INSERT INTO ledger_balances
                         (account_id, currency, balance, held, minimum, entries, last_debit_at, posted_at)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                     ON CONFLICT (account_id, currency) DO UPDATE
                     SET balance = excluded.balance, held = excluded.held, entries = excluded.entries,
                         last_debit_at = excluded.last_debit_at, posted_at = excluded.posted_at"
                ),
                lists: balances.collect(),
            },
            Inserts {
                text: TransactionRow::INSERT,
                lists: self.transactions.iter().map(|row| row.values().into()).collect(),
            },
            Inserts { text: SplitRow::INSERT, lists: self.splits.iter().map(|row| row.values().into()).collect() },
            Inserts {
                text: sql!(
                    "INSERT INTO ledger_book_days (account_id, currency, day, kind, book, amount, entries)
                     VALUES ($1, $2, $3, $4, $5, $6, $7)
                     ON CONFLICT (account_id, currency, day, kind, book) DO UPDATE
                     SET amount = ledger_book_days.amount + excluded.amount,
                         entries = ledger_book_days.entries + excluded.entries"
                ),
                lists: days.collect(),
            },
        ];
        match conn.insert_all(&inserts).await {
            // Another transaction has posted the same event meanwhile; a retry will find it.
            Err(DbError::Unique(key)) if key == "ledger_posted_once" => return Err(conn.retry_conflict()),
            outcome => outcome?,
        };
        for transaction in &self.transactions {
            conn.count(|metrics| metrics.ledger.transactions.of(transaction.kind.as_str()), 1);
        }
        for (account, currency) in &self.to_check {
            low_water::enqueue_balance_check(conn, *account, *currency).await?;
        }
        Ok(())
    }
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
