//! Errors of the ledger.

use std::fmt;

use super::Kind;
use db::DbError;
use values::{Money, MoneyError};

#[derive(Debug)]
pub enum LedgerError {
    /// Less than the amount is available. Nothing has changed, and the transaction may continue.
    Insufficient {
        required: Money,
        available: Money,
    },
    /// This kind and reference were posted or held before with other content.
    Conflict {
        kind: Kind,
        reference: String,
    },
    /// The hold cannot be renewed: there is none, or it was captured or released.
    NoHold {
        kind: Kind,
        reference: String,
    },
    /// The amount or the balance would exceed the maximum. Nothing has changed.
    TooLarge,
    /// The caller passed an entry or hold that breaks the rules of the ledger.
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
            LedgerError::TooLarge => f.write_str("the amount exceeds the maximum of a book"),
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
            MoneyError::CurrencyMismatch { .. } => {
                LedgerError::Invalid("all amounts of an entry must have the same currency")
            }
        }
    }
}
