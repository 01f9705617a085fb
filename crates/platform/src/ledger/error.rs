//! Why the ledger refused.

use std::fmt;

use super::Kind;
use db::DbError;
use values::{Money, MoneyError};

#[derive(Debug)]
pub enum LedgerError {
    /// There is less than this to spend. Nothing has changed, and the transaction may go on.
    Insufficient {
        required: Money,
        available: Money,
    },
    /// Something else was posted or held under this name before.
    Conflict {
        kind: Kind,
        reference: String,
    },
    /// No hold of this name can be renewed: there is none, or its money was captured or released.
    NoHold {
        kind: Kind,
        reference: String,
    },
    /// No book can hold as much.
    TooLarge,
    /// The caller asked for what no ledger does.
    Invalid(&'static str),
    Db(DbError),
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerError::Insufficient { required, available } => {
                write!(f, "{required} is required and {available} is available")
            }
            LedgerError::Conflict { kind, reference } => {
                write!(f, "{kind} {reference} is in the ledger with other content")
            }
            LedgerError::NoHold { kind, reference } => write!(f, "there is no open hold for {kind} {reference}"),
            LedgerError::TooLarge => f.write_str("no book can hold as much"),
            LedgerError::Invalid(reason) => f.write_str(reason),
            LedgerError::Db(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LedgerError {}

impl From<DbError> for LedgerError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Check(name) if name.starts_with("ledger_") && name.ends_with("_in_range") => LedgerError::TooLarge,
            error => LedgerError::Db(error),
        }
    }
}

impl From<MoneyError> for LedgerError {
    fn from(error: MoneyError) -> Self {
        match error {
            MoneyError::Overflow => LedgerError::TooLarge,
            MoneyError::CurrencyMismatch { .. } => LedgerError::Invalid("an entry has one currency"),
        }
    }
}
