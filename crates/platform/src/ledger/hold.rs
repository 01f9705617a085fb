//! Holds: money set aside for something in progress, such as a live call.
//!
//! A hold has the kind and reference of the transaction that will capture it. `held` in the balance row is the sum of
//! the open holds and of what is set aside for live calls, each of which keeps its own. Every change locks the hold
//! first and the balance row second; only placing a hold goes the other way, but no other transaction can see its new
//! row yet.
//!
//! A hold past its expiry counts until a job, or a debit that needs the money, ends it. It can be renewed even then, if
//! the money is available: a switch that was offline for long keeps its calls.

use super::entry::{Entry, check_reference, checked};
use super::post::{Guard, Posted, post, post_each, require_charge};
use super::read;
use super::{Kind, LedgerError};
use db::{Conn, DbError, Inserts, Statement, params, row, row_values, sql};
use values::{AccountId, Currency, Money, Time, text_enum};

text_enum! {
    /// State of a hold.
    pub enum HoldState {
        Open = "open",
        /// It became a charge.
        Captured = "captured",
        Released = "released",
        Expired = "expired",
    }
}

/// A hold to be placed.
#[derive(Clone, Debug)]
pub struct NewHold<'a> {
    pub account: AccountId,
    pub kind: Kind,
    pub reference: &'a str,
    pub amount: Money,
    pub until: Time,
}

row! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct HoldRow {
        account_id: AccountId,
        currency: Currency,
        placed: i64,
        amount: i64,
        state: HoldState,
        expires_at: Time,
    }
}

/// A hold and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub account: AccountId,
    pub amount: Money,
    pub state: HoldState,
    pub expires_at: Time,
    /// Whether it was placed before, so that nothing changed this time.
    pub already: bool,
}

impl HoldRow {
    fn to_hold(&self, already: bool) -> Hold {
        let amount = Money::from_nanos(self.amount, self.currency);
        Hold { account: self.account_id, amount, state: self.state, expires_at: self.expires_at, already }
    }

    /// Its part of `held`.
    fn held(&self) -> i64 {
        if self.state == HoldState::Open { self.amount } else { 0 }
    }
}

/// Sets money aside if the amount is available.
pub async fn hold(conn: &mut Conn, new: &NewHold<'_>) -> Result<Hold, LedgerError> {
    check_reference(new.reference)?;
    let (nanos, currency) = (checked(new.amount)?, new.amount.currency());
    let mut reserved = reserve_new(conn, new, nanos).await?;
    if !reserved {
        if let Some(found) = find(conn, new.kind, new.reference).await? {
            let same = found.account_id == new.account && found.currency == currency && found.placed == nanos;
            return if same { Ok(found.to_hold(true)) } else { Err(conflict(new.kind, new.reference)) };
        }
        reserved = expire_for(conn, new.account, currency).await? > 0 && reserve_new(conn, new, nanos).await?;
    }
    if !reserved {
        return Err(insufficient(conn, new.kind, new.account, new.amount).await?);
    }
    if insert(conn, new, nanos).await? == 0 {
        // Another transaction placed the same hold while this one waited for the balance row; a retry will find it.
        return Err(conn.retry_conflict().into());
    }
    let (account, amount, expires_at) = (new.account, new.amount, new.until);
    Ok(Hold { account, amount, state: HoldState::Open, expires_at, already: false })
}

/// Changes the amount and the expiry of a hold. An increase must be available; a decrease always succeeds.
pub async fn renew(
    conn: &mut Conn,
    kind: Kind,
    reference: &str,
    amount: Money,
    until: Time,
) -> Result<Hold, LedgerError> {
    let nanos = checked(amount)?;
    let found = lock(conn, kind, reference).await?;
    let no_hold = || LedgerError::NoHold { kind, reference: reference.to_owned() };
    let held = found.filter(|hold| matches!(hold.state, HoldState::Open | HoldState::Expired)).ok_or_else(no_hold)?;
    if held.currency != amount.currency() {
        return Err(conflict(kind, reference));
    }
    let more = nanos - held.held();
    let mut reserved = reserve(conn, &held, more).await?;
    if !reserved {
        reserved = expire_others(conn, &held, kind, reference).await? > 0 && reserve(conn, &held, more).await?;
    }
    if !reserved {
        return Err(insufficient(conn, kind, held.account_id, Money::from_nanos(more, held.currency)).await?);
    }
    conn.exec(
        sql!(
            "UPDATE ledger_holds SET amount = $3, expires_at = $4, state = 'open', ended_at = NULL
             WHERE kind = $1 AND reference = $2"
        ),
        params![kind, reference, nanos, until],
    )
    .await?;
    Ok(HoldRow { amount: nanos, expires_at: until, state: HoldState::Open, ..held }.to_hold(false))
}

