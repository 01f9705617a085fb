//! The ledger: the only writer of money.
//!
//! Money is always in a [`Book`], and an [`Entry`] moves it between one customer's book and books of the operator. Its
//! postings sum to zero. A kind and a reference name the event (a call, a top-up), which is posted once: posting it
//! again returns the first transaction and says so.
//!
//! ```ignore
//! let rental = Entry::charge(account, Kind::NumberRenewal, renewal.id, &[(Book::NumberRental, price)])?;
//! ledger::debit(conn, &rental).await?;              // only if the amount is available
//! ledger::debit_unguarded(conn, &rental).await?;    // whatever the balance is
//! ```
//!
//! A customer may spend what is *available*: balance − held − minimum. [`debit`] checks that under the lock of the balance
//! row, and [`hold`] in the statement that takes the money, so the same money cannot be spent twice. A hold sets money aside for something in
//! progress; [`capture`] turns it into a charge, [`release`] and expiry make it available again.
//!
//! Each customer has a balance row, updated in the transaction of its postings. The operator's books have none, since
//! every call would wait for it; they have daily sums. [`verify()`] recomputes all of it from the postings.
//!
//! A posting that takes a balance below its low-water mark, or raises it, enqueues a [`BALANCE_CHANGED`] job in the
//! same transaction; low-balance alerts and auto-recharge follow from it.
//!
//! To avoid deadlocks, a transaction that posts for several customers does so in the order of their ids; one that
//! changes several holds is better split.

mod book;
mod entry;
mod error;
mod hold;
mod low_water;
mod post;
mod read;
mod verify;

pub use book::{Book, Kind};
pub use entry::Entry;
pub use error::LedgerError;
pub use hold::{
    Capture, Hold, HoldState, NewHold, capture, capture_each, expire, hold, purge_holds, release, renew, set_aside,
    set_aside_each, set_aside_statement,
};
pub use low_water::{BALANCE_CHANGED, BalanceChanged, enqueue_balance_check, lock_balance, set_low_water};
pub use post::{Posted, TransactionId, credit, debit, debit_each, debit_unguarded, set_minimum};
pub use read::{
    Balance, Line, Sum, balance, book_total, customers_between, daily_balances, find, first_day, lines, posted_days,
    spend, sums,
};
pub use verify::{Customer, Fault, Verified, verify};

use values::Time;

const DAY_MILLIS: i64 = 24 * 3600 * 1000;

/// The UTC day of a time, counted from 1970.
const fn day_of(moment: Time) -> i64 {
    moment.millis().div_euclid(DAY_MILLIS)
}
