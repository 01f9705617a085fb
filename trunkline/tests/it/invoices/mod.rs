//! Invoices over HTTP, with use put straight into the ledger.

mod documents;
mod issuing;
mod killed;
mod number_refunds;
mod taking_back;
mod year;
