//! The ledger API on both databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod faults;
mod holds;
mod killed;
mod posting;
mod properties;
mod races;

use std::time::Duration;

use db::{Conn, Db};
use platform::entropy::Entropy;
use platform::ledger::{self, Balance, Book, Entry, Fault, Hold, Kind, LedgerError, NewHold, Posted, Verified};
use values::{AccountId, Currency, Money, Time};

use crate::world::accounts::live_account;

/// A moment on some UTC day, far from midnight.
const NOW: Time = Time::from_millis(20_000 * 24 * 3600 * 1000 + 12 * 3600 * 1000);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn eur(units: i64) -> Money {
    Money::from_minor(units * 100, Currency::EUR).unwrap()
}

/// One thing done to the ledger, in a transaction of its own.
#[derive(Clone, Debug)]
enum Act {
    Credit(Entry),
    Debit(Entry),
    DebitUnguarded(Entry),
    Hold { account: AccountId, reference: String, amount: Money, until: Time },
    Renew { reference: String, amount: Money, until: Time },
    Capture(Entry),
    Release { reference: String },
    Expire,
    SetMinimum { account: AccountId, minimum: Money },
}

/// What came of it.
#[derive(Debug)]
enum Did {
    Posted(Posted),
    Held(Hold),
    Released(bool),
    Expired(u64),
    Set,
}

impl Did {
    fn posted(self) -> Posted {
        match self {
            Did::Posted(posted) => posted,
            other => panic!("{other:?}"),
        }
    }

    fn held(self) -> Hold {
        match self {
            Did::Held(hold) => hold,
            other => panic!("{other:?}"),
        }
    }
}

async fn act(db: &Db, act: Act) -> Result<Did, LedgerError> {
    act_at(db, act, NOW).await
}

async fn act_at(db: &Db, act: Act, now: Time) -> Result<Did, LedgerError> {
    db.tx((act, now), |conn, (act, now)| Box::pin(perform(conn, act, *now))).await
}

async fn perform(conn: &mut Conn, act: &Act, now: Time) -> Result<Did, LedgerError> {
    Ok(match act {
        Act::Credit(entry) => Did::Posted(ledger::credit(conn, Entropy, entry, now).await?),
        Act::Debit(entry) => Did::Posted(ledger::debit(conn, Entropy, entry, now).await?),
        Act::DebitUnguarded(entry) => Did::Posted(ledger::debit_unguarded(conn, Entropy, entry, now).await?),
        Act::Hold { account, reference, amount, until } => {
            let new = NewHold { account: *account, kind: Kind::Call, reference, amount: *amount, until: *until };
            Did::Held(ledger::hold(conn, &new, now).await?)
        }
        Act::Renew { reference, amount, until } => {
            Did::Held(ledger::renew(conn, Kind::Call, reference, *amount, *until, now).await?)
        }
        Act::Capture(entry) => Did::Posted(ledger::capture(conn, Entropy, entry, now).await?),
        Act::Release { reference } => Did::Released(ledger::release(conn, Kind::Call, reference, now).await?),
        Act::Expire => Did::Expired(ledger::expire(conn, now, 100).await?),
        Act::SetMinimum { account, minimum } => {
            ledger::set_minimum(conn, *account, *minimum).await?;
            Did::Set
        }
    })
}

fn topup(account: AccountId, reference: &str, amount: Money) -> Entry {
    Entry::credit(account, Kind::Topup, reference, &[(Book::Clearing, amount)]).unwrap()
}

fn call(account: AccountId, reference: &str, amount: Money) -> Entry {
    Entry::charge(account, Kind::Call, reference, &[(Book::Calls, amount)]).unwrap()
}

fn hold(account: AccountId, reference: &str, amount: Money) -> Act {
    Act::Hold { account, reference: reference.to_owned(), amount, until: NOW.plus(MINUTE) }
}

fn renew(reference: &str, amount: Money) -> Act {
    Act::Renew { reference: reference.to_owned(), amount, until: NOW.plus(MINUTE * 2) }
}

fn release(reference: &str) -> Act {
    Act::Release { reference: reference.to_owned() }
}

/// A customer who has paid in so much.
async fn customer_with(db: &Db, amount: Money) -> AccountId {
    let account = db.tx((), |conn, ()| Box::pin(live_account(conn, "cora@customer.example", NOW))).await.unwrap();
    if amount.is_positive() {
        act(db, Act::Credit(topup(account, &format!("first of {account}"), amount))).await.unwrap();
    }
    account
}

async fn balance(db: &Db, account: AccountId) -> Balance {
    ledger::balance(&mut db.read().await.unwrap(), account, Currency::EUR).await.unwrap()
}

/// Current, held and available.
async fn standing(db: &Db, account: AccountId) -> (Money, Money, Money) {
    let balance = balance(db, account).await;
    (balance.current, balance.held, balance.available())
}

async fn verify(db: &Db) -> Result<Verified, Fault> {
    db.snapshot((), |conn, ()| Box::pin(ledger::verify(conn))).await.unwrap()
}
