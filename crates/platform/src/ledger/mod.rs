//! The ledger: the only writer of money.
//!
//! Money is always in some [`Book`], and an [`Entry`] moves it between one customer's book and books of the carrier.
//! Its postings sum to zero. A kind and a reference name what happened outside (a call, a top-up), and the same name
//! is never posted twice: whoever tries again is told what was posted, and that it was posted already.
//!
//! ```ignore
//! let rental = Entry::charge(account, Kind::NumberRenewal, renewal.id, &[(Book::NumberRental, price)])?;
//! ledger::debit(conn, entropy, &rental, now).await?;              // only if the customer can pay
//! ledger::debit_unguarded(conn, entropy, &rental, now).await?;    // whatever the balance is
//! ```
//!
//! A customer may spend what is *available*: the balance less what is held less the minimum. [`debit`] and [`hold`]
//! check that in the statement that takes the money, so no two of them can spend the same. A hold sets money aside for
//! something that is going on; [`capture`] turns it into a charge, [`release`] and its expiry let go of it.
//!
//! Each customer has a balance row, kept in the transaction of the postings that prove it; the carrier's books have
//! none, since every call would wait for it. Sums for each day stand in their place. [`verify()`] recomputes all of it.
//!
//! Whoever charges need not think of those who watch balances: a posting that takes one below its low-water mark, or
//! raises it, leaves a [`BALANCE_CHANGED`] job in the same transaction.
//!
//! A transaction that posts for several customers does so in the order of their ids, and one that changes several holds
//! is better split: otherwise two may wait for each other, and one of them is tried again.

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
    Hold, HoldState, NewHold, capture, capture_many, expire, hold, hold_statements, open_hold_amount, purge_holds,
    release, renew,
};
pub use low_water::{BALANCE_CHANGED, BalanceChanged, enqueue_balance_check, lock_balance, set_low_water};
pub use post::{Posted, TransactionId, credit, debit, debit_unguarded, set_minimum};
pub use read::{Balance, Line, Sum, balance, book_total, customers_between, find, first_day, lines, spend, sums};
pub use verify::{Customer, Fault, Verified, verify};

use values::Time;

const DAY_MILLIS: i64 = 24 * 3600 * 1000;

/// The UTC day of a moment, counted from 1970.
const fn day_of(moment: Time) -> i64 {
    moment.millis().div_euclid(DAY_MILLIS)
}
