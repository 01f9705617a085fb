//! Invoices over HTTP, with usage posted straight to the ledger.

mod credit_notes;
mod documents;
mod issuing;
mod killed;
mod number_refunds;
mod year;
