//! Verifies the ledger: recomputes every balance and sum from the postings.
//!
//! Four passes over the tables, each page by page, so memory does not grow with the ledger: splits (each has a
//! transaction), transactions by kind and reference (no duplicates, each with a balance), holds and daily sums without a
//! balance, and customers (numbers, balances, holds, daily sums). Sums are taken in 128 bits. Run it with
//! [`Db::snapshot`](db::Db::snapshot), so that all passes see the same state.

mod customers;
mod fault;
mod transactions;

pub use fault::{Customer, Fault};

use db::{Conn, DbError};

/// What was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    pub customers: u64,
    pub transactions: u64,
    pub postings: u64,
    pub open_holds: u64,
}

/// Rows read by a statement.
const PAGE: i64 = 5000;

/// Why verification stopped.
enum Stop {
    Fault(Fault),
    Db(DbError),
}

impl From<DbError> for Stop {
    fn from(error: DbError) -> Self {
        Stop::Db(error)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Fault(fault)
    }
}

/// Verifies the whole ledger and returns the first fault, if there is one.
pub async fn verify(conn: &mut Conn) -> Result<Result<Verified, Fault>, DbError> {
    match verify_all(conn).await {
        Ok(verified) => Ok(Ok(verified)),
        Err(Stop::Fault(fault)) => Ok(Err(fault)),
        Err(Stop::Db(error)) => Err(error),
    }
}

async fn verify_all(conn: &mut Conn) -> Result<Verified, Stop> {
    let splits = transactions::check_splits(conn).await?;
    let transactions = transactions::check_transactions(conn).await?;
    customers::check_owners(conn).await?;
    let (customers, open_holds) = customers::check_books(conn).await?;
    // One of the customer and one of the other book, besides the splits.
    let postings = 2 * transactions + splits;
    Ok(Verified { customers, transactions, postings, open_holds })
}
