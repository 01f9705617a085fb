//! Proof of the ledger: everything that is kept is recomputed from the postings.
//!
//! Four walks over the tables, each along an index and a page at a time, so memory does not grow with the ledger: the
//! postings by transaction (every sum is zero), the transactions by name (each once, none without its postings and its
//! customer), what is kept by customer but belongs to none, and the customers (numbers, balances, holds, days). Sums
//! are taken in 128 bits. It needs one moment to look at: run it with [`Db::snapshot`](db::Db::snapshot).

mod customers;
mod fault;
mod postings;

pub use fault::{Customer, Fault};

use db::{Conn, DbError};

/// A ledger that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    pub customers: u64,
    pub transactions: u64,
    pub postings: u64,
    pub open_holds: u64,
}

/// Rows read by one statement.
const PAGE: i64 = 5000;

/// Why a walk ended early.
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

/// Walks the whole ledger and answers the first fault, if there is one.
pub async fn verify(conn: &mut Conn) -> Result<Result<Verified, Fault>, DbError> {
    match walk(conn).await {
        Ok(verified) => Ok(Ok(verified)),
        Err(Stop::Fault(fault)) => Ok(Err(fault)),
        Err(Stop::Db(error)) => Err(error),
    }
}

async fn walk(conn: &mut Conn) -> Result<Verified, Stop> {
    let postings = postings::check_postings(conn).await?;
    let transactions = postings::check_transactions(conn).await?;
    customers::check_owners(conn).await?;
    let (customers, open_holds) = customers::check_books(conn).await?;
    Ok(Verified { customers, transactions, postings, open_holds })
}
