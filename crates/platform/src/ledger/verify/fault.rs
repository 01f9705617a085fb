//! Faults that verification can find.

use std::fmt;

use crate::ledger::TransactionId;
use values::AccountId;

/// An account and the currency of its book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Customer {
    pub account: AccountId,
    pub currency: String,
}

/// The first fault found. Amounts are in nanos, as in the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A split has no transaction.
    StraySplit {
        transaction: TransactionId,
        book: String,
    },
    /// A transaction's customer has no balance in its currency.
    NoBalance {
        transaction: TransactionId,
        customer: Customer,
    },
    /// One event was posted twice.
    Repeated {
        kind: String,
        reference: String,
        first: TransactionId,
        second: TransactionId,
    },
    /// A customer's transaction numbers have a gap.
    Gap {
        customer: Customer,
        expected: i64,
        found: i64,
    },
    /// The balance row counts fewer or more transactions than there are.
    Count {
        customer: Customer,
        counted: i64,
        last: i64,
    },
    /// The `balance_after` of a transaction is wrong.
    BalanceAfter {
        transaction: TransactionId,
        written: i64,
        computed: i128,
    },
    Balance {
        customer: Customer,
        written: i64,
        computed: i128,
    },
    Held {
        customer: Customer,
        written: i64,
        computed: i128,
    },
    Day {
        customer: Customer,
        day: i64,
        kind: String,
        book: String,
        written: i64,
        computed: i128,
    },
    /// An open hold has no balance.
    StrayHold {
        kind: String,
        reference: String,
    },
    /// A daily sum has no balance.
    StrayDay {
        customer: Customer,
        day: i64,
    },
}

impl fmt::Display for Customer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "account {} in {}", self.account, self.currency)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::StraySplit { transaction, book } => {
                write!(f, "the split of transaction {transaction} with {book} has no transaction")
            }
            Fault::NoBalance { transaction, customer } => {
                write!(f, "transaction {transaction} is of {customer}, which has no balance")
            }
            Fault::Repeated { kind, reference, first, second } => {
                write!(f, "{kind} {reference} is posted twice, as transactions {first} and {second}")
            }
            Fault::Gap { customer, expected, found } => {
                write!(f, "{customer}: transaction number {expected} is missing, {found} comes in its place")
            }
            Fault::Count { customer, counted, last } => {
                write!(f, "{customer}: {counted} transactions were counted, and the last has number {last}")
            }
            Fault::BalanceAfter { transaction, written, computed } => {
                write!(f, "transaction {transaction} says that it left {written}, but it left {computed}")
            }
            Fault::Balance { customer, written, computed } => {
                write!(f, "{customer}: the balance is {written}, but the postings sum to {computed}")
            }
            Fault::Held { customer, written, computed } => {
                write!(f, "{customer}: {written} is held, but the open holds sum to {computed}")
            }
            Fault::Day { customer, day, kind, book, written, computed } => {
                write!(
                    f,
                    "{customer}: on day {day} {kind} added {written} to {book}, but its postings sum to {computed}"
                )
            }
            Fault::StrayHold { kind, reference } => {
                write!(f, "the open hold of {kind} {reference} counts in no balance")
            }
            Fault::StrayDay { customer, day } => write!(f, "{customer}: there are sums of day {day}, but no balance"),
        }
    }
}
