//! Invoices over HTTP, with usage posted straight to the ledger.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod credit_notes;
mod documents;
mod issuing;
mod killed;
mod number_refunds;
mod year;