/// Posts a charge, which may be more or less than was held, and ends the hold of the same kind and reference. The usage
/// has happened, so it is charged whatever the balance is, and even without a hold.
pub async fn capture(conn: &mut Conn, entry: &Entry) -> Result<Posted, LedgerError> {
    require_charge(entry)?;
    let found = lock(conn, entry.kind, &entry.reference).await?;
    if let Some(hold) = &found
        && (hold.account_id, hold.currency) != (entry.account, entry.currency)
    {
        return Err(conflict(entry.kind, &entry.reference));
    }
    let released = found.as_ref().map_or(0, HoldRow::held);
    let posted = post(conn, entry, Guard::None { released }).await?;
    if let Some(hold) = found.filter(|hold| hold.state == HoldState::Open) {
        if posted.already {
            // It was posted before without its hold, which still counts.
            reserve(conn, &hold, -released).await?;
        }
        end(conn, entry.kind, &entry.reference, HoldState::Captured).await?;
    }
    Ok(posted)
}

/// What things of one customer that are over mean for its book.
pub struct Capture {
    pub account: AccountId,
    pub currency: Currency,
    /// What was [set aside](set_aside) for them.
    pub released: i64,
    /// Their charge, if there is any.
    pub charge: Option<Entry>,
}

/// Releases what was set aside for things that are over, and posts their charges, one for each customer. As with
/// [`capture`], they are charged whatever the balance is. Further books are locked with theirs, for a transaction that
/// changes them later.
pub async fn capture_each(
    conn: &mut Conn,
    captures: &[Capture],
    locked: &[(AccountId, Currency)],
) -> Result<(), LedgerError> {
    let (mut charges, mut releases) = (Vec::new(), Vec::new());
    releases.extend(locked.iter().map(|book| (*book, 0)));
    for Capture { account, currency, released, charge } in captures {
        match charge {
            None => releases.push(((*account, *currency), *released)),
            Some(entry) if entry.book() != (*account, *currency) => {
                return Err(LedgerError::Invalid("a charge must be of the customer whose holds it captures"));
            }
            Some(entry) => {
                require_charge(entry)?;
                charges.push((entry, Guard::None { released: *released }));
            }
        }
    }
    let posted = post_each(conn, &charges, &releases).await?;
    for ((entry, guard), posted) in charges.into_iter().zip(posted) {
        // A charge that was posted before released nothing.
        if posted?.already && guard.released() > 0 {
            set_aside(conn, entry.account, entry.currency, -guard.released()).await?;
        }
    }
    Ok(())
}

/// Releases a hold. Returns whether there was an open one.
pub async fn release(conn: &mut Conn, kind: Kind, reference: &str) -> Result<bool, LedgerError> {
    let Some(hold) = lock(conn, kind, reference).await?.filter(|hold| hold.state == HoldState::Open) else {
        return Ok(false);
    };
    reserve(conn, &hold, -hold.amount).await?;
    end(conn, kind, reference, HoldState::Released).await?;
    Ok(true)
}

row! {
    struct Due { kind: Kind, reference: String, account_id: AccountId, currency: Currency, amount: i64 }
}

/// Expires at most `batch` holds that are due and returns how many. Holds that are locked are skipped.
pub async fn expire(conn: &mut Conn, batch: i64) -> Result<u64, DbError> {
    let now = conn.now();
    let mut due: Vec<Due> = conn
        .all(
            sql!(
                "SELECT ",
                Due::COLS,
                " FROM ledger_holds WHERE state = 'open' AND expires_at <= $1 ORDER BY expires_at LIMIT $2
                 /*pg FOR UPDATE SKIP LOCKED */"
            ),
            params![now, batch],
        )
        .await?;
    due.sort_by_key(|hold| (hold.account_id, hold.currency));
    end_due(conn, &due).await
}

/// Maximum number of due holds of a customer that a refused debit expires before it tries again.
const MAX_EXPIRED_PER_DEBIT: i64 = 100;

/// Expires the due holds of a customer, so that they do not make a debit fail.
pub(super) async fn expire_for(conn: &mut Conn, account: AccountId, currency: Currency) -> Result<u64, DbError> {
    let due = due_of(conn, account, currency).await?;
    end_due(conn, &due).await
}

/// The same, except the hold that is being renewed.
async fn expire_others(conn: &mut Conn, renewed: &HoldRow, kind: Kind, reference: &str) -> Result<u64, DbError> {
    let mut due = due_of(conn, renewed.account_id, renewed.currency).await?;
    due.retain(|hold| (hold.kind, hold.reference.as_str()) != (kind, reference));
    end_due(conn, &due).await
}

async fn due_of(conn: &mut Conn, account: AccountId, currency: Currency) -> Result<Vec<Due>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            Due::COLS,
            " FROM ledger_holds WHERE account_id = $1 AND currency = $2 AND state = 'open' AND expires_at <= $3
             ORDER BY expires_at LIMIT $4 /*pg FOR UPDATE SKIP LOCKED */"
        ),
        params![account, currency, conn.now(), MAX_EXPIRED_PER_DEBIT],
    )
    .await
}

/// Expires these holds, which are locked by this transaction.
async fn end_due(conn: &mut Conn, due: &[Due]) -> Result<u64, DbError> {
    for hold in due {
        set_aside(conn, hold.account_id, hold.currency, -hold.amount).await?;
        end(conn, hold.kind, &hold.reference, HoldState::Expired).await?;
    }
    Ok(due.len() as u64)
}

/// Deletes at most `batch` holds that ended before `cutoff`. Their kind and reference may then be held again.
pub async fn purge_holds(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM ledger_holds WHERE (kind, reference) IN
                 (SELECT kind, reference FROM ledger_holds WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)
             AND ended_at < $1"
        ),
        params![cutoff, batch],
    )
    .await
}

async fn find(conn: &mut Conn, kind: Kind, reference: &str) -> Result<Option<HoldRow>, DbError> {
    conn.opt(
        sql!("SELECT ", HoldRow::COLS, " FROM ledger_holds WHERE kind = $1 AND reference = $2"),
        params![kind, reference],
    )
    .await
}

/// The hold, locked until the commit.
async fn lock(conn: &mut Conn, kind: Kind, reference: &str) -> Result<Option<HoldRow>, DbError> {
    conn.opt(
        sql!("SELECT ", HoldRow::COLS, " FROM ledger_holds WHERE kind = $1 AND reference = $2 /*pg FOR UPDATE */"),
        params![kind, reference],
    )
    .await
}

/// Adds to `held` for a new hold, unless it exists or too little is available.
async fn reserve_new(conn: &mut Conn, new: &NewHold<'_>, nanos: i64) -> Result<bool, DbError> {
    let reserved = conn
        .exec(
            sql!(
                "UPDATE ledger_balances SET held = held + $3
                 WHERE account_id = $1 AND currency = $2 AND balance - held - minimum >= $3
                   AND NOT EXISTS (SELECT 1 FROM ledger_holds WHERE kind = $4 AND reference = $5)"
            ),
            params![new.account, new.amount.currency(), nanos, new.kind, new.reference],
        )
        .await?;
    Ok(reserved > 0)
}

async fn insert(conn: &mut Conn, new: &NewHold<'_>, nanos: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "INSERT INTO ledger_holds (kind, reference, account_id, currency, placed, amount, state, expires_at, created_at)
             VALUES ($1, $2, $3, $4, $5, $5, 'open', $6, $7) ON CONFLICT (kind, reference) DO NOTHING"
        ),
        params![new.kind, new.reference, new.account, new.amount.currency(), nanos, new.until, conn.now()],
    )
    .await
}

async fn reserve(conn: &mut Conn, hold: &HoldRow, more: i64) -> Result<bool, DbError> {
    set_aside(conn, hold.account_id, hold.currency, more).await
}

/// Adds to `held` if that much is available, or subtracts, which always succeeds. The caller keeps the record of what is
/// held for what: this module does for holds, `calls` does for live calls.
pub async fn set_aside(conn: &mut Conn, account: AccountId, currency: Currency, more: i64) -> Result<bool, DbError> {
    let update = set_aside_statement(account, currency, more);
    Ok(conn.exec(update.text, &update.params).await? > 0)
}

/// The statement of [`set_aside`]. It changes one row, or none if too little is available.
pub fn set_aside_statement(account: AccountId, currency: Currency, more: i64) -> Statement {
    Statement::new(
        sql!(
            "UPDATE ledger_balances SET held = held + $3
             WHERE account_id = $1 AND currency = $2 AND ($3 <= 0 OR balance - held - minimum >= $3)"
        ),
        params![account, currency, more],
    )
}

/// Adds to `held` of several accounts, in the order of their locks. On PostgreSQL it returns what is then available to
/// each: if that is negative, the transaction must be undone. On SQLite nobody else writes since the caller has read it.
pub fn set_aside_each(more: &[(AccountId, Currency, i64)]) -> Inserts<'_> {
    Inserts {
        text: sql!(
            "INSERT INTO ledger_balances (account_id, currency, balance, held, minimum, entries)
             VALUES ($1, $2, 0, $3, 0, 0)
             ON CONFLICT (account_id, currency) DO UPDATE SET held = ledger_balances.held + excluded.held
             /*pg RETURNING balance - held - minimum */"
        ),
        lists: more.iter().map(|(account, currency, more)| row_values![*account, *currency, *more].into()).collect(),
    }
}

async fn end(conn: &mut Conn, kind: Kind, reference: &str, state: HoldState) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE ledger_holds SET state = $3, ended_at = $4 WHERE kind = $1 AND reference = $2"),
        params![kind, reference, state, conn.now()],
    )
    .await?;
    Ok(())
}

async fn insufficient(
    conn: &mut Conn,
    kind: Kind,
    account: AccountId,
    required: Money,
) -> Result<LedgerError, DbError> {
    conn.metrics().ledger.refusals.of(kind.as_str()).inc();
    let balance = read::balance(conn, account, required.currency()).await?;
    Ok(LedgerError::Insufficient { required, available: balance.available() })
}

fn conflict(kind: Kind, reference: &str) -> LedgerError {
    LedgerError::Conflict { kind, reference: reference.to_owned() }
}
